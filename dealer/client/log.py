"""The log as one client has seen it: every checkpoint has to fit the last one (PROTOCOL.md, sections 9 and 10)."""

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator
from functools import partial
from typing import Any

import grpc

from dealer.client.calls import Caller
from dealer.client.errors import CallError, CheckError
from dealer.client.evidence import Evidence, consistency_member, write
from dealer.client.folder import Folder
from dealer.client.receipts import Proven, prove_with
from dealer.log.checkpoint import Checkpoint, open_checkpoint
from dealer.log.errors import LogError, ProofError
from dealer.log.merkle import verify_consistency
from dealer.log.note import NoteVerifier
from dealer.v1 import log_pb2 as pb

_REMEMBERED = 16


class LogView:
    """What is known of a log whose key is pinned.

    Attributes:
        verifier: checks its signatures.
        key: the same as text.
        folder: where what was seen is kept.
        closed: whether the client has let go of it.
    """

    def __init__(self, stub: Any, calls: Caller, key: str, folder: Folder) -> None:
        """Begins with the LogService's stub, the verifier key's text, and the memory of earlier runs.

        Raises:
            NoteError: the key does not decode.
            LogError: the remembered checkpoint is not one of this key.
        """
        self.verifier = NoteVerifier.parse(key)
        self._stub, self._calls, self.key, self.folder = stub, calls, key, folder
        self._turn = asyncio.Lock()
        self._opened: OrderedDict[str, Checkpoint] = OrderedDict()  # by the signed note
        self._under_way: dict[str, asyncio.Task[None]] = {}  # by the signed note
        self.closed = False
        self._seen: tuple[str, Checkpoint] | None = None
        if folder.checkpoint is not None:
            self._seen = folder.checkpoint, open_checkpoint(folder.checkpoint, self.verifier)

    @property
    def seen(self) -> Checkpoint | None:
        """The greatest tree that was seen and found to fit."""
        return self._seen[1] if self._seen else None

    async def accept(self, entry: bytes, receipt: str, index: int | None = None) -> Proven:
        """Checks an entry's receipt, and that its tree fits all that was seen before.

        Raises:
            CheckError: it does not hold.
            CallError: the dealer did not answer when it was asked for a consistency proof.
        """
        proven = prove_with(self._open, entry, receipt, index)
        await self.accept_checkpoint(proven.note, proven.checkpoint)
        return proven

    def _open(self, note: str) -> Checkpoint:
        """Opens a signed checkpoint; receipts of one batch bear the same one, whose signature is verified once."""
        checkpoint = self._opened.get(note)
        if checkpoint is None:
            checkpoint = self._opened[note] = open_checkpoint(note, self.verifier)
            if len(self._opened) > _REMEMBERED:
                self._opened.popitem(last=False)
        return checkpoint

    async def refresh(self) -> Checkpoint:
        """Asks for the newest checkpoint and checks that it fits; returns it.

        Raises:
            CheckError: it is not signed, smaller than one that was seen, or does not extend it.
            CallError: the dealer did not answer.
        """
        answer: pb.GetCheckpointResponse = await self._calls.ask(
            "GetCheckpoint", self._stub.GetCheckpoint, pb.GetCheckpointRequest()
        )
        try:
            checkpoint = open_checkpoint(answer.checkpoint, self.verifier)
        except LogError as error:
            raise CheckError("checkpoint", f"the newest checkpoint does not hold: {error}") from error
        await self.accept_checkpoint(answer.checkpoint, checkpoint)
        return checkpoint

    async def accept_checkpoint(self, note: str, checkpoint: Checkpoint) -> None:
        """Checks that of a signed tree and the greatest one seen the smaller is a prefix of the other.

        An older tree may come late, with a repeated answer. But then the dealer can prove that what it showed since
        extends it; one that was rolled back cannot. Hands whose receipts bear the same checkpoint wait for one proof.

        Raises:
            CheckError: the dealer cannot prove it; the evidence has both checkpoints.
            CallError: the dealer did not answer when it was asked for the proof.
        """
        if self._seen is not None and note == self._seen[0]:
            return
        task = self._under_way.get(note)
        if task is None:
            task = self._under_way[note] = asyncio.ensure_future(self._fit(note, checkpoint))
            task.add_done_callback(partial(self._settled, note))
        await asyncio.shield(task)  # who is cancelled does not take the proof from the others

    def _settled(self, note: str, task: "asyncio.Task[None]") -> None:
        del self._under_way[note]
        if not task.cancelled():
            task.exception()  # nobody may be left to take it

    async def _fit(self, note: str, checkpoint: Checkpoint) -> None:
        async with self._turn:
            if self._seen is None:
                self._remember(note, checkpoint)
                return
            if note == self._seen[0]:
                return
            old, new = sorted((self._seen, (note, checkpoint)), key=lambda pair: pair[1].size)
            await self._require_extension(old, new)
            if checkpoint.size > self._seen[1].size:
                self._remember(note, checkpoint)

    def _remember(self, note: str, checkpoint: Checkpoint) -> None:
        self._seen = note, checkpoint
        self.folder.checkpoint = note
        self.folder.save()

    async def _require_extension(self, old: tuple[str, Checkpoint], new: tuple[str, Checkpoint]) -> None:
        before, after = old[1], new[1]
        hashes: list[bytes] | None = None
        try:
            hashes = await self._consistency(before.size, after.size)
            verify_consistency(before.size, after.size, before.root, after.root, hashes)
        except (ProofError, CallError) as error:
            if isinstance(error, CallError) and error.code not in _NO_SUCH_TREE:
                raise
            if before.size == after.size:
                detail = f"two signed trees of {before.size} entries have different roots: the log is forked"
            elif hashes is None:
                detail = f"the dealer has shown {after.size} entries and can no longer prove them: it was rolled back"
            else:
                detail = f"the tree of {after.size} entries does not extend that of {before.size}: {error}"
            proof = consistency_member(before.size, after.size, hashes)
            content = Evidence(self.key).content("append-only", detail, checkpoints=[old[0], new[0]], consistency=proof)
            raise CheckError("append-only", detail, write(content, self.folder.evidence)) from error

    async def _consistency(self, old: int, new: int) -> list[bytes]:
        if old == new:
            return []
        request = pb.GetConsistencyProofRequest(**{"from": old}, to=new)
        answer: pb.GetConsistencyProofResponse = await self._calls.ask(
            "GetConsistencyProof", self._stub.GetConsistencyProof, request
        )
        return list(answer.hashes)

    async def receipt(self, index: int, *, witnessed: bool = False) -> Proven:
        """Asks for an entry with its receipt, and checks both; cosignatures under it, if wanted, are not judged."""
        answer: pb.GetReceiptResponse = await self._calls.ask(
            "GetReceipt", self._stub.GetReceipt, pb.GetReceiptRequest(index=index, witnessed=witnessed)
        )
        return await self.accept(answer.entry, answer.receipt, index)

    def entries(self, start: int = 0) -> AsyncIterator[bytes]:
        """Yields the log's entries from an index on, as the dealer gives them, unchecked."""
        return self._calls.entries(self._stub.ListEntries, start)


_NO_SUCH_TREE = (grpc.StatusCode.NOT_FOUND, grpc.StatusCode.INVALID_ARGUMENT)
