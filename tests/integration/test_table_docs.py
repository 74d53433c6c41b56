"""The page on the table shows code that runs."""

import contextlib
import io
import re
from pathlib import Path

from tests.integration.running import running

PAGE = Path(__file__).resolve().parents[2] / "docs" / "table.md"


def test_the_pages_example_plays_a_hand(tmp_path: Path) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    assert "127.0.0.1:50051" in code
    said = io.StringIO()
    with running(tmp_path / "dealer") as dealer, contextlib.redirect_stdout(said):
        exec(compile(code.replace("127.0.0.1:50051", dealer.address), PAGE.name, "exec"), {})
    assert "Table north-1, hand 1\n" in said.getvalue()
    assert "\nStacks: seat 1 " in said.getvalue()
