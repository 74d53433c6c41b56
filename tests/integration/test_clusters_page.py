"""What docs/clusters.md tells a user of Spark or a queue to run, run by two processes."""

import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

PAGE = Path(__file__).parents[2] / "docs" / "clusters.md"
BIN = Path(sys.executable).parent


def answer(*words: object) -> dict[str, Any]:
    done = subprocess.run([BIN / "audit", *map(str, words), "--format", "json"], capture_output=True, text=True)
    assert done.stdout, done.stderr
    value: dict[str, Any] = json.loads(done.stdout)
    return {name: value[name] for name in ("verdict", "decks", "tests", "looks")}


def test_shards_counted_by_two_processes_give_the_verdict_of_one_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PATH", str(BIN), prepend=os.pathsep)
    decks = np.random.default_rng(7).permuted(np.tile(np.arange(52, dtype=np.uint8), (1_500, 1)), axis=1)
    for number, some in enumerate(np.array_split(decks, 3)):
        np.save(tmp_path / f"{number}.npy", some)
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    page: dict[str, Any] = {}
    exec(code, page)
    with ThreadPoolExecutor(2) as two:  # each starts a process of its own
        parts = list(two.map(page["count"], page["shards"](str(tmp_path))))
    assert answer("merge", *parts) == answer("stats", *sorted(tmp_path.glob("*.npy")), "--jobs", 1)
