"""The floor under a durable gRPC service: canned answers, and one fsync for all requests that wait for it.

`python -m benchmarks.bare ANSWERS JOURNAL` serves DealerService's methods from answers recorded of the real dealer, so
the same client does the same work against it; each answer leaves only after its request is in the journal and on disk.
"""

import asyncio
import json
import os
import queue
import sys
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import grpc
import uvloop

from dealer.v1 import dealer_pb2 as pb

_SERVICE = "dealer.v1.DealerService"
_FIELDS = {"open_hand": "OpenHand", "deal_street": "DealStreet", "close_hand": "CloseHand"}


class _Journal:
    """Makes requests durable, those that came while the disk was busy together."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self._queue: queue.SimpleQueue[tuple[bytes, asyncio.Future[None]]] = queue.SimpleQueue()
        self._loop = asyncio.get_running_loop()
        threading.Thread(target=self._work, daemon=True).start()

    def append(self, data: bytes) -> "asyncio.Future[None]":
        """Is done once the data is on disk."""
        done: asyncio.Future[None] = self._loop.create_future()
        self._queue.put((data, done))
        return done

    def _work(self) -> None:
        while True:
            waiting = [self._queue.get()]
            while not self._queue.empty():
                waiting.append(self._queue.get())
            os.write(self._file, b"".join(data for data, _ in waiting))
            os.fsync(self._file)
            self._loop.call_soon_threadsafe(_release, [done for _, done in waiting])


def _release(waiting: "list[asyncio.Future[None]]") -> None:
    for done in waiting:
        if not done.done():
            done.set_result(None)


async def serve(answers: dict[str, bytes], journal_path: Path) -> None:
    """Serves until the process is ended, and says on standard output where."""
    journal = _Journal(journal_path)

    def unary(name: str) -> "grpc.RpcMethodHandler[bytes, bytes]":
        async def answer(request: bytes, context: object) -> bytes:
            await journal.append(request)
            return answers[name]

        return grpc.unary_unary_rpc_method_handler(answer)

    async def play(requests: AsyncIterator[bytes], context: object) -> AsyncIterator[bytes]:
        async for data in requests:
            await journal.append(data)
            message = pb.PlayHandsResponse()
            for request in pb.PlayHandsRequest.FromString(data).requests:
                kind = request.WhichOneof("request") or ""
                response = message.responses.add(correlation_id=request.correlation_id)
                getattr(response, kind).MergeFromString(answers[_FIELDS[kind]])
            yield message.SerializeToString()

    server = grpc.aio.server()
    handlers: dict[str, grpc.RpcMethodHandler[bytes, bytes]] = {name: unary(name) for name in _FIELDS.values()}
    handlers["PlayHands"] = grpc.stream_stream_rpc_method_handler(play)
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(_SERVICE, handlers),))
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    print(f"listening on 127.0.0.1:{port}", flush=True)
    await server.wait_for_termination()


if __name__ == "__main__":
    recorded = {name: bytes.fromhex(text) for name, text in json.loads(Path(sys.argv[1]).read_text()).items()}
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(serve(recorded, Path(sys.argv[2])))
