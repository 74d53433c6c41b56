"""One line of a benchmark's result: ours beside the limit or the peer, and whether the goal is met."""

from dataclasses import asdict, dataclass


@dataclass(frozen=True)
class Row:
    """A figure of ours beside another on the same work in the same run (API.md, Benchmarks).

    Attributes:
        name: what was measured, in a few words.
        ours: the product's figure, in `unit`.
        other: the limit's or the peer's figure, in `unit`.
        unit: a rate ends in `/s` (`decks/s`), where more is better; anything else (`us`, `MiB`) is a cost.
        ratio: `ours / other`.
        goal: the bound on the ratio: from below for a rate, from above for a cost; None where it is only reported.
        met: whether the ratio keeps to the goal; None where there is no goal.
    """

    name: str
    ours: float
    other: float
    unit: str
    ratio: float
    goal: float | None
    met: bool | None

    @classmethod
    def of(cls, name: str, ours: float, other: float, unit: str, goal: float | None = None) -> "Row":
        """Works out the ratio, and whether it keeps to `goal`.

        Raises:
            ValueError: a figure is not positive, so that there is nothing to compare.
        """
        if not (ours > 0 and other > 0):
            raise ValueError(f"{name}: {ours} against {other} {unit}: both figures must be above 0")
        ratio = ours / other
        met = None if goal is None else (ratio >= goal if unit.endswith("/s") else ratio <= goal)
        return cls(name, ours, other, unit, ratio, goal, met)

    @property
    def goal_text(self) -> str:
        """The goal as a person reads it: `>= 20`, `<= 1`, or nothing."""
        return "" if self.goal is None else f"{'>=' if self.unit.endswith('/s') else '<='} {self.goal:g}"

    def as_json(self) -> dict[str, object]:
        """The row's members as API.md names them."""
        return asdict(self)
