"""What the dealer can do at the moment, and what callers are told once it ends."""

from collections.abc import Callable
from dataclasses import dataclass

from dealer.errors import Reason, Refused


@dataclass(slots=True)
class Health:
    """What the dealer can do at the moment. It never comes back from draining, nor from the loss of its writer.

    While it is not `admitting`, hands in play go on and none is opened; an operator says so, and takes it back. It is
    `receding` from just before, so that whoever looks at its health goes elsewhere first.

    Each flag is replaced whole, so any thread may read it. `entropy` and `storage` are set on the writer's thread (and
    `storage` to false by what makes keys ready), `writer` on the thread that notices, `draining`, `receding` and
    `admitting` on the loop; `standing`, why this dealer is not the one that writes, and `lapsed`, that its lease is to
    be renewed first, by what looks at the lease. `contradicted`, that witnesses hold another history of the log, is
    set on the loop, and only a restart takes it back; `retired`, that the log has ended, on the writer's thread as it
    reads.
    """

    entropy: bool = True
    storage: bool = True
    standing: Callable[[], Refused] | None = None
    lapsed: bool = False
    writer: bool = True
    draining: bool = False
    receding: bool = False
    admitting: bool = True
    contradicted: bool = False
    retired: bool = False

    @property
    def serving(self) -> bool:
        """Whether hands can be opened and dealt."""
        leads = self.standing is None and not self.lapsed
        open_ = not self.receding and not self.draining and not self.contradicted and not self.retired
        return self.entropy and self.storage and self.writer and leads and open_


def draining() -> Refused:
    """Returns the refusal of everything that is asked of a dealer that shuts down."""
    return Refused(Reason.DRAINING, "the dealer is shutting down: try another, or this one again later")


def standing_by() -> Refused:
    """Returns the refusal of a dealer that stands by: another one writes."""
    return Refused(Reason.STANDBY, "this dealer stands by, and another one deals: ask that one")


def lease_lost() -> Refused:
    """Returns the refusal of a dealer that may not write any more, or cannot tell whether it may."""
    text = "this dealer may have been replaced by another one: carried out or not, ask again, the other one too"
    return Refused(Reason.LEASE_LOST, text)


def log_conflict() -> Refused:
    """Returns the refusal of a dealer whose database holds another history than the one that it knows."""
    return Refused(
        Reason.LOG_CONFLICT, "the database does not extend this log: an operator must look; nothing is signed"
    )


def contradicted() -> Refused:
    """Returns the refusal of a new hand by a dealer whose witnesses hold another history of its log."""
    return Refused(
        Reason.LOG_CONFLICT,
        "witnesses hold another history of this log: an operator must look; hands in play go on, and none is opened",
    )


def ended() -> Refused:
    """Returns the refusal of a new hand in a log that has ended."""
    return Refused(Reason.LOG_ENDED, "this log has ended and takes no hand any more: deal at its successor")
