"""A gallery of shufflers, crooked and fair: what the battery is tried on (STATISTICS.md section 3).

To add one, write a function from a generator and N to N decks, its story in the docstring, and put a line into
`_shufflers`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from types import MappingProxyType

from audit.stats.gallery import by_hand, fair, generators, rigs, seeds, sorts, swaps
from audit.stats.gallery.shuffler import Decks, Make, Shuffler, in_blocks, story_of

__all__ = ["GALLERY", "Decks", "Shuffler"]


def _alone(name: str, goal: int | None, function: Callable[..., Decks], more: str = "", **settings: object) -> Shuffler:
    """A shuffler that treats each deck alone; `settings` go to its function, `more` is said after its story."""
    make = partial(in_blocks, partial(function, **settings))
    return Shuffler(name, f"{story_of(function)} {more}".strip(), make, goal, fair=function.__module__ == fair.__name__)


def _in_turn(
    name: str, goal: int | None, function: Callable[..., Decks], more: str = "", **settings: object
) -> Shuffler:
    """A shuffler whose decks depend on each other."""
    return Shuffler(name, f"{story_of(function)} {more}".strip(), partial(function, **settings), goal)


def _one_day(name: str, goal: int | None, rig: Callable[..., Decks], more: str = "", **settings: object) -> Shuffler:
    """A rig on one day in thirty, with the days as labels."""
    make: Make = partial(rigs.on_one_day, rig=partial(rig, **settings))
    return Shuffler(name, f"{story_of(rigs.on_one_day)} {story_of(rig)} {more}".strip(), make, goal, labels=rigs.days)


def _shufflers() -> Iterator[Shuffler]:
    yield _alone("fair", None, fair.permuted)
    yield _alone("cutcard", None, fair.cutcard)
    yield _alone("keys-32-no-ties", None, fair.keys_without_ties)

    yield _alone("swap-any", 300, swaps.any_position)
    yield _alone("swap-any-but-last", 300, swaps.last_card_out_of_reach)
    yield _alone("swap-never-itself", 300, swaps.never_itself)
    yield _alone("swap-slot-missing", 3_000, swaps.one_slot_never_chosen)
    yield _alone("swap-rounded", 300, swaps.rounded)
    yield _alone("swap-last-missing", 300, swaps.last_swap_missing)
    yield _alone("swap-first-missing", 300, swaps.first_swap_missing)
    yield _alone("swap-even-only", 300, swaps.even_only)
    yield _alone("modulo-8", 1_000, swaps.modulo, "Eight-bit words.", bits=8)
    yield _alone("scaled-8", 1_000, swaps.scaled, "Eight bits.", bits=8)
    yield _alone("lcg-low-bits", 300, swaps.low_bits_of_a_counter)

    for bits, goal in ((8, 300), (10, 10_000), (12, 100_000)):
        yield _alone(f"keys-{bits}", goal, sorts.short_keys, f"{bits} bits.", bits=bits)
    yield _alone("sort-insertion", 300, sorts.insertion_sort)
    yield _alone("sort-merge", 300, sorts.merge_sort)
    yield _alone("sort-quick", 300, sorts.quick_sort)

    for times, goal in ((5, 100), (6, 100), (7, 100), (8, 300), (10, 10_000)):
        yield _alone(f"riffle-{times}", goal, by_hand.riffle, f"{times} times.", times=times)
    for times in (10, 20, 30):
        yield _alone(f"overhand-{times}", 300, by_hand.overhand, f"{times} times.", times=times)
    yield _alone("shelf-machine", 300, by_hand.shelf_machine)

    for bits, goal in ((15, 1_000), (16, 1_000), (20, 3_000), (24, 10_000), (32, 300_000)):
        yield _alone(f"seeds-{bits}", goal, seeds.few_seeds, f"2^{bits} seeds.", bits=bits)
    yield _alone("seeds-clock", 30_000, seeds.clock_seeds)
    yield _alone("mt-word-a-deck", 300_000, generators.a_word_a_deck)
    yield _in_turn("mt-device-repeats", 1_000, generators.repeating_device)
    yield _in_turn("mt-threads-one-word", 100, generators.threads, "All eight from the same word.", words=1)
    yield _alone("jitter-10", 10_000, generators.cipher_keyed_from_jitter, "Ten timings: 24 bits.", timings=10)

    for swaps_between in (26, 52, 104):
        yield _in_turn(
            f"not-reset-{swaps_between}", 300, rigs.not_reset, f"{swaps_between} swaps.", swaps=swaps_between
        )
    for name, change in (("again-whole", rigs.whole), ("again-cut", rigs.cut), ("again-20-cards", rigs.first_cards)):
        yield _in_turn(name, 3_000, rigs.dealt_again, f"Every 1000th; {story_of(change)}", every=1000, change=change)
    for percent, goal in ((10, 1_000), (1, 100_000)):
        yield _alone(f"ace-{percent}", goal, rigs.forced_ace, f"{percent} %.", share=percent / 100)
    for percent, goal in ((5, 1_000), (1, 10_000)):
        yield _alone(f"pairs-{percent}", goal, rigs.two_paired, f"{percent} %.", share=percent / 100)
    for percent, goal in ((10, 1_000), (3, 10_000)):
        yield _alone(f"win-{percent}", goal, rigs.moved_win, f"{percent} %.", share=percent / 100)

    # Thirty days, of which the bad one is to be seen within 3,000 hands: 90,000 hands in all.
    yield _one_day("day-riffle-7", 90_000, by_hand.riffle, "7 times.", times=7)
    yield _one_day("day-swap-any", 90_000, swaps.any_position)
    yield _one_day("day-ace-10", 90_000, rigs.forced_ace, "10 %.", share=0.1)
    yield _one_day("day-pairs-5", 90_000, rigs.two_paired, "5 %.", share=0.05)

    # Nothing in decks gives these away: the record of each hand must (seeds derived again, PROTOCOL.md section 10).
    yield _alone("modulo-16", None, swaps.modulo, "Sixteen-bit words: cannot be seen.", bits=16)
    yield _alone("seeds-48", None, seeds.few_seeds, "2^48 seeds: cannot be seen.", bits=48)
    yield _alone(
        "keys-32", None, sorts.short_keys, "32 bits: two are equal in one deck of three million, which cannot be seen.",
        bits=32,
    )  # fmt: skip
    yield _in_turn(
        "mt-threads", None, generators.threads, "Each from a word of its own: cannot be seen. One early hand and 2^32 "
        "tries give the word, and with it every later card.", words=generators.THREADS,
    )  # fmt: skip
    yield _in_turn(
        "browser", None, generators.browser, "It cannot be seen by a test that does not know the generator; who knows "
        "it has the state from ten decks, and with it every later card.",
    )  # fmt: skip
    yield _alone(
        "jitter-20", None, generators.cipher_keyed_from_jitter, "Twenty timings, 48 bits: cannot be seen.", timings=20
    )


GALLERY: Mapping[str, Shuffler] = MappingProxyType({shuffler.name: shuffler for shuffler in _shufflers()})
"""Every shuffler by its name."""
