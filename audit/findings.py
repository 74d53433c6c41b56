"""One thing that an audit found, under the names of PROTOCOL.md section 10."""

from __future__ import annotations

from dataclasses import dataclass

CHECKS = (
    "checkpoint",
    "append-only",
    "schema",
    "lifecycle",
    "seed",
    "entropy",
    "deck",
    "opening",
    "dealing",
    "reveal",
    "witness",
)
"""The checks of section 10, in its order."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong.

    Attributes:
        check: one of `CHECKS`.
        index: the log index that it belongs to, None for the log as a whole.
        hand: UUID text, None where no single hand is meant.
        detail: what was expected against what was found.
        missing_offer: it comes from an offer that is not there, which an unknown entry may explain.
        other_key: it says that a sealed hand's escrow is for another key than those that were given.
        whole: texts that belong to it whole, such as two notes that contradict each other.
    """

    check: str
    index: int | None
    hand: str | None
    detail: str
    missing_offer: bool = False
    other_key: bool = False
    whole: tuple[str, ...] = ()

    @property
    def order(self) -> tuple[int, int, str]:
        """Log order, then section 10's order."""
        return (-1 if self.index is None else self.index, CHECKS.index(self.check), self.detail)
