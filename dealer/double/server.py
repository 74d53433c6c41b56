"""The double's server: the dealer's own with chosen decks, a driven clock, a throw-away store and a test log."""

import contextlib
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import grpc

from dealer.core.entries import TEST
from dealer.core.hand import Deal, HandState
from dealer.double.clock import DrivenClock
from dealer.double.decks import StackedDeck
from dealer.double.faults import Faults, FaultyHandler
from dealer.double.use import Use
from dealer.service.referee.tables import Tables
from dealer.service.server import Dealer
from dealer.service.settings import Settings
from dealer.service.writer.change import Unit
from dealer.service.writer.sources import Sources
from dealer.store.datadir import DataDir
from dealer.store.escrow import PRIVATE, EscrowKey, make_escrow_pair

ORIGIN = "test.invalid/double"
"""No domain can be called like this, so nobody's log is mistaken for a double's (RFC 2606)."""
_IN_MEMORY = Path("/dev/shm")  # noqa: S108 - a folder in memory if there is one; mkdtemp makes it safe


class Double(Dealer):
    """A dealer whose decks a test chooses. Its records are test records, whatever is done with it.

    Attributes:
        stacked: what is chosen, by table and hand number.
        faults: what calls are to meet.
        clock: its time.
        contribution_milliseconds: after so long on this clock an offer ends; 0: only when asked.
        verifier_key: of its log; another one each time.
        escrow_private: what opens its sealed hands, the line of a key file; empty where an auditor's key was given.
    """

    services = (*Dealer.services, "dealer.v1.TestDoubleService")

    def __init__(self, folder: Path, settings: Settings, escrow: EscrowKey | None = None) -> None:
        """Makes its data in `folder`, which is empty or missing."""
        data = DataDir.at(folder)
        data.init(ORIGIN)
        self.verifier_key = data.signer().verifier_key
        self.escrow_private = ""
        if escrow is None:
            private, public = make_escrow_pair()
            self.escrow_private, escrow = f"{PRIVATE} {private}", EscrowKey(bytes.fromhex(public))
        self.stacked: dict[tuple[str, int], StackedDeck] = {}
        self.faults = Faults()
        self._opened: dict[str, int] = {}
        self.clock = DrivenClock(Sources().clock)
        self.contribution_milliseconds = int(1000 * settings.contribution_seconds)
        sources = Sources(
            clock=self.clock, escrow=escrow, family=TEST, stacked=self._stack_of, check_street=self._check_street
        )
        super().__init__(data, settings, sources)

    def _stack_of(self, state: HandState) -> tuple[str, ...] | None:
        chosen = self.stacked.get((state.table, state.number))
        deck = None if chosen is None else chosen.for_hand(state)
        self._opened[state.table] = state.number
        return deck

    def _check_street(self, state: HandState, street: Deal) -> None:
        chosen = self.stacked.get((state.table, state.number))
        if chosen is not None:
            chosen.check_street(state, street)

    def use(self, unit: Unit) -> Use:
        """Returns what came of the stacks and faults so far; to be called by the writer."""
        unused = []
        for table, number in sorted(self.stacked):
            row = unit.table(table)
            if row is None or row.number < number:
                unused.append((table, number))
        offered = [unit.hand(hand).state for hand in self.engine.state.live]  # which may have asked for no deck yet
        opened = self._opened | {state.table: state.number for state in offered}
        return Use(tuple(unused), tuple(sorted(opened.items())), self.faults.unmet())

    async def ask_use(self) -> Use:
        """Returns the same to others than the writer."""
        return await self.engine.do(self.use)

    def forget(self) -> None:
        """Drops the stacks, the faults, and which tables were opened; to be called by the writer."""
        self.stacked.clear()
        self._opened.clear()
        self.faults.clear()

    def handlers(self) -> list[grpc.GenericRpcHandler]:
        """Returns the dealer's services, whose calls meet the injected faults, and the one that drives the double."""
        from dealer.double.servicer import TestDoubleServicer

        faulty = [FaultyHandler(handler, self.faults) for handler in super().handlers()]
        return [*faulty, TestDoubleServicer(self).handler()]

    @property
    def tables(self) -> Tables:
        """The referee's hands."""
        return self._tables

    def hasten(self, seconds: float) -> None:
        """Takes so much from what every seat to act at a referee's table has left."""
        self._tables.hasten(seconds)


@contextlib.contextmanager
def temporary_folder() -> Iterator[Path]:
    """Yields a folder that goes with everything in it; in memory if the system has such a place."""
    root = Path(tempfile.mkdtemp(prefix="cutcard-double-", dir=_IN_MEMORY if _IN_MEMORY.is_dir() else None))
    try:
        yield root / "data"
    finally:
        shutil.rmtree(root, ignore_errors=True)


def double_settings(listen: str, **changes: float) -> Settings:
    """Returns the settings of a double: those of production, but that stopping hardly waits."""
    return replace(Settings(listen=(listen,), grace_seconds=1.0), **changes)  # type: ignore[arg-type]
