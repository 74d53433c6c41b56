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
from dealer.service.writer.log_reader import LogReader
from dealer.service.writer.state import State
from dealer.store.interface import Store, StoreError, one_entry
from dealer.v1 import log_pb2 as pb

_PART_BYTES = 64 * 1024  # what a stream that nobody reads holds in memory, and about as much again in the transport
_PART_ENTRIES = 1024


class LogServicer:
    """Serves LogService. It shows no tree but those whose checkpoint is durable."""

    def __init__(self, state: State, reader: LogReader) -> None:
        """Serves the log up to the newest checkpoint of `state`, read by `reader`."""
        self._state, self._reader = state, reader

    def handler(self) -> grpc.GenericRpcHandler:
        """Returns the handler to be added to a server."""
        methods: dict[str, grpc.RpcMethodHandler[Any, Any]] = {
            "GetCheckpoint": unary(written(self._checkpoint)),
            "GetReceipt": unary(written(self._receipt)),
            "GetConsistencyProof": unary(written(self._consistency)),
            "ListEntries": grpc.unary_stream_rpc_method_handler(self._entries),
        }
        return grpc.method_handlers_generic_handler("dealer.v1.LogService", methods)

    def _newest(self) -> tuple[str, int]:
        note = self._state.note
        return note, read_checkpoint(note).size

    async def _checkpoint(self, data: bytes) -> pb.GetCheckpointResponse:
        decode(pb.GetCheckpointRequest, data)
        return pb.GetCheckpointResponse(checkpoint=self._newest()[0])

    async def _receipt(self, data: bytes) -> pb.GetReceiptResponse:
        index = decode(pb.GetReceiptRequest, data).index
        note, size = self._newest()
        if index >= size:
            raise Refused(Reason.ENTRY_NOT_FOUND, f"the log has {size} entries")

        def work(store: Store) -> pb.GetReceiptResponse:
            receipt = make_receipt(index, inclusion_proof(index, size, store.node), note)
            return pb.GetReceiptResponse(receipt=receipt, entry=one_entry(store, index))

        return await self._reader.run(work)

    async def _consistency(self, data: bytes) -> pb.GetConsistencyProofResponse:
        request = decode(pb.GetConsistencyProofRequest, data)
        note, size = self._newest()
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
            size = self._newest()[1]
            if start > size:
                raise Refused(Reason.ENTRY_NOT_FOUND, f"the log has {size} entries")
            end = min(size, start + request.limit) if request.limit else size
            while start < end:
                part = await self._reader.run(partial(_part, start=start, end=end))
                yield pb.ListEntriesResponse(**{"from": start}, entries=part).SerializeToString()
                start += len(part)
        except Exception as error:
            await abort(context, error)


def _part(store: Store, start: int, end: int) -> list[bytes]:
    part, size = list[bytes](), 0
    for entry in islice(store.entries(start, end), _PART_ENTRIES):
        part.append(entry)
        size += len(entry)
        if size >= _PART_BYTES:
            break
    if not part:
        raise StoreError(f"the log has no entry {start}")
    return part
