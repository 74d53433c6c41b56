"""One stretch of a log, checked by one process: its hashes, its entries, and every hand that lies wholly within it.

What needs the rest of the log goes back in short: subtree roots, traces for `lifecycle`, and the bytes of entries
whose hand goes beyond the stretch.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Protocol

from audit.errors import FormatError
from audit.findings import Finding
from audit.hand.checks import Case, HandResult, check_hand, check_offered
from audit.hand.escrow import EscrowKeys
from audit.logs.log import Log
from audit.protocol import HASH_BYTES, sha256
from audit.record.entries import Close, Commit, Offer, Unknown, familiar
from audit.record.fields import SchemaError, hand_text
from audit.tlog.merkle import CompactRange, full_root, leaf_hash
from audit.tlog.tiles import WIDTH, path
from audit.whole.traces import SplitHand, Trace, trace_of

BUNDLES = 8
"""Bundles in a stretch: 2,048 entries, about a thousand hands."""

SEED_KEY_BYTES = 16


class Observer(Protocol):
    """Whoever looks on: it is shown what was read and checked, and has no say in what was found."""

    def read(self, entries: Iterable[Offer | Commit | Close]) -> None:
        """Is shown a stretch's entries."""
        ...

    def hand(self, case: Case, outcome: HandResult) -> None:
        """Is shown a hand that was checked."""
        ...


@dataclass(frozen=True, slots=True)
class Job:
    """What every stretch is checked with; `observe` makes an observer for each batch of hands.

    `unfamiliar` says what an entry is that is none of a known schema, or why it is refused: the log is not valid then.
    """

    log: Log
    keys: EscrowKeys
    size: int
    observe: Callable[[], Observer]
    unfamiliar: Callable[[bytes], Unknown]


@dataclass(frozen=True, slots=True)
class Stretch:
    """Bundles `first` to `last` (exclusive); sizes whose root, and indexes whose leaf hash, somebody asks for."""

    first: int
    last: int
    sizes: tuple[int, ...] = ()
    leaves: tuple[int, ...] = ()


@dataclass(slots=True)
class HandResults:
    """The result of checking some hands; the sum over all batches is the result for the log.

    Attributes:
        seen: the observer that looked on.
        made: how often each check was made.
        findings: what is wrong.
        without_key: sealed hands that no key was given for.
        escrow_keys: how many sealed hands name each key.
        seeds: of each seed that is known a digest, its close's index and its hand.
        cut: of each hand that was cut apart the bytes it was checked with, as `judge` names them.
    """

    seen: Observer
    made: Counter[str] = field(default_factory=Counter)
    findings: list[Finding] = field(default_factory=list)
    without_key: int = 0
    escrow_keys: Counter[bytes] = field(default_factory=Counter)
    seeds: list[tuple[bytes, int, bytes]] = field(default_factory=list)
    cut: list[bytes] = field(default_factory=list)


@dataclass(slots=True)
class StretchResult:
    """The result of reading and checking one stretch.

    Attributes:
        hands: the hands that were checked here.
        traces: for `lifecycle`, in log order.
        roots: for each bundle its leaves' subtree, None where they are not known; the last may be partial.
        roots_at: the subtree of each bundle that ends within a size asked for, up to that size.
        leaves: the leaf hashes asked for.
        unknown: index and reason of entries that are unknown, at most one for each bundle that is not there.
        missing_tiles: paths of hash tiles that are not there.
        is_test: some entry says that it is of a test record.
        entries: how many entries were there.
    """

    hands: HandResults
    traces: list[Trace] = field(default_factory=list)
    roots: list[CompactRange | None] = field(default_factory=list)
    roots_at: dict[int, CompactRange | None] = field(default_factory=dict)
    leaves: dict[int, bytes] = field(default_factory=dict)
    unknown: list[tuple[int, str]] = field(default_factory=list)
    missing_tiles: list[str] = field(default_factory=list)
    is_test: bool = False
    entries: int = 0


def read_stretch(job: Job, stretch: Stretch) -> StretchResult:
    """Reads and checks one stretch of the log."""
    reader = _StretchReader(job, stretch)
    for number in range(stretch.first, stretch.last):
        reader.read_bundle(number)
    return reader.finish()


def check_split_hands(job: Job, batch: list[SplitHand]) -> HandResults:
    """Checks hands whose entries lie in different stretches, or that are still open."""
    checked = HandResults(job.observe())
    for item in batch:
        entries = (item.commit, item.offer, item.close)
        commit, offer, close = (familiar(each[1]) if each is not None else None for each in entries)
        assert commit is None or isinstance(commit, Commit)
        assert offer is None or isinstance(offer, Offer)
        assert close is None or isinstance(close, Close)
        at = item.close[0] if item.close is not None else -1
        if not item.without_offer:  # else it was not asked for: such a hand is never one of a valid log
            checked.cut.append(b"".join([leaf_hash(each[1]) for each in (item.offer, item.commit, item.close) if each]))
        if commit is not None and item.commit is not None:
            _add_hand(job, Case(commit, item.commit[0], offer, close, at, item.without_offer), checked)
        elif offer is not None and item.offer is not None:
            _add_outcome(check_offered(offer, item.offer[0], job.keys, close, at), checked)
    return checked


class _StretchReader:
    """Reads a stretch bundle by bundle, then checks each hand that lies wholly within it."""

    def __init__(self, job: Job, stretch: Stretch) -> None:
        self._job = job
        self._stretch = stretch
        self._read = StretchResult(HandResults(job.observe()))
        self._held: dict[int, tuple[Offer | Commit | Close, bytes]] = {}
        self._settled: set[int] = set()

    def finish(self) -> StretchResult:
        """Checks the hands and returns the stretch's result.

        To read first and check afterwards is quicker than to take turns: each keeps its code in the processor's cache.
        """
        for at, (entry, _) in self._held.items():
            if isinstance(entry, Close) and entry.commit is not None:
                case = self._whole_hand(at, entry, entry.commit)
                if case is not None:
                    _add_hand(self._job, case, self._read.hands)
        self._read.traces = [
            trace_of(at, entry, None if at in self._settled else raw) for at, (entry, raw) in self._held.items()
        ]
        self._read.hands.seen.read([entry for entry, _ in self._held.values()])
        return self._read

    def read_bundle(self, number: int) -> None:
        """Reads a bundle and its tile of level 0."""
        read, log = self._read, self._job.log
        first = number * WIDTH
        width = min(WIDTH, self._job.size - first)
        where = path("entries", number, width)
        raws = None
        try:
            raws = log.entries(number, width)
            if raws is None:
                read.unknown.append((first, f"bundle {where} is not there"))
        except FormatError as error:
            read.unknown.append((first, f"bundle {where} does not decode"))
            self._fail("checkpoint", first, None, f"{where}: {error}")
        tile = self._tile(number, width) if log.has_tiles else None
        hashes: list[bytes] = []
        if raws is not None:
            read.entries += len(raws)
            hashes = [leaf_hash(raw) for raw in raws]
            self._read_entries(first, raws)
            if tile is not None:
                read.hands.made["checkpoint"] += 1
                self._compare_tile(first, hashes, tile)
        elif tile is not None:
            hashes = [tile[i : i + HASH_BYTES] for i in range(0, len(tile), HASH_BYTES)]
        self._keep_hashes(first, hashes)

    def _fail(self, check: str, index: int, hand: str | None, detail: str) -> None:
        self._read.hands.findings.append(Finding(check, index, hand, detail))

    def _tile(self, number: int, width: int) -> bytes | None:
        where = path(0, number, width)
        try:
            tile = self._job.log.tile(0, number, width)
        except FormatError as error:
            self._fail("checkpoint", number * WIDTH, None, f"{where}: {error}")
            return None
        if tile is None:
            self._read.missing_tiles.append(where)
        return tile

    def _compare_tile(self, first: int, hashes: list[bytes], tile: bytes) -> None:
        if b"".join(hashes) == tile:
            return
        wrong = [i for i, found in enumerate(hashes) if tile[HASH_BYTES * i : HASH_BYTES * (i + 1)] != found]
        at = first + wrong[0]
        hand = hand_text(self._held[at][0].hand) if at in self._held else None
        expected = tile[HASH_BYTES * wrong[0] : HASH_BYTES * (wrong[0] + 1)]
        more = f" ({len(wrong)} entries of this tile disagree)" if len(wrong) > 1 else ""
        found = hashes[wrong[0]].hex()
        detail = f"the tile and the entry disagree: expected leaf {expected.hex()}, found {found}{more}"
        self._fail("checkpoint", at, hand, detail)

    def _keep_hashes(self, first: int, hashes: list[bytes]) -> None:
        read = self._read
        read.roots.append(_subtree(hashes) if hashes else None)
        for size in self._stretch.sizes:
            if first < size < first + WIDTH:
                read.roots_at[size] = _subtree(hashes[: size - first]) if hashes else None
        for index in self._stretch.leaves:
            if first <= index < first + len(hashes):
                read.leaves[index] = hashes[index - first]

    def _read_entries(self, first: int, raws: list[bytes]) -> None:
        read, held = self._read, self._held
        read.hands.made["schema"] += len(raws)
        for at, raw in enumerate(raws, first):
            try:
                entry = familiar(raw)
                other = self._job.unfamiliar(raw) if entry is None else None
            except SchemaError as error:
                read.is_test = read.is_test or error.test
                self._fail("schema", at, error.hand, str(error))
                continue
            if other is not None:
                read.is_test = read.is_test or other.test
                read.unknown.append((at, f"schema {other.schema[:80]!a}"))
            if entry is not None:
                read.is_test = read.is_test or entry.test
                held[at] = (entry, raw)

    def _whole_hand(self, at: int, close: Close, commit_index: int) -> Case | None:
        """The hand that `close` ends, where all its entries are here and name each other; they are settled then."""
        held, settled = self._held, self._settled
        if commit_index in settled or commit_index not in held:
            return None
        commit = held[commit_index][0]
        if not isinstance(commit, Commit) or commit.hand != close.hand:
            return None
        offer = None
        if commit.offer is not None:
            named = held[commit.offer][0] if commit.offer in held and commit.offer < commit_index else None
            if not isinstance(named, Offer) or named.hand != commit.hand or commit.offer in settled:
                return None
            offer = named
            settled.add(commit.offer)
        elif commit.contributions or commit.withheld:
            return None  # its offer may be one that it does not name
        settled.update((commit_index, at))
        return Case(commit, commit_index, offer, close, at)


def _subtree(hashes: list[bytes]) -> CompactRange:
    peaks = CompactRange()
    if len(hashes) == WIDTH:
        peaks.append(full_root(hashes), height=8)
    else:
        for leaf in hashes:
            peaks.append(leaf)
    return peaks


def _add_outcome(outcome: HandResult, checked: HandResults) -> None:
    checked.made.update(outcome.made)
    checked.findings += outcome.findings
    checked.without_key += outcome.needs_key
    if outcome.escrow_key is not None:
        checked.escrow_keys[outcome.escrow_key] += 1


def _add_hand(job: Job, case: Case, checked: HandResults) -> None:
    outcome = check_hand(case, job.keys)
    _add_outcome(outcome, checked)
    if outcome.seed is not None:
        checked.seeds.append((sha256(outcome.seed)[:SEED_KEY_BYTES], case.close_index, case.commit.hand))
    checked.seen.hand(case, outcome)
