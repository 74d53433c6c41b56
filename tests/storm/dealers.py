"""Two real dealers in a storm, and callers of 20 tables that repeat or give up; every answer ever given is judged."""

import json
import random
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import grpc
import psycopg

from dealer.log.checkpoint import open_checkpoint
from dealer.log.merkle import CompactRange, leaf_hash
from dealer.log.note import NoteVerifier
from dealer.v1 import dealer_pb2 as pb
from dealer.v1 import log_pb2
from dealer.v1 import types_pb2 as t
from tests.integration.running import STREETS, Room, refusal, rid, run_tool
from tests.integration.sharing import Shared, end, is_ready, make
from tests.postgres import SETTABLE_CLOCK, Postgres

TABLES = 20
_PATIENCE = 1.5
"""Seconds: so long a call waits for a dealer that does not answer."""
_UNANSWERED = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED)
_PAUSE = 0.05


_WRITTEN = """
CREATE TABLE written (epoch bigint NOT NULL);
CREATE TABLE interleaved (epoch bigint NOT NULL, lease bigint NOT NULL);
CREATE FUNCTION judge() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  INSERT INTO interleaved SELECT new.epoch, epoch FROM writer WHERE epoch <> new.epoch;
  RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER at_the_end AFTER INSERT ON written DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW EXECUTE FUNCTION judge();
GRANT INSERT ON written, interleaved TO dealer;
"""
"""A dealer notes in `written` under which epoch it writes; the trigger reads the lease after all else."""


class Stopping(Shared):
    """A dealer that stops itself where it is told."""

    @property
    def stop_at(self) -> Path:
        return self.data.parent / f"{self.data.name}.stop"

    def command(self) -> list[str | Path]:
        self.env["STOP_AT"] = str(self.stop_at)
        return [sys.executable, "-m", "tests.storm.stopping", *super().command()[1:]]

    def is_stopped(self) -> bool:
        assert self.process is not None
        stat = Path(f"/proc/{self.process.pid}/stat").read_text()
        return stat.rpartition(")")[2].split()[0] == "T"


@dataclass(frozen=True)
class Answered:
    """A request, and the answer that it had first."""

    call: str
    request: Any
    answer: bytes


@dataclass(frozen=True)
class Takeover:
    """How long it took from the end of a writer's work to the next answer.

    Attributes:
        seconds: so long.
        stalled: for so many of them somebody on this machine waited for a processor.
    """

    seconds: float
    stalled: float


@dataclass
class Dealers:
    """Two dealers on one database, those who call them, and what has been answered.

    Attributes:
        lease: seconds that it lasts.
        fence: `plain`: a plain SELECT.
        answered: by request id.
        faults: what a caller saw that must not be.
        last: when the last answer came, on the monotonic clock.
        given_up: requests whose callers have not asked again.
        takeovers: of each event that ended a writer's work.
    """

    postgres: Postgres
    folder: Path
    seed: int = 1
    lease: float = 2.0
    fence: str = "whole"
    answered: dict[str, Answered] = field(default_factory=dict)
    notes: set[str] = field(default_factory=set)
    faults: list[str] = field(default_factory=list)
    given_up: int = 0
    last: float = 0.0
    takeovers: list[Takeover] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.url = self.postgres.database()
        made = make(self.url, self.folder, 2, "--lease-seconds", str(self.lease))
        self._sql(SETTABLE_CLOCK + _WRITTEN)
        self.dealers = [Stopping(each.data, each.options, {"FENCE": self.fence}) for each in made]
        for dealer in self.dealers:
            dealer.start()
        self._rooms: dict[str, Room] = {}
        self._lock = threading.Lock()
        self._done = threading.Event()
        self._answerer: Stopping | None = None
        self._callers = [threading.Thread(target=self._call, args=(n,), daemon=True) for n in range(TABLES)]
        for caller in self._callers:
            caller.start()
        self.wait()
        is_ready(next(each for each in self.dealers if each is not self._answerer))

    def _room(self, dealer: Stopping) -> Room:
        with self._lock:
            if dealer.address not in self._rooms:
                self._rooms[dealer.address] = Room(dealer.address)
            return self._rooms[dealer.address]

    # Callers

    def _call(self, number: int) -> None:
        draw = random.Random(1000 * self.seed + number)
        table = 0
        while not self._done.is_set():
            try:
                self._play(draw, f"t{number}-{table}")
            except TimeoutError:  # the caller has given up, and knows nothing of its table any more
                table += 1
            except Exception as error:
                self.faults.append(f"table t{number}-{table}: {error!r}")
                return

    def _play(self, draw: random.Random, table: str) -> None:
        opening = pb.OpenHandRequest(
            table=table, game=t.GAME_SEVEN_CARD_STUD, seats=[1, 2, 3], reveal=t.REVEAL_PUBLIC, request_id=rid()
        )
        hand = self._ask(draw, "OpenHand", opening).hand.hand_id
        dealt = list[Any]()
        for street in STREETS[: draw.randint(0, 5)]:
            dealing = pb.DealStreetRequest(request_id=rid(), hand_id=hand, street=street)
            dealt += self._ask(draw, "DealStreet", dealing).cards
            self._look(draw, hand, dealt)
        if len(dealt) == 3 * 7:
            self._ask(draw, "CloseHand", pb.CloseHandRequest(request_id=rid(), hand_id=hand))
        else:
            void = pb.VoidHandRequest(request_id=rid(), hand_id=hand, reason=t.VOID_REASON_FAILURE)
            self._ask(draw, "VoidHand", void)

    def _look(self, draw: random.Random, hand: str, dealt: list[Any]) -> None:
        """Looks the hand up at one of the two: what it shows is no older than what was dealt, or nothing."""
        try:
            found = self._room(draw.choice(self.dealers)).stub.GetHand(pb.GetHandRequest(hand_id=hand), timeout=1)
        except grpc.RpcError as error:
            if error.code() not in _UNANSWERED:
                raise
            return
        if list(found.cards) != dealt:
            self.faults.append(f"hand {hand} was shown as of old")

    def _ask(self, draw: random.Random, call: str, request: Any) -> Any:
        """Asks either dealer until there is an answer; raises TimeoutError where the caller gives up."""
        while not self._done.wait(_PAUSE):
            dealer = draw.choice(self.dealers)
            try:
                answer = getattr(self._room(dealer).stub, call)(request, timeout=_PATIENCE)
            except grpc.RpcError as error:
                if error.code() not in _UNANSWERED:
                    raise AssertionError(f"{call}: {refusal(error)}") from error
                if refusal(error)[1] != "STANDBY" and draw.random() < 0.1:
                    self.given_up += 1
                    break
                continue
            self._hear(dealer, call, request, answer)
            return answer
        raise TimeoutError

    def _hear(self, dealer: Stopping, call: str, request: Any, answer: Any) -> None:
        with self._lock:
            self.last, self._answerer = time.monotonic(), dealer
            self.answered[request.request_id] = Answered(call, request, answer.SerializeToString(deterministic=True))
            for receipt in (getattr(answer, "receipt", ""), answer.hand.receipt):
                if receipt:
                    self.notes.add(receipt.partition("\n\n")[2])

    # Events

    def wait(self, since: float | None = None, but: Stopping | None = None, seconds: float = 60) -> None:
        """Waits for an answer that came after `since`, and of another dealer than `but`."""
        since = time.monotonic() if since is None else since
        until = time.monotonic() + seconds
        while self.last <= since or self._answerer is but:
            assert not self.faults, self.faults
            assert time.monotonic() < until, [each.log_lines()[-2000:] for each in self.dealers]
            time.sleep(0.01)

    def _after(self, event: Callable[[], None], ends: Stopping | None = None) -> None:
        """Makes something happen that ends a writer's work, and takes the time to the next answer.

        Where it ends a dealer, what that one sent before may still be on its way.
        """
        event()
        began, stalled = time.monotonic(), _stalled()
        self.wait(since=began + 0.02, but=ends)
        self.takeovers.append(Takeover(self.last - began, _stalled() - stalled))

    @property
    def writer(self) -> Stopping:
        assert self._answerer is not None
        return self._answerer

    def stop_at(self, label: str, seconds: float = 0.0) -> None:
        """Has the writer stop itself at that point, until another writes and for so long at least; then it goes on.

        It says why it does not write any more, and stands by.
        """
        self.wait()
        writer, said = self.writer, len(self.writer.log_lines())

        def stopped() -> None:
            writer.stop_at.write_text(label)
            until = time.monotonic() + 30
            while not writer.is_stopped():
                assert time.monotonic() < until, f"nobody comes by {label}"
                time.sleep(0.005)

        began = time.monotonic()
        self._after(stopped, ends=writer)
        time.sleep(max(0.0, seconds - (time.monotonic() - began)))
        assert writer.process is not None
        writer.process.send_signal(signal.SIGCONT)
        self.wait()
        self._stands_by(writer)
        if "another dealer has taken the lease" not in writer.log_lines()[said:]:
            self.faults.append(f"a writer that was stopped at {label} does not say why it writes no more")

    def _stands_by(self, dealer: Stopping, seconds: float = 30) -> None:
        """Waits until a dealer refuses as one that stands by."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            try:
                self._room(dealer).get(str(uuid.uuid4()))
            except grpc.RpcError as error:
                if refusal(error)[1] == "STANDBY":
                    return
            time.sleep(_PAUSE)
        self.faults.append("a writer that was stopped does not stand by")

    def kill(self) -> None:
        """Kills the writer; it starts again, and stands by as before."""
        self.wait()
        writer, said = self.writer, len(self.writer.log_lines())
        self._after(writer.kill, ends=writer)
        writer.start()
        until = time.monotonic() + 30
        while "every key at rest is there" not in writer.log_lines()[said:]:
            assert time.monotonic() < until, writer.log_lines()[said:]
            time.sleep(_PAUSE)

    def cut(self) -> None:
        """Ends every session of the database."""
        end_all = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'dealer'"
        self._after(lambda: self._sql(end_all))

    def set_clock(self, hours: int) -> None:
        """Sets the database's clock forth or back."""
        self._sql(f"UPDATE clock SET shift = shift + interval '{hours} h'")
        self.wait()

    def set_clock_and_kill(self, hours: int) -> None:
        """The same, and the writer dies: a clock that was set back holds nobody up for an hour."""
        self._sql(f"UPDATE clock SET shift = shift + interval '{hours} h'")
        self.kill()

    def restart_database(self) -> None:
        self.wait()
        self.postgres.kill()
        self._after(self._start_database)

    def _start_database(self) -> None:
        self.postgres.start()

    def _sql(self, statement: str) -> None:
        with psycopg.connect(self.postgres.url(self._name()), autocommit=True) as link:
            link.execute(statement.encode())

    def _name(self) -> str:
        return self.url.partition("@/")[2].partition("?")[0]

    def end(self) -> None:
        self._done.set()
        for caller in self._callers:
            caller.join(60)

    # Judging

    def judge(self) -> list[str]:
        """Repeats every request that was answered, and reads the log: returns what is wrong."""
        found = list(self.faults)
        for each in self.answered.values():
            again = self._again(each)
            if again != each.answer:
                found.append(f"a repeat of {each.call} was answered otherwise")
        with psycopg.connect(self.postgres.url(self._name())) as link:
            rows = link.execute("SELECT position, entry FROM entries ORDER BY position").fetchall()
            size = (link.execute("SELECT size FROM writer").fetchone() or (0,))[0]
            mixed = link.execute("SELECT epoch, lease FROM interleaved").fetchall()
            epochs = link.execute("SELECT count(DISTINCT epoch), count(*) FROM written").fetchone() or (0, 0)
        found += [f"a transaction of epoch {epoch} was committed in epoch {lease}" for epoch, lease in mixed]
        if epochs[1] < len(self.answered) / TABLES:
            found.append(f"{len(self.answered)} answers, and only {epochs[1]} transactions were seen")
        if [position for position, _ in rows] != list(range(size)):
            found.append(f"the log says {size} entries, and has others")
        tree, roots = CompactRange(), [CompactRange().root()]
        for _, entry in rows:
            tree.append(leaf_hash(bytes(entry)))
            roots.append(tree.root())
        verifier = NoteVerifier.parse(self.dealers[0].verifier_key())
        for note in self.notes:
            checkpoint = open_checkpoint(note, verifier)
            if checkpoint.size >= len(roots) or roots[checkpoint.size] != checkpoint.root:
                found.append(f"a note of {checkpoint.size} entries has left that is no prefix of the log")
        return found + self._judge_hands([json.loads(bytes(entry)) for _, entry in rows])

    def _again(self, each: Answered) -> bytes:
        until = time.monotonic() + 30
        while True:
            for dealer in sorted(self.dealers, key=lambda one: one is not self._answerer):
                try:
                    answer = getattr(self._room(dealer).stub, each.call)(each.request, timeout=_PATIENCE)
                except grpc.RpcError as error:
                    assert time.monotonic() < until, error
                else:
                    self._answerer = dealer
                    return bytes(answer.SerializeToString(deterministic=True))

    def _judge_hands(self, entries: list[dict[str, Any]]) -> list[str]:
        found, ends = list[str](), Counter(each["hand"] for each in entries if each["schema"].endswith("/close"))
        found += [f"hand {hand} was closed {count} times" for hand, count in ends.items() if count > 1]
        of_table: dict[str, list[int]] = defaultdict(list)
        for each in entries:
            if each["schema"].endswith("/commit"):
                of_table[each["table"]].append(each["number"])
        found += [
            f"table {table} has hands {numbers}"
            for table, numbers in of_table.items()
            if numbers != list(range(1, len(numbers) + 1))
        ]
        logged = {each["hand"] for each in entries}
        for had in self.answered.values():
            if had.call == "OpenHand" and pb.OpenHandResponse.FromString(had.answer).hand.hand_id not in logged:
                found.append("an opened hand is lost")
        return found

    def audit(self) -> "subprocess.CompletedProcess[str]":
        """Audits the log that a dealer has published, once all of it is."""
        newest = self._room(self.writer).log.GetCheckpoint(log_pb2.GetCheckpointRequest()).checkpoint
        size = int(newest.split("\n")[1])
        published = self.writer.data / "public" / "checkpoint"
        until = time.monotonic() + 30
        while int(published.read_text().split("\n")[1]) < size:
            assert time.monotonic() < until
            time.sleep(0.1)
        return run_tool("audit", "verify", self.writer.data / "public", "--key", self.dealers[0].verifier_key())


def _stalled() -> float:
    """Returns the seconds for which anybody on this machine has waited for a processor; 0 where nobody counts them."""
    try:
        return int(Path("/proc/pressure/cpu").read_text().split("total=")[1].split()[0]) / 1e6
    except OSError:
        return 0.0


@contextmanager
def dealers(postgres: Postgres, folder: Path, seed: int = 1, **options: Any) -> Iterator[Dealers]:
    made = Dealers(postgres, folder, seed, **options)
    try:
        yield made
    finally:
        made.end()
        end(list(made.dealers))
