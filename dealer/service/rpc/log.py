"""LogService: the log for anybody (API.md), read beside the writer on a connection of its own."""

from collections.abc import AsyncIterator
from functools import partial
from itertools import islice
from typing import Any

import grpc

from dealer.errors import Reason, Refused
from dealer.log.checkpoint import read_checkpoint
from dealer.log.merkle import consistency_proof, inclusion_proof
from dealer.log.receipt import make_receipt
from dealer.service.rpc.requests import decode
from dealer.service.rpc.status import abort
from dealer.service.rpc.unary import unary, written
from dealer.service.writer.engine import Engine
from dealer.service.writer.log_reader import LogReader
from dealer.store.interface import LogStore, StoreError, one_entry
from dealer.v1 import log_pb2 as pb

_PART_BYTES = 64 * 1024  # what a stream that nobody reads holds in memory, and about as much again in the transport
_PART_ENTRIES = 1024


class LogServicer:
    """Serves LogService. It shows no tree but those whose checkpoint is durable."""

    def __init__(self, engine: Engine, reader: LogReader, *, has_witnesses: bool = False) -> None:
        """Serves the log up to the writer's newest checkpoint, read by `reader`; or to the store's, standing by."""
        self._engine, self._reader, self._has_witnesses = engine, reader, has_witnesses

    def handler(self) -> grpc.GenericRpcHandler:
        """Returns the handler to be added to a server."""
        methods: dict[str, grpc.RpcMethodHandler[Any, Any]] = {
            "GetCheckpoint": unary(written(self._checkpoint)),
            "GetReceipt": unary(written(self._receipt)),
            "GetConsistencyProof": unary(written(self._consistency)),
            "ListEntries": grpc.unary_stream_rpc_method_handler(self._entries),
        }
        return grpc.method_handlers_generic_handler("dealer.v1.LogService", methods)

    async def _newest(self, least: int = 0) -> tuple[str, int]:
        """Returns the newest checkpoint and its size; one that is known too short is looked for in the store."""
        note = self._engine.state.note
        if self._engine.health.standing is None:
            size = read_checkpoint(note).size
            if size >= least or not self._engine.shared:
                return note, size
        note = await self._reader.run(lambda store: store.checkpoint())
        return note, read_checkpoint(note).size

    async def _cosigned(self) -> tuple[str, int]:
        """Returns the newest checkpoint for which the quorum of witnesses held, with its cosignatures, and its size."""
        if not self._has_witnesses:
            raise Refused(Reason.NO_WITNESSES, "this dealer asks no witnesses: ask without `witnessed`")
        note = await self._reader.run(lambda store: store.witnessed())
        if note is None:
            raise Refused(Reason.NOT_WITNESSED_YET, "no checkpoint has its quorum of witnesses yet: ask again later")
        return note, read_checkpoint(note).size

    async def _checkpoint(self, data: bytes) -> pb.GetCheckpointResponse:
        witnessed = decode(pb.GetCheckpointRequest, data).witnessed
        note, _ = await (self._cosigned() if witnessed else self._newest())
        return pb.GetCheckpointResponse(checkpoint=note)

    async def _receipt(self, data: bytes) -> pb.GetReceiptResponse:
        request = decode(pb.GetReceiptRequest, data)
        index: int = request.index
        note, size = await (self._cosigned() if request.witnessed else self._newest(index + 1))
        if index >= size:
            newest = (await self._newest(index + 1))[1]
            if index < newest:
                text = f"of the log's {newest} entries witnesses have cosigned {size} so far: ask again later"
                raise Refused(Reason.NOT_WITNESSED_YET, text)
            raise Refused(Reason.ENTRY_NOT_FOUND, f"the log has {newest} entries")

        def work(store: LogStore) -> pb.GetReceiptResponse:
            receipt = make_receipt(index, inclusion_proof(index, size, store.node), note)
            return pb.GetReceiptResponse(receipt=receipt, entry=one_entry(store, index))

        return await self._reader.run(work)

    async def _consistency(self, data: bytes) -> pb.GetConsistencyProofResponse:
        request = decode(pb.GetConsistencyProofRequest, data)
        request_to: int = request.to
        note, size = await self._newest(request_to)
        old, new = getattr(request, "from"), request.to or size
        if old > new:
            raise Refused(Reason.INVALID_RANGE, f"from {old} is greater than to {new}")
        if new > size:
            raise Refused(Reason.ENTRY_NOT_FOUND, f"the log has {size} entries, not {new}")
        hashes = await self._reader.run(lambda store: consistency_proof(old, new, store.node))
        return pb.GetConsistencyProofResponse(hashes=hashes, to=new, checkpoint=note)

    async def _entries(self, data: bytes, context: Any) -> AsyncIterator[bytes]:
        try:
            request = decode(pb.ListEntriesRequest, data)
            start: int = getattr(request, "from")
            size = (await self._newest(start))[1]
            if start > size:
                raise Refused(Reason.ENTRY_NOT_FOUND, f"the log has {size} entries")
            end = min(size, start + request.limit) if request.limit else size
            while start < end:
                part = await self._reader.run(partial(_part, start=start, end=end))
                yield pb.ListEntriesResponse(**{"from": start}, entries=part).SerializeToString()
                start += len(part)
        except Exception as error:
            await abort(context, error)


def _part(store: LogStore, start: int, end: int) -> list[bytes]:
    part, size = list[bytes](), 0
    for entry in islice(store.entries(start, end), _PART_ENTRIES):
        part.append(entry)
        size += len(entry)
        if size >= _PART_BYTES:
            break
    if not part:
        raise StoreError(f"the log has no entry {start}")
    return part
