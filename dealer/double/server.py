"""The double's server: the dealer's own with chosen decks, a driven clock, a throw-away store and a test log."""

import contextlib
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import grpc

from dealer.core.entries import TEST
from dealer.core.hand import HandState
from dealer.double.clock import DrivenClock
from dealer.double.decks import StackedDeck
from dealer.service.datadir import DataDir
from dealer.service.server import Dealer, Settings
from dealer.service.sources import EscrowKey, Sources

ORIGIN = "test.invalid/double"
"""No domain can be called like this, so nobody's log is mistaken for a double's (RFC 2606)."""
_IN_MEMORY = Path("/dev/shm")  # noqa: S108 - a folder in memory where there is one; mkdtemp makes it safe


class Double(Dealer):
    """A dealer whose decks a test chooses. Its records are test records, whatever is done with it.

    Attributes:
        stacked: what is chosen, by table and hand number.
        clock: its time.
        contribution_milliseconds: after so long on this clock an offer ends; 0: only when asked.
        verifier_key: of its log; another one each time.
    """

    services = (*Dealer.services, "dealer.v1.TestDoubleService")

    def __init__(self, folder: Path, settings: Settings, escrow: EscrowKey | None = None) -> None:
        """Makes its data in `folder`, which is empty or missing."""
        data = DataDir.at(folder)
        data.init(ORIGIN)
        self.verifier_key = data.signer().verifier_key
        self.stacked: dict[tuple[str, int], StackedDeck] = {}
        self.clock = DrivenClock(Sources().clock)
        self.contribution_milliseconds = int(1000 * settings.contribution_seconds)
        super().__init__(data, settings, Sources(clock=self.clock, escrow=escrow, family=TEST, stacked=self._stack_of))

    def _stack_of(self, state: HandState) -> tuple[str, ...] | None:
        chosen = self.stacked.get((state.table, state.number))
        return None if chosen is None else chosen.for_hand(state)

    def handlers(self) -> list[grpc.GenericRpcHandler]:
        """Returns the dealer's services, and the one that drives the double."""
        from dealer.double.servicer import TestDoubleServicer

        return [*super().handlers(), TestDoubleServicer(self).handler()]

    def hasten(self, seconds: float) -> None:
        """Takes so much from what every seat to act at a referee's table has left."""
        self._table_hands.hasten(seconds)


@contextlib.contextmanager
def temporary_folder() -> Iterator[Path]:
    """Yields a folder that goes with everything in it; in memory where the system has such a place."""
    root = Path(tempfile.mkdtemp(prefix="cutcard-double-", dir=_IN_MEMORY if _IN_MEMORY.is_dir() else None))
    try:
        yield root / "data"
    finally:
        shutil.rmtree(root, ignore_errors=True)


def double_settings(listen: str, **changes: float) -> Settings:
    """Returns the settings of a double: those of production, but that stopping hardly waits."""
    return replace(Settings(listen=listen, grace_seconds=1.0), **changes)  # type: ignore[arg-type]
