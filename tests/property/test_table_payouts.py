"""Payouts against a second opinion: pots peeled as a dealer does it by hand, hands read by trying all fives."""

import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

import pytest

from dealer.core.cards import DECK_KINDS
from dealer.table import hand
from dealer.table.betting import Action, Turn
from dealer.table.events import Acted, AntePosted, Event
from dealer.table.stakes import Lineup, Stakes
from dealer.table.state import TableState
from tests.driving import Cards

RANKS = "23456789TJQKA"
SUITS = "cdhs"


def high_key(five: Sequence[str]) -> tuple[object, ...]:
    """Ranks a high hand by its category and ranks."""
    ranks = sorted((RANKS.index(card[0]) for card in five), reverse=True)
    counts = sorted(Counter(ranks).items(), key=lambda item: (-item[1], -item[0]))
    shape = tuple(count for _, count in counts)
    order = tuple(rank for rank, _ in counts)
    flush = len({card[1] for card in five}) == 1
    if ranks == [12, 3, 2, 1, 0]:
        order = (3, 2, 1, 0, -1)
    straight = len(set(order)) == 5 and order[0] - order[4] == 4
    category = (
        8 if straight and flush
        else 7 if shape == (4, 1)
        else 6 if shape == (3, 2)
        else 5 if flush
        else 4 if straight
        else 3 if shape == (3, 1, 1)
        else 2 if shape == (2, 2, 1)
        else 1 if shape == (2, 1, 1, 1)
        else 0
    )  # fmt: skip
    return category, order


def low_key(five: Sequence[str]) -> tuple[int, ...] | None:
    """Ranks a low, greater is better; None where the five are no low."""
    ranks = sorted({1 + (RANKS.index(card[0]) + 1) % 13 for card in five}, reverse=True)
    return tuple(-rank for rank in ranks) if len(ranks) == 5 and ranks[0] <= 8 else None


def best(seven: Sequence[str], *, low: bool) -> tuple[object, list[tuple[int, int]]] | None:
    """The value of the best five, and the greatest order of cards among the fives that make it."""
    found: list[tuple[object, list[tuple[int, int]]]] = []
    for five in combinations(seven, 5):
        key = low_key(five) if low else high_key(five)
        if key is not None:
            ranks = "A23456789TJQK" if low else RANKS
            cards = sorted(((ranks.index(card[0]), SUITS.index(card[1])) for card in five), reverse=True)
            found.append((key, cards))
    return max(found, default=None)  # type: ignore[type-var]


def peeled(paid: Mapping[int, int], live: Sequence[int]) -> Iterator[tuple[int, list[int]]]:
    """Pots as a dealer makes them: the shortest live bet from everybody, again and again."""
    left = dict(paid)
    if not any(left[seat] for seat in live):
        yield sum(left.values()), list(live)  # chips of folded seats alone
    while any(left[seat] for seat in live):
        contenders = [seat for seat in live if left[seat]]
        depth = min(left[seat] for seat in contenders)
        amount = 0
        for seat, chips in left.items():
            taken = min(chips, depth)
            left[seat] = chips - taken
            amount += taken
        if not any(left[seat] for seat in live):
            amount += sum(left.values())  # what folded seats put in beyond
        yield amount, contenders


def payouts(
    paid: Mapping[int, int], live: Sequence[int], hands: Mapping[int, Sequence[str]], lineup: Lineup
) -> Counter[int]:
    """What each seat gets at the end, uncalled bets among it."""
    paid, chip, won = dict(paid), lineup.stakes.chip, Counter[int]()
    most = sorted(paid.values())
    for seat in live:
        if paid[seat] == most[-1] > most[-2]:
            won[seat] += most[-1] - most[-2]
            paid[seat] = most[-2]
    for amount, contenders in peeled(paid, live):
        highs = {seat: best(hands[seat], low=False) for seat in contenders} if len(live) > 1 else {live[0]: None}
        lows = {}
        if lineup.hi_lo and len(live) > 1:
            lows = {seat: low for seat in contenders if (low := best(hands[seat], low=True))}
        for_low = (amount // 2) - (amount // 2) % chip if lows else 0
        for part, values in ((amount - for_low, highs), (for_low, lows)):
            if not values:
                continue
            if len(values) == 1:
                won[next(iter(values))] += part
                continue
            top = max(value[0] for value in values.values())  # type: ignore[index, type-var]
            tied = sorted((s for s in values if values[s][0] == top), key=lambda s: values[s][1], reverse=True)  # type: ignore[index]
            # Chip by chip around the tied seats, the first seat first; then what is less than a chip.
            chips, rest = divmod(part, chip)
            for number in range(chips):
                won[tied[number % len(tied)]] += chip
            won[tied[chips % len(tied)]] += rest
    return won


def random_hand(rng: random.Random) -> tuple[Lineup, TableState, tuple[Event, ...], Cards]:
    """A hand of random seats, stakes and actions, played to the end."""
    seats = rng.sample(range(1, 10), rng.randint(2, 8))
    bets = rng.choice([(1, 2, 2), (5, 10, 20), (3, 10, 20), (2, 10, 45)])
    stakes = Stakes(rng.randint(0, 7), *bets, chip=rng.choice([1, 1, 5]), open_pair_double=rng.random() < 0.5)
    deep = rng.choice([40, 150, 600])
    lineup = Lineup(rng.random() < 0.6, stakes, tuple(seats), tuple(rng.randint(1, deep) for _ in seats))
    cards = Cards(rng.sample(DECK_KINDS["standard52"], 52), seats)
    state, events = hand.start(lineup)
    folds, leaves = rng.choice([0.02, 0.1, 0.3]), rng.choice([0, 0, 0.03])
    while True:
        state, more = cards.follow(state)
        events += more
        if not isinstance(turn := state.waits_for, Turn):
            return lineup, state, events, cards
        if rng.random() < leaves:
            state, more = hand.leave(state, rng.choice(seats))
        else:
            options = [o for o in turn.options if o.action is not Action.FOLD or rng.random() < folds]
            state, more = hand.act(state, turn.seat, rng.choice(options or list(turn.options)))
        events += more


def assert_paid_rightly(seed: int) -> None:
    """The referee's stacks at the end are those of the second opinion."""
    lineup, state, events, cards = random_hand(random.Random(seed))
    paid = dict.fromkeys(lineup.seats, 0)
    live = list(lineup.seats)
    for event in events:
        match event:
            case AntePosted(seat, chips, _) | Acted(seat, _, chips, _, _):
                paid[seat] += chips
        if isinstance(event, Acted) and event.option.action is Action.FOLD:
            live.remove(event.seat)
    board = [state.board] if state.board else []
    hands = {seat: [*cards.down[seat], *state.up[seat], *board] for seat in live}
    won = payouts(paid, live, hands, lineup)
    expected = {s: stack - paid[s] + won[s] for s, stack in zip(lineup.seats, lineup.stacks, strict=True)}
    assert state.stacks == expected, f"seed {seed}"


@pytest.mark.parametrize("block", range(8))
def test_random_hands_are_paid_as_a_second_opinion_has_it(block: int) -> None:
    for seed in range(50 * block, 50 * block + 50):
        assert_paid_rightly(seed)


@pytest.mark.soak
@pytest.mark.parametrize("block", range(20))
def test_twenty_thousand_random_hands_are_paid_as_a_second_opinion_has_it(block: int) -> None:
    for seed in range(1000 + 1000 * block, 2000 + 1000 * block):
        assert_paid_rightly(seed)
