"""`audit verify`: makes every check of PROTOCOL.md section 10 on a log, and says what could not be made."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from itertools import islice

from audit.cluster import Cluster
from audit.errors import FormatError, InputError
from audit.findings import CHECKS, Finding, FirstFew, Tally
from audit.hand.escrow import EscrowKeys
from audit.hand.verified_deck import Dealt
from audit.logs.log import Log
from audit.plural import counted
from audit.protocol import sha256
from audit.record.fields import hand_text
from audit.tlog import note
from audit.tlog.checkpoint import Checkpoint, check_checkpoint, is_test_name
from audit.tlog.earlier import Earlier, check_append_only
from audit.tlog.earlier import read as read_earlier
from audit.tlog.keys import VerifierKey
from audit.tlog.tiles import WIDTH
from audit.tlog.witnessed import Demand, Witnessed, check_witnessed
from audit.whole.asking import ask_witnesses, newest_checkpoint
from audit.whole.lifecycle import ID_BYTES, SLOT_BYTES, CloseTrace, Kept, Lifecycle, SplitHand, Trace
from audit.whole.pool import Workers
from audit.whole.rates import TableRates, VoidTest
from audit.whole.repeats import Duplicates
from audit.whole.report import CheckCount, HandCounts, Report
from audit.whole.shared import Shared
from audit.whole.stretch import BUNDLES, SEED_KEY_BYTES, HandResults, Job, Stretch, StretchResult
from audit.whole.tree import Tree

BATCH = 64
MISSING_IN_A_ROW = 1000
"""After so many bundles that are not there the rest of a log counts as not there: a checkpoint may claim any size."""

Progress = Callable[[int, int], None]
"""Called with the number of entries done and the size of the log."""
TakeDecks = Callable[[Sequence[Dealt]], None]
"""Called with decks whose hand passed its own checks; batches come in no particular order where processes > 1."""

TakeFinding = Callable[[Finding], None]
"""Called with every finding that counts, those beyond `audit.findings.KEPT` as well, in no particular order."""


@dataclass(frozen=True, slots=True)
class Options:
    """What a log is verified with.

    Attributes:
        key: the verifier key that is pinned, None where none was given.
        escrow: the auditor's escrow keys.
        since: earlier checkpoints or receipts: a name for the report, and the file's bytes.
        allow_test: judge test records as any other.
        processes: how many processes check at a time.
        cluster: a cluster that checks in their place.
        witnesses: what cosignatures must show, None for nothing. The policy's logs stand in for a key.
        ask_witnesses: hold the log against what these witnesses have seen.
    """

    key: VerifierKey | None = None
    escrow: EscrowKeys = field(default_factory=EscrowKeys)
    since: tuple[tuple[str, bytes], ...] = ()
    allow_test: bool = False
    processes: int = 1
    witnesses: Demand | None = None
    ask_witnesses: bool = False
    cluster: Cluster | None = None


def verify(
    log: Log,
    options: Options,
    *,
    progress: Progress | None = None,
    take_decks: TakeDecks | None = None,
    take_finding: TakeFinding | None = None,
    shared: Shared | None = None,
) -> Report:
    """Audits a log.

    Args:
        log: where to read it.
        options: what to verify it with.
        progress: told how far the audit is.
        take_decks: handed every deck whose hand passed its own checks, voids included. What is wrong with the log as
            a whole stands in the report.
        take_finding: handed every finding; the report keeps the first ones of each check.
        shared: handed what no other log may have: seeds, ids and decks.

    Returns:
        The report; input that cannot be read is a verdict, not an exception.
    """
    with (
        Duplicates(SEED_KEY_BYTES, ID_BYTES) as seeds,
        Duplicates(ID_BYTES, SLOT_BYTES) as hands,
        closing(Kept()) as kept,
    ):
        if shared is not None:
            shared.begin(log.address)
        audit = _Audit(log, options, seeds, hands, kept, progress, take_decks, take_finding, shared)
        report = audit.run()
        if shared is not None:
            origin = report.checkpoint.origin if report.checkpoint is not None else None
            shared.end(origin, is_test=report.verdict == "test-record", seeds=seeds, ids=hands)
        return report


class _Audit:
    """One run of `verify`: what is known so far."""

    def __init__(
        self,
        log: Log,
        options: Options,
        seeds: Duplicates,
        hands: Duplicates,
        kept: Kept,
        progress: Progress | None,
        take_decks: TakeDecks | None,
        take_finding: TakeFinding | None,
        shared: Shared | None,
    ) -> None:
        self._log = log
        self._options = options
        self._progress = progress
        self._takers = [take for take in (take_decks, shared.decks if shared is not None else None) if take is not None]
        self._seeds = seeds
        self._hands = hands
        self._tally = Tally(take_finding=take_finding)
        self._lifecycle = Lifecycle(self._tally, hands, kept)
        self._voids = VoidTest()
        self._checkpoint: Checkpoint | None = None
        self._note = b""
        self._key = options.key
        self._witnessed: Witnessed | None = None
        self._times: tuple[str, str] | None = None
        self._earlier: list[Earlier] = []
        self._entries = 0
        self._without_key = 0
        self._escrow_keys: Counter[bytes] = Counter()
        self._other_keys = Tally()
        self._missing_tiles = FirstFew("hash tile that is not there", "hash tiles that are not there")
        self._unknown = FirstFew("unknown entry", "unknown entries")
        self._split_hands: list[SplitHand] = []

    def run(self) -> Report:
        try:
            data = self._read_checkpoint()
            self._read_since()
            self._check_checkpoint(data)
            if self._checkpoint is not None:
                self._read_entries(self._checkpoint)
        except InputError as error:
            self._tally.unreadable.append(str(error))
        finally:
            self._log.close()
        return self._report()

    def _read_checkpoint(self) -> bytes | None:
        """Reads the checkpoint, after what witnesses hold if they are to be asked.

        A policy's logs stand in for a key: the one that the checkpoint says it is by.
        """
        demand = self._options.witnesses
        if demand is None:
            return self._log.checkpoint()
        data = None
        if self._key is None:
            data = self._log.checkpoint()
            self._key = demand.policy.log_key(_decoded(data))
        if not self._options.ask_witnesses:
            return self._log.checkpoint() if data is None else data
        if self._key is None:
            self._tally.missing.append("no witness was asked: without a verifier key nobody vouches for the log")
            return data
        asked = ask_witnesses(demand.policy, self._key)
        self._tally.unreadable += asked.unreadable
        self._tally.missing += asked.missing
        self._earlier += asked.seen
        return newest_checkpoint(self._log, asked, self._key)

    def _read_since(self) -> None:
        for name, data in self._options.since:
            if self._key is None:
                self._tally.missing.append(f"{name} was not compared: without a verifier key nobody vouches for it")
                continue
            try:
                self._earlier.append(read_earlier(name, data, self._key))
            except InputError as error:
                self._tally.unreadable.append(str(error))

    def _check_checkpoint(self, data: bytes | None) -> None:
        key = self._key
        tally = self._tally
        if data is None:
            tally.unreadable.append(self._log.why_no_checkpoint())
        else:
            self._note = data
            self._checkpoint, found = check_checkpoint(data, key)
            tally.made["checkpoint"] += 1
            tally.add(found)
            if key is None:
                tally.missing.append("no verifier key was given: who signed the log was not checked")
            self._check_witnesses(data)
        tally.is_test = is_test_name(key, self._checkpoint)

    def _check_witnesses(self, data: bytes) -> None:
        demand, signed = self._options.witnesses, _decoded(data)
        if demand is None or not demand.asks or signed is None:
            return
        self._witnessed = check_witnessed(signed, demand)
        self._tally.made["witness"] += 1
        self._tally.add(self._witnessed.findings)
        if self._witnessed.missing is not None:
            self._tally.missing.append(self._witnessed.missing)

    def _read_entries(self, checkpoint: Checkpoint) -> None:
        size = checkpoint.size
        sizes = tuple(e.checkpoint.size for e in self._earlier)
        leaves = tuple(e.index for e in self._earlier if e.index is not None)
        tree = Tree(self._log, size, sizes)
        job = Job(self._log, self._options.escrow, size, bool(self._takers))
        bundles = -(-size // WIDTH)
        workers = Workers(job, min(self._options.processes, -(-bundles // BUNDLES)), self._options.cluster)
        try:
            self._read_stretches(workers, tree, bundles, sizes, leaves)
            self._hand_in(workers, self._split_hands)
            still_open = self._lifecycle.finish()
            while batch := list(islice(still_open, BATCH)):
                self._hand_in(workers, batch)
            for checked in workers.rest():
                self._take(checked)
        finally:
            workers.close()
        self._tally.add(tree.finish())
        self._compare_root(tree, checkpoint)
        self._judge_escrow_keys()
        self._find_duplicates()
        for earlier in self._earlier:
            self._tally.made["append-only"] += 1
            then = earlier.checkpoint.size
            if then <= size and then not in tree.roots:
                self._tally.missing.append(f"{earlier.name}: the root at {then} entries is not known")
            leaf = tree.leaves.get(earlier.index) if earlier.index is not None else None
            self._tally.add(check_append_only(earlier, checkpoint, self._note, tree.roots.get(then), leaf))
        self._name_missing(tree.missing)
        self._tally.made["checkpoint"] += tree.tiles

    def _read_stretches(
        self, workers: Workers, tree: Tree, bundles: int, sizes: tuple[int, ...], leaves: tuple[int, ...]
    ) -> None:
        size = self._checkpoint.size if self._checkpoint is not None else 0
        in_a_row = 0
        for number, read in enumerate(workers.read(_stretches(bundles, sizes, leaves)), 1):
            self._tally.add(tree.grow(read))
            self._follow(read, workers)
            if self._progress is not None:
                self._progress(min(number * BUNDLES * WIDTH, size), size)
            in_a_row = 0 if read.entries else in_a_row + BUNDLES
            if in_a_row >= MISSING_IN_A_ROW:
                after = (number * BUNDLES - in_a_row) * WIDTH
                raise InputError(f"no entries from {after} on for {in_a_row} bundles: the rest was not looked for")

    def _follow(self, read: StretchResult, workers: Workers) -> None:
        """Takes a stretch's result: unknown entries first, since they may explain what comes after them."""
        self._entries += read.entries
        if read.times is not None:
            known = self._times or read.times
            self._times = min(known[0], read.times[0]), max(known[1], read.times[1])
        self._tally.is_test = self._tally.is_test or read.is_test
        for index, why in read.unknown:
            self._tally.saw_unknown(index)
            self._unknown.add(f"entry {index}: {why}")
        self._name_missing(read.missing_tiles)
        self._tally.made["lifecycle"] += len(read.traces)
        for trace in read.traces:
            split = self._follow_trace(trace)
            if split is not None:
                self._split_hands.append(split)
        self._take(read.hands)
        if len(self._split_hands) >= BATCH:
            self._hand_in(workers, self._split_hands)
            self._split_hands = []

    def _name_missing(self, tiles: list[str]) -> None:
        for tile in tiles:
            self._missing_tiles.add(f"hash tile {tile} is not there")

    def _follow_trace(self, trace: Trace) -> SplitHand | None:
        if isinstance(trace, CloseTrace):
            return self._lifecycle.close(trace)
        self._lifecycle.follow(trace)
        return None

    def _hand_in(self, workers: Workers, batch: list[SplitHand]) -> None:
        if batch:
            for checked in workers.check(batch):
                self._take(checked)

    def _take(self, checked: HandResults) -> None:
        self._tally.made.update(checked.made)
        self._add(checked.findings)
        self._without_key += checked.without_key
        self._escrow_keys.update(checked.escrow_keys)
        for key, at, hand in checked.seeds:
            self._seeds.add(key, at, hand)
        self._voids.add(checked.voids)
        for take in self._takers if checked.dealt else ():
            take(checked.dealt)

    def _add(self, findings: list[Finding]) -> None:
        """Counts findings; whether another escrow key than ours is one only the whole log tells."""
        mine = [finding for finding in findings if not finding.other_key]
        self._tally.add(mine)
        if len(mine) < len(findings):
            self._other_keys.add(finding for finding in findings if finding.other_key)

    def _judge_escrow_keys(self) -> None:
        """Section 10: where no sealed hand names a key that was given, the auditor may hold the wrong one."""
        named, ours = self._escrow_keys, self._options.escrow.by_id
        if not named:
            return
        if any(key in ours for key in named):
            self._tally.take_over(self._other_keys)
            return
        keys = FirstFew("key", "keys")
        for key in sorted(named):
            keys.add(key.hex())
        one, count = len(ours) == 1, sum(named.values())
        if count == 1:
            said = f"{'this key does' if one else 'these keys do'} not open the one sealed hand, which names"
        else:
            said = f"{'this key opens' if one else 'these keys open'} none of the {count} sealed hands, which name"
        question = "is it the right one?" if one else "are they the right ones?"
        self._tally.missing.append(f"{said} {', '.join(keys.texts())}: {question}")

    def _compare_root(self, tree: Tree, checkpoint: Checkpoint) -> None:
        root = tree.root()
        if root is None:
            self._tally.missing.append("the tree's root is not known: entries and their hashes are not there")
            return
        self._tally.made["checkpoint"] += 1
        if root != checkpoint.root:
            size = counted(checkpoint.size, "entry", "entries")
            detail = f"root of {size}: expected {checkpoint.root.hex()}, found {root.hex()}"
            self._tally.add([Finding("checkpoint", None, None, detail)])

    def _find_duplicates(self) -> None:
        for twice in self._seeds.found():
            first, second = hand_text(twice.first_data), hand_text(twice.second_data)
            detail = f"this seed is also that of hand {first} (entry {twice.first}): a seed serves one hand"
            self._tally.add([Finding("seed", twice.second, second, detail)])
        self._tally.add(self._lifecycle.shared_ids())

    def _report(self) -> Report:
        tally = self._tally
        lives = self._lifecycle.tables
        self._say_what_is_missing()
        verdict, code = tally.judge(self._options.allow_test)
        tables = {name: TableRates(lives[name], self._voids.result(name)) for name in sorted(lives)}
        void = sum(table.void for table in tables.values())
        total, completed, lost, *others = (
            sum(getattr(life, name) for life in lives.values())
            for name in ("hands", "completed", "lost", "without_contributions", "with_sealed_seats", "sealed_seats")
        )
        return Report(
            address=self._log.address,
            checkpoint=self._checkpoint,
            verdict=verdict,
            exit_code=code,
            hands=HandCounts(total, completed, void, lost, total - completed - void - lost, *others),
            entries=self._entries,
            checks=tuple(CheckCount(name, tally.made[name], tally.failed[name]) for name in CHECKS),
            findings=tally.findings(),
            missing=(*tally.unreadable, *tally.missing),
            tables=tables,
            key_name=self._key.name if self._key is not None else None,
            key_id=self._key.key_id.hex() if self._key is not None else None,
            checkpoint_sha256=sha256(self._note).hex() if self._note else None,
            first=self._times[0] if self._times is not None else None,
            last=self._times[1] if self._times is not None else None,
            lost=tuple(self._lifecycle.lost.found()),
            witnessed=self._witnessed,
        )

    def _say_what_is_missing(self) -> None:
        tally = self._tally
        tally.unreadable += self._unknown.texts()
        if tally.excused:
            what = counted(tally.excused, "lifecycle finding or missing offer", "lifecycle findings and missing offers")
            tally.missing.append(f"{what} may be explained by the unknown entry {tally.first_unknown}")
        tally.missing += self._missing_tiles.texts()
        if self._without_key:
            stay = counted(self._without_key, "sealed hand stays", "sealed hands stay")
            tally.missing.append(f"{stay} closed: no escrow key was given")
        if self._checkpoint is not None and not any(life.hands for life in self._lifecycle.tables.values()):
            tally.missing.append("the log has no hand")


def _decoded(data: bytes | None) -> note.Note | None:
    """A signed note, None where there is none that decodes: what is wrong with it is for the check `checkpoint`."""
    try:
        return None if data is None else note.decode(data)
    except FormatError:
        return None


def _stretches(bundles: int, sizes: Sequence[int], leaves: Sequence[int]) -> Iterator[Stretch]:
    for first in range(0, bundles, BUNDLES):
        last = min(first + BUNDLES, bundles)
        start, end = first * WIDTH, last * WIDTH
        within = tuple(size for size in sizes if start < size < end)
        yield Stretch(first, last, within, tuple(index for index in leaves if start <= index < end))
