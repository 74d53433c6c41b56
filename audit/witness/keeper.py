"""What a witness answers: the steps of `add-checkpoint`, durable before the answer (WITNESS.md section 6).

Decoding and the log's signature are the caller's thread's work. Everything that depends on what is held is decided by
one thread, within one transaction for all requests that wait: many logs share a write to the disk, and no two
decisions rest on the same state.
"""

from __future__ import annotations

import queue
import sqlite3
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass

from audit.errors import CheckError, FormatError
from audit.tlog import note
from audit.tlog.cosignature import cosignature_line, cosigned_message
from audit.tlog.keys import VerifierKey, base64_encode
from audit.tlog.proofs import check_consistency
from audit.witness.rate import Rates
from audit.witness.request import MOST_BYTES, Request, decode
from audit.witness.store import Change, Conflict, Held, Store

TEXT = "text/plain; charset=utf-8"
SIZE = "text/x.tlog.size"
TOGETHER = 256
"""So many requests share one transaction at the most."""
RATE = 2.0

Clock = Callable[[], float]


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer: HTTP's status, body and its type; `why` is for the witness's own log line."""

    status: int
    body: str = ""
    content_type: str = TEXT
    why: str = ""


@dataclass(frozen=True, slots=True)
class _Job:
    request: Request
    log_line: str
    answer: Future[Answer]


class Keeper:
    """A witness at work on its store."""

    def __init__(self, store: Store, *, clock: Clock = time.time, rate: float = RATE) -> None:
        """Starts the thread that decides.

        Args:
            store: the witness's memory; closed by the caller, after `close`.
            clock: POSIX seconds.
            rate: how many requests of each origin a second are taken where something is written.
        """
        self._store = store
        self._clock = clock
        self._rates = Rates(rate)
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._closed = False
        self._thread = threading.Thread(target=self._work, name="witness", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Answers what waits, and ends the thread."""
        self._closed = True
        self._jobs.put(None)
        self._thread.join()
        while not self._jobs.empty():
            if (late := self._jobs.get()) is not None:
                late.answer.set_result(Answer(503, why="the witness is stopping"))

    def checkpoint(self, digest: str) -> str | None:
        """Returns the checkpoint held of the log with this origin hash, None where there is none."""
        return self._store.checkpoint(digest)

    def add_checkpoint(self, body: bytes) -> Answer:
        """Answers a request; what it says is durable when this returns."""
        if len(body) > MOST_BYTES:
            return Answer(413, why=f"a body of more than {MOST_BYTES} bytes")
        try:
            request = decode(body)
        except FormatError as error:
            return Answer(400, why=str(error))
        origin = request.checkpoint.origin
        try:
            key = self._store.log_key(origin)
        except sqlite3.Error as error:
            return Answer(503, why=f"the store cannot be read: {error}")
        if key is None:
            return Answer(404, why=f"{origin!a} is not on the list")
        try:
            note.check_signed(request.note, key)
        except CheckError as error:
            return Answer(403, why=f"{origin}: {error}")
        if self._closed:
            return Answer(503, why="the witness is stopping")
        job = _Job(request, _line_of(request.note, key), Future())
        self._jobs.put(job)
        return job.answer.result()

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            jobs = [job]
            ending = False
            while len(jobs) < TOGETHER and not self._jobs.empty():
                another = self._jobs.get()
                if another is None:
                    ending = True
                    break
                jobs.append(another)
            for each, answer in zip(jobs, self._answers(jobs), strict=True):
                each.answer.set_result(answer)
            if ending:
                return

    def _answers(self, jobs: list[_Job]) -> list[Answer]:
        """The answers to all jobs, once what they say is durable; where it cannot be made so, nobody gets one."""
        try:
            with self._store.change() as change:
                answers = [self._decide(change, job) for job in jobs]
        except sqlite3.Error as error:
            return [Answer(503, why=f"the store cannot be written: {error}")] * len(jobs)
        except Exception as error:  # whatever it is: nothing was stored, and the thread goes on
            if len(jobs) > 1:
                return [answer for job in jobs for answer in self._answers([job])]
            return [Answer(500, why=f"an error of the witness itself: {error!r}")] * len(jobs)
        return answers

    def _decide(self, change: Change, job: _Job) -> Answer:
        request, new = job.request, job.request.checkpoint
        held = change.held(new.origin)
        if held is None:
            return Answer(404, why=f"{new.origin!a} is not on the list")
        if request.old > new.size:
            return Answer(400, why=f"{new.origin}: old {request.old} is above the checkpoint's size, {new.size}")
        if request.old != held.size:
            return Answer(409, f"{held.size}\n", SIZE)
        now = int(self._clock())
        try:
            check_consistency(held.size, new.size, held.root, new.root, request.proof)
        except CheckError as error:
            return self._refuse(change, job, held, now, str(error))
        if now < held.time:
            return Answer(503, why=f"{new.origin}: the clock is {held.time - now} seconds behind the last cosignature")
        # Only the log itself can make its tree grow: what strangers pass on again has a rate of its own.
        if not self._rates.take(new.origin, "growth" if new.size > held.size else "again", self._clock()):
            return Answer(429, why=f"{new.origin}: too many requests")
        line = cosignature_line(self._store.key, now, self._store.sign(cosigned_message(request.note.text, now)))
        change.keep(Held(new.origin, new.size, new.root, now, f"{request.note.text}\n{job.log_line}{line}"))
        return Answer(200, line)

    def _refuse(self, change: Change, job: _Job, held: Held, now: int, why: str) -> Answer:
        new = job.request.checkpoint
        proves = new.size == held.size and new.root != held.root
        why = "a fork: another root at the same size" if proves else why
        refused = f"{job.request.note.text}\n{job.log_line}"
        if not change.has_conflict(new.origin, proves, refused):
            # New proofs have a rate of their own: only the log's key can make them, and it could fill the disk.
            if not self._rates.take(new.origin, "fork" if proves else "refused", self._clock()):
                return Answer(429, why=f"{new.origin}: too many requests")
            change.keep_conflict(Conflict(new.origin, proves, now, why, refused, held.checkpoint))
        return Answer(422, why=f"{new.origin}: {why}")


def _line_of(signed: note.Note, key: VerifierKey) -> str:
    line = next(line for line in signed.signatures if (line.name, line.key_id) == (key.name, key.key_id))
    return f"{note.DASH}{line.name} {base64_encode(line.key_id + line.signature)}\n"
