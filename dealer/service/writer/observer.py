"""Who is told what the writer has done."""

from collections.abc import Sequence

from dealer.errors import Refused
from dealer.service.writer.live import LiveHand


class Observer:
    """Is told on the loop what the writer has done. This one does nothing about it."""

    def committed(self, changed: Sequence[LiveHand], commands: int, seconds: float) -> None:
        """Notes a durable batch: the hands that it changed, its number of commands, and how long it took."""

    def recovered(self, live: Sequence[LiveHand]) -> None:
        """Notes that a storage that had failed works again, and which hands are in play."""

    def stood_down(self, why: Refused) -> None:
        """Notes that this dealer writes no more, and why: another one does, or may."""

    def health_changed(self) -> None:
        """Notes that hands can be opened and dealt again, or cannot any more."""

    def entropy_failed(self) -> None:
        """Notes that the entropy source fails, which it did not before."""
