"""A player's hand file (API.md, `cutcard-hand/v1`): one hand's proven entries, its owner's cards, and what opens them.

It is judged as a client's evidence is, by the checks of one hand. Unlike evidence it accuses nobody: that the hand's
number is the next at its table is no part of it, and a file without the close is incomplete.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from audit.errors import CheckError, FormatError
from audit.evidence.client import Reader
from audit.evidence.forms import check_hand_file
from audit.evidence.receipt import Evidence
from audit.hand import seat_hashes
from audit.hand.checks import check_card
from audit.hand.escrow import EscrowKeys
from audit.hand.seat import OwnSeat, SeatKey, open_card
from audit.record.entries import Close, Commit
from audit.record.events import Deal, Draw
from audit.record.fields import base64_bytes
from audit.tlog.checkpoint import is_test_name
from audit.tlog.keys import VerifierKey

FORMAT = "cutcard-hand/v1"
MOST_BYTES = 1 << 20
"""Readers stop here: a hand's entries have 64 KiB each at the most."""


def decode(data: bytes) -> dict[str, Any] | None:
    """Returns the members of a hand file; None where the bytes are something else.

    Raises:
        FormatError: it is longer than any hand file, a member stands twice, or a text is none that UTF-8 can say.
    """
    if not data.lstrip().startswith(b"{"):
        return None
    try:
        content = json.loads(data, object_pairs_hook=_once)
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            return None
        json.dumps(content, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:
        raise FormatError("a text in it holds half a character (a lone surrogate)") from None
    except (ValueError, RecursionError):
        return None
    if len(data) > MOST_BYTES:
        raise FormatError(f"longer than {MOST_BYTES} bytes, which no hand file is")
    return content


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs) and members.get("format") == FORMAT:
        raise FormatError("a member stands twice")
    return members


def own_seat(content: dict[str, Any]) -> OwnSeat | None:
    """Returns what a hand file has of a sealed seat, None where it has none.

    Raises:
        FormatError: a member is malformed, missing or unknown.
    """
    check_hand_file(content)
    if "seat_key" not in content:
        return None
    sealed = tuple((each["position"], base64_bytes(each["sealed"], "sealed")) for each in content.get("sealed", []))
    envelope = base64_bytes(content["envelope"], "envelope") if "envelope" in content else None
    return OwnSeat(content["seat"], SeatKey.parse(content["seat_key"]), envelope, sealed)


class CheckedHand(NamedTuple):
    """A hand file's check, and what it leaves known.

    Attributes:
        evidence: what was checked.
        commit: the hand's commit; None if its entry does not hold.
        close: its close, likewise.
        cards: the cards that the file or the close opens, by position; worth something only if nothing failed.
        seat: the owner's seat; None if no card or key in the file names one.
    """

    evidence: Evidence
    commit: Commit | None
    close: Close | None
    cards: dict[int, str]
    seat: int | None


def check(content: dict[str, Any], key: VerifierKey | None, escrow: EscrowKeys | None = None) -> Evidence:
    """Checks a hand file, as `check_hand` does, and returns the evidence alone."""
    return check_hand(content, key, escrow).evidence


def check_hand(content: dict[str, Any], key: VerifierKey | None, escrow: EscrowKeys | None = None) -> CheckedHand:
    """Checks a hand file.

    Args:
        content: what `decode` gave.
        key: the verifier key that is pinned; the one that the file names is only shown.
        escrow: the auditor's escrow keys.

    Raises:
        FormatError: a member is malformed, missing or unknown.
        InputError: a note in it is longer than what is read.
    """
    check_hand_file(content)
    evidence = Evidence("hand file", is_test=is_test_name(key, None), proven=False)
    evidence.facts = {"hand": content["hand"], "key": content["key"]}
    reader = Reader(content, key, escrow or EscrowKeys(), evidence, number="unmade")
    reader.entries()
    reader.hand()
    if reader.commit is not None:
        commit = reader.commit[1]
        evidence.facts["table"] = f"{commit.table}, number {commit.number}"
        evidence.facts["game"] = f"{commit.game}, {commit.reveal}"
    reader.cards()
    _places(content, reader)
    own = own_seat(content)
    known = _opened(content, reader)
    if own is not None:
        known |= _sealed_seat(own, reader)
    reader.acknowledgements()
    reader.signature("the file's word")
    seats = {card["seat"] for card in content.get("cards", []) if card["face"] == "down"}
    seat = own.seat if own is not None else seats.pop() if len(seats) == 1 else None
    proven = reader.commit[1] if reader.commit is not None else None
    ended = reader.close[1] if reader.close is not None else None
    return CheckedHand(evidence, proven, ended, known, seat)


def _opened(content: dict[str, Any], reader: Reader) -> dict[int, str]:
    """Returns the cards that the close and the file's own cards open."""
    known: dict[int, str] = {}
    if reader.outcome is not None and reader.outcome.deck is not None:
        known |= dict(enumerate(reader.outcome.deck))
    if reader.close is not None and (openings := reader.close[1].openings) is not None:
        known |= dict(zip(openings.positions, openings.cards, strict=True))
    return known | {card["position"]: card["card"] for card in content.get("cards", [])}


def _places(content: dict[str, Any], reader: Reader) -> None:
    """Checks that each card lies where the close's events dealt it."""
    if reader.close is None:
        return
    dealt = {
        position: (seat, face)
        for event in reader.close[1].events
        if isinstance(event, Deal | Draw)
        for position, seat, face in event.cards.rows()
    }
    for card in content.get("cards", []):
        said, position = (card["seat"], card["face"]), card["position"]
        if dealt.get(position) != said:
            there = dealt.get(position)
            where = "not dealt" if there is None else f"dealt {there[1]} to seat {there[0]}"
            reader.attempt(f"card {position}", "", f"dealt {said[1]} to seat {said[0]}, and by the log it was {where}")


def _sealed_seat(own: OwnSeat, reader: Reader) -> dict[int, str]:
    """Checks a sealed seat: its key is the one in the log, the envelope and the cards open (SEATS.md section 6).

    Returns:
        The cards that open and match their commitments.
    """
    if reader.commit is None:
        reader.missing("seat key", "there is no proven commit to hold it against")
        return {}
    commit, seat, key = reader.commit[1], own.seat, own.key
    logged = dict(commit.seat_keys).get(seat)
    if logged is None:
        wrong: str | None = f"the commit names no key of seat {seat}: it was dropped, and the seat was open"
    elif logged != seat_hashes.seat_key_digest(commit.hand, seat, key.public):
        wrong = f"the commit names another key of seat {seat}: whoever has that one can read its cards"
    else:
        wrong = None
    reader.attempt("seat key", f"the commit names it at seat {seat}", wrong)
    if wrong is not None:
        return {}
    if own.envelope is None:
        reader.missing("envelope", "it is not here: without it this seat's cards stay closed")
        return {}
    try:
        secret = key.open(commit.hand, seat, own.envelope)
    except CheckError as error:
        reader.attempt("envelope", "", error)
        return {}
    reader.attempt("envelope", "opens under the seat's key", _against_seed(reader, commit, seat, secret))
    opened = {position: _sealed_card(reader, commit, position, secret, sealed) for position, sealed in own.sealed}
    return {position: card for position, card in opened.items() if card is not None}


def _against_seed(reader: Reader, commit: Commit, seat: int, secret: bytes) -> str | None:
    seed = reader.outcome.seed if reader.outcome is not None else None
    if seed is None or seat_hashes.seat_secret(commit.hand, seat, seed) == secret:
        return None
    return "it opens, and holds another secret than the one that the seed gives"


def _sealed_card(reader: Reader, commit: Commit, position: int, secret: bytes, sealed: bytes) -> str | None:
    name, listed = f"sealed card {position}", reader.commitments()
    if not listed:
        reader.missing(name, "there is no list of card commitments to open it against")
        return None
    try:
        card, salt = open_card(commit.hand, position, secret, listed[32 * position : 32 * position + 32], sealed)
    except CheckError as error:
        reader.attempt(name, "", error)
        return None
    wrong = check_card(commit, position, card, salt, listed)
    reader.attempt(name, f"{card}, which matches its commitment", wrong)
    return card if wrong is None else None
