"""One dealer's half below the hands, as a process: it contends, commits what it is asked, and stops where it is told.

A line of JSON asks: `{"id": …, "entry": …}` for an answer, with an entry of the log or without; `{"stop": LABEL}` has
it stop itself, by SIGSTOP, the next time that it comes by that label. A line answers: `{"id": …, "answer": …}`, or
`"unavailable"` in the answer's place.
"""

import json
import os
import queue
import signal
import socket
import sys
import threading
import time
from pathlib import Path
from typing import Any

from dealer.log.checkpoint import Checkpoint, sign_checkpoint
from dealer.log.merkle import CompactRange, leaf_hash
from dealer.service.loglines import configure
from dealer.store.datadir import DataDir
from dealer.store.interface import Answer, Batch, LeaseLost, StoreError, TableRow
from dealer.store.postgres.contender import Contender, Terms
from dealer.store.postgres.link import Database, Replication, store_errors
from dealer.store.postgres.store import PostgresStore
from tests.storm.plain_fence import make_plain

LABELS = ("before", "half", "sent", "answers", "housekeeping", "copy")
LEASE_SECONDS = 0.6
_TEND_SECONDS = 0.3
_PADDING = b"." * (1 << 18)  # more than a socket takes at once: so a statement can be sent by half


class Writer:
    """What a writer does between two lines."""

    def __init__(self, folder: Path, url: str, *, plain: bool) -> None:
        data = DataDir.at(folder)
        self.signer = data.signer()
        terms = Terms(lease_seconds=LEASE_SECONDS)
        self.contender = Contender(Database(url, Replication.NONE), folder, data.at_rest, self.signer, terms)
        self.plain = plain
        self.taken = threading.Event()
        self.contender.on_taken = self.taken.set
        self.store: PostgresStore | None = None
        self.tree = CompactRange()
        self.number = 0
        self.stop_at = ""

    def stop(self, label: str) -> None:
        if self.stop_at == label:
            self.stop_at = ""
            signal.pthread_kill(threading.get_ident(), signal.SIGSTOP)  # to the process: another thread may take it

    def open(self) -> None:
        self.store = None
        self.taken.clear()
        store = self.contender.open_store()
        self.tree = CompactRange.load(store.size(), store.node)
        row = store.table("t")
        self.number = row.number if row else 0
        if self.plain:
            make_plain(store)
        buffer = socket.socket(fileno=os.dup(store.link.fileno()))
        buffer.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 13)
        buffer.close()
        self.store = store

    def carry_out(self, asked: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Makes a batch of requests durable, and returns their answers."""
        store = self.store
        assert store is not None
        if self.stop_at in ("housekeeping", "copy"):
            print(json.dumps(self._housekeeping(store, self.stop_at)), flush=True)
        keys = [("caller", bytes.fromhex(each["id"])) for each in asked]
        kept = {request: answer.open() for (_, request), answer in store.answers(keys).items()}
        batch, tree, answers, number = Batch(), self.tree.copy(), dict[str, dict[str, Any]](), self.number
        for each in asked:
            request = bytes.fromhex(each["id"])
            if request in kept:
                answers[each["id"]] = json.loads(kept[request])
                continue
            if each["id"] in answers:
                continue
            number += 1
            answer = {"number": number, "epoch": store.epoch, "salt": os.urandom(8).hex(), "index": None}
            if each["entry"]:
                answer["index"] = tree.size
                entry = json.dumps({"id": each["id"], "epoch": store.epoch, "salt": answer["salt"]}).encode()
                batch.entries.append(entry)
                batch.nodes += tree.append(leaf_hash(entry))
            answers[each["id"]] = answer
            batch.answers.append(Answer("caller", request, bytes(32), bytes(16), json.dumps(answer).encode()))
        if batch.entries:
            checkpoint = Checkpoint(self.signer.name, tree.size, tree.root())
            batch.checkpoint = sign_checkpoint(checkpoint, self.signer)
        if number != self.number:
            batch.tables = {"t": TableRow("t", "caller", number, None)}
        if self.stop_at == "half" and batch.answers:
            first = batch.answers[0]
            batch.answers.append(Answer("padding", os.urandom(16), first.body, first.hand, _PADDING))
        self._commit(store, batch)
        self.tree, self.number = tree, number
        self.stop("answers")
        note = store.checkpoint() if not batch.entries else batch.checkpoint
        return [{"id": each["id"], "answer": answers[each["id"]], "note": note} for each in asked]

    def _commit(self, store: PostgresStore, batch: Batch) -> None:
        self.stop("before")
        store.link.on_wait = lambda unsent: self.stop("half" if unsent else "sent")
        try:
            store.commit(batch) if batch.answers else store.confirm()
        finally:
            if not store.link.closed:
                store.link.on_wait = None

    def _housekeeping(self, store: PostgresStore, label: str) -> dict[str, Any]:
        """Counts by a transaction of several statements, in a COPY or not, and answers a caller who never repeats."""
        number = self.number + 1
        with store.fenced(), store_errors():
            if label == "copy":
                with store.link.cursor().copy("COPY seen FROM STDIN") as copy:
                    copy.write_row((os.urandom(32),))
                    self.stop("copy")
                    copy.write_row((os.urandom(32),))
            else:
                self.stop("housekeeping")
            store.link.execute("UPDATE tables SET number = %s WHERE name = 't'", (number,))
        self.number = number
        answer = {"number": number, "epoch": store.epoch, "salt": "", "index": None}
        return {"id": os.urandom(16).hex(), "answer": answer, "note": store.checkpoint()}


def main(folder: str, url: str, fence: str) -> None:
    configure("text")
    writer = Writer(Path(folder), url, plain=fence == "plain")
    lines: queue.SimpleQueue[str] = queue.SimpleQueue()
    threading.Thread(target=lambda: [lines.put(line) for line in sys.stdin], daemon=True).start()
    writer.contender.check()
    writer.contender.start()
    print(json.dumps({"ready": True}), flush=True)
    tended = 0.0
    while True:
        asked = list[dict[str, Any]]()
        try:
            line = lines.get(timeout=0.05)
        except queue.Empty:
            line = ""
        while line:
            message = json.loads(line)
            if "stop" in message:
                writer.stop_at = message["stop"]
            else:
                asked.append(message)
            line = lines.get() if len(asked) < 16 and not lines.empty() else ""
        answers = [{"id": each["id"], "answer": "unavailable"} for each in asked]
        try:
            if writer.store is None and (writer.taken.is_set() or writer.contender.lease.epoch):
                writer.open()
            if writer.store is not None and time.monotonic() - tended > _TEND_SECONDS:
                writer.store.tend()  # who has joined is wrapped for
                tended = time.monotonic()
            if writer.store is not None and (asked or writer.stop_at):
                answers = writer.carry_out(asked)
        except LeaseLost:
            writer.store = None
        except StoreError:  # in doubt: only a new epoch tells
            writer.store = None
        print("\n".join(map(json.dumps, answers)), end="\n" if answers else "", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
