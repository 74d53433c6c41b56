"""What can go wrong for a client: a call that the dealer did not answer or refused, and a check that failed."""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import grpc

from dealer.errors import CutcardError

HAND_LOST, ANSWER_LOST = "HAND_LOST", "ANSWER_LOST"
_NOTHING: Mapping[str, str] = MappingProxyType({})


class ClientError(CutcardError):
    """Base of the client's errors."""


class UsageError(ClientError):
    """The client was asked for something that it cannot do; nothing was sent."""


class CallError(ClientError):
    """The dealer refused a call, or did not answer it however often it was asked.

    Attributes:
        code: gRPC status code.
        reason: of the dealer's catalogue, such as `WRONG_STREET`; empty if the dealer did not speak.
        metadata: what the dealer says of the hand or table: `hand_id`, `table`, `number`, `state`, `next_number`.
        retry_seconds: after how many seconds it says to ask again; 0 if it does not.
    """

    def __init__(
        self,
        method: str,
        code: grpc.StatusCode,
        reason: str,
        message: str,
        metadata: Mapping[str, str] = _NOTHING,
        *,
        settled: bool = True,
        retry_seconds: float = 0.0,
    ) -> None:
        super().__init__(f"{method}: {printable(message) or code.name}")
        self.retry_seconds = retry_seconds
        self._settled = settled  # False: it ended a stream, and says nothing of this one request
        self.code = code
        self.reason = reason
        self.metadata = metadata

    @property
    def refused(self) -> bool:
        """Whether the dealer has refused the request, so that nothing has changed; otherwise it may have."""
        carried_out = self.reason == ANSWER_LOST or not self._settled
        return bool(self.reason) and self.code is not grpc.StatusCode.UNAVAILABLE and not carried_out


def lost_hand() -> CallError:
    """Returns what stands for the refusal of a lost hand where its state was looked up, and nothing refused."""
    code = grpc.StatusCode.FAILED_PRECONDITION
    return CallError("GetHand", code, HAND_LOST, "the dealer has lost this hand", {"state": "LOST"})


class LostError(CallError):
    """The dealer has lost the key of a hand, or of an answer: the hand cannot be played on. For money it is void.

    The table goes on with its next number. What is left of the hand are its receipts: keep them, for a dealer that
    loses the hands that it dislikes shows in its log.

    Attributes:
        evidence: the file with offer and commit, and what the dealer said; None if it could not be written.
    """

    def __init__(self, error: CallError, said: str, evidence: Path | None) -> None:
        Exception.__init__(self, f"{printable(said)} (receipts: {evidence})" if evidence else printable(said))
        self.code, self.reason, self.metadata, self._settled = error.code, error.reason, error.metadata, error._settled
        self.retry_seconds = error.retry_seconds
        self.evidence = evidence


class CheckError(ClientError):
    """What the dealer gave does not hold: do not play on, and keep the evidence.

    Attributes:
        check: its name in PROTOCOL.md section 10; `repeat` if one request was answered in two ways.
        detail: what was expected and what was found.
        evidence: the file with everything needed to show it to others; None if it could not be written.
    """

    def __init__(self, check: str, detail: str, evidence: Path | None = None) -> None:
        detail = printable(detail)
        super().__init__(f"{check}: {detail}" + (f" (evidence: {evidence})" if evidence else ""))
        self.check = check
        self.detail = detail
        self.evidence = evidence


def printable(text: str) -> str:
    """Returns text from the dealer as it may go to a terminal: controls, and what turns a line round, as escapes."""
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in text)
