"""Runs a storm on two writers and judges it: every answer ever given, the log, and every note that left."""

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg

from dealer.log.checkpoint import open_checkpoint
from dealer.log.merkle import CompactRange, leaf_hash
from dealer.log.note import NoteVerifier
from dealer.store.datadir import DataDir
from dealer.store.postgres.admin import init, join
from tests.postgres import Postgres
from tests.storm.writer import LEASE_SECONDS

STOPPED_SECONDS = 2.5 * LEASE_SECONDS
_REPEAT_SECONDS = 0.4


class Process:
    """One writer."""

    def __init__(self, folder: Path, url: str, fence: str, heard: Any) -> None:
        self.folder, self.url, self.fence, self.heard = folder, url, fence, heard
        self.start()

    def start(self) -> None:
        command = [sys.executable, "-m", "tests.storm.writer", str(self.folder), self.url, self.fence]
        with (self.folder / "stderr").open("a") as errors:
            self.process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True
            )
        assert self.process.stdout is not None
        assert self.process.stdout.readline(), (self.folder / "stderr").read_text()
        threading.Thread(target=self._listen, args=(self.process.stdout,), daemon=True).start()

    def _listen(self, lines: Any) -> None:
        for line in lines:
            self.heard(self, json.loads(line))

    def tell(self, message: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(json.dumps(message) + "\n")
            self.process.stdin.flush()
        except OSError:
            pass

    def is_stopped(self) -> bool:
        stat = Path(f"/proc/{self.process.pid}/stat").read_text()
        return stat.rpartition(")")[2].split()[0] == "T"

    def go_on(self) -> None:
        self.process.send_signal(signal.SIGCONT)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


@dataclass
class Storm:
    """Two writers on one database, and what they have said.

    Attributes:
        answers: by request, every answer that was given.
        takeovers: seconds from an event that ended a writer's work to the next answer.
    """

    postgres: Postgres
    folder: Path
    fence: str = "whole"
    seed: int = 1
    answers: dict[str, list[dict[str, Any]]] = field(default_factory=lambda: defaultdict(list))
    notes: set[str] = field(default_factory=set)
    takeovers: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.url = self.postgres.database()
        first = DataDir.at(self.folder / "a")
        init(first, "storm.invalid/x", self.url)
        join(DataDir.at(self.folder / "b"), first.key, self.url)
        self.key = first.signer().verifier_key
        self._random = random.Random(self.seed)
        self._lock = threading.Lock()
        self._asked: dict[str, tuple[float, dict[str, Any]]] = {}
        self._last = (0.0, 0)  # when the last answer came, and in which epoch
        self._done = threading.Event()
        self.writer: Process | None = None
        self.writers = [Process(self.folder / name, self.url, self.fence, self._hear) for name in "ab"]
        until = time.monotonic() + 30
        while not all("every key at rest" in (writer.folder / "stderr").read_text() for writer in self.writers):
            assert time.monotonic() < until, "a writer is not ready"
            time.sleep(0.05)
        self._caller = threading.Thread(target=self._call, daemon=True)
        self._caller.start()

    def _hear(self, process: Process, message: dict[str, Any]) -> None:
        answer = message["answer"]
        with self._lock:
            if answer == "unavailable":
                return
            self.answers[message["id"]].append(answer)
            self.notes.add(message["note"])
            self._asked.pop(message["id"], None)
            self._last = (time.monotonic(), answer["epoch"])
            self.writer = process

    def _call(self) -> None:
        """Asks without end: most for answers without entries; who is not answered repeats, or gives up."""
        while not self._done.wait(0.01):
            fresh = {"id": os.urandom(16).hex(), "entry": self._random.random() < 0.3}
            now = time.monotonic()
            with self._lock:
                if len(self._asked) < 64:
                    self._asked[fresh["id"]] = (now, fresh)
                    sent = [fresh]
                else:
                    sent = []
                for each, (at, message) in list(self._asked.items()):
                    if now - at > _REPEAT_SECONDS:
                        if self._random.random() < 0.3:
                            del self._asked[each]
                        else:
                            self._asked[each] = (now, message)
                            sent.append(message)
            for message in sent:
                self._random.choice(self.writers).tell(message)

    def wait_for_answers(self, seconds: float = 30, since: float | None = None) -> None:
        """Waits for an answer later than `since`, and notes how long that took."""
        began = time.monotonic() if since is None else since
        while self._last[0] <= began:
            assert time.monotonic() - began < seconds, "nobody writes any more"
            time.sleep(0.01)
        self.takeovers.append(self._last[0] - began)

    def stop_at(self, label: str) -> None:
        """Has the writer stop itself at a label, the other one take over, and the first go on after that."""
        self.wait_for_answers()
        writer = self.writer
        assert writer is not None
        writer.tell({"stop": label})
        until = time.monotonic() + 10
        while not writer.is_stopped():
            if time.monotonic() > until:
                writer.tell({"stop": ""})  # it has lost the lease meanwhile
                time.sleep(0.2)
                writer.go_on()
                return
            time.sleep(0.002)
        began = time.monotonic()
        self.wait_for_answers(since=began + 0.05)
        time.sleep(max(0.0, STOPPED_SECONDS - (time.monotonic() - began)))
        writer.go_on()
        self.wait_for_answers()

    def kill(self) -> None:
        self.wait_for_answers()
        writer = self.writer
        assert writer is not None
        writer.kill()
        self.wait_for_answers(since=time.monotonic() + 0.05)
        writer.start()

    def cut(self) -> None:
        """Ends every session of the database."""
        self.wait_for_answers()
        self._sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'cutcard'")
        self.wait_for_answers(since=time.monotonic() + 0.05)

    def set_clock(self, hours: int) -> None:
        """Sets what the database's clock says an hour forth or back, as the lease sees it."""
        self.wait_for_answers()
        self._sql(f"UPDATE writer SET expires = expires - make_interval(hours => {hours})")
        self.wait_for_answers(since=time.monotonic() + 0.05)

    def restart_database(self) -> None:
        self.wait_for_answers()
        self.postgres.kill()
        self.postgres.start()
        self.wait_for_answers(since=time.monotonic())

    def _sql(self, statement: str) -> None:
        name = self.url.partition("@/")[2].partition("?")[0]
        with psycopg.connect(self.postgres.url(name), autocommit=True) as link:
            link.execute(statement.encode())

    def end(self) -> None:
        self._done.set()
        self._caller.join()
        for writer in self.writers:
            writer.go_on()
            writer.kill()

    def faults(self) -> list[str]:
        """Judges the whole: what was lost, changed, given twice, or signed and is no prefix of the log."""
        name = self.url.partition("@/")[2].partition("?")[0]
        with psycopg.connect(self.postgres.url(name)) as link:
            entries = [bytes(row[0]) for row in link.execute("SELECT entry FROM entries ORDER BY position")]
            positions = [row[0] for row in link.execute("SELECT position FROM entries ORDER BY position")]
            size, note = link.execute("SELECT size, note FROM writer").fetchone() or (0, "")
        found = list[str]()
        if positions != list(range(size)):
            found.append(f"the log has {len(positions)} entries, and says {size}")
        tree, roots = CompactRange(), [CompactRange().root()]
        for entry in entries:
            tree.append(leaf_hash(entry))
            roots.append(tree.root())
        verifier = NoteVerifier.parse(self.key)
        for each in {*self.notes, note}:
            checkpoint = open_checkpoint(each, verifier)
            if checkpoint.size > len(entries) or roots[checkpoint.size] != checkpoint.root:
                found.append(f"a note of {checkpoint.size} entries has left that is no prefix of the log")
        read = [json.loads(entry) for entry in entries]
        epochs = [each["epoch"] for each in read]
        if epochs != sorted(epochs):
            found.append("epochs interleave in the log")
        twice = [id_ for id_, count in Counter(each["id"] for each in read).items() if count > 1]
        found += [f"request {id_} was carried out twice" for id_ in twice]
        numbers = dict[int, str]()
        by_number = list[tuple[int, int]]()
        for id_, given in self.answers.items():
            if any(answer != given[0] for answer in given):
                found.append(f"request {id_} was answered in two ways")
            answer = given[0]
            if numbers.setdefault(answer["number"], id_) != id_:
                found.append(f"number {answer['number']} was given twice")
            by_number.append((answer["number"], answer["epoch"]))
            index = answer["index"]
            if index is not None and (index >= len(read) or read[index]["salt"] != answer["salt"]):
                found.append(f"the entry {index} of request {id_} is lost or changed")
        ordered = [epoch for _, epoch in sorted(by_number)]
        if ordered != sorted(ordered):
            found.append("epochs interleave in what was counted")
        return found
