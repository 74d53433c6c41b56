"""From a refusal to its status on the wire: one catalogue (API.md; docs/errors.md is made from it)."""

from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from types import MappingProxyType
from typing import NoReturn

import grpc
import structlog
from google.protobuf import any_pb2
from google.rpc import error_details_pb2, status_pb2
from grpc_status import rpc_status

from dealer.errors import CutcardError, Reason, Refused
from dealer.store.interface import StoreError

_log = structlog.get_logger()
DOMAIN = "cutcard"

_BY_CODE: Mapping[grpc.StatusCode, tuple[Reason, ...]] = {
    grpc.StatusCode.NOT_FOUND: (Reason.HAND_NOT_FOUND, Reason.TABLE_NOT_FOUND, Reason.ENTRY_NOT_FOUND),
    grpc.StatusCode.ALREADY_EXISTS: (Reason.REQUEST_ID_REUSED,),
    grpc.StatusCode.FAILED_PRECONDITION: (
        Reason.TABLE_BUSY,
        Reason.WRONG_NUMBER,
        Reason.OTHER_SHARD,
        Reason.NO_ESCROW_KEY,
        Reason.HAND_NOT_LOCKED,
        Reason.HAND_LOCKED,
        Reason.HAND_CLOSED,
        Reason.LOG_ENDED,
        Reason.HAND_LOST,
        Reason.ANSWER_LOST,
        Reason.WRONG_GAME,
        Reason.WRONG_STREET,
        Reason.SEAT_FOLDED,
        Reason.ONE_SEAT_LEFT,
        Reason.NOT_ENOUGH_CARDS,
        Reason.NOT_A_DOWN_CARD,
        Reason.HAND_NOT_FINISHED,
        Reason.NOT_WITNESSED_YET,
        Reason.NO_WITNESSES,
        Reason.OUT_OF_TURN,
        Reason.ACTION_NOT_ALLOWED,
    ),
    grpc.StatusCode.RESOURCE_EXHAUSTED: (
        Reason.TOO_MANY_HANDS,
        Reason.TOO_MANY_REQUESTS,
        Reason.TOO_MANY_STREAMS,
        Reason.TOO_MANY_TABLES,
        Reason.TOO_MANY_CONNECTIONS,
        Reason.TOO_SLOW,
    ),
    grpc.StatusCode.PERMISSION_DENIED: (
        Reason.REFEREE_HAND,
        Reason.TABLE_OF_ANOTHER_ROOM,
        Reason.NOT_YOUR_ROLE,
        Reason.WRONG_TOKEN,
        Reason.WRONG_PROOF,
        Reason.CONSENT_MISSING,
    ),
    grpc.StatusCode.UNAUTHENTICATED: (Reason.NO_IDENTITY,),
    grpc.StatusCode.UNAVAILABLE: (
        Reason.ENTROPY_SOURCE,
        Reason.STORAGE,
        Reason.DRAINING,
        Reason.STANDBY,
        Reason.LEASE_LOST,
        Reason.LOG_CONFLICT,
    ),
}
STATUS: Mapping[Reason, grpc.StatusCode] = MappingProxyType(
    dict.fromkeys(Reason, grpc.StatusCode.INVALID_ARGUMENT)
    | {reason: code for code, reasons in _BY_CODE.items() for reason in reasons}
)
"""The status code of each reason; what is not named above is the caller's argument."""


_RETRY_SECONDS: Mapping[grpc.StatusCode, float] = MappingProxyType(
    {grpc.StatusCode.RESOURCE_EXHAUSTED: 1.0, grpc.StatusCode.UNAVAILABLE: 1.0}
)
"""After how long to ask again what was refused for now."""


def code_of(error: Exception) -> grpc.StatusCode:
    """Returns the status code of an error."""
    if isinstance(error, StoreError):
        return STATUS[Reason.STORAGE]
    return STATUS[error.reason] if isinstance(error, Refused) else grpc.StatusCode.INTERNAL


def status_of(error: Exception) -> status_pb2.Status:
    """Returns the google.rpc.Status that a caller gets; of an error that is no refusal it tells nothing."""
    if isinstance(error, StoreError):
        error = Refused(Reason.STORAGE, "the dealer's storage does not answer: try again later")
    if not isinstance(error, Refused):
        text = "the dealer failed to carry this out; nothing has changed"
        return status_pb2.Status(code=code_of(error).value[0], message=text)
    detail = any_pb2.Any()
    detail.Pack(error_details_pb2.ErrorInfo(reason=error.reason, domain=DOMAIN, metadata=error.metadata))
    details = [detail]
    if (seconds := _retry(error)) is not None:
        again = error_details_pb2.RetryInfo()
        again.retry_delay.FromMicroseconds(int(seconds * 1_000_000))
        packed = any_pb2.Any()
        packed.Pack(again)
        details.append(packed)
    return status_pb2.Status(code=code_of(error).value[0], message=str(error), details=details)


def _retry(refused: Refused) -> float | None:
    """Returns after how many seconds to ask again; None where that does not help."""
    if refused.retry is not None:
        return refused.retry
    return _RETRY_SECONDS.get(STATUS[refused.reason])


@dataclass(slots=True)
class CallEnd:
    """How a call ended, for who counts calls.

    Attributes:
        code: its status; None while it goes on, and of one that its caller has given up.
        error: what it was refused with, if it was.
    """

    code: grpc.StatusCode | None = None
    error: Exception | None = None


_end: ContextVar[CallEnd] = ContextVar("end")


def watch_end() -> CallEnd:
    """Returns where the end of the call that runs now will be noted."""
    end = CallEnd()
    _end.set(end)
    return end


def report_unforeseen(error: Exception) -> None:
    """Logs an error that is nobody's refusal: it is for the operator to look at."""
    if not isinstance(error, CutcardError):
        _log.error("a call failed", error=type(error).__name__)  # not the message: it might hold a secret


async def abort(context: "grpc.aio.ServicerContext[bytes, bytes]", error: Exception) -> NoReturn:
    """Ends a call with the status of an error."""
    report_unforeseen(error)
    if (end := _end.get(None)) is not None:
        end.code, end.error = code_of(error), error
    status = rpc_status.to_status(status_of(error))
    await context.abort_with_status(status)
    raise AssertionError("abort_with_status does not return")
