"""A hand that is over, read back from what the log says of it (PROTOCOL.md, sections 6 and 7)."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from uuid import UUID

from dealer.core import entries
from dealer.core.hand import Deal, Dealt, Draw, Event, Face, Fold, Game, HandState, Reveal, Show, Status

_STATUS = {"completed": Status.CLOSED, "void": Status.VOID, "lost": Status.LOST}


def state_from_log(offer: bytes | None, commit: bytes | None, close: bytes, games: Mapping[str, Game]) -> HandState:
    """Returns the state of a hand that is over.

    Args:
        offer: its offer entry, if it had one.
        commit: its commit entry; None for a hand that was lost before it had one.
        close: its close entry.
        games: by name.
    """
    end = entries.decode(close)
    return replace(state_as_opened(offer, commit, games), status=_STATUS[end["outcome"]], events=logged_events(end))


def state_as_opened(offer: bytes | None, commit: bytes | None, games: Mapping[str, Game]) -> HandState:
    """Returns a hand as it was when its newest opening entry was written: offered, or committed and without a card.

    Args:
        offer: its offer entry, if it had one.
        commit: its commit entry, if it has one.
        games: by name.

    Raises:
        ValueError, KeyError, TypeError: neither is there, or one is no such entry.
    """
    opening = entries.decode(commit or offer or b"")
    invited = entries.decode(offer)["contributors"] if offer else []
    return HandState(
        hand=UUID(opening["hand"]).bytes,
        table=opening["table"],
        number=opening["number"],
        game=games[opening["game"]],
        deck=opening["deck"],
        seats=tuple(opening["seats"]),
        reveal=Reveal(opening["reveal"]),
        status=Status.COMMITTED if commit else Status.OFFERED,
        seed_commitment=bytes.fromhex(opening["seed_commitment"]),
        deck_commitment=bytes.fromhex(opening.get("deck_commitment", "")),
        invited=tuple((each["contributor"], bytes.fromhex(each["commitment"])) for each in invited),
        seat_keys=tuple((seat, bytes.fromhex(digest)) for seat, digest in opening.get("seat_keys", ())),
    )


def logged_events(close: Mapping[str, Any]) -> tuple[Event, ...]:
    """Returns the events that a close entry names.

    Raises:
        ValueError, KeyError, TypeError: one of them is not in its form.
    """
    return tuple(_event(event) for event in close["events"])


def _event(event: Mapping[str, Any]) -> Event:
    match event:
        case {"deal": street, "cards": cards}:
            return Deal(street, _cards(cards))
        case {"draw": cards}:
            return Draw(_cards(cards))
        case {"fold": seat}:
            return Fold(seat)
        case {"show": positions}:
            return Show(tuple(positions))
    raise ValueError("a logged event is of no known kind")


def _cards(cards: list[Any]) -> tuple[Dealt, ...]:
    return tuple(Dealt(position, seat, Face(face)) for position, seat, face in cards)
