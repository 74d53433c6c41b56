"""`audit verify`: makes every check of PROTOCOL.md section 10 on a log, and says what could not be made."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from time import monotonic

from audit.cluster import Cluster
from audit.errors import FormatError, InputError
from audit.findings import CHECKS, Finding
from audit.hand.escrow import EscrowKeys
from audit.hand.verified_deck import Dealt
from audit.logs.log import Log
from audit.plural import counted
from audit.protocol import sha256
from audit.record.reading import parse_unfamiliar
from audit.tlog import note
from audit.tlog.checkpoint import Checkpoint
from audit.tlog.earlier import Earlier, check_append_only
from audit.tlog.earlier import read as read_earlier
from audit.tlog.ends import NAMES, End, check_end
from audit.tlog.keys import VerifierKey
from audit.tlog.tiles import WIDTH
from audit.tlog.witnessed import Demand, Witnessed, check_witnessed
from audit.whole.asking import Asked, ask_witnesses, newest_checkpoint
from audit.whole.course import Course
from audit.whole.judge import SLOT_BYTES, read_signed
from audit.whole.lifecycle import ID_BYTES
from audit.whole.observed import Observed
from audit.whole.pool import Workers
from audit.whole.rates import TableRates
from audit.whole.repeats import Duplicates
from audit.whole.report import CheckCount, HandCounts, Report
from audit.whole.shared import Shared
from audit.whole.stretch import BUNDLES, SEED_KEY_BYTES, HandResults, Job, Stretch
from audit.whole.tally import Tally
from audit.whole.traces import SplitHand

BATCH = 64
STRETCH = BUNDLES * WIDTH
"""Entries in a stretch."""
KEEP_EVERY = 16
"""After so many stretches of a long way, some seconds' worth, a course is kept."""
MISSING_IN_A_ROW = 1000
"""After so many bundles that are not there the rest of a log counts as not there: a checkpoint may claim any size."""

_DISAGREE = (
    "nothing was found wrong, and still the log does not hold: this is a fault of the auditor's own; say that it was "
    "found, and take the log for unread"
)

Progress = Callable[[int, int], None]
"""Called with the number of entries done and the size of the log."""
TakeDecks = Callable[[Sequence[Dealt]], None]
"""Called with decks whose hand passed its own checks; batches come in no particular order where processes > 1."""

TakeFinding = Callable[[Finding], None]
"""Called with every finding that counts, those beyond `audit.whole.tally.KEPT` as well, in no particular order."""


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
    with Duplicates(SEED_KEY_BYTES, ID_BYTES) as seeds, Duplicates(ID_BYTES, SLOT_BYTES) as ids:
        if shared is not None:
            shared.begin(log.address)
        takers = [take for take in (take_decks, shared.decks if shared is not None else None) if take is not None]
        with closing(Course(seeds, ids)) as course:
            course.tally.take_finding = take_finding
            try:
                report = Audit(options, course, progress=progress, takers=takers).of(look(log, options), log)
            finally:
                log.close()
        if shared is not None:
            origin = report.checkpoint.origin if report.checkpoint is not None else None
            shared.end(origin, is_test=report.verdict == "test-record", seeds=seeds, ids=ids)
        return report


@dataclass(slots=True)
class Shown:
    """What a log and its witnesses showed before any entry was read.

    Attributes:
        key: the verifier key that is pinned, a policy's where none was given.
        note: the log's checkpoint, None where there is none.
        earlier: what its tree must extend.
        unreadable: what cannot be read of all this.
        missing: what could not be compared, and why.
        ends: `successor` and `predecessor`, as far as they are there. They were read before the checkpoint, so that a
            log which ends meanwhile does not contradict itself.
    """

    key: VerifierKey | None
    note: bytes | None = None
    earlier: list[Earlier] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    ends: dict[str, bytes] = field(default_factory=dict)


def look(log: Log, options: Options, held: Sequence[Earlier] = ()) -> Shown:
    """Reads a log's checkpoint, after what witnesses hold if they are to be asked, and what it must extend.

    Args:
        log: where to read it.
        options: as for `verify`. A policy's logs stand in for a key: the one that the checkpoint says it is by.
        held: what the reader has seen of the log by itself: it gets as long to publish it again as for witnesses.
    """
    shown = Shown(options.key)
    try:
        for name in NAMES:
            if (data := log.beside(name)) is not None:
                shown.ends[name] = data
        _read_checkpoint(log, options, shown, held)
        _read_since(options, shown)
        if shown.note is None:
            shown.unreadable.append(log.why_no_checkpoint())
    except InputError as error:
        shown.unreadable.append(str(error))
    return shown


def _read_checkpoint(log: Log, options: Options, shown: Shown, held: Sequence[Earlier]) -> None:
    demand = options.witnesses
    if demand is not None and shown.key is None:
        shown.note = log.checkpoint()
        shown.key = demand.policy.log_key(_decoded(shown.note))
    asks = demand is not None and options.ask_witnesses
    if asks and shown.key is None:
        shown.missing.append("no witness was asked: without a verifier key nobody vouches for the log")
        return
    if shown.key is None or not (asks or held):
        if shown.note is None:
            shown.note = log.checkpoint()
        return
    asked = ask_witnesses(demand.policy, shown.key) if demand is not None and asks else Asked(answered=monotonic())
    shown.unreadable += asked.unreadable
    shown.missing += asked.missing
    asked.seen += held
    shown.earlier += asked.seen
    shown.note = newest_checkpoint(log, asked, shown.key)


def _read_since(options: Options, shown: Shown) -> None:
    for name, data in options.since:
        if shown.key is None:
            shown.missing.append(f"{name} was not compared: without a verifier key nobody vouches for it")
            continue
        try:
            shown.earlier.append(read_earlier(name, data, shown.key))
        except InputError as error:
            shown.unreadable.append(str(error))


class Audit:
    """One audit of what a log shows: from its first entry, or from where a course of it has come."""

    def __init__(
        self,
        options: Options,
        course: Course,
        *,
        progress: Progress | None = None,
        takers: Sequence[TakeDecks] = (),
        keep: Callable[[Course], None] | None = None,
        keep_every: int = KEEP_EVERY,
    ) -> None:
        """Prepares an audit.

        Args:
            options: what to verify the log with.
            course: of the entries read so far; a new one begins with the first.
            progress: told how far the audit is.
            takers: each handed every deck whose hand passed its own checks.
            keep: called now and then with the course as it then stands, after whole stretches of which nothing was
                missing; always after the last one.
            keep_every: after how many stretches.
        """
        self._options = options
        self._course = course
        self._progress = progress
        self._takers = takers
        self._keep = keep
        self._keep_every = keep_every
        self._own = Tally()
        self._signed = read_signed(None, None)
        self._checkpoint: Checkpoint | None = None
        self._witnessed: Witnessed | None = None
        self._ends: list[End] = []
        self._split_hands: list[SplitHand] = []

    def of(self, shown: Shown, log: Log) -> Report:
        """Makes every check on what a log showed, and on its entries; to be called once."""
        own = self._own
        own.unreadable += shown.unreadable
        own.missing += shown.missing
        try:
            self._check_checkpoint(shown)
            if self._checkpoint is not None:
                self._read_entries(log, shown, self._checkpoint)
        except InputError as error:
            own.unreadable.append(str(error))
        self._join()
        return self._report(shown, log)

    @property
    def extends(self) -> bool | None:
        """Whether the checkpoint's tree is the one that was read; None where one of them is not known."""
        root = self._course.tree.root()
        if self._checkpoint is None or root is None or self._course.tree.done != self._checkpoint.size:
            return None
        return root == self._checkpoint.root

    def _join(self) -> None:
        """Takes what was found about the log as a whole over into the course's tally, before what its end says."""
        tally, own = self._course.tally, self._own
        tally.made.update(own.made)
        tally.take_over(own)
        tally.unreadable += own.unreadable
        tally.missing += own.missing
        tally.is_test = tally.is_test or own.is_test
        self._own = Tally()

    def _check_checkpoint(self, shown: Shown) -> None:
        own, key = self._own, shown.key
        self._signed = read_signed(shown.note, key)
        self._checkpoint = self._signed.checkpoint
        if shown.note is not None:
            own.made["checkpoint"] += 1
            own.add(self._signed.findings)
            if key is None:
                own.missing.append("no verifier key was given: who signed the log was not checked")
            self._check_witnesses(shown.note)
            self._check_ends(shown)
        own.is_test = self._signed.is_test

    def _check_ends(self, shown: Shown) -> None:
        """Checks what the log says of the logs after and before it: hints, which only its own key makes any."""
        for name, data in shown.ends.items():
            if shown.key is None or self._checkpoint is None:
                self._own.missing.append(f"{name} was not checked: without a verifier key nobody vouches for it")
                continue
            end, found, unread = check_end(name, data, shown.key, self._checkpoint)
            if unread is not None:
                self._own.missing.append(unread)
                continue
            self._own.made["checkpoint"] += 1
            self._own.add(found)
            if end is not None:
                self._ends.append(end)

    def _check_witnesses(self, data: bytes) -> None:
        demand, signed = self._options.witnesses, _decoded(data)
        if demand is None or not demand.asks or signed is None:
            return
        self._witnessed = check_witnessed(signed, demand)
        self._own.made["witness"] += 1
        self._own.add(self._witnessed.findings)
        if self._witnessed.missing is not None:
            self._own.missing.append(self._witnessed.missing)

    def _read_entries(self, log: Log, shown: Shown, checkpoint: Checkpoint) -> None:
        size, course, tree = checkpoint.size, self._course, self._course.tree
        tally = course.tally
        sizes = tuple(e.checkpoint.size for e in shown.earlier)
        leaves = tuple(e.index for e in shown.earlier if e.index is not None)
        tree.want(sizes)
        job = Job(log, self._options.escrow, size, partial(Observed, bool(self._takers)), parse_unfamiliar)
        stretches = -(-(size - tree.done) // STRETCH)
        workers = Workers(job, min(self._options.processes, stretches), self._options.cluster)
        try:
            self._read_stretches(workers, _stretches(tree.done, size, sizes, leaves), log, size)
            self._join()
            self._hand_in(workers, self._split_hands)
            still_open = course.lifecycle.finish()
            while batch := list(islice(still_open, BATCH)):
                self._hand_in(workers, batch)
            for checked in workers.rest():
                self._take(checked)
        finally:
            workers.close()
        tally.add(course.judge.finish(log))
        self._compare_root(checkpoint)
        course.judge_escrow_keys(self._options.escrow)
        course.find_duplicates()
        for earlier in shown.earlier:
            tally.made["append-only"] += 1
            then = earlier.checkpoint.size
            if then <= size and then not in tree.roots:
                tally.missing.append(f"{earlier.name}: the root at {then} entries is not known")
            leaf = tree.leaves.get(earlier.index) if earlier.index is not None else None
            tally.add(check_append_only(earlier, checkpoint, shown.note or b"", tree.roots.get(then), leaf))
        course.name_missing(tree.missing)
        tally.made["checkpoint"] += tree.tiles

    def _read_stretches(self, workers: Workers, stretches: Iterable[Stretch], log: Log, size: int) -> None:
        course, in_a_row, whole = self._course, 0, True
        for number, read in enumerate(workers.read(stretches), 1):
            begun = course.tree.done
            self._split_hands += course.follow(read, log, size)
            self._give_decks(read.hands)
            if len(self._split_hands) >= BATCH:
                self._hand_in(workers, self._split_hands)
                self._split_hands = []
            done = course.tree.done
            if self._progress is not None:
                self._progress(done, size)
            whole = whole and read.entries == STRETCH and not read.missing_tiles and not course.tree.missing
            if self._keep is not None and whole and (done + STRETCH > size or number % self._keep_every == 0):
                self._keep_course(workers)
            in_a_row = 0 if read.entries else in_a_row + BUNDLES
            if in_a_row >= MISSING_IN_A_ROW:
                after = begun + (BUNDLES - in_a_row) * WIDTH
                raise InputError(f"no entries from {after} on for {in_a_row} bundles: the rest was not looked for")

    def _keep_course(self, workers: Workers) -> None:
        """Hands over the course once all hands that end before this point are checked."""
        assert self._keep is not None
        self._hand_in(workers, self._split_hands)
        self._split_hands = []
        for checked in workers.rest():
            self._take(checked)
        self._keep(self._course)

    def _hand_in(self, workers: Workers, batch: list[SplitHand]) -> None:
        if batch:
            for checked in workers.check(batch):
                self._take(checked)

    def _take(self, checked: HandResults) -> None:
        self._course.take(checked)
        self._give_decks(checked)

    def _give_decks(self, checked: HandResults) -> None:
        seen = checked.seen
        assert isinstance(seen, Observed)
        for take in self._takers if seen.dealt else ():
            take(seen.dealt)

    def _compare_root(self, checkpoint: Checkpoint) -> None:
        root, tally = self._course.tree.root(), self._course.tally
        if root is None:
            tally.missing.append("the tree's root is not known: entries and their hashes are not there")
            return
        tally.made["checkpoint"] += 1
        if root != checkpoint.root:
            size = counted(checkpoint.size, "entry", "entries")
            detail = f"root of {size}: expected {checkpoint.root.hex()}, found {root.hex()}"
            tally.add([Finding("checkpoint", None, None, detail)])

    def _report(self, shown: Shown, log: Log) -> Report:
        course, tally = self._course, self._course.tally
        lives = course.lifecycle.tables
        course.say_what_is_missing()
        if self._checkpoint is not None and not any(life.hands for life in lives.values()):
            tally.missing.append("the log has no hand")
        said = tally.judge(self._options.allow_test)
        verdict, code = course.judge.verdict(said, self._signed, self._options.allow_test)
        if (verdict, code) != said:
            tally.unreadable.append(_DISAGREE)
        tables = {name: TableRates(lives[name], course.voids.result(name)) for name in sorted(lives)}
        void = sum(table.void for table in tables.values())
        total, completed, lost, *others = (
            sum(getattr(life, name) for life in lives.values())
            for name in ("hands", "completed", "lost", "without_contributions", "with_sealed_seats", "sealed_seats")
        )
        return Report(
            address=log.address,
            checkpoint=self._checkpoint,
            verdict=verdict,
            exit_code=code,
            hands=HandCounts(total, completed, void, lost, total - completed - void - lost, *others),
            entries=course.entries,
            checks=tuple(CheckCount(name, tally.made[name], tally.failed[name]) for name in CHECKS),
            findings=tally.findings(),
            missing=(*tally.unreadable, *tally.missing),
            tables=tables,
            key_name=shown.key.name if shown.key is not None else None,
            key_id=shown.key.key_id.hex() if shown.key is not None else None,
            checkpoint_sha256=sha256(shown.note).hex() if shown.note else None,
            first=course.times[0] if course.times is not None else None,
            last=course.times[1] if course.times is not None else None,
            lost=tuple(course.lifecycle.lost.found()),
            witnessed=self._witnessed,
            words_used=course.words_used,
            words_refused=course.words_refused,
            ends=tuple(self._ends),
            unread=tuple(tally.unreadable),
        )


def _decoded(data: bytes | None) -> note.Note | None:
    """A signed note, None where there is none that decodes: what is wrong with it is for the check `checkpoint`."""
    try:
        return None if data is None else note.decode(data)
    except FormatError:
        return None


def _stretches(done: int, size: int, sizes: Sequence[int], leaves: Sequence[int]) -> Iterator[Stretch]:
    """Yields the stretches of a log from `done` entries on, which is a multiple of a stretch's."""
    bundles = -(-size // WIDTH)
    for first in range(done // WIDTH, bundles, BUNDLES):
        last = min(first + BUNDLES, bundles)
        start, end = first * WIDTH, last * WIDTH
        within = tuple(size for size in sizes if start < size < end)
        yield Stretch(first, last, within, tuple(index for index in leaves if start <= index < end))
