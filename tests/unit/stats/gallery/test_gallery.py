"""The gallery: every shuffler deals decks, tells its story, and has the fault that it is there for."""

from itertools import pairwise

import numpy as np
import pytest

from audit.stats.batch import swap_digits
from audit.stats.gallery import GALLERY, by_hand, fair, generators, rigs, seeds, sorts, swaps
from audit.stats.gallery.shuffler import STEPS_DOWN, fair_decks, inverted, swap_in_turn
from audit.stats.sources import are_permutations

COUNT = 2_500


def rng(seed=5):
    return np.random.default_rng(seed)


def made(name, count=COUNT):
    return GALLERY[name].make(rng(), count)


def fixed_points(decks):
    return np.count_nonzero(decks == np.arange(52), axis=1)


def parity(decks):
    signs = [sum(a > b for i, a in enumerate(deck) for b in deck[i + 1 :]) % 2 for deck in decks.tolist()]
    return np.array(signs)


@pytest.mark.parametrize("name", GALLERY)
def test_deals_decks(name):
    shuffler = GALLERY[name]
    assert len(shuffler.story) > 30
    assert (shuffler.goal is None) == (shuffler.fair or "cannot be seen" in shuffler.story)
    decks = made(name, 2_000)
    assert decks.shape == (2_000, 52)
    assert decks.dtype == np.uint8
    assert are_permutations(decks, 52).all()
    assert np.array_equal(decks, made(name, 2_000)), "the same generator gives the same decks"
    if shuffler.labels:
        (labels,) = shuffler.labels(2_000).values()
        assert len(labels) == 2_000
        assert len(set(labels)) == 30


@pytest.mark.parametrize("name", [name for name in GALLERY if GALLERY[name].fair])
def test_the_fair_ones_are_fair_at_a_glance(name):
    decks = made(name)
    counts = np.stack([np.bincount(column, minlength=52) for column in decks.T])
    statistic = ((counts - COUNT / 52) ** 2 / (COUNT / 52)).sum() * 51 / 52
    assert abs(statistic - 51**2) < 6 * (2 * 51**2) ** 0.5


def test_swaps_are_the_naive_loops():
    draws = rng().integers(0, 52, size=(10, 52))
    found = swaps.any_position(rng(), 10)
    for deck, partners in zip(found.tolist(), draws.tolist(), strict=True):
        expected = list(range(52))
        for i, j in enumerate(partners):
            expected[i], expected[j] = expected[j], expected[i]
        assert deck == expected


def test_sattolo_leaves_no_card_in_its_place():
    assert fixed_points(made("swap-never-itself")).max() == 0


def test_even_permutations_only():
    assert parity(made("swap-even-only", 200)).max() == 0


def test_first_swap_missing_keeps_the_last_card():
    assert set(made("swap-first-missing")[:, 51]) == {51}


def test_one_slot_is_never_chosen():
    assert 0 not in made("swap-slot-missing")[:, 51]


def test_the_last_card_cannot_be_reached_twice():
    assert (made("swap-any-but-last")[:, 51] == 51).sum() == 0


def test_eight_bit_words_favour_low_slots():
    last = made("modulo-8", 50_000)[:, 51]
    assert (last < 256 % 52).mean() == pytest.approx(48 * 5 / 256, abs=0.01)


def test_riffles_have_at_most_two_to_the_k_rising_sequences():
    where = inverted(by_hand.riffle(rng(), 500, times=3))
    rising = 1 + np.count_nonzero(np.diff(where.astype(int), axis=1) < 0, axis=1)
    assert rising.max() == 8


def test_short_keys_are_the_inverse_of_riffles():
    assert np.array_equal(inverted(sorts.short_keys(rng(), 50, bits=7)), by_hand.riffle(rng(), 50, times=7))


def test_overhand_keeps_packets_together():
    decks = by_hand.overhand(rng(), 500, times=1).astype(int)
    together = np.count_nonzero(np.diff(decks, axis=1) == 1, axis=1)
    assert together.mean() == pytest.approx(51 * 0.8, abs=1)


def test_random_comparators_leave_traces():
    for sort in (sorts.insertion_sort, sorts.merge_sort, sorts.quick_sort):
        decks = sort(rng(), 2_000)
        top = np.bincount(decks[:, 0], minlength=52)
        assert top.max() > 1.7 * 2_000 / 52


def test_one_seed_gives_one_deck():
    once, again = (seeds.deck_of_seed(np.arange(20, dtype=np.uint64)) for _ in range(2))
    assert np.array_equal(once, again)
    assert len({deck.tobytes() for deck in once}) == 20
    assert len({deck.tobytes() for deck in seeds.few_seeds(rng(), 1_000, bits=5)}) <= 32


def test_a_deck_that_is_not_reset_keeps_most_places():
    decks = rigs.not_reset(rng(), 200, swaps=5)
    same = [np.count_nonzero(a == b) for a, b in pairwise(decks)]
    assert min(same) >= 52 - 10


@pytest.mark.parametrize(
    ("name", "alike"),
    [
        ("again-whole", lambda deck, old: np.array_equal(deck, old)),
        ("again-cut", lambda deck, old: np.array_equal(np.roll(deck, -int(np.argmax(deck == old[0]))), old)),
        ("again-20-cards", lambda deck, old: np.array_equal(deck[:20], old[:20])),
    ],
)
def test_every_thousandth_deck_was_dealt_before(name, alike):
    decks = made(name)
    for row in (999, 1999):
        assert sum(bool(alike(decks[row], old)) for old in decks[:row]) == 1
    assert not any(alike(decks[998], old) for old in decks[:998])


def test_a_seat_gets_its_ace():
    decks = rigs.forced_ace(rng(), 4_000, share=0.5)
    aces = (decks >= 48).mean(axis=0)
    assert aces[rigs.SEAT] == pytest.approx(0.5 + 0.5 / 13, abs=0.04)
    assert np.delete(aces, rigs.SEAT).max() < 0.11


def test_two_seats_get_their_pairs():
    decks = rigs.two_paired(rng(), 4_000, share=0.5)
    ranks = decks // 4
    paired = ranks[:, : rigs.TABLE_OF] == ranks[:, rigs.TABLE_OF : 2 * rigs.TABLE_OF]
    both = paired[:, rigs.SEAT] & paired[:, rigs.ACCOMPLICE]
    assert both.mean() == pytest.approx(0.5, abs=0.04)
    assert paired[:, 0].mean() < 0.09


def test_a_seat_gets_the_win_and_the_table_its_cards():
    plain, rigged = fair_decks(rng(), 2_000), rigs.moved_win(rng(), 2_000, share=1)
    assert np.array_equal(np.sort(plain[:, :42]), np.sort(rigged[:, :42]))
    assert (rigs._best_seats(plain) == rigs.SEAT).mean() == pytest.approx(1 / 6, abs=0.04)
    assert (rigs._best_seats(rigged) == rigs.SEAT).mean() > 0.97  # all but ties


def test_only_one_day_is_bad():
    decks = GALLERY["day-swap-any"].make(rng(), 30_000)
    fair = fair_decks(rng(), 30_000)
    changed = np.flatnonzero((decks != fair).any(axis=1))
    assert (changed.min() // 1_000, changed.max() // 1_000) == (rigs.BAD_DAY, rigs.BAD_DAY)


def test_words_are_those_of_the_reference_generator():
    # The first and the 10,000th word of std::mt19937's default seed, the second as the C++ standard has it.
    words = generators.mersenne_twister(np.array([5489]), 197).reshape(-1)
    assert (words[0], words[9_999]) == (3_499_211_612, 4_123_659_995)
    two = generators.mersenne_twister(np.array([7, 5489]), 1)
    assert np.array_equal(two[1], words[:51])


def test_one_word_gives_one_deck():
    again = generators.of_words(generators.mersenne_twister(np.array([3, 4, 3])))
    assert np.array_equal(again[0], again[2])
    assert not np.array_equal(again[0], again[1])


def test_a_device_that_repeats_deals_a_deck_twice_in_a_row():
    decks = made("mt-device-repeats", 6_000)
    twice = (decks[1:] == decks[:-1]).all(axis=1).sum()
    assert 6 <= twice <= 36  # 20 expected
    assert len({deck.tobytes() for deck in decks}) == 6_000 - twice


def test_threads_from_one_word_deal_the_same_decks_and_others_do_not():
    assert len({deck.tobytes() for deck in made("mt-threads-one-word", 800)}) <= 150
    assert len({deck.tobytes() for deck in made("mt-threads", 800)}) == 800


def test_jitter_is_as_little_as_is_said():
    ticks = np.rint(rng().normal(1_000, 1.5, size=100_000)).astype(int)
    coincidence = (np.bincount(ticks) / len(ticks)) ** 2
    assert -np.log2(coincidence.sum()) == pytest.approx(2.4, abs=0.05)


def test_keys_without_ties_are_drawn_again():
    class Tied:
        """Gives a tied deck at first."""

        def integers(self, low, high, size, dtype):
            keys = np.tile(np.arange(52, dtype=dtype)[::-1], (size[0], 1))
            if size[0] == 3:
                keys[1, :2] = 9
            return keys

    assert fair.keys_without_ties(Tied(), 3).tolist() == [list(range(51, -1, -1))] * 3


def _equations(draws):
    """What each bit of what `Math.random` gives is of the 128 bits that a page begins with: sums modulo 2, as masks."""
    one, other = ([1 << (half + bit) for bit in range(64)] for half in (0, 64))
    made = []
    for _ in range(-(-draws // 64) * 64):
        mixed = [a ^ (one[bit - 23] if bit >= 23 else 0) for bit, a in enumerate(one)]
        one, old = other, other
        other = [
            mixed[bit] ^ (mixed[bit + 17] if bit + 17 < 64 else 0) ^ old[bit] ^ (old[bit + 26] if bit + 26 < 64 else 0)
            for bit in range(64)
        ]
        made.append(one)
    return [made[block + place] for block in range(0, len(made), 64) for place in range(63, -1, -1)][:draws]


def test_who_knows_the_browsers_generator_foresees_every_deck_after_ten():
    decks = made("browser", 200)
    equations = _equations(10 * 51)
    solved = {}
    for number, slots in enumerate(swap_digits(np.ascontiguousarray(decks[:10].T)).T.tolist()):
        for width in range(1, 6):  # ranges of 2, 4, … 32 take whole bits from the top
            bits = equations[51 * number + 51 - (2**width - 1)]
            for place in range(width):
                mask, value = bits[63 - place], slots[2**width - 1] >> (width - 1 - place) & 1
                for pivot, (row, known) in solved.items():
                    if mask >> pivot & 1:
                        mask, value = mask ^ row, value ^ known
                if mask:
                    pivot = mask.bit_length() - 1
                    for each, (row, known) in solved.items():
                        if row >> pivot & 1:
                            solved[each] = row ^ mask, known ^ value
                    solved[pivot] = mask, value
    assert len(solved) == 128
    state = sum(value << pivot for pivot, (_, value) in solved.items())
    states = np.array([[state & (1 << 64) - 1], [state >> 64]], np.uint64)
    foreseen = (generators.browser_fractions(states, 200 * 51).reshape(-1, 51) * np.arange(52, 1, -1)).astype(int)
    assert np.array_equal(swap_in_turn(STEPS_DOWN, foreseen), decks)
