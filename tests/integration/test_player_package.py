"""The players' package reads every vector, and judges every lie as `audit` does, in Node and in headless Chromium."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from audit.errors import FormatError
from audit.evidence import hand_file
from audit.hand import seat_hashes
from tests.attacks import test_hand_files as files
from tests.attacks.maker import Book, Draft, Signer, honest
from tests.attacks.mutating import mutants
from tests.attacks.test_hand_files import draft, made
from tests.integration.player_package import installed, run_in
from tests.vectors.places import FOREIGN, OTHERS

FILE_LIES = (
    files._other_card,
    files._other_salt,
    files._other_place,
    files._other_face,
    files._never_dealt,
    files._other_hand,
    files._silenced,
    files._broken_receipt,
)
SEAT_LIES = (
    files._other_envelope,
    files._other_secret,
    files._other_position,
    files._card_of_another_position,
    files._cut,
)
EVERY = 1
"""One mutant of so many is judged: enough for every member of every kind of entry."""


@pytest.fixture(scope="module", autouse=True)
def _package() -> None:
    installed()


@pytest.mark.parametrize("where", ["node", "chromium"])
def test_every_vector(where: str) -> None:
    folders = [str(folder) for folder in (FOREIGN, OTHERS) if folder.is_dir()]
    result = run_in(where, "vectors", ",".join(folders))
    assert result["wrong"] == []
    assert result["run"] > 500


def content_of(book: Book, raws: list[bytes], signer: Signer, hand: str) -> dict[str, Any]:
    """A hand file of a log's bytes, by where the honest log has the hand's entries."""
    content: dict[str, Any] = {"format": "cutcard-hand/v1", "key": str(signer.verifier), "hand": hand, "cards": []}
    for index, entry in enumerate(book.entries):
        assert isinstance(entry, dict)
        if entry["hand"] == hand:
            receipt = signer.receipt(raws, index).decode()
            content[entry["schema"].rsplit("/", 1)[1]] = {
                "entry": base64.b64encode(raws[index]).decode(),
                "receipt": receipt,
            }
    return content


def lies() -> Iterator[tuple[str, dict[str, Any]]]:
    book = honest()
    for number, (name, raws) in enumerate(mutants(book)):
        if number % EVERY == 0:
            entry = book.entries[int(name.split(",")[0].split()[1])]
            assert isinstance(entry, dict)
            yield name, content_of(book, raws, book.signer, entry["hand"])
    for entry in book.entries:
        assert isinstance(entry, dict)
        if entry["schema"].endswith("commit"):
            yield f"honest {entry['hand']}", content_of(book, book.raws(), book.signer, entry["hand"])
    for reveal in ("public", "sealed"):
        for seat in (False, True):
            yield f"a file of {reveal}, sealed seat {seat}", made(draft(reveal=reveal), seat=seat)
    yield from lies_of_the_file()


def lies_of_the_file() -> Iterator[tuple[str, dict[str, Any]]]:
    hand = draft()
    for lie in FILE_LIES:
        content = made(hand)
        lie(content, hand)
        yield lie.__name__, content
    for seat_lie in SEAT_LIES:
        content = made(hand, seat=True)
        seat_lie(content, hand, seat_hashes.seat_secret(hand.hand, files.SEAT, hand.seed))
        yield seat_lie.__name__, content
    for edit in (files._swapped_key, files._dropped_key):
        yield edit.__name__, made(hand, edit, seat=True)
    for name, break_form in files._bad_forms():
        content = made(hand, seat=name == "zero key")
        break_form(content)
        yield f"form: {name}", content


def said(content: dict[str, Any]) -> tuple[str, list[str]]:
    try:
        evidence = hand_file.check(content, Signer().verifier)
    except FormatError:
        return "unreadable", []
    return evidence.judge(False)[0], sorted({step.name for step in evidence.steps if step.state == "fail"})


@pytest.fixture(scope="module")
def judged_by_audit() -> list[tuple[str, dict[str, Any], tuple[str, list[str]]]]:
    return [(name, content, said(content)) for name, content in lies()]


@pytest.mark.parametrize("where", ["node", "chromium"])
def test_lies_are_judged_as_audit_judges_them(
    where: str, tmp_path: Path, judged_by_audit: list[tuple[str, dict[str, Any], tuple[str, list[str]]]]
) -> None:
    jobs = [{"file": json.dumps(content), "key": str(Signer().verifier)} for _, content, _ in judged_by_audit]
    (tmp_path / "jobs.json").write_text(json.dumps(jobs))
    judged = run_in(where, "judge", str(tmp_path / "jobs.json"))
    differ = [
        (name, theirs, ours)
        for (name, _, theirs), ours in zip(judged_by_audit, judged, strict=True)
        if (ours["verdict"], sorted(set(ours["failed"]))) != theirs
    ]
    assert differ == []
    assert len(judged_by_audit) > 153
    assert {verdict["verdict"] for verdict in judged} >= {"valid", "invalid", "incomplete"}


def test_many_hands_are_judged_quickly(tmp_path: Path) -> None:
    """1,000 hands take 1.5 s of processor time; 3 s for 200 hold on a machine that is busy with other tests, too."""
    jobs = []
    for number in range(200):
        hand = Draft(f"hurry {number}", table=f"t{number}", seats=[1, 2, 3, 4, 5, 6, 7]).deal()
        book = Book().play(hand)
        content = content_of(book, book.raws(), book.signer, hand.id)
        jobs.append({"file": json.dumps(content), "key": str(book.signer.verifier)})
    (tmp_path / "jobs.json").write_text(json.dumps(jobs))
    result = run_in("chromium", "hurry", str(tmp_path / "jobs.json"))
    assert result["verdicts"] == ["valid"]
    assert result["seconds"] < 3
