"""`make check` refuses a change of the protos that breaks a caller of the last release, and lets fields be added."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.pages import ROOT


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            "  // Table id.\n  string table = 2;",
            "  // More.\n  string more = 900;\n  // Table id.\n  string table = 2;",
            "",
        ),
        ("string table = 2;", "bytes table = 2;", 'Field "2" with name "table"'),
        ("string table = 2;", "string table = 901;", 'field "2"'),
        ("string table = 2;", "string room = 2;", 'Field "2"'),
    ],
)
def test_what_breaks_a_caller_is_refused(tmp_path: Path, old: str, new: str, said: str) -> None:
    shutil.copytree(ROOT / "proto", tmp_path / "proto")
    shutil.copy(ROOT / "buf.yaml", tmp_path)
    types = tmp_path / "proto/dealer/v1/types.proto"
    text = types.read_text()
    assert old in text
    types.write_text(text.replace(old, new, 1))
    command = [Path(sys.executable).parent / "buf", "breaking", "--against", ROOT / "tests/released/protos.yaml"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode == 0) == (said == ""), done.stdout + done.stderr
    assert said in done.stdout
