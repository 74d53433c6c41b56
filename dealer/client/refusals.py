"""From what the dealer says on the wire when it refuses to the client's own error."""

from collections.abc import Iterable

import grpc
from google.protobuf import any_pb2
from google.protobuf.message import DecodeError
from google.rpc import error_details_pb2, status_pb2

from dealer.client.errors import CallError
from dealer.v1 import dealer_pb2 as pb

_MOST_RETRY_SECONDS = 60.0
_CODES = {code.value[0]: code for code in grpc.StatusCode if code is not grpc.StatusCode.OK}


def of_call(method: str, error: grpc.aio.AioRpcError, *, settled: bool = True) -> CallError:
    """Reads the error that ended a call.

    Args:
        method: the request's, for the message.
        error: as gRPC gives it.
        settled: whether it is the answer to this very request; see `CallError.refused`.
    """
    details: Iterable[any_pb2.Any] = ()
    for key, value in error.trailing_metadata() or ():
        if key == "grpc-status-details-bin" and isinstance(value, bytes):
            try:
                details = status_pb2.Status.FromString(value).details
            except DecodeError:
                break
    return _call_error(method, error.code(), error.details() or "", details, settled=settled)


def of_stream(method: str, error: grpc.aio.AioRpcError) -> CallError:
    """Reads the error that ended a stream, for one of the requests that it left without an answer."""
    ended = of_call(method, error, settled=False)
    if ended.code is grpc.StatusCode.INTERNAL and not ended.reason:
        # gRPC itself says so of a stream that is written to while its connection goes.
        return CallError(method, grpc.StatusCode.UNAVAILABLE, "", f"the stream was lost: {error.details()}")
    return ended


def of_request(method: str, error: pb.PlayError) -> CallError:
    """Reads the error that answers one request of a PlayHands stream."""
    return _call_error(method, _CODES.get(error.code, grpc.StatusCode.UNKNOWN), error.message, error.details)


def _call_error(
    method: str, code: grpc.StatusCode, message: str, details: Iterable[any_pb2.Any], *, settled: bool = True
) -> CallError:
    info, again = error_details_pb2.ErrorInfo(), error_details_pb2.RetryInfo()
    for detail in details:
        try:
            _ = detail.Unpack(info) or detail.Unpack(again)
        except DecodeError:  # it is not the dealer who speaks so
            info, again = error_details_pb2.ErrorInfo(), error_details_pb2.RetryInfo()
            break
    seconds = min(max(again.retry_delay.seconds + again.retry_delay.nanos / 1e9, 0.0), _MOST_RETRY_SECONDS)
    return CallError(method, code, info.reason, message, dict(info.metadata), settled=settled, retry_seconds=seconds)
