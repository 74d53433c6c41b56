"""The judge of a whole log: what must hold, beside the form of its entries and the checks of its hands, for VALID.

It says yes or no, and follows a log only as long as the answer may be yes. Whoever gathers, counts and explains beside
it (`audit.whole.course`, `audit.whole.lifecycle`) finds the words for what is amiss, and may be wrong in them: that
makes no log valid which this judge does not hold to be.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from audit.findings import Finding
from audit.logs.log import Log
from audit.tlog.checkpoint import Checkpoint, check_checkpoint, is_test_name
from audit.tlog.keys import VerifierKey
from audit.tlog.merkle import leaf_hash
from audit.verdict import EXIT_CODES, judge
from audit.whole.repeats import Repeats, Twice
from audit.whole.stretch import HandResults, StretchResult
from audit.whole.traces import CloseTrace, CommitTrace, OfferTrace, Trace
from audit.whole.tree import Tree

SLOT_BYTES = 16


class Signed(NamedTuple):
    """A log's checkpoint as `read_signed` reads it: what is wrong with it, and whether a key was pinned for it."""

    checkpoint: Checkpoint | None
    findings: list[Finding]
    is_pinned: bool
    is_test: bool


def read_signed(data: bytes | None, key: VerifierKey | None) -> Signed:
    """Reads a log's checkpoint, None where it has none, and holds it against the key that is pinned, None for none."""
    checkpoint, findings = (None, []) if data is None else check_checkpoint(data, key)
    return Signed(checkpoint, findings, key is not None, is_test_name(key, checkpoint))


class _Open(NamedTuple):
    """An open hand. `leaves` names its entries' bytes so far, where they are still to be checked: their leaf hashes."""

    hand: bytes
    table: str
    is_committed: bool
    leaves: bytes


class Judge:
    """Judges the entries of a log in their order.

    Attributes:
        tree: the log's, up to the last stretch.
        seeds: digests of the seeds that are known.
        ids: of every hand, with its slot.
        is_test: some entry says that it is of a test record.
    """

    def __init__(self, seeds: Repeats, ids: Repeats) -> None:
        self.tree = Tree()
        self.seeds, self.ids = seeds, ids
        self.is_test = False
        self._holds = True
        self._next = self._hands = 0
        self._tables: dict[str, int] = {}
        """Each table's last number, negative while that hand is in play."""
        self._open: dict[int, _Open] = {}
        self._unchecked: set[bytes] = set()
        self._is_compared = self._is_finished = False

    def grow(self, read: StretchResult, log: Log, size: int) -> list[Finding]:
        """Takes the next stretch of a log of `size` entries, but for its traces; returns what is wrong with tiles."""
        found = list(self.tree.grow(read, log, size))
        self.is_test = self.is_test or read.is_test
        self._holds = self._holds and not (found or read.unknown or read.missing_tiles)
        return found

    def take(self, checked: HandResults) -> None:
        """Takes the results of hands that were checked."""
        self._holds = self._holds and not (checked.findings or checked.without_key)
        for key, at, hand in checked.seeds:
            self.seeds.add(key, at, hand)
        self._unchecked.difference_update(checked.cut)

    def follow(self, trace: Trace, slot: bytes | None) -> None:
        """Follows the next entry.

        Args:
            trace: what it says.
            slot: the slot that its hand takes, where somebody else holds that it opens one.
        """
        opens = isinstance(trace, OfferTrace) or (isinstance(trace, CommitTrace) and trace.offer is None)
        self._holds = self._holds and trace.at == self._next and self._fits(trace)
        self._next += 1
        if slot is not None or (opens and self._holds):
            self.ids.add(trace.hand, trace.at, slot or bytes(SLOT_BYTES))

    def _fits(self, trace: Trace) -> bool:
        """Tells whether section 6 has this entry here: numbers in step, one hand at a table, each entry once."""
        leaf = b"" if trace.raw is None else leaf_hash(trace.raw)
        if isinstance(trace, CloseTrace):
            hand = self._open.pop(trace.commit, None) if trace.commit is not None else None
            if hand is None or not hand.is_committed or hand.hand != trace.hand or trace.outcome == "lost":
                return False
            self._tables[hand.table] *= -1
            self._hands += 1
            if hand.leaves or leaf:
                self._unchecked.add(hand.leaves + leaf)
        elif isinstance(trace, CommitTrace) and trace.offer is not None:
            # That it repeats the offer's table and number is for the hand's own checks.
            hand = self._open.pop(trace.offer, None)
            if hand is None or hand.is_committed or hand.hand != trace.hand:
                return False
            self._open[trace.at] = _Open(hand.hand, hand.table, True, hand.leaves + leaf)
        else:
            if trace.number != self._tables.get(trace.table, 0) + 1:  # no number is that of a table in play
                return False
            self._tables[trace.table] = -trace.number
            self._open[trace.at] = _Open(trace.hand, trace.table, isinstance(trace, CommitTrace), leaf)
        return True

    def finish(self, log: Log) -> list[Finding]:
        """Ends the tree; returns what is wrong with the tiles at its end."""
        found = list(self.tree.finish(log))
        self._holds = self._holds and not found
        self._is_finished = True
        return found

    def repeats(self) -> Iterator[tuple[str, Twice]]:
        """Yields every `seed` and `id` that comes twice."""
        for what, records in (("seed", self.seeds), ("id", self.ids)):
            for twice in records.found():
                self._holds = False
                yield what, twice
        self._is_compared = True

    def verdict(self, said: tuple[str, int], signed: Signed, allow_test: bool) -> tuple[str, int]:
        """Returns a verdict and its exit code as somebody else made them; that nothing is wrong only if that is so."""
        if said[1] != EXIT_CODES["valid"]:
            return said
        holds = self._holds_whole(signed)
        is_test = self.is_test or signed.is_test
        return judge(is_test=is_test, allow_test=allow_test, failed=False, unreadable=not holds, incomplete=False)

    def _holds_whole(self, signed: Signed) -> bool:
        checkpoint, tree = signed.checkpoint, self.tree
        if checkpoint is None or signed.findings or not signed.is_pinned:
            return False
        if not checkpoint.size == tree.done == self._next or tree.root() != checkpoint.root or tree.missing:
            return False
        if self._open or self._unchecked or not self._hands:
            return False
        return self._holds and self._is_compared and self._is_finished
