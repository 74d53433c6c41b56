"""What the dealer can do at the moment, and what callers are told once it ends."""

from dataclasses import dataclass

from dealer.errors import Reason, Refused


@dataclass(slots=True)
class Health:
    """What the dealer can do at the moment. It never comes back from draining, nor from the loss of its writer.

    Each flag is replaced whole, so any thread may read it. `entropy` and `storage` are set on the writer's thread (and
    `storage` to false by what makes keys ready), `writer` on the thread that notices, `draining` on the loop.
    """

    entropy: bool = True
    storage: bool = True
    writer: bool = True
    draining: bool = False

    @property
    def serving(self) -> bool:
        """Whether hands can be opened and dealt."""
        return self.entropy and self.storage and self.writer and not self.draining


def draining() -> Refused:
    """Returns the refusal of everything that is asked of a dealer that shuts down."""
    return Refused(Reason.DRAINING, "the dealer is shutting down: try another, or this one again later")
