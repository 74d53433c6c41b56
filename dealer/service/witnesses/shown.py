"""What is shown of a log: apart from asking, for which a dealer without witnesses loads nothing."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Shown:
    """A checkpoint as it is to be published.

    Attributes:
        note: with its cosignatures.
        since: the quorum's time, POSIX seconds; None where it does not hold.
    """

    note: str
    since: int | None
