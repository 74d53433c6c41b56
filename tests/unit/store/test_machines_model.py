"""The lease and the key rules as a model, searched to its end: two dealers, one hand, one change, one death.

A step is whatever may happen next; every state that can be reached is looked at. The rules are those of MACHINES.md,
sections 3, 4 and 8. Each rule can be left out, and then the search finds what it was for.
"""

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import pytest

A, B = 0, 1


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules, each of which can be broken."""

    fence: bool = True
    wraps_with_the_key: bool = True
    old_key_stays_with_old_pairs: bool = True
    pairs_live_until_clean: bool = True
    clean_when_all_is_sealed: bool = True


@dataclass(frozen=True, slots=True)
class World:
    """Everything that matters of two dealers and a database.

    Attributes:
        epoch: of the writer's row.
        believes: the epoch that each dealer believes to hold; 0: none.
        sent: what each has under way: nothing, or the epoch of a statement that is sent and not carried out.
        alive: which dealers run; a dead one may start on its folder again.
        deaths: how many there may be yet.
        commits: epochs of the commits, in order.
        generation, clean: of the row.
        key: the generation of the key that seals the hand; 0: it is not opened yet; -1: it is over.
        wraps: (key, dealer, pair) for each wrap ever committed: the database forgets nothing.
        pairs: each dealer's private keys, by generation.
        closed_in: the generation in which the hand was closed; 0: it is not.
        sealed: the keys that ever sealed the hand.
        keys: generations whose key is in the database.
    """

    epoch: int = 0
    believes: tuple[int, int] = (0, 0)
    sent: tuple[int, int] = (0, 0)
    alive: tuple[bool, bool] = (True, True)
    deaths: int = 1
    commits: tuple[int, ...] = ()
    generation: int = 1
    clean: int = 1
    key: int = 0
    wraps: frozenset[tuple[int, int, int]] = frozenset()
    pairs: tuple[frozenset[int], frozenset[int]] = (frozenset({1, 2}), frozenset({1, 2}))
    closed_in: int = 0
    sealed: frozenset[int] = frozenset()
    keys: frozenset[int] = frozenset()


MOST_EPOCHS, MOST_COMMITS, LAST_GENERATION = 3, 2, 2


def put(of: tuple, who: int, value: object) -> tuple:  # type: ignore[type-arg]
    return (value, of[1]) if who == A else (of[0], value)


def steps(world: World, rules: Rules) -> Iterator[World]:
    """Everything that may happen next."""
    for who in (A, B):
        if not world.alive[who]:
            yield replace(world, alive=put(world.alive, who, True))
            continue
        yield from lease_steps(world, rules, who)
        yield from key_steps(world, rules, who)
        if world.deaths:
            gone = replace(world, deaths=0, alive=put(world.alive, who, False))
            yield replace(gone, believes=put(world.believes, who, 0))  # what it has sent may still be carried out
    for who in (A, B):
        yield from carried_out(world, rules, who)


def lease_steps(world: World, rules: Rules, who: int) -> Iterator[World]:
    if world.epoch < MOST_EPOCHS:  # the lease may always be thought to have run out: clocks are not believed
        taken = world.epoch + 1
        yield replace(world, epoch=taken, believes=put(world.believes, who, taken))
    mine = world.believes[who]
    if mine and not world.sent[who] and len(world.commits) < MOST_COMMITS:
        yield replace(world, sent=put(world.sent, who, mine))


def carried_out(world: World, rules: Rules, who: int) -> Iterator[World]:
    """A statement that was sent is carried out, or refused by the fence; or its session was ended."""
    sent = world.sent[who]
    if not sent:
        return
    none = replace(world, sent=put(world.sent, who, 0))
    if sent == world.epoch or not rules.fence:
        yield replace(none, commits=(*world.commits, sent))
    else:
        yield replace(none, believes=put(none.believes, who, 0 if none.believes[who] == sent else none.believes[who]))
    yield none


def key_steps(world: World, rules: Rules, who: int) -> Iterator[World]:
    """What the writer does with keys, each step a transaction under the fence; and what every dealer does by itself."""
    writes = world.believes[who] == world.epoch != 0
    everybody = [(each, pair) for each in (A, B) for pair in world.pairs[each]]
    now = world.generation
    if writes and now not in world.keys:
        to = [(now, each, pair) for each, pair in everybody if pair == now]
        if not rules.wraps_with_the_key:
            to = [wrap for wrap in to if wrap[1] == who]
        yield replace(world, keys=world.keys | {now}, wraps=world.wraps | frozenset(to))
    if writes and now in world.keys and not rules.wraps_with_the_key:
        later = frozenset((now, each, pair) for each, pair in everybody if pair == now)
        if later - world.wraps:
            yield replace(world, wraps=world.wraps | later)
    opens = can_open(world, who, world.key)
    if writes and now in world.keys and world.key == 0:
        yield replace(world, key=now, sealed=frozenset({now}))
    if writes and world.key > 0 and opens:
        yield replace(world, key=-1, closed_in=now)
    if writes and now < LAST_GENERATION and world.clean == now and now in world.keys:
        new = now + 1
        to = frozenset((new, each, pair) for each, pair in everybody if pair == new)
        if not rules.old_key_stays_with_old_pairs:
            to |= frozenset((now, each, pair) for each, pair in everybody if pair == new)
        yield replace(world, generation=new, keys=world.keys | {new}, wraps=world.wraps | to)
    if writes and world.clean < now:
        if 0 < world.key < now and opens:
            yield replace(world, key=now, sealed=world.sealed | {now})
        if not 0 < world.key < now or not rules.clean_when_all_is_sealed:
            yield replace(world, clean=now)
    settled = world.clean if rules.pairs_live_until_clean else now
    if settled == now and any(pair < now for pair in world.pairs[who]):
        kept = frozenset(pair for pair in world.pairs[who] if pair >= now) | {now + 1}
        yield replace(world, pairs=put(world.pairs, who, kept))


def can_open(world: World, who: int, key: int) -> bool:
    """Tells whether a dealer's folder opens what a key sealed, with every wrap that was ever committed."""
    return any((key, who, pair) in world.wraps for pair in world.pairs[who])


def interleaves(world: World) -> bool:
    """Two writers at once: commits of an older epoch after those of a newer one."""
    return list(world.commits) != sorted(world.commits)


def is_lost(world: World) -> bool:
    """A hand in play that a registered dealer who lives cannot go on with, though it may lead."""
    return world.key > 0 and any(world.alive[who] and not can_open(world, who, world.key) for who in (A, B))


def opens_what_is_closed(world: World) -> bool:
    """The change has ended and all have looked, and a folder still opens a hand that was closed before it."""
    settled = all(min(world.pairs[who]) >= world.generation for who in (A, B)) and world.clean == world.generation
    before = 0 < world.closed_in < world.generation
    return settled and before and any(can_open(world, who, key) for who in (A, B) for key in world.sealed)


def search(rules: Rules, wrong: Callable[[World], bool]) -> tuple[World | None, int]:
    """Looks at every state that can be reached; returns one that is wrong, and how many were looked at."""
    first = World()
    seen, waiting = {first}, deque([first])
    while waiting:
        world = waiting.popleft()
        if wrong(world):
            return world, len(seen)
        for following in steps(world, rules):
            if following not in seen:
                seen.add(following)
                waiting.append(following)
    return None, len(seen)


def test_no_state_is_wrong():
    wrong, count = search(Rules(), lambda world: interleaves(world) or is_lost(world) or opens_what_is_closed(world))
    assert wrong is None
    assert count > 10_000


@pytest.mark.parametrize(
    ("rules", "wrong"),
    [
        (Rules(fence=False), interleaves),
        (Rules(wraps_with_the_key=False), is_lost),
        (Rules(old_key_stays_with_old_pairs=False), opens_what_is_closed),
        (Rules(pairs_live_until_clean=False), is_lost),
        (Rules(clean_when_all_is_sealed=False), is_lost),
    ],
    ids=["no fence", "wraps that come later", "old keys for new pairs", "pairs destroyed early", "clean too early"],
)
def test_each_rule_left_out_is_found(rules, wrong):
    found, _ = search(rules, wrong)
    assert found is not None
