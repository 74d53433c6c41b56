"""A monitor's looks at a log: each goes on where the one before was, and finds what an audit of the whole log would."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from audit.errors import AuditError
from audit.logs.log import Log
from audit.logs.tile_reader import tile_reader
from audit.monitor.memory import Memory
from audit.monitor.recent import Recent
from audit.tlog.checkpoint import Checkpoint, check_checkpoint
from audit.tlog.earlier import Earlier
from audit.tlog.keys import VerifierKey
from audit.tlog.proofs import check_consistency
from audit.tlog.proving import consistency_proof, root_at
from audit.tlog.witnessed import AHEAD_SECONDS, Demand
from audit.whole.course import Course
from audit.whole.judge import SLOT_BYTES
from audit.whole.lifecycle import ID_BYTES
from audit.whole.repeats import Duplicates
from audit.whole.report import Report
from audit.whole.stretch import SEED_KEY_BYTES
from audit.whole.verify import KEEP_EVERY, Audit, Options, Progress, Shown, look


@dataclass(frozen=True, slots=True)
class Looked:
    """One look.

    Attributes:
        report: as `audit verify` of the whole log would give it.
        whole: the log's key signed the checkpoint, and the tree that was read is the one that it stands for.
    """

    report: Report
    whole: bool


@dataclass(frozen=True, slots=True)
class _Result:
    """One audit: its report, whether its tree is the checkpoint's, and what is known of the roots it had before."""

    report: Report
    extends: bool | None
    roots: dict[int, bytes]


class Follower:
    """Follows one log.

    An audit's course is worth what the tree is worth that it ends in. If a checkpoint that the log signed has the root
    to which the course and the entries behind it lead, every entry of the course is one of this checkpoint's. So a
    course is kept before anything is known of where it leads, and is thrown away once it leads nowhere.
    """

    def __init__(
        self, log: Log, key: VerifierKey, options: Options, memory: Memory, basis: str, keep_every: int = KEEP_EVERY
    ) -> None:
        """Prepares to look.

        Args:
            log: where to read it.
            key: the log's.
            options: as for `verify`, with what is asked of witnesses.
            memory: what the monitor remembers.
            basis: what its results depend on beside the log: the auditor's code, say.
            keep_every: after how many stretches of a long way the memory keeps how far it has come.
        """
        self._log = Recent(log)
        self._key = key
        self._options = replace(options, key=key)
        self._memory = memory
        keys = ",".join(sorted(each.hex() for each in options.escrow.by_id))
        self._basis = f"{basis} {keys}"
        self._keep_every = keep_every

    def look(self, now: int, progress: Progress | None = None) -> Looked:
        """Looks once: witnesses first, then the log.

        Args:
            now: POSIX seconds.
            progress: told how far it is.

        Raises:
            sqlite3.Error: the memory cannot be used.
        """
        options = self._options
        if options.witnesses is not None:
            options = replace(options, witnesses=Demand(options.witnesses.policy, now, options.witnesses.max_age))
        newest, left = self._memory.branch()
        mine = [newest] if newest is not None else []
        try:
            shown = look(self._log, options, mine)
            shown.earlier += left
            result = self._judge(shown, options, progress)
        finally:
            self._log.close()
        checkpoint = self._signed(shown)
        if checkpoint is None or result.extends is not True:
            return Looked(result.report, whole=False)
        with self._memory.change():
            said = result.report.witnessed
            if said is not None and said.since is not None and said.since <= now + AHEAD_SECONDS:
                self._memory.saw_quorum(said.since)
            extended = {each.name: _extends(checkpoint, each, result.roots) for each in (*mine, *left)}
            text = (shown.note or b"").decode("utf-8", "replace")
            self._memory.take(Earlier("", text, checkpoint), now, extended)
        return Looked(result.report, whole=True)

    def _signed(self, shown: Shown) -> Checkpoint | None:
        """Returns the checkpoint that the log showed if the log's key has signed it, else None."""
        if shown.note is None:
            return None
        checkpoint, wrong = check_checkpoint(shown.note, self._key)
        return None if wrong else checkpoint

    def _judge(self, shown: Shown, options: Options, progress: Progress | None) -> _Result:
        checkpoint = self._signed(shown)
        result = self._go_on(shown, options, progress, checkpoint) if shown.note is not None else None
        if result is not None:
            return result
        self._log.forget()
        if checkpoint is None:
            # There is nothing that the log's key vouches for: what was read of the log is not given up for that.
            with Duplicates(SEED_KEY_BYTES, ID_BYTES) as seeds, Duplicates(ID_BYTES, SLOT_BYTES) as ids:
                return self._run(Course(seeds, ids), shown, options, progress, None)
        self._memory.begin_again()
        with self._memory.course(self._basis) as course:
            return self._run(course, shown, options, progress, self._keep)

    def _go_on(
        self, shown: Shown, options: Options, progress: Progress | None, checkpoint: Checkpoint | None
    ) -> _Result | None:
        """Audits from where the memory's course is; None where what was read before is not of this tree."""
        for again in (False, True):
            with self._memory.course(self._basis) as course:
                done, root = course.tree.done, course.tree.root()
                if checkpoint is not None:
                    if done > checkpoint.size:
                        return None
                    self._find_roots(course, shown, checkpoint)
                keep = self._keep if checkpoint is not None else None
                result = self._run(course, shown, options, progress, keep)
            if result.extends is True:
                return result
            if again or not self._log.forget():
                break
        if not done:
            return result
        proven = proven_root(self._log, done, checkpoint) if checkpoint is not None else None
        # What is not there just now may come yet: the course stays where nothing proves that it is of another tree.
        unknown = checkpoint is not None and result.extends is None and proven is None
        return result if unknown or proven == root else None

    def _keep(self, course: Course) -> None:
        self._memory.keep(course, self._basis)

    def _run(
        self,
        course: Course,
        shown: Shown,
        options: Options,
        progress: Progress | None,
        keep: Callable[[Course], None] | None,
    ) -> _Result:
        audit = Audit(options, course, progress=progress, keep=keep, keep_every=self._keep_every)
        report = audit.of(shown, self._log)
        return _Result(report, audit.extends, course.tree.roots)

    def _find_roots(self, course: Course, shown: Shown, checkpoint: Checkpoint) -> None:
        """Finds out the roots at sizes that the course is beyond: what a witness holds may be behind it."""
        roots = course.tree.roots
        for size in {earlier.checkpoint.size for earlier in shown.earlier}:
            if size < course.tree.done and size not in roots:
                root = self._memory.root_at(size) or proven_root(self._log, size, checkpoint)
                if root is not None:
                    roots[size] = root


def _extends(checkpoint: Checkpoint, earlier: Earlier, roots: dict[int, bytes]) -> bool:
    then = earlier.checkpoint
    return then.size <= checkpoint.size and roots.get(then.size) == then.root


def proven_root(log: Log, then: int, now: Checkpoint) -> bytes | None:
    """Returns the root of the first `then` entries of the tree `now`, if the log's hash tiles prove it; else None."""
    if not log.has_tiles:
        return None
    read = tile_reader(log)
    try:
        root = root_at(then, now.size, read)
        check_consistency(then, now.size, root, now.root, consistency_proof(then, now.size, read))
    except AuditError:
        return None
    return root
