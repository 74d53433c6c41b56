"""Traces of calls: a caller's trace stands in the log lines of its call, and nothing is missing where the API is."""

import json
from pathlib import Path

import pytest

from dealer.v1 import operator_pb2 as op
from dealer.v1 import operator_pb2_grpc
from tests.integration.running import Running, running

TRACE = "0af7651916cd43dd8448eb211c80319c"
PARENT = ("traceparent", f"00-{TRACE}-b7ad6b7169203331-01")
BLOCKED = "import sys\nsys.modules['opentelemetry'] = None\n"


def lines(dealer: Running) -> list[dict[str, str]]:
    """The lines of an operator's Drain and Resume."""
    said = [json.loads(line) for line in dealer.log_lines().splitlines()]
    return [line for line in said if line["event"].startswith("an operator")]


def test_the_caller_s_trace_stands_in_the_lines_of_its_call_alone(tmp_path: Path) -> None:
    with running(tmp_path / "data", "--log-format", "json") as dealer:
        stub = operator_pb2_grpc.OperatorServiceStub(dealer.room().channel)
        stub.Drain(op.DrainRequest(), metadata=(PARENT,))
        stub.Resume(op.ResumeRequest())
        for odd in ("", "00-0-0-00", "nonsense", "=,=,=", "0" * 5000):
            for name in ("traceparent", "tracestate", "baggage"):
                stub.GetStatus(op.GetStatusRequest(), metadata=(PARENT, (name, odd)))
                stub.GetStatus(op.GetStatusRequest(), metadata=((name, odd),))
        drained, resumed = lines(dealer)
        assert drained["trace_id"] == TRACE
        assert "trace_id" not in resumed
        assert "opentelemetry" not in dealer.log_lines(), "nobody fills the log by what he sends"


def test_without_the_api_a_dealer_does_all_that_it_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sitecustomize.py").write_text(BLOCKED)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with running(tmp_path / "data", "--log-format", "json") as dealer:
        room = dealer.room()
        operator_pb2_grpc.OperatorServiceStub(room.channel).Drain(op.DrainRequest(), metadata=(PARENT,))
        operator_pb2_grpc.OperatorServiceStub(room.channel).Resume(op.ResumeRequest(), metadata=(PARENT,))
        room.play_out(room.open("t").hand_id)
        assert ["trace_id" in line for line in lines(dealer)] == [False, False]
