"""Whatever comes in on a port, the dealer refuses or answers it: no UNKNOWN, no INTERNAL, no secret, no growth."""

import re
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.protobuf.descriptor import FieldDescriptor, MethodDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from grpc_health.v1 import health_pb2, health_pb2_grpc
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

from dealer.v1 import dealer_pb2, log_pb2, operator_pb2, operator_pb2_grpc, table_pb2
from dealer.v1 import types_pb2 as t
from tests.integration.running import Running, rid, run_tool, running
from tests.integration.witnessing import ask, serving

SERVICES = [
    module.DESCRIPTOR.services_by_name[name]
    for module, name in [
        (dealer_pb2, "DealerService"),
        (log_pb2, "LogService"),
        (table_pb2, "TableService"),
        (operator_pb2, "OperatorService"),
    ]
]
METHODS: list[MethodDescriptor] = [method for service in SERVICES for method in service.methods]
NEVER = {grpc.StatusCode.UNKNOWN, grpc.StatusCode.INTERNAL, grpc.StatusCode.DATA_LOSS}
MOST_GROWTH = 120 * 1024
"""KiB of the dealer's memory: what a thousand hands in play take, and no more with every call."""
LONG_SECONDS = 120
F = FieldDescriptor


class Fuzzed:
    """A dealer with hands of every kind in play, everything that it said, and its memory."""

    def __init__(self, dealer: Running, metrics: int) -> None:
        self.dealer, self.metrics = dealer, metrics
        self.channel = grpc.insecure_channel(dealer.address)
        self.said: list[bytes] = []
        room = dealer.room()
        self.hands = [room.open(f"fuzz-{n}", seats=[1, 2, 3], reveal=1 + n % 2).hand_id for n in range(4)]
        self.hands += [room.open(f"draw-{n}", game=t.GAME_FREE_DRAW, seats=[1, 2]).hand_id for n in range(2)]
        room.deal(self.hands[0], t.STREET_THIRD)
        offered = [dealer_pb2.Contributor(id="a", commitment=bytes(32))]
        self.hands.append(room.open("offered", contributors=offered).hand_id)
        room.channel.close()

    def call(self, method: MethodDescriptor, data: bytes) -> None:
        """Makes a call with these bytes, and reads what comes back for a moment."""
        name = f"/{method.containing_service.full_name}/{method.name}"
        try:
            if method.client_streaming:
                parts = self.channel.stream_stream(name)(iter([data]), timeout=2)
                self.said += list(parts)
            elif method.server_streaming:
                stream = self.channel.unary_stream(name)(data, timeout=0.2)
                for part in stream:
                    self.said.append(part)
            else:
                self.said.append(self.channel.unary_unary(name)(data, timeout=10))
        except grpc.RpcError as error:
            assert error.code() not in NEVER, (name, data.hex(), error.details())
            self.said.append(str(error.details()).encode())

    def memory(self) -> int:
        assert self.dealer.process is not None
        status = Path(f"/proc/{self.dealer.process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", status)[1])  # type: ignore[index]

    def serving(self) -> bool:
        answer = health_pb2_grpc.HealthStub(self.channel).Check(health_pb2.HealthCheckRequest(), timeout=10)
        return bool(answer.status == health_pb2.HealthCheckResponse.SERVING)

    def nothing_leaked(self) -> None:
        """Ends all hands, and looks for their seeds in what was said before."""
        log = self.dealer.room().log
        entries = [each for part in log.ListEntries(log_pb2.ListEntriesRequest()) for each in part.entries]
        seeds = {
            bytes.fromhex(s.decode()) for entry in entries for s in re.findall(rb'"seed":"([0-9a-f]{128})"', entry)
        }
        for data in self.said:
            if b'"cutcard/v1/close"' not in data:
                assert not any(secret in data or secret.hex().encode() in data for secret in seeds)


@pytest.fixture(scope="module")
def fuzzed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fuzzed]:
    folder = tmp_path_factory.mktemp("fuzz")
    assert run_tool("dealer", "escrow-keygen", folder / "auditor").returncode == 0
    with socket.create_server(("127.0.0.1", 0)) as free:
        metrics = free.getsockname()[1]
    options = ["--metrics-listen", f"127.0.0.1:{metrics}", "--escrow-public-key", str(folder / "auditor.pub")]
    with running(folder / "data", *options, "--max-hands", "1000") as dealer:
        yield Fuzzed(dealer, metrics)


def values(field: FieldDescriptor, hands: list[str], depth: int) -> st.SearchStrategy[Any]:
    """Values of one field: those that mean something, those at the edges, and any."""
    match field.type:
        case F.TYPE_MESSAGE:
            return messages(field.message_type, hands, depth - 1)
        case F.TYPE_STRING:
            known = st.sampled_from([*hands, *hands, "fuzz-1", "a", "", "operator.x", "é", "x" * 65])
            return known | st.builds(rid) | st.text(max_size=70)
        case F.TYPE_BYTES:
            return st.sampled_from([b"", bytes(32)]) | st.binary(max_size=70)
        case F.TYPE_BOOL:
            return st.booleans()
        case F.TYPE_ENUM:
            return st.integers(-1, len(field.enum_type.values) + 1)
        case F.TYPE_UINT32:
            return st.integers(0, 9) | st.integers(0, 2**32 - 1)
        case F.TYPE_INT32:
            return st.integers(-2, 9) | st.integers(-(2**31), 2**31 - 1)
        case F.TYPE_UINT64:
            return st.integers(0, 60) | st.integers(0, 2**64 - 1)
        case F.TYPE_INT64:
            return st.integers(-2, 1000) | st.integers(-(2**63), 2**63 - 1)
    raise AssertionError(f"{field.full_name}: no values for its type")


def messages(kind: Any, hands: list[str], depth: int = 3) -> st.SearchStrategy[Message]:
    """Messages of a type, any of whose fields may be there."""
    make = GetMessageClass(kind)
    fields = [field for field in kind.fields if depth > 0 or field.type != F.TYPE_MESSAGE]
    parts = {}
    for field in fields:
        one = values(field, hands, depth)
        parts[field.name] = st.lists(one, max_size=5) if field.is_repeated else one

    def built(chosen: dict[str, Any]) -> Message:
        message = make()
        for name, value in chosen.items():
            message.MergeFrom(make(**{name: value}))
        if "request_id" in parts and "request_id" not in chosen:
            message.MergeFrom(make(request_id=rid()))
        return message

    return st.fixed_dictionaries({}, optional=parts).map(built)


def fuzz_method(fuzzed: Fuzzed, method: MethodDescriptor, examples: int, start: int) -> None:
    @seed(start)
    @settings(max_examples=examples, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(messages(method.input_type, fuzzed.hands), st.none() | st.binary(max_size=200))
    def holds(message: Message, instead: bytes | None) -> None:
        fuzzed.call(method, message.SerializeToString() if instead is None else instead)

    holds()
    operator_pb2_grpc.OperatorServiceStub(fuzzed.channel).Resume(
        operator_pb2.ResumeRequest()
    )  # it may have been drained


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
def test_no_request_brings_more_than_a_refusal(fuzzed: Fuzzed, method: MethodDescriptor) -> None:
    fuzz_method(fuzzed, method, 8 if method.server_streaming else 30, 1)
    assert fuzzed.serving()
    fuzzed.nothing_leaked()


def raw_bytes(address: tuple[str, int], data: bytes) -> None:
    """Sends bytes to a port, and takes what comes for a moment."""
    with suppress(OSError), socket.create_connection(address, 2) as connection:
        connection.settimeout(0.02)
        connection.sendall(data)
        connection.recv(1 << 16)


PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
OPENINGS = st.sampled_from(
    [
        b"",
        PREFACE,
        PREFACE + bytes(9),
        b"GET /metrics HTTP/1.1\r\n",
        b"\x16\x03\x01",
        b"POST / HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n",
    ]
)


def fuzz_port(port: int, examples: int, start: int) -> None:
    @seed(start)
    @settings(max_examples=examples, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(OPENINGS, st.binary(max_size=2000))
    def holds(opening: bytes, rest: bytes) -> None:
        raw_bytes(("127.0.0.1", port), opening + rest)

    holds()


def ports(fuzzed: Fuzzed) -> dict[str, int]:
    return {"calls": int(fuzzed.dealer.address.rpartition(":")[2]), "metrics": fuzzed.metrics}


@pytest.mark.parametrize("port", ["calls", "metrics"])
def test_bytes_at_random_on_a_port_do_no_harm(fuzzed: Fuzzed, port: str) -> None:
    fuzz_port(ports(fuzzed)[port], 30, 1)
    assert fuzzed.serving()
    with socket.create_connection(("127.0.0.1", fuzzed.metrics), 5) as connection:
        connection.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
        assert b"200 OK" in connection.recv(1 << 16)


def test_bytes_at_random_on_a_witness_do_no_harm(tmp_path: Path) -> None:
    folder = tmp_path / "witness"
    assert run_tool("audit", "witness", "init", "--name", "fuzzed.example/w", "--data-dir", folder).returncode == 0
    with serving(folder) as (port, process):
        fuzz_port(port, 30, 1)
        assert ask(port, b"nonsense").status in range(400, 500)
        assert process.poll() is None


def at_length(fuzzed: Fuzzed, work: list[Callable[[int], None]], seconds: float) -> None:
    """Does all work again and again; the dealer's memory may grow with hands, and not with calls."""
    for each in work:
        each(2)
    warm, until, start = fuzzed.memory(), time.monotonic() + seconds, 1000
    while time.monotonic() < until:
        for each in work:
            each(start)
        start += 1
        fuzzed.nothing_leaked()
        fuzzed.said.clear()
    assert fuzzed.serving()
    assert fuzzed.memory() - warm < MOST_GROWTH


@pytest.mark.soak
@pytest.mark.timeout(600)
def test_two_minutes_of_nonsense_on_the_ports(fuzzed: Fuzzed) -> None:
    work: list[Callable[[int], None]] = [
        lambda start, method=method: fuzz_method(fuzzed, method, 5 if method.server_streaming else 40, start)  # type: ignore[misc]
        for method in METHODS
    ]
    work += [lambda start, port=port: fuzz_port(port, 30, start) for port in ports(fuzzed).values()]  # type: ignore[misc]
    at_length(fuzzed, work, LONG_SECONDS)
