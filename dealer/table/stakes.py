"""What a hand is played for, and by whom (STUD.md, section 1)."""

from dataclasses import dataclass

from dealer.errors import Reason, Refused

MAX_MONEY = 2**53 - 1
"""The most that one seat may bring: the greatest whole number up to which all are exact in any client."""


@dataclass(frozen=True, slots=True)
class Stakes:
    """The stakes of a table, in its smallest unit of money.

    Attributes:
        ante: what every seat posts before the deal; may be 0.
        bring_in: what the lowest door card owes on third street.
        small_bet: the wager of third and fourth street.
        big_bet: the wager from fifth street on.
        chip: the smallest chip in play; a split pot is cut no finer.
        open_pair_double: whether an open pair on fourth street allows the big bet.

    Raises:
        Refused: not `0 <= ante` and `0 < bring_in < small_bet <= big_bet` and `1 <= chip`, or beyond `MAX_MONEY`.
    """

    ante: int
    bring_in: int
    small_bet: int
    big_bet: int
    chip: int = 1
    open_pair_double: bool = True

    def __post_init__(self) -> None:
        if not 0 <= self.ante <= MAX_MONEY:
            raise Refused(Reason.INVALID_STAKES, f"the ante must be 0 to {MAX_MONEY}, not {self.ante}")
        if not 0 < self.bring_in < self.small_bet <= self.big_bet <= MAX_MONEY:
            raise Refused(
                Reason.INVALID_STAKES,
                f"stakes must be 0 < bring-in < small bet <= big bet <= {MAX_MONEY}, "
                f"not {self.bring_in}, {self.small_bet}, {self.big_bet}",
            )
        if not 1 <= self.chip <= MAX_MONEY:
            raise Refused(Reason.INVALID_STAKES, f"the smallest chip must be 1 to {MAX_MONEY}, not {self.chip}")


@dataclass(frozen=True, slots=True)
class Lineup:
    """Who plays the hand, and for what. It stays as it is from the first ante to the last payout.

    Attributes:
        hi_lo: whether half of each pot goes to the best low.
        stakes: the stakes.
        seats: seat numbers in dealing order, clockwise from the dealer's left.
        stacks: what each of them brings, at least 1.
    """

    hi_lo: bool
    stakes: Stakes
    seats: tuple[int, ...]
    stacks: tuple[int, ...]

    def __post_init__(self) -> None:
        if len(self.seats) != len(self.stacks):
            raise ValueError(f"{len(self.seats)} seats and {len(self.stacks)} stacks")
        for seat, stack in zip(self.seats, self.stacks, strict=True):
            if not 1 <= stack <= MAX_MONEY:
                raise Refused(Reason.INVALID_STACK, f"the stack of seat {seat} must be 1 to {MAX_MONEY}, not {stack}")
