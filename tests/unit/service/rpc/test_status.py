"""Every reason has one status code, and one row in docs/errors.md that says the same."""

import re
from pathlib import Path

import grpc

from dealer.errors import CutcardError, Reason, Refused
from dealer.service.rpc.status import STATUS, status_of
from dealer.store.interface import StoreError

ROWS = re.findall(
    r"^\| `(\w+)` \| `(\w+)` \|", (Path(__file__).resolve().parents[4] / "docs" / "errors.md").read_text(), re.MULTILINE
)


def test_the_document_lists_every_reason_with_its_code_once() -> None:
    assert dict(ROWS) == {reason.value: code.name for reason, code in STATUS.items()}
    assert len(ROWS) == len(Reason)


def test_an_error_that_is_no_refusal_tells_nothing() -> None:
    status = status_of(ValueError("seed 00ff"))
    assert status.code == grpc.StatusCode.INTERNAL.value[0]
    assert "seed" not in str(status)
    assert "00ff" not in str(status_of(CutcardError("00ff")))


def test_a_store_that_fails_is_unavailable() -> None:
    assert status_of(StoreError("disk")).code == grpc.StatusCode.UNAVAILABLE.value[0]
    assert status_of(Refused(Reason.TABLE_BUSY, "x")).message == "x"
