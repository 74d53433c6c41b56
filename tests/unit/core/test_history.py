"""A hand that is over is read back from its log entries as it was, every member and event of it."""

import pytest

from dealer.core import hand as machine
from dealer.core.deck import derive_deck
from dealer.core.entries import close_entry, commit_entry, lost_entry, offer_entry
from dealer.core.hand import Face, Game, HandState, Reveal, Status, VoidReason
from dealer.core.history import state_from_log
from dealer.core.ids import uuid7
from dealer.core.seed import Seed, entropy_digest
from dealer.games.plans import FREE_DRAW, GAMES, SEVEN_CARD_STUD

HAND = uuid7(1_790_000_000_000, bytes(range(10)))
SEED = Seed(bytes(range(64)))


def offered(game: Game, *, invited: bool) -> HandState:
    return HandState(
        hand=HAND,
        table="main-7",
        number=12,
        game=game,
        deck="standard52",
        seats=(3, 9, 4),
        reveal=Reveal.PUBLIC,
        status=Status.OFFERED,
        seed_commitment=SEED.commitment(HAND),
        invited=(("seat-3", bytes([3] * 32)), ("seat-9", bytes([9] * 32))) if invited else (),
    )


def stud_played(state: HandState) -> HandState:
    state, _ = machine.deal_street(state, "third")
    state, _ = machine.fold(state, 9)
    for street in ("fourth", "fifth", "sixth", "seventh"):
        state, _ = machine.deal_street(state, street)
    state, _ = machine.show(state, [0])
    return machine.complete(state)


def drawn(state: HandState) -> HandState:
    state, _ = machine.draw(state, [(3, Face.DOWN), (4, Face.UP)])
    state, _ = machine.fold(state, 4)
    return machine.complete(state)


@pytest.mark.parametrize("invited", [False, True])
@pytest.mark.parametrize(
    ("game", "play"), [(SEVEN_CARD_STUD, stud_played), (FREE_DRAW, drawn), (FREE_DRAW, machine.void)]
)
def test_a_hand_that_is_over_comes_back_as_it_was(game: Game, play, invited: bool) -> None:
    first = offered(game, invited=invited)
    offer = offer_entry(first, None, 1_790_000_000_000) if invited else None
    digest = entropy_digest(HAND, [])
    deck = derive_deck("standard52", HAND, digest, SEED)
    locked = machine.lock(first, deck.commitment)
    commit = commit_entry(
        locked,
        None,
        1_790_000_000_000,
        offer=0 if invited else None,
        values={},
        entropy_digest=digest,
        deck_commitment=deck.commitment,
    )
    over = play(locked)
    reason = VoidReason.MISDEAL if over.status is Status.VOID else None
    close = close_entry(
        over, 1_790_000_000_001, commit=1, reason=reason, deck=deck, seed=SEED, escrow_ciphertext=b"", history=None
    )
    assert state_from_log(offer, commit, close, GAMES) == over
    lost = machine.lose(locked)
    assert state_from_log(offer, commit, lost_entry(lost, 1, offer=None, commit=1), GAMES) == lost


def test_a_hand_that_was_lost_before_its_commit_comes_back_from_its_offer() -> None:
    first = offered(SEVEN_CARD_STUD, invited=True)
    lost = machine.lose(first)
    close = lost_entry(lost, 1_790_000_000_001, offer=4, commit=None)
    assert state_from_log(offer_entry(first, None, 1_790_000_000_000), None, close, GAMES) == lost
