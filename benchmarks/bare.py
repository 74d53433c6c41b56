"""What a server costs that proves nothing: `python -m benchmarks.bare KIND FOLDER [ANSWERS]` serves DealerService.

`bare` is the floor under a durable dealer: canned answers recorded of the real one, one row a request, and one commit
for all requests that wait for it. `naive` is the service that a room would write without us: `SystemRandom`, one
SHA-256 of the deck, SQLite, and a commit of its own for every request; no proof of anything. Both answer only what is
durable, so the same client does the same work against them.
"""

import asyncio
import hashlib
import json
import queue
import random
import sqlite3
import sys
import threading
import uuid
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc
import uvloop

from dealer.core.cards import DECK_KINDS
from dealer.v1 import dealer_pb2 as pb
from dealer.v1 import types_pb2 as types

_SERVICE = "dealer.v1.DealerService"
_FIELDS = {"open_hand": "OpenHand", "deal_street": "DealStreet", "close_hand": "CloseHand"}
_DEALS = {types.STREET_THIRD: 24, types.STREET_FOURTH: 8, types.STREET_FIFTH: 8, types.STREET_SIXTH: 8}
Row = tuple[str, bytes, bytes]


def _open(path: Path) -> sqlite3.Connection:
    """A database as durable as the dealer's."""
    db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA synchronous = FULL")
    db.execute("CREATE TABLE answers (request TEXT PRIMARY KEY, body BLOB NOT NULL, answer BLOB NOT NULL) STRICT")
    db.execute("CREATE TABLE hands (hand TEXT PRIMARY KEY, deck TEXT NOT NULL, dealt INTEGER NOT NULL) STRICT")
    return db


class _Store:
    """Makes rows durable, those that came while the disk was busy together."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self._queue: queue.SimpleQueue[tuple[list[Row], asyncio.Future[None]]] = queue.SimpleQueue()
        self._loop = asyncio.get_running_loop()
        threading.Thread(target=self._work, daemon=True).start()

    def append(self, rows: list[Row]) -> "asyncio.Future[None]":
        """Is done once the rows are on disk."""
        done: asyncio.Future[None] = self._loop.create_future()
        self._queue.put((rows, done))
        return done

    def _work(self) -> None:
        while True:
            waiting = [self._queue.get()]
            while not self._queue.empty():
                waiting.append(self._queue.get())
            self._db.execute("BEGIN IMMEDIATE")
            self._db.executemany("INSERT INTO answers VALUES (?, ?, ?)", [row for rows, _ in waiting for row in rows])
            self._db.execute("COMMIT")
            self._loop.call_soon_threadsafe(_release, [done for _, done in waiting])


def _release(waiting: "list[asyncio.Future[None]]") -> None:
    for done in waiting:
        if not done.done():
            done.set_result(None)


def _bare(db: sqlite3.Connection, recorded: dict[str, bytes]) -> dict[str, "grpc.RpcMethodHandler[Any, Any]"]:
    """Canned answers, group commit."""
    store = _Store(db)

    def canned(name: str, request: Any) -> bytes:
        return recorded[f"{name}.{request.street}" if name == "DealStreet" else name]

    def unary(name: str) -> "grpc.RpcMethodHandler[bytes, bytes]":
        kind = getattr(pb, f"{name}Request")

        async def answer(data: bytes, context: object) -> bytes:
            request = kind.FromString(data)
            answered = canned(name, request)
            await store.append([(request.request_id, data, answered)])
            return answered

        return grpc.unary_unary_rpc_method_handler(answer)

    async def play(requests: AsyncIterator[bytes], context: object) -> AsyncIterator[bytes]:
        async for data in requests:
            message, rows = pb.PlayHandsResponse(), list[Row]()
            for request in pb.PlayHandsRequest.FromString(data).requests:
                field = request.WhichOneof("request") or ""
                inner = getattr(request, field)
                answered = canned(_FIELDS[field], inner)
                rows.append((inner.request_id, inner.SerializeToString(), answered))
                getattr(message.responses.add(correlation_id=request.correlation_id), field).MergeFromString(answered)
            await store.append(rows)
            yield message.SerializeToString()

    handlers: dict[str, grpc.RpcMethodHandler[Any, Any]] = {name: unary(name) for name in _FIELDS.values()}
    return {**handlers, "PlayHands": grpc.stream_stream_rpc_method_handler(play)}


class _Naive:
    """A room's own dealer: each request in a transaction of its own, one after the other."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self._random = random.SystemRandom()

    def open_hand(self, request: pb.OpenHandRequest) -> pb.OpenHandResponse:
        """Shuffles, and says the deck's digest."""
        deck = list(DECK_KINDS["standard52"])
        self._random.shuffle(deck)
        hand, text = str(uuid.uuid4()), " ".join(deck)
        self._db.execute("INSERT INTO hands VALUES (?, ?, 0)", (hand, text))
        digest = hashlib.sha256(text.encode()).digest()
        return pb.OpenHandResponse(hand=types.Hand(hand_id=hand, table=request.table, deck_commitment=digest))

    def deal_street(self, request: pb.DealStreetRequest) -> pb.DealStreetResponse:
        """Deals from the top."""
        deck, dealt = self._db.execute("SELECT deck, dealt FROM hands WHERE hand = ?", (request.hand_id,)).fetchone()
        count = _DEALS.get(request.street, 1)
        cards = deck.split(" ")[dealt : dealt + count]
        self._db.execute("UPDATE hands SET dealt = ? WHERE hand = ?", (dealt + count, request.hand_id))
        return pb.DealStreetResponse(
            cards=[types.Card(position=dealt + at, seat=at % 8 + 1, card=card) for at, card in enumerate(cards)]
        )

    def close_hand(self, request: pb.CloseHandRequest) -> pb.CloseHandResponse:
        """Ends a hand."""
        self._db.execute("UPDATE hands SET dealt = 52 WHERE hand = ?", (request.hand_id,))
        return pb.CloseHandResponse()

    def carry_out(self, call: Callable[[Any], Any], request: Any, data: bytes) -> bytes:
        """Carries one request out and makes it and its answer durable."""
        self._db.execute("BEGIN IMMEDIATE")
        answer: bytes = call(request).SerializeToString()
        self._db.execute("INSERT INTO answers VALUES (?, ?, ?)", (request.request_id, data, answer))
        self._db.execute("COMMIT")
        return answer


def _naive(db: sqlite3.Connection) -> dict[str, "grpc.RpcMethodHandler[Any, Any]"]:
    """One thread owns the database, as a synchronous server's lock would have it."""
    room, thread = _Naive(db), ThreadPoolExecutor(1)

    def unary(field: str, name: str) -> "grpc.RpcMethodHandler[bytes, bytes]":
        call, kind = getattr(room, field), getattr(pb, f"{name}Request")

        async def answer(data: bytes, context: object) -> bytes:
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(thread, room.carry_out, call, kind.FromString(data), data)

        return grpc.unary_unary_rpc_method_handler(answer)

    return {name: unary(field, name) for field, name in _FIELDS.items()}


async def serve(handlers: dict[str, "grpc.RpcMethodHandler[Any, Any]"]) -> None:
    """Serves until the process is ended, and says on standard output where."""
    server = grpc.aio.server()
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(_SERVICE, handlers),))
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    print(f"listening on 127.0.0.1:{port}", flush=True)
    await server.wait_for_termination()


def main(kind: str, folder: Path, answers: Path | None = None) -> None:
    """Makes the database in a new folder and serves."""
    folder.mkdir()
    db = _open(folder / "store.sqlite3")
    recorded = json.loads(answers.read_text()) if answers is not None else {}

    async def run() -> None:
        await serve(_naive(db) if kind == "naive" else _bare(db, {n: bytes.fromhex(a) for n, a in recorded.items()}))

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(run())


if __name__ == "__main__":
    main(sys.argv[1], *map(Path, sys.argv[2:]))
