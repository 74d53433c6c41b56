"""Lines by keys that nobody pinned change no verdict: whatever name they bear, and however many they are."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner

from audit.cli import cli
from audit.errors import InputError
from audit.tlog import note
from audit.tlog.keys import base64_encode
from tests.attacks.maker import Book, Draft, Signer, canonical, drawn

SIGNER = Signer()
DRAFT = Draft("hand").deal()


def by(name: str, count: int = 1) -> bytes:
    lines = [f"\u2014 {name} {base64_encode(drawn(f'{name} {number}', 68))}\n" for number in range(count)]
    return "".join(lines).encode()


FOREIGN = {
    "a test double's": by("test.invalid/x"),
    "a reserved one": by("cutcard"),
    "ninety-eight more": by("witness.example/w", 98),
    "ninety-nine more": by("witness.example/w", 99),
    "thousands more": by("witness.example/w", 5000),
}


def run(*args: object) -> int:
    done = CliRunner().invoke(cli, [str(arg) for arg in args])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done.exit_code


@pytest.mark.parametrize("keyed", [True, False], ids=["with a key", "without"])
@pytest.mark.parametrize("name", FOREIGN)
def test_foreign_lines_change_no_verdict(name: str, keyed: bool, tmp_path: Path) -> None:
    log = Book().play(DRAFT).write(tmp_path / "log")
    raws = Book().play(DRAFT).raws()
    receipt, entry = tmp_path / "receipt", tmp_path / "entry"
    receipt.write_bytes(SIGNER.receipt(raws, 0))
    entry.write_bytes(raws[0])
    acknowledgement = tmp_path / "acknowledgement"
    acknowledgement.write_bytes(SIGNER.note(f"cutcard/v1/entropy\n{DRAFT.id}\na\n{'0' * 64}\n"))
    key = ("--key", SIGNER.verifier) if keyed else ()
    calls: Sequence[tuple[object, ...]] = [
        ("verify", log, "--jobs", 1, *key),
        ("verify", log, "--jobs", 1, "--since", receipt, *key),
        ("explain", log, DRAFT.id, *key),
        ("receipt", receipt, "--entry", entry, *key),
        ("receipt", acknowledgement, *key),
    ]
    before = [run(*call) for call in calls]
    assert before == ([0] * 5 if keyed else [3, 3, 0, 3, 3])
    for file in (log / "checkpoint", receipt, acknowledgement):
        file.write_bytes(file.read_bytes() + FOREIGN[name])
    assert [run(*call) for call in calls] == before


def test_foreign_lines_before_ours_change_nothing_either(tmp_path: Path) -> None:
    log = Book().play(DRAFT).write(tmp_path / "log")
    text, empty, lines = (log / "checkpoint").read_bytes().rpartition(b"\n\n")
    (log / "checkpoint").write_bytes(text + empty + FOREIGN["ninety-nine more"] + lines)
    assert run("verify", log, "--jobs", 1, "--key", SIGNER.verifier) == 0


def test_a_note_has_a_greatest_size() -> None:
    checkpoint = SIGNER.checkpoint(Book().play(DRAFT).raws())
    note.decode(checkpoint + by("w", (note.MAX_NOTE_BYTES - len(checkpoint)) // len(by("w"))))
    with pytest.raises(InputError, match="no more than 1000000 bytes of a note are read"):
        note.decode(checkpoint + by("w", note.MAX_NOTE_BYTES // len(by("w")) + 1))


def test_a_note_beyond_the_greatest_size_is_unreadable_for_every_command(tmp_path: Path) -> None:
    book = Book().play(DRAFT)
    raws = book.raws()
    whole, log = book.write(tmp_path / "whole"), book.write(tmp_path / "log")
    more = by("witness.example/w", note.MAX_NOTE_BYTES // len(by("witness.example/w")) + 1)
    (log / "checkpoint").write_bytes((log / "checkpoint").read_bytes() + more)
    receipt, entry, evidence, acknowledgements = (tmp_path / name for name in ("receipt", "entry", "one", "two"))
    receipt.write_bytes(SIGNER.receipt(raws, 0) + more)
    entry.write_bytes(raws[0])
    proven = {"entry": base64_encode(raws[0]), "receipt": receipt.read_text()}
    evidence.write_text(json.dumps({"format": "cutcard-evidence/v1", "commit": proven}, ensure_ascii=False))
    said = (SIGNER.note(f"cutcard/v1/entropy\n{DRAFT.id}\na\n{'0' * 64}\n") + more).decode()
    content = {"format": "cutcard-evidence/v1", "acknowledgements": [said]}
    acknowledgements.write_text(json.dumps(content, ensure_ascii=False))
    for call in (
        ("verify", log, "--jobs", 1),
        ("verify", whole, "--jobs", 1, "--since", log / "checkpoint"),
        ("explain", log, DRAFT.id),
        ("receipt", receipt, "--entry", entry),
        ("receipt", evidence),
        ("receipt", acknowledgements),
    ):
        done = CliRunner().invoke(cli, [*map(str, call), "--key", str(SIGNER.verifier)])
        assert (done.exit_code, "1000000 bytes of a note" in " ".join(done.output.split())) == (4, True), done.output


@pytest.mark.parametrize("origin", ["cutcard", "cutcard.example/log"])
def test_a_reserved_origin_is_refused_by_every_command(origin: str, tmp_path: Path) -> None:
    signer = Signer(origin)
    book = Book(signer).play(DRAFT)
    log = book.write(tmp_path / "log")
    receipt, entry, evidence = tmp_path / "receipt", tmp_path / "entry", tmp_path / "evidence"
    receipt.write_bytes(signer.receipt(book.raws(), 0))
    entry.write_bytes(book.raws()[0])
    proven = {"entry": base64_encode(canonical(DRAFT.commit())), "receipt": receipt.read_text()}
    evidence.write_text(json.dumps({"format": "cutcard-evidence/v1", "commit": proven}))
    key = ("--key", signer.verifier)
    assert run("verify", log, "--jobs", 1, *key) == 1
    assert run("explain", log, DRAFT.id, *key) == 1
    assert run("receipt", receipt, "--entry", entry, *key) == 1
    assert run("receipt", receipt, "--entry", entry) == 1
    assert run("receipt", evidence, *key) == 1
