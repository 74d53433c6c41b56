"""Reads a recorded hand out of a static log, to have it dealt again: its deck, its seats and its folds."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

from dealer.core import entries
from dealer.core.cards import DECK_KINDS
from dealer.core.deck import commit_deck, derive_deck
from dealer.core.seed import Seed
from dealer.errors import CutcardError
from dealer.log.tiles import TILE_WIDTH, bundle_path, published_checkpoint


class RecordedHandError(CutcardError):
    """The log has no such hand, or does not tell its whole deck."""


@dataclass(frozen=True, slots=True)
class RecordedHand:
    """A hand as the log tells it.

    Attributes:
        hand: its UUID.
        table: table id.
        number: its number there.
        game: such as "seven-card-stud".
        deck: deck kind.
        seats: in dealing order.
        cards: the whole deck, top first.
        folds: the seats that folded before each street, by its name; those after the last one under "".
    """

    hand: UUID
    table: str
    number: int
    game: str
    deck: str
    seats: tuple[int, ...]
    cards: tuple[str, ...]
    folds: dict[str, tuple[int, ...]]


def read_recorded(log: Path, hand: UUID | str) -> RecordedHand:
    """Reads a hand that is over.

    Its deck is held against the deck commitment; the log's signature is not looked at: `audit verify` does that.

    Args:
        log: a static log folder, or a data folder with one.
        hand: its UUID.

    Raises:
        RecordedHandError: there is no such hand, it is not over, or its deck is not all there: of a sealed or a lost
            hand the log does not tell it.
    """
    try:
        wanted = hand if isinstance(hand, UUID) else UUID(hand)
    except ValueError:
        raise RecordedHandError(f"{hand!a} is no hand id: give the UUID that the log has") from None
    found: dict[str, dict[str, Any]] = {}
    mark = f'"hand":"{wanted}"'.encode()
    try:
        for entry in _entries(log):
            if mark in entry:
                content = entries.decode(entry)
                found[content["schema"].rpartition("/")[2]] = content
    except OSError as error:
        raise RecordedHandError(f"{error.filename or log} cannot be read: {error.strerror}") from None
    commit, close = found.get("commit"), found.get("close")
    if commit is None or close is None:
        raise RecordedHandError(f"hand {wanted} is not {'over' if found else 'there'} in the log at {log}")
    return RecordedHand(
        wanted,
        commit["table"],
        commit["number"],
        commit["game"],
        commit["deck"],
        tuple(commit["seats"]),
        _cards(wanted, commit, close),
        _folds(close["events"]),
    )


def _entries(log: Path) -> Iterator[bytes]:
    if not (log / "checkpoint").exists() and (log / "public" / "checkpoint").exists():
        log = log / "public"
    checkpoint = published_checkpoint(log)
    if checkpoint is None:
        raise RecordedHandError(f"{log} is no static log folder: it has no checkpoint")
    for first in range(0, checkpoint.size, TILE_WIDTH):
        number, width = first // TILE_WIDTH, min(TILE_WIDTH, checkpoint.size - first)
        path = log / bundle_path(number, width)
        data = (path if path.exists() else log / bundle_path(number)).read_bytes()
        for _ in range(width):
            length = int.from_bytes(data[:2], "big")
            yield data[2 : 2 + length]
            data = data[2 + length :]


def _cards(hand: UUID, commit: dict[str, Any], close: dict[str, Any]) -> tuple[str, ...]:
    stacked = entries.decode_stacked(close)
    if "seed" not in close:
        if stacked is None:
            why = "lost" if close["outcome"] == "lost" else "sealed"
            raise RecordedHandError(f"hand {hand} is {why}: the log does not tell its whole deck")
        return stacked
    digest, seed = bytes.fromhex(commit["entropy_digest"]), Seed(bytes.fromhex(close["seed"]))
    if stacked is None:
        deck = derive_deck(commit["deck"], hand.bytes, digest, seed)
    elif sorted(stacked) == sorted(DECK_KINDS[commit["deck"]]):
        deck = commit_deck(stacked, hand.bytes, hand.bytes + digest + seed.value)
    else:
        raise RecordedHandError(f"hand {hand}: its deck is no {commit['deck']}")
    if deck.commitment.hex() != commit["deck_commitment"]:
        raise RecordedHandError(f"hand {hand}: its deck is not the one that it was committed to; see `audit explain`")
    return deck.cards


def _folds(events: list[dict[str, Any]]) -> dict[str, tuple[int, ...]]:
    folds: dict[str, tuple[int, ...]] = {}
    waiting: tuple[int, ...] = ()
    for event in events:
        if "fold" in event:
            waiting = (*waiting, event["fold"])
        elif "deal" in event and waiting:
            folds[event["deal"]], waiting = waiting, ()
    return folds | {"": waiting} if waiting else folds
