"""Asking one witness: what is sent, what its answers mean, and when it is asked again (WITNESS.md section 5)."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256

import structlog

from dealer.log.checkpoint import Checkpoint, read_checkpoint
from dealer.log.cosignature import CosignatureError, WitnessKey
from dealer.log.errors import LogError, NoteError
from dealer.log.note import NoteVerifier, signature_lines
from dealer.log.strict import decode_number, encode_base64
from dealer.service.witnesses.conflict import Conflict, History, judge
from dealer.service.witnesses.http import Http, NoAnswerError, Reply
from dealer.service.witnesses.metrics import WitnessMetrics

_log = structlog.get_logger()
_SIZE = "text/x.tlog.size"
_SIZES_TAKEN = 3
"""How often a witness may name the size that it holds before it is left alone until the next round."""
_IN_A_ROW = 3
_MOST_PAUSE = 600.0
_CLOCKS_APART = 300


@dataclass(slots=True)
class Outcome:
    """What came of asking a witness once.

    Attributes:
        cosigned: the note with its cosignature, checked; None where there is none.
        conflict: what it holds against this log.
        reached: whether it answered at all.
    """

    cosigned: str | None = None
    conflict: Conflict | None = None
    reached: bool = True


class Asker:
    """One witness, and what is known of it. It belongs to the loop; one request at a time goes to the witness.

    Attributes:
        name: in the policy.
        key: the witness's.
        not_before: when it may be asked again, on the monotonic clock.
    """

    def __init__(
        self,
        name: str,
        key: WitnessKey,
        url: str,
        verifier: NoteVerifier,
        http: Http,
        history: History,
        metrics: WitnessMetrics,
        clock: Callable[[], float],
        pace: float,
    ) -> None:
        """Asks nothing yet.

        Args:
            name: in the policy.
            key: the witness's.
            url: the submission prefix.
            verifier: the log's key.
            http: asks.
            history: what the log holds.
            metrics: what counts.
            clock: gives POSIX seconds.
            pace: seconds from one round to the next.
        """
        self.name, self.key, self.not_before = name, key, 0.0
        prefix = url.rstrip("/")
        self._add = f"{prefix}/add-checkpoint"
        self._held = f"{prefix}/{sha256(verifier.name.encode()).hexdigest()}/checkpoint"
        self._verifier, self._http, self._history, self._metrics = verifier, http, history, metrics
        self._clock, self._pace = clock, pace
        self._size = 0
        self._failures = 0
        self._said = self._asked = ""

    async def show(self, note: str) -> Outcome:
        """Shows the witness a tree, and returns its cosignature, or what it holds against the tree.

        Args:
            note: the checkpoint with the log's own signature line alone.
        """
        checkpoint = read_checkpoint(note)
        for _ in range(1 + _SIZES_TAKEN):
            try:
                reply = await self._post(min(self._size, checkpoint.size), checkpoint, note)
            except NoAnswerError as error:
                self._failed("none", str(error))
                return Outcome(reached=False)
            held = _size_of(reply)
            if reply.status == 200:
                return self._take(note, reply)
            if reply.status == 409 and held is not None:
                self._count("409")
                self._size = held
                if held > checkpoint.size:
                    return await self._is_ahead(held)
                continue
            if reply.status in (409, 422):
                self._count(f"{reply.status}")
                self._say("error", "a witness holds another tree of this log", status=reply.status)
                return await self._look_closer(f"another tree than this log's of {checkpoint.size} entries")
            return self._other(reply)
        self._failed("unreadable", "it names one size after another, and takes no proof from any")
        return Outcome()

    async def look(self, published: str) -> Outcome:
        """Asks what the witness holds, before anything is served.

        Args:
            published: the newest published checkpoint, shown where the witness does not tell what it holds.
        """
        try:
            reply = await self._get()
            if reply.status == 200:
                return Outcome(conflict=await self._judge(reply))
            checkpoint = read_checkpoint(published)
            reply = await self._post(0, checkpoint, published)
        except NoAnswerError as error:
            self._failed("none", str(error))
            return Outcome(reached=False)
        self._count(f"{reply.status}")
        held = _size_of(reply)
        if reply.status == 409 and held is not None:
            self._size = held
            return await self._is_ahead(held)
        if reply.status in (409, 422) and checkpoint.size:
            return Outcome(conflict=await self._says("another tree of this log"))
        return Outcome()

    async def _post(self, old: int, checkpoint: Checkpoint, note: str) -> Reply:
        hashes = await self._history.proof(old, checkpoint.size) if 0 < old < checkpoint.size else []
        proof = "".join([f"{encode_base64(each)}\n" for each in hashes])
        began = time.monotonic()
        self._asked = f"old {old}\n{proof}\n{note}"
        reply = await self._http.ask(self._add, self._asked.encode())
        self._metrics.seconds.observe(time.monotonic() - began)
        return reply

    async def _get(self) -> Reply:
        began = time.monotonic()
        reply = await self._http.ask(self._held)
        self._metrics.seconds.observe(time.monotonic() - began)
        return reply

    def _take(self, note: str, reply: Reply) -> Outcome:
        """Takes the cosignature of an answer, if it is one that the strictest reader takes."""
        text = note[: note.rindex("\n\n") + 1]
        try:
            data = self._only_ours(text, reply.body.decode())
            time_ = self.key.time_of(text, data)
            if abs(time_ - self._clock()) > _CLOCKS_APART:
                raise CosignatureError(f"its time, {time_}, is not within {_CLOCKS_APART} seconds of this clock")
        except UnicodeDecodeError:
            self._failed("unreadable", "the answer is no text")
            return Outcome()
        except CosignatureError as error:
            self._failed("dropped", str(error))
            return Outcome()
        except NoteError as error:
            self._failed("unreadable", str(error))
            return Outcome()
        self._count("200")
        self._size = read_checkpoint(note).size
        self._failures = 0
        self._say("info", "a witness cosigns")
        return Outcome(cosigned=f"{note}\u2014 {self.key.name} {encode_base64(data)}\n")

    def _only_ours(self, text: str, body: str) -> bytes:
        _, lines = signature_lines(f"{text}\n{body}")
        ours = [data for name, data in lines if name == self.key.name and data[:4] == self.key.key_id]
        if len(ours) != 1:
            raise CosignatureError(f"{len(ours)} lines by the key of this witness, where one was asked for")
        return ours[0]

    async def _is_ahead(self, held: int) -> Outcome:
        """Judges a size that the witness says it holds: what is durable by now may be as great."""
        size = read_checkpoint(await self._history.newest()).size
        return Outcome() if held <= size else await self._look_closer(f"{held} entries, and the log has {size}")

    async def _look_closer(self, what: str) -> Outcome:
        """Gets what a witness holds: only this log's own signature proves anything."""
        try:
            reply = await self._get()
        except NoAnswerError:
            return Outcome(conflict=await self._says(what))
        if reply.status != 200:
            return Outcome(conflict=await self._says(what))
        return Outcome(conflict=await self._judge(reply) or await self._says(what))

    async def _says(self, what: str) -> Conflict:
        detail = f"the witness {self.name} says that it holds {what}"
        return Conflict(self.name, detail, await self._history.newest())

    async def _judge(self, reply: Reply) -> Conflict | None:
        try:
            note = reply.body.decode()
            conflict = await judge(self.name, note, self._verifier, self._history)
            self._size = read_checkpoint(note).size
        except (UnicodeDecodeError, LogError) as error:
            self._say(
                "warning", "what a witness holds is not signed by this log's key, or cannot be read", why=str(error)
            )
            return None
        return conflict

    def _other(self, reply: Reply) -> Outcome:
        """Takes an answer that is no cosignature and no size."""
        self._count(f"{reply.status}")
        if reply.status in (403, 404):
            self.not_before = time.monotonic() + _MOST_PAUSE
            self._say("error", "a witness does not know this log or its key: a setting to mend", status=reply.status)
            return Outcome()
        if reply.status in (400, 413):
            self._say(
                "error",
                "a witness cannot read what it was asked: a fault of the dealer's own; please report this line",
                status=reply.status,
                asked=self._asked,
                answer=ascii(reply.body[:500]),
            )
        self._failed(None, f"status {reply.status}")
        return Outcome()

    def too_slow(self) -> None:
        """Notes that it did not answer in time."""
        self._failed("none", "no answer in time")

    def _failed(self, status: str | None, why: str) -> None:
        if status is not None:
            self._count(status)
        self._failures += 1
        if self._failures >= _IN_A_ROW:
            pause = min(_MOST_PAUSE, self._pace * 2.0 ** min(self._failures - _IN_A_ROW + 1, 32))
            self.not_before = time.monotonic() + pause
        self._say("warning", "a witness does not cosign", why=why)

    def _count(self, status: str) -> None:
        self._metrics.requests.labels(self.name, status).inc()

    def _say(self, level: str, event: str, **values: object) -> None:
        """Says what is so now, once, until it is something else."""
        if event != self._said and not (level == "info" and not self._said):
            getattr(_log, level)(event, witness=self.name, **values)
        self._said = event


def _size_of(reply: Reply) -> int | None:
    """Returns the size that an answer 409 names, None where it names none."""
    try:
        if reply.status == 409 and reply.kind == _SIZE and reply.body.endswith(b"\n"):
            return decode_number(reply.body[:-1].decode("ascii"))
    except ValueError:
        pass
    return None
