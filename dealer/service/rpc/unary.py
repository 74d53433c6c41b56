"""Unary calls, from bytes to bytes: each is answered, or ended with the status of what went wrong."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import grpc
from google.protobuf.message import Message

from dealer.errors import Reason, Refused
from dealer.service.rpc.status import abort

Answer = Callable[[bytes, Any], Awaitable[bytes]]
"""Answers a request's bytes in the context of its call; raises if it is refused."""


def unary(answer: Answer) -> "grpc.RpcMethodHandler[Any, Any]":
    """Returns the handler of a method."""

    async def call(data: bytes, context: Any) -> bytes:
        try:
            return await answer(data, context)
        except Exception as error:
            await abort(context, error)

    return grpc.unary_unary_rpc_method_handler(call)


ALIKE_SECONDS = 0.02
"""Refusals that tell nothing of what is there take this long, whatever was looked at on the way."""


@asynccontextmanager
async def alike(only: Reason | None = None) -> AsyncIterator[None]:
    """Has every refusal inside leave at one time after its call, so that its time tells no more than its words.

    Args:
        only: refusals for this reason alone.
    """
    loop = asyncio.get_running_loop()
    leaves = loop.time() + ALIKE_SECONDS
    try:
        yield
    except Refused as refused:
        if only in (None, refused.reason):
            await asyncio.sleep(leaves - loop.time())
        raise


def written(call: Callable[[bytes], Awaitable[Message]]) -> Answer:
    """Returns what answers with the bytes of the message that `call` makes of a request's."""

    async def answer(data: bytes, context: Any) -> bytes:
        return (await call(data)).SerializeToString()

    return answer
