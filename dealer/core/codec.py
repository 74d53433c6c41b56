"""A hand's state as JSON text for the store, and back. Holds no card, seed, salt or contribution."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import orjson

from dealer.core.hand import Deal, Dealt, Draw, Event, Face, Fold, Game, HandState, Reveal, Show, Status


def dump_state(state: HandState) -> str:
    """Writes a state as JSON, but for the sealed seats: their keys are kept once, with what is secret of the hand."""
    content = orjson.dumps(
        {
            "hand": state.hand.hex(),
            "table": state.table,
            "number": state.number,
            "game": state.game.name,
            "deck": state.deck,
            "seats": state.seats,
            "reveal": state.reveal,
            "status": state.status,
            "seed_commitment": state.seed_commitment.hex(),
            "deck_commitment": state.deck_commitment.hex(),
            "invited": [[name, commitment.hex()] for name, commitment in state.invited],
            "events": [_dump_event(event) for event in state.events],
        }
    )
    return content.decode("ascii")


def load_state(text: str, games: Mapping[str, Game]) -> HandState:
    """Reads a state that `dump_state` wrote; `seat_keys` are for the caller to add."""
    content = orjson.loads(text)
    return HandState(
        hand=bytes.fromhex(content["hand"]),
        table=content["table"],
        number=content["number"],
        game=games[content["game"]],
        deck=content["deck"],
        seats=tuple(content["seats"]),
        reveal=Reveal(content["reveal"]),
        status=Status(content["status"]),
        seed_commitment=bytes.fromhex(content["seed_commitment"]),
        deck_commitment=bytes.fromhex(content["deck_commitment"]),
        invited=tuple((name, bytes.fromhex(commitment)) for name, commitment in content["invited"]),
        events=tuple(_load_event(event) for event in content["events"]),
    )


@lru_cache(8192)
def _dump_event(event: Event) -> orjson.Fragment:
    """An event as JSON; tables with the same seats in share theirs."""
    content: list[Any]
    match event:
        case Deal(street, cards):
            content = ["deal", street, [list(card) for card in cards]]
        case Draw(cards):
            content = ["draw", [list(card) for card in cards]]
        case Fold(seat):
            content = ["fold", seat]
        case Show(positions):
            content = ["show", positions]
    return orjson.Fragment(orjson.dumps(content))


def _load_event(event: list[Any]) -> Event:
    match event:
        case ["deal", street, cards]:
            return Deal(street, _load_cards(cards))
        case ["draw", cards]:
            return Draw(_load_cards(cards))
        case ["fold", seat]:
            return Fold(seat)
        case ["show", positions]:
            return Show(tuple(positions))
    raise ValueError("a stored event is of no known kind")


def _load_cards(cards: list[Any]) -> tuple[Dealt, ...]:
    return tuple(Dealt(position, seat, Face(face)) for position, seat, face in cards)
