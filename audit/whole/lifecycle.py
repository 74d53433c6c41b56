"""The check `lifecycle`, in log order: offer, commit and close each once, one hand in play at a table, numbers in step.

What is kept is what is open: hands in play and each table's last number. Entries come in as traces, short notes of
what they say; a trace carries the entry's bytes only where its hand could not be checked where it was read. Those
bytes wait in a file, so that memory does not depend on what entries hold: it is at most `OPEN_HAND_BYTES` for each
hand that is open, that of a table of its own included.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from tempfile import SpooledTemporaryFile
from types import MappingProxyType
from typing import NamedTuple

from audit.findings import Finding
from audit.record.entries import Close, Commit, Offer
from audit.record.fields import hand_text
from audit.whole.judge import SLOT_BYTES
from audit.whole.lost import LostHands
from audit.whole.repeats import Duplicates, Twice
from audit.whole.tally import FirstFew, Tally
from audit.whole.traces import CloseTrace, CommitTrace, OfferTrace, SplitHand, trace_of

ID_BYTES = 16
HELD_BYTES = 8 * 2**20
LENGTH_BYTES = 2
OPEN_HAND_BYTES = 1000
"""The most memory that an open hand takes (tests/unit/audit/whole/test_lifecycle.py measures it)."""


class Opened(NamedTuple):
    """An offer or commit of an open hand: its log index, and where `Kept` has its bytes if they are needed again."""

    at: int
    kept: int | None


@dataclass(slots=True)
class Hand:
    """A hand that is open; `without_offer` where its number was used before: its offer went with the close."""

    hand: bytes
    table: str
    number: int
    opened: int
    without_offer: bool = False
    offer: Opened | None = None
    commits: tuple[Opened, ...] = ()

    @property
    def name(self) -> str:
        """What people call it."""
        return f"hand {hand_text(self.hand)} (entry {self.opened})"


class Kept:
    """Bytes of entries that are needed again: in memory up to `HELD_BYTES` of them, then in a temporary file."""

    def __init__(self, limit: int = HELD_BYTES) -> None:
        self._file = SpooledTemporaryFile(limit)  # noqa: SIM115  # closed by `close`
        self._end = 0

    def keep(self, raw: bytes | None) -> int | None:
        """Keeps an entry's bytes, where there are any; says where."""
        if raw is None:
            return None
        place = self._end
        self._file.seek(place)
        self._end += self._file.write(len(raw).to_bytes(LENGTH_BYTES, "big") + raw)
        return place

    def read(self, trace: Opened | None) -> tuple[int, bytes] | None:
        """Returns an entry's index and its bytes; None where there is no such entry, or its bytes were not needed."""
        if trace is None or trace.kept is None:
            return None
        self._file.seek(trace.kept)
        return trace.at, self._file.read(int.from_bytes(self._file.read(LENGTH_BYTES), "big"))

    def close(self) -> None:
        """Closes the file."""
        self._file.close()

    def __getstate__(self) -> bytes:
        self._file.seek(0)
        return self._file.read()

    def __setstate__(self, data: bytes) -> None:
        self._file = SpooledTemporaryFile(HELD_BYTES)  # noqa: SIM115  # closed by `close`
        self._end = self._file.write(data)


NO_COUNTS: Mapping[str, int] = MappingProxyType({})
"""The counts of a table that has nothing to count yet, as most of a log's may: one for them all."""


def _add_to(counts: Mapping[str, int], names: Iterable[str]) -> Mapping[str, int]:
    """Counts names, in the same dictionary once there is one."""
    for name in names:
        counts = counts if isinstance(counts, dict) else {}
        counts[name] = counts.get(name, 0) + 1
    return counts


@dataclass(slots=True)
class TableLife:
    """A table: its last number, the hand in play, and how its hands ended; `order` tells it from other tables."""

    order: int = 0
    number: int = 0
    current: Hand | None = None
    hands: int = 0
    completed: int = 0
    void: Mapping[str, int] = field(default_factory=lambda: NO_COUNTS)
    lost: int = 0
    committed: int = 0
    without_contributions: int = 0
    taken: Mapping[str, int] = field(default_factory=lambda: NO_COUNTS)
    withheld: Mapping[str, int] = field(default_factory=lambda: NO_COUNTS)
    with_sealed_seats: int = 0
    sealed_seats: int = 0


class Lifecycle:
    """Follows every table of a log.

    Findings go to the tally that it is given.
    """

    def __init__(self, tally: Tally, kept: Kept) -> None:
        self.tables: dict[str, TableLife] = {}
        self._tally = tally
        self._slot: bytes | None = None
        self._kept = kept
        self._by_hand: dict[bytes, Hand] = {}
        self._by_commit: dict[int, Hand] = {}
        self._by_offer: dict[int, Hand] = {}
        self._in_play = 0
        self.lost = LostHands()

    def follow(self, trace: OfferTrace | CommitTrace) -> bytes | None:
        """Follows an offer or a commit; returns the slot (a table and a number) that a hand takes which it opens."""
        self._slot = None
        if isinstance(trace, OfferTrace):
            self.offer(trace)
        else:
            self.commit(trace)
        return self._slot

    def offer(self, trace: OfferTrace) -> None:
        """Follows an offer."""
        open_hand = self._by_hand.get(trace.hand)
        if open_hand is not None and (open_hand.table, open_hand.number) == (trace.table, trace.number):
            self._fail(trace.at, trace.hand, f"a second offer of {open_hand.name}")
            return
        hand = self._open(trace)
        hand.offer = Opened(trace.at, self._kept.keep(trace.raw))
        self._by_offer[trace.at] = hand

    def commit(self, trace: CommitTrace) -> None:
        """Follows a commit."""
        hand = self._offered(trace) or self._open(trace)
        hand.commits = (*hand.commits, Opened(trace.at, self._kept.keep(trace.raw)))
        self._by_commit[trace.at] = hand
        if len(hand.commits) == 1:
            self._count_contributions(self.tables[hand.table], trace)

    def _offered(self, trace: CommitTrace) -> Hand | None:
        """Returns the open hand that this commit belongs to, None where it opens one."""
        if trace.offer is not None:
            hand = self._by_offer.get(trace.offer)
            if hand is not None and hand.hand == trace.hand:
                if hand.commits:
                    self._fail(trace.at, trace.hand, f"a second commit of {hand.name}")
                return hand
            what = "no offer that is open" if hand is None else f"the offer of {hand.name}"
            self._fail(trace.at, trace.hand, f"names entry {trace.offer} as its offer, which is {what}")
        hand = self._by_hand.get(trace.hand)
        if hand is None or (hand.table, hand.number) != (trace.table, trace.number):
            return None
        if hand.commits:
            self._fail(trace.at, trace.hand, f"a second commit of {hand.name}")
        elif trace.offer is None:
            self._fail(trace.at, trace.hand, f"names no offer: expected {hand.opened}")
        return hand

    def close(self, trace: CloseTrace) -> SplitHand | None:
        """Follows a close; the hand's bytes where it is still to be checked."""
        hand, opening = self._named(trace)
        if hand is None or hand.hand != trace.hand or (trace.commit is None and hand.commits):
            hand, opening = self._closed_amiss(trace, hand)
        if hand is None:
            return None
        self._end(hand, trace)
        return self._split_hand(hand, opening, trace) if opening is not None else None

    def _split_hand(self, hand: Hand, opening: Opened | None, close: CloseTrace | None) -> SplitHand | None:
        """What is still to be checked once the hand that `opening` began is closed by `close`, or stays open."""
        if (opening is not None and opening.kept is None) or (close is not None and close.raw is None):
            return None
        commit = self._kept.read(opening) if opening is not hand.offer else None
        end = (close.at, close.raw) if close is not None and close.raw is not None else None
        return SplitHand(commit, self._kept.read(hand.offer), end, hand.without_offer)

    def _named(self, trace: CloseTrace) -> tuple[Hand | None, Opened | None]:
        """The open hand that a close names by its commit or, one that was lost, by its offer; and that entry."""
        if trace.commit is None:
            assert trace.offer is not None
            hand = self._by_offer.get(trace.offer)
            return hand, hand.offer if hand is not None else None
        hand = self._by_commit.get(trace.commit)
        return hand, next((c for c in hand.commits if c.at == trace.commit), None) if hand is not None else None

    def _closed_amiss(self, trace: CloseTrace, by_index: Hand | None) -> tuple[Hand | None, Opened | None]:
        """What a close most likely means whose hand and commit do not belong together, with a finding that says so."""
        by_name = self._by_hand.get(trace.hand)
        if by_name is None and by_index is None:
            self._fail(trace.at, trace.hand, f"closes no open hand (names {_named(trace)})")
            return None, None
        if by_name is None and by_index is not None:
            self._fail(trace.at, trace.hand, f"names {_named(trace)}, which belongs to {by_index.name}")
            return self._named(trace)
        assert by_name is not None
        if not by_name.commits:
            if trace.commit is not None:
                self._fail(trace.at, trace.hand, f"closes {by_name.name} before it is committed")
                return by_name, None
            expected = by_name.offer
            self._fail(trace.at, trace.hand, f"names {_named(trace)}: expected {by_name.opened}")
        else:
            expected = by_name.commits[0]
            self._fail(trace.at, trace.hand, f"names {_named(trace)}: expected entry {expected.at} as its commit")
        # Where the hand and the entry named are two open hands, nobody can say which of them this close belongs to.
        return by_name, expected if by_index is None or by_index is by_name else None

    def finish(self) -> Iterator[SplitHand]:
        """Ends the log: says which hands are open, and gives what is still to be checked of them."""
        still_open = FirstFew("open hand", "open hands")
        for hand in self._open_hands():
            if self.tables[hand.table].current is hand:
                still_open.add(f"{hand.name} is open: number {hand.number} at table {hand.table}")
            openings: list[Opened | None] = [*hand.commits]
            for commit in openings or [None]:
                split = self._split_hand(hand, commit, None)
                if split is not None:
                    yield split
        self._tally.missing += [*self.lost.texts(), *still_open.texts()]

    def forget_closed(self) -> None:
        """Lets go of the bytes of hands that are closed: what is kept then does not grow with the log."""
        before, self._kept = self._kept, Kept()
        for hand in self._open_hands():
            hand.commits = tuple([self._moved(commit, before) for commit in hand.commits])
            if hand.offer is not None:
                hand.offer = self._moved(hand.offer, before)
        before.close()

    def _moved(self, opened: Opened, before: Kept) -> Opened:
        raw = before.read(opened)
        return opened if raw is None else Opened(opened.at, self._kept.keep(raw[1]))

    def end(self) -> None:
        """Closes what is open."""
        self._kept.close()

    def _open_hands(self) -> Iterable[Hand]:
        hands = [*self._by_offer.values(), *self._by_commit.values()]
        return {hand.opened: hand for hand in hands}.values()

    def _open(self, trace: OfferTrace | CommitTrace) -> Hand:
        table = self.tables.get(trace.table)
        if table is None:
            table = self.tables[trace.table] = TableLife(order=len(self.tables))
        self._slot = trace.number.to_bytes(8, "big") + table.order.to_bytes(8, "big")
        hand = Hand(trace.hand, trace.table, trace.number, trace.at, without_offer=trace.number <= table.number)
        self._in_play += 1
        if table.current is not None:
            self._fail(trace.at, trace.hand, f"opened at table {trace.table} while {table.current.name} is in play")
        if trace.number != table.number + 1:
            expected = f"expected {table.number + 1}, found {trace.number}"
            self._fail(trace.at, trace.hand, f"number at table {trace.table}: {expected}")
        table.number = trace.number
        table.current = hand
        table.hands += 1
        table.with_sealed_seats += trace.sealed_seats > 0
        table.sealed_seats += trace.sealed_seats
        self._by_hand[trace.hand] = hand
        return hand

    def _end(self, hand: Hand, trace: CloseTrace) -> None:
        table = self.tables[hand.table]
        if table.current is hand:
            table.current = None
        if self._by_hand.get(hand.hand) is hand:
            del self._by_hand[hand.hand]
        for commit in hand.commits:
            del self._by_commit[commit.at]
        if hand.offer is not None:
            del self._by_offer[hand.offer.at]
        self._in_play -= 1
        if trace.outcome == "lost":
            table.lost += 1
            place = {"opened": hand.opened, "closed": trace.at}
            self.lost.add(hand.hand, hand.table, hand.number, **place, dealt=trace.dealt, in_play=self._in_play)
        elif trace.reason is None:
            table.completed += 1
        else:
            table.void = _add_to(table.void, (trace.reason,))

    @staticmethod
    def _count_contributions(table: TableLife, trace: CommitTrace) -> None:
        table.committed += 1
        if not trace.taken:
            table.without_contributions += 1
        table.taken = _add_to(table.taken, trace.taken)
        table.withheld = _add_to(table.withheld, trace.withheld)

    def _fail(self, at: int, hand: bytes, detail: str) -> None:
        self._tally.add([Finding("lifecycle", at, hand_text(hand), detail)])


def shared_id(twice: Twice) -> list[Finding]:
    """Two hands that share an id (check `seed`); the same number opened again at its table is `lifecycle`'s."""
    if twice.first_data == twice.second_data:
        return []
    detail = f"this id is also that of the hand opened at entry {twice.first}"
    return [Finding("seed", twice.second, hand_text(twice.key), detail)]


def _named(trace: CloseTrace) -> str:
    """What a close says that it closes."""
    return f"entry {trace.commit} as its commit" if trace.offer is None else f"entry {trace.offer} as its offer"


def follow_alone(entries: Iterable[tuple[int, Offer | Commit | Close]], unknown: int | None = None) -> list[Finding]:
    """Returns what `lifecycle` (and `seed`, of the id) finds in entries by themselves, out of the log around them.

    Args:
        entries: entries that should be one hand's, each with its log index. The number of the first is taken for its
            table's next, as far as the table can have reached it.
        unknown: the first index of an unknown entry that may explain what is found behind it; None where all are known.
    """
    tally = Tally(first_unknown=unknown)
    with Duplicates(ID_BYTES, SLOT_BYTES) as ids, closing(Kept()) as kept:
        lifecycle = Lifecycle(tally, kept)
        for at, entry in sorted(entries, key=lambda each: each[0]):
            trace = trace_of(at, entry, b"")
            if isinstance(trace, CloseTrace):
                lifecycle.close(trace)
                continue
            if not lifecycle.tables:
                # Each hand before this one has two entries at least.
                number = min(trace.number - 1, at // 2)
                lifecycle.tables[trace.table] = TableLife(number=number)
            slot = lifecycle.follow(trace)
            if slot is not None:
                ids.add(trace.hand, at, slot)
        for twice in ids.found():
            tally.add(shared_id(twice))
    return list(tally.findings())
