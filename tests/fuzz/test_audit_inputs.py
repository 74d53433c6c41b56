"""Whatever a file holds, `audit` ends with a code of its own, soon, in bounded memory, and never talked into valid."""

import json
import resource
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from uuid import UUID

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

from audit.cli import cli
from tests.attacks.maker import Book
from tests.attacks.test_evidence_attacks import SIGNER, alone, evidence
from tests.vectors.places import FOREIGN

HERE = Path(__file__).resolve().parents[1] / "vectors" / "audit"
LOG, ENTRY, VKEY = str(HERE / "log"), str(HERE / "entry"), str(HERE / "vkey")
VERIFY = ["verify", LOG, "--jobs", "1"]
CODES = {0, 1, 2, 3, 4}
SECONDS = 20.0
"""A run takes some milliseconds; a machine may be busy."""
MOST_MORE_MEMORY = 400 * 1024
"""KiB, over all runs of a kind."""
LONG_SECONDS = 50
"""Of each kind in `make soak`: about ten minutes."""


def _equal(changed: bytes, good: bytes) -> bool:
    return changed == good


def _equal_words(changed: bytes, good: bytes) -> bool:
    return changed.removeprefix(b"\xef\xbb\xbf").split() == good.split()


def _signed_parts_equal(changed: bytes, good: bytes) -> bool:
    """Tells whether nothing but words for people differs, or something was left out."""
    try:
        found, known = json.loads(changed), json.loads(good)
    except ValueError:
        return False
    parts = ("offer", "commit", "close")
    lists = ("cards", "acknowledgements", "sealed")
    return (
        isinstance(found, dict)
        and all(found.get(name) in (None, known.get(name)) for name in parts)
        and all(each in known.get(name, []) for name in lists for each in found.get(name, []))
    )


def _anything(changed: bytes, good: bytes) -> bool:
    return True


@dataclass(frozen=True)
class Kind:
    """A kind of input.

    Attributes:
        words: the command that reads it; FILE stands for its path.
        good: contents that are as they should be.
        may_pass: tells whether a content may end with 0, beside the good one that it came from.
        suffix: of its name.
    """

    words: list[str]
    good: Callable[[], list[bytes]]
    may_pass: Callable[[bytes, bytes], bool] = field(default=_equal)
    suffix: str = ""


def _vector(name: str) -> Callable[[], list[bytes]]:
    return lambda: [(HERE / name).read_bytes()]


def _evidence() -> list[bytes]:
    books = [(draft, Book().play(draft)) for draft in alone()]
    return [json.dumps(evidence(book.raws(), str(UUID(bytes=draft.hand)))).encode() for draft, book in books]


def _hand_files() -> list[bytes]:
    hand = json.loads((HERE / "entry").read_bytes())["hand"]
    with TemporaryDirectory() as folder:
        out = Path(folder) / "hand.json"
        done = CliRunner().invoke(cli, ["hand", LOG, hand, "--key", VKEY, "--out", str(out)])
        assert done.exit_code == 0, done.output
        return [out.read_bytes()]


def _decks() -> np.ndarray:
    rng = np.random.default_rng(1)
    return np.stack([rng.permutation(52) for _ in range(40)]).astype(np.uint8)


def _text_of_decks() -> list[bytes]:
    cards = [rank + suit for rank in "23456789TJQKA" for suit in "cdhs"]
    return ["".join(" ".join(cards[i] for i in deck) + "\n" for deck in _decks()).encode()]


def _array_of_decks() -> list[bytes]:
    out = BytesIO()
    np.save(out, _decks())
    return [out.getvalue()]


KINDS: dict[str, Kind] = {
    "receipt": Kind(["receipt", "FILE", "--entry", ENTRY, "--key", VKEY], _vector("receipt")),
    "entry": Kind(["receipt", str(HERE / "receipt"), "--entry", "FILE", "--key", VKEY], _vector("entry")),
    "evidence": Kind(["receipt", "FILE", "--key", str(SIGNER.verifier)], _evidence, _signed_parts_equal),
    "hand file": Kind(["receipt", "FILE", "--key", VKEY], _hand_files, _signed_parts_equal),
    "key": Kind([*VERIFY, "--key", "FILE"], _vector("vkey"), _equal_words),
    "escrow key": Kind([*VERIFY, "--key", VKEY, "--escrow-key", "FILE"], _vector("escrow.key"), _equal_words),
    "earlier receipt": Kind([*VERIFY, "--key", VKEY, "--since", "FILE"], _vector("receipt")),
    "earlier checkpoint": Kind([*VERIFY, "--key", VKEY, "--since", "FILE"], _vector("log/checkpoint")),
    "policy": Kind(
        [*VERIFY, "--policy", "FILE"],
        lambda: [each["policy"].encode() for each in json.loads((FOREIGN / "witness.json").read_text())["policies"]],
        _anything,
    ),
    "decks": Kind(["stats", "FILE", "--jobs", "1"], _text_of_decks, _anything),
    "array of decks": Kind(["stats", "FILE", "--jobs", "1"], _array_of_decks, _anything, ".npy"),
}

PIECES = st.sampled_from(
    [
        b"",
        b"\0",
        b"\n",
        b"\n\n",
        b"-",
        b"{",
        b"[" * 3000,
        b'"',
        b"9" * 30,
        b"\xff\xfe",
        b"\xe2\x80\x94 ",
        b"1e999",
        b"A" * 70_000,
    ]
)
CHANGES = st.lists(
    st.tuples(st.floats(0, 1), st.integers(0, 40), PIECES | st.binary(max_size=8)), min_size=1, max_size=4
)
"""Where, how many bytes go, and what comes in their place."""


def changed(good: bytes, changes: list[tuple[float, int, bytes]]) -> bytes:
    """A content with pieces replaced."""
    for where, gone, piece in changes:
        at = int(where * len(good))
        good = good[:at] + piece + good[at + gone :]
    return good


def run(words: list[str]) -> int:
    """Runs a command in this process; it must end by itself, with a code of its own and without a traceback."""
    started = time.monotonic()
    done = CliRunner().invoke(cli, words)
    assert done.exit_code in CODES, (done.exit_code, done.output[-500:])
    assert "Traceback" not in done.output
    assert time.monotonic() - started < SECONDS
    return int(done.exit_code)


def memory() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def fuzz(kind: Kind, file: Path, examples: int, start: int) -> None:
    goods = kind.good()
    words = [str(file) if word == "FILE" else word for word in kind.words]

    @seed(start)
    @settings(max_examples=examples, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(st.sampled_from(goods), CHANGES, st.one_of(st.none(), st.binary(max_size=300)))
    def holds(good: bytes, changes: list[Any], instead: bytes | None) -> None:
        content = changed(good, changes) if instead is None else instead
        file.write_bytes(content)
        assert run(words) != 0 or kind.may_pass(content, good)

    holds()


@pytest.mark.parametrize("name", KINDS)
def test_no_file_brings_the_auditor_down_or_is_taken_for_another(name: str, tmp_path: Path) -> None:
    kind = KINDS[name]
    file = tmp_path / f"input{kind.suffix}"
    file.write_bytes(kind.good()[0])
    run([str(file) if word == "FILE" else word for word in kind.words])
    before = memory()
    fuzz(kind, file, 50, 1)
    assert memory() - before < MOST_MORE_MEMORY


@pytest.mark.soak
@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", KINDS)
def test_no_file_brings_the_auditor_down_at_length(name: str, tmp_path: Path) -> None:
    kind, until, start = KINDS[name], time.monotonic() + LONG_SECONDS, 100
    before = memory()
    while time.monotonic() < until:
        fuzz(kind, tmp_path / f"input{kind.suffix}", 200, start)
        start += 1
    assert memory() - before < MOST_MORE_MEMORY


def fuzz_log(folder: Path, examples: int, start: int) -> None:
    names = sorted(path.relative_to(LOG) for path in Path(LOG).rglob("*") if path.is_file())

    @seed(start)
    @settings(max_examples=examples, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(st.sampled_from(names), CHANGES)
    def holds(name: Path, changes: list[Any]) -> None:
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(LOG, folder)
        good = (folder / name).read_bytes()
        content = changed(good, changes)
        (folder / name).write_bytes(content)
        words = [str(folder), "--key", VKEY, "--escrow-key", str(HERE / "escrow.key"), "--jobs", "1"]
        assert run(["verify", *words]) != 0 or content == good
        # Whatever it is shown, a monitor finds no fault with the good log afterwards.
        watch = ["monitor", *words, "--once", "--state", str(folder.parent / "monitor")]
        assert run(watch) != 0 or content == good
        (folder / name).write_bytes(good)
        assert run(watch) == 0

    holds()


def test_no_file_of_a_log_can_be_another(tmp_path: Path) -> None:
    fuzz_log(tmp_path / "log", 30, 1)


def test_no_byte_of_a_monitor_s_memory_brings_it_down(tmp_path: Path) -> None:
    watch = ["monitor", LOG, "--key", VKEY, "--jobs", "1", "--once", "--state", str(tmp_path)]
    assert run(watch) == 3
    file = tmp_path / "monitor.sqlite"
    good = file.read_bytes()

    @seed(1)
    @settings(max_examples=60, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(CHANGES)
    def holds(changes: list[Any]) -> None:
        file.write_bytes(changed(good, changes))
        run(watch)

    holds()


@pytest.mark.soak
@pytest.mark.timeout(600)
def test_no_file_of_a_log_can_be_another_at_length(tmp_path: Path) -> None:
    until, start = time.monotonic() + LONG_SECONDS, 100
    while time.monotonic() < until:
        fuzz_log(tmp_path / "log", 200, start)
        start += 1
