"""Main pot, side pots, and the part of a bet that goes back (STUD.md, section 4)."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple


class Pot(NamedTuple):
    """One pot: its chips, and the seats that may win it, in dealing order."""

    amount: int
    eligible: tuple[int, ...]


def uncalled(paid: Mapping[int, int], live: Sequence[int]) -> tuple[int, int] | None:
    """Returns the part of a bet that nobody matched: whose it is, and how much; None where there is none.

    Args:
        paid: what each seat has put in over the whole hand.
        live: seats still in. A folded seat gets nothing back.
    """
    *_, second, first = sorted(paid, key=paid.__getitem__)
    part = paid[first] - paid[second]
    return (first, part) if part and first in live else None


def build_pots(paid: Mapping[int, int], live: Sequence[int]) -> tuple[Pot, ...]:
    """Builds the pots by the depth of each contribution, the main pot first.

    Args:
        paid: what each seat has put in over the whole hand.
        live: seats still in, in dealing order; at least one.

    Returns:
        The pots. Together they hold every chip of `paid`.
    """
    layers: list[Pot] = []
    floor = 0
    for depth in sorted(set(paid.values()) - {0}):
        contributors = [seat for seat, chips in paid.items() if chips >= depth]
        eligible = tuple([seat for seat in live if paid[seat] >= depth])
        layers.append(Pot((depth - floor) * len(contributors), eligible))
        floor = depth
    return _joined(layers, live)


def give_up(pots: Sequence[Pot], folded: int) -> tuple[Pot, ...]:
    """Returns the pots once a seat has folded: it has no claim on any pot.

    Args:
        pots: the pots before; some other seat is eligible for the first of them.
        folded: the seat.
    """
    without = [Pot(pot.amount, tuple(seat for seat in pot.eligible if seat != folded)) for pot in pots]
    return _joined(without, ())


def _joined(layers: Sequence[Pot], live: Sequence[int]) -> tuple[Pot, ...]:
    """Makes one pot of neighbours with the same eligible seats; what nobody may win joins the pot below it."""
    pots: list[Pot] = []
    dead = 0
    for layer in layers:
        if pots and (not layer.eligible or layer.eligible == pots[-1].eligible):
            pots[-1] = Pot(pots[-1].amount + layer.amount, pots[-1].eligible)
        elif layer.eligible:
            pots.append(Pot(dead + layer.amount, layer.eligible))
            dead = 0
        else:
            dead += layer.amount  # nothing lies below: it joins the first pot that somebody may win
    return tuple(pots) if pots or not dead else (Pot(dead, tuple(live)),)
