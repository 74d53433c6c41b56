"""Entries of the log that a receipt proves, read strictly (PROTOCOL.md, sections 6 and 9)."""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn

from dealer.client.errors import CheckError
from dealer.core.entries import CERTIFIED, TEST, canonical, decode
from dealer.core.ids import MAX_INTEGER
from dealer.log.checkpoint import Checkpoint, open_checkpoint
from dealer.log.errors import LogError
from dealer.log.note import NoteVerifier
from dealer.log.receipt import Receipt

TEST_NAMES = "test.invalid/"
"""How the names of test doubles' keys begin (PROTOCOL.md, section 11)."""

_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", re.ASCII)
_NOT_CANONICAL = "the entry is not a JSON object in its one canonical form"
_MAY_BE_ABSENT = "seat_keys"
"""The member that says by its absence too what the hand is: that nobody brought a key."""
_EPOCH = b'"time":"1970-01-01T00:00:00.000Z"'


@dataclass(frozen=True, slots=True)
class Proven:
    """An entry, and the receipt that proves that it stands in the log.

    Attributes:
        entry: its exact bytes.
        receipt: the tlog-proof text.
        index: where it stands.
        checkpoint: the log's state that proves it; `note` is the same as a signed note.
        content: the entry read as JSON.
    """

    entry: bytes
    receipt: str
    index: int
    checkpoint: Checkpoint
    note: str
    content: Mapping[str, Any] = field(repr=False)


def family_of(verifier: NoteVerifier) -> str:
    """Returns the schema family that a log's entries are of: only a test double's log holds test records."""
    return TEST if verifier.name.startswith(TEST_NAMES) else CERTIFIED


def prove(entry: bytes, receipt: str, verifier: NoteVerifier, index: int | None = None) -> Proven:
    """Checks an entry against its receipt and the pinned key, and reads it.

    Args:
        entry: exact bytes.
        receipt: tlog-proof text.
        verifier: the pinned key.
        index: where the entry is said to stand; None: nothing was said.

    Raises:
        CheckError: `checkpoint` if the receipt does not prove it, `schema` if the entry is not canonical JSON.
    """
    proven = prove_with(lambda note: open_checkpoint(note, verifier), entry, receipt, index)
    read_entry(entry)
    return proven


def prove_with(open_note: Callable[[str], Checkpoint], entry: bytes, receipt: str, index: int | None = None) -> Proven:
    """Checks an entry that will be compared with what it has to say: `compare` holds it to its one canonical form.

    Args:
        open_note: verifies and reads the receipt's signed checkpoint.
        entry: exact bytes.
        receipt: tlog-proof text.
        index: where the entry is said to stand; None: nothing was said.

    Raises:
        CheckError: as `prove`.
    """
    try:
        parsed = Receipt.parse(receipt)
        checkpoint = open_note(parsed.checkpoint_note)
        parsed.verify_inclusion(entry, checkpoint)
    except LogError as error:
        raise CheckError("checkpoint", f"the receipt does not prove the entry: {error}") from error
    if parsed.index > MAX_INTEGER:
        raise CheckError("checkpoint", f"the receipt is for entry {parsed.index}, and no log is as long")
    if index is not None and parsed.index != index:
        raise CheckError("checkpoint", f"the receipt is for entry {parsed.index}, and the hand names entry {index}")
    return Proven(entry, receipt, parsed.index, checkpoint, parsed.checkpoint_note, _members(entry))


def read_entry(entry: bytes) -> Mapping[str, Any]:
    """Reads an entry's members.

    Raises:
        CheckError: `schema`: it is not a JSON object in its one canonical form.
    """
    content = _members(entry)
    try:
        strict = canonical(content) == entry
    except (ValueError, RecursionError):
        strict = False
    if not strict:
        raise CheckError("schema", _NOT_CANONICAL)
    return content


def _members(entry: bytes) -> Mapping[str, Any]:
    try:
        content = json.loads(entry)
    except (ValueError, RecursionError):
        content = None
    if not isinstance(content, dict):
        raise CheckError("schema", _NOT_CANONICAL)
    return content


def compare(name: str, proven: Proven, expected: bytes, checks: Mapping[str, str]) -> None:
    """Compares an entry with what it has to say.

    Args:
        name: what the entry is called in a message.
        proven: the entry.
        expected: the same entry at the Unix time 0; all but the time, which is for people, is compared.
        checks: the check that a member belongs to; `lifecycle` if it is not named.

    Raises:
        CheckError: `schema` if it is not in its one canonical form; else the first member that differs, with both
            values.
    """
    found = proven.content
    if not (isinstance(found.get("time"), str) and _TIME.fullmatch(found["time"])):
        raise CheckError("schema", f"the {name} has no time in its one form")
    if proven.entry != expected.replace(_EPOCH, b'"time":"%b"' % found["time"].encode("ascii")):
        _name_difference(name, read_entry(proven.entry), decode(expected), checks)


def _name_difference(
    name: str, found: Mapping[str, Any], expected: Mapping[str, Any], checks: Mapping[str, str]
) -> NoReturn:
    if _MAY_BE_ABSENT in found.keys() ^ expected.keys():
        there = "has" if _MAY_BE_ABSENT in found else "lacks"
        raise CheckError("lifecycle", f"the {name} {there} {_MAY_BE_ABSENT}, and the hand is another")
    for member, value in expected.items():
        if member == "time":
            continue
        if member not in found:
            raise CheckError("schema", f"the {name} has no {member}")
        if canonical({member: found[member]}) != canonical({member: value}):
            raise CheckError(
                checks.get(member, "lifecycle"), f"the {name}'s {member}: expected {value}, found {found[member]}"
            )
    strange = sorted(found.keys() - expected.keys())
    raise CheckError("schema", f"the {name} has a member that does not belong there: {strange[0]}")
