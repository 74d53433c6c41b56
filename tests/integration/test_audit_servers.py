"""Logs behind servers: what breaks is tried again; whatever a server does, an audit ends, and accuses nobody of it."""

from __future__ import annotations

import gzip
import json
import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import grpc
import pytest
from click.testing import CliRunner

from audit.cli import cli
from audit.hand.escrow import EscrowKeys
from audit.logs import open_log, retry
from audit.logs.log import MOST_BYTES
from audit.whole.report import Report
from audit.whole.verify import Options
from audit.whole.verify import verify as verify_log
from dealer.v1 import log_pb2, log_pb2_grpc
from tests.attacks.judging import ESCROW
from tests.attacks.maker import Book, Signer, honest, many

SIGNER = Signer()


def verify(address: str, escrow: EscrowKeys = ESCROW) -> Report:
    return verify_log(open_log(address), Options(SIGNER.verifier, escrow))


def assert_unreadable(report: Report, why: str) -> None:
    assert (report.verdict, report.exit_code, report.findings) == ("unreadable", 4, ())
    assert why in report.missing[0]


@pytest.fixture(autouse=True)
def hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Waits as an auditor does, in less time."""
    monkeypatch.setattr(retry, "PATIENCE_SECONDS", 2.0)
    monkeypatch.setattr(retry, "PAUSE_SECONDS", 0.02)
    monkeypatch.setattr("audit.logs.http.SILENCE_SECONDS", 0.6)
    monkeypatch.setattr("audit.logs.service.SILENCE_SECONDS", 0.6)


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class's name
        return


@contextmanager
def serving(handler: Callable[..., BaseHTTPRequestHandler]) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return honest().write(tmp_path_factory.mktemp("log"))


@pytest.mark.parametrize("protocol", ["HTTP/1.0", "HTTP/1.1"])
def test_a_log_over_http(protocol: str, folder: Path) -> None:
    handler = type("Handler", (Quiet,), {"protocol_version": protocol})
    with serving(partial(handler, directory=str(folder))) as address:
        assert verify(address).verdict == "valid"
        assert verify(f"{address}/").verdict == "valid"
        assert_unreadable(verify(f"{address}/elsewhere"), "has no checkpoint")


class BreaksOff(Quiet):
    """Breaks off in the middle of every file's first transfers."""

    times: ClassVar[int]
    seen: ClassVar[Counter[str]]

    def copyfile(self, source: Any, outputfile: Any) -> None:
        data = source.read()
        self.seen[self.path] += 1
        outputfile.write(data[: len(data) // 2] if self.seen[self.path] <= self.times else data)


def test_a_broken_transfer_is_tried_again(folder: Path) -> None:
    handler = type("Handler", (BreaksOff,), {"times": 2, "seen": Counter()})
    with serving(partial(handler, directory=str(folder))) as address:
        assert verify(address).verdict == "valid"


def test_a_transfer_that_always_breaks_is_unreadable(folder: Path) -> None:
    handler = type("Handler", (BreaksOff,), {"times": 1000, "seen": Counter()})
    with serving(partial(handler, directory=str(folder))) as address:
        assert_unreadable(verify(address), "IncompleteRead")


class _Answers(BaseHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class's name
        return

    def _write_for_ever(self, data: bytes, pause: float) -> None:
        try:
            for _ in range(1_000_000):
                self.wfile.write(data)
                time.sleep(pause)
        except OSError:
            return


class Silent(_Answers):
    def do_GET(self) -> None:
        time.sleep(1.5)
        self.close_connection = True


class DripsItsHeaders(_Answers):
    def do_GET(self) -> None:
        self.wfile.write(b"HTTP/1.0 200 OK\r\nX: ")
        self._write_for_ever(b"x", 0.1)


class DripsItsBody(_Answers):
    def do_GET(self) -> None:
        self.wfile.write(b"HTTP/1.0 200 OK\r\n\r\n")
        self._write_for_ever(b"x", 0.1)


class Moved(_Answers):
    def do_GET(self) -> None:
        self.send_response(301)
        self.send_header("Location", "https://elsewhere.example/checkpoint")
        self.send_header("Content-Length", "0")
        self.end_headers()


class Broken(_Answers):
    def do_GET(self) -> None:
        self.send_error(500)


@pytest.mark.parametrize(
    ("handler", "why"),
    [
        (Silent, "cannot be read"),
        (DripsItsHeaders, "cannot be read"),
        (DripsItsBody, "not all of it came"),
        (Moved, "moved to 'https://elsewhere.example/checkpoint'"),
        (Broken, "status 500"),
    ],
)
def test_a_web_server_that_gives_no_file_is_unreadable(handler: type[_Answers], why: str) -> None:
    with serving(handler) as address:
        start = time.monotonic()
        assert_unreadable(verify(address), why)
        assert time.monotonic() - start < 10


def test_no_more_of_a_file_is_read_than_the_longest_bundle_has(folder: Path) -> None:
    class Endless(Quiet):
        def do_GET(self) -> None:
            if "entries" not in self.path:
                super().do_GET()
                return
            self.wfile.write(b"HTTP/1.0 200 OK\r\n\r\n")
            try:
                for _ in range(2 * MOST_BYTES // 1_000_000):
                    self.wfile.write(b"\0" * 1_000_000)
            except OSError:
                return

    with serving(partial(Endless, directory=str(folder))) as address:
        report = verify(address)
    assert [found.check for found in report.findings] == ["checkpoint"]
    assert "goes on" in report.findings[0].detail


class Service(log_pb2_grpc.LogServiceServicer):
    """A dealer's log; `answer` gives what ListEntries answers, None for what an honest dealer does.

    Attributes:
        breaks: how many streams break off after their first part.
    """

    def __init__(self, book: Book, answer: Callable[[int, int], Iterator[Any]] | None = None) -> None:
        self.raws = book.raws()
        self._checkpoint = book.signer.checkpoint(self.raws).decode()
        self._answer = answer
        self.breaks = 0

    def GetCheckpoint(self, request: Any, context: Any) -> Any:
        return log_pb2.GetCheckpointResponse(checkpoint=self._checkpoint)

    def GetReceipt(self, request: Any, context: Any) -> Any:
        raise NotImplementedError("nothing of the auditor's asks for it")

    def GetConsistencyProof(self, request: Any, context: Any) -> Any:
        raise NotImplementedError("nothing of the auditor's asks for it")

    def ListEntries(self, request: Any, context: Any) -> Iterator[Any]:
        first = getattr(request, "from")
        if self._answer is not None:
            for answer in self._answer(first, request.limit):
                if not context.is_active():
                    return
                yield answer
            return
        for at in range(first, min(first + request.limit, len(self.raws)), 100):
            if at > first and self.breaks:
                self.breaks -= 1
                context.abort(grpc.StatusCode.UNAVAILABLE, "gone for a moment")
            yield part(at, self.raws[at : min(at + 100, first + request.limit)])


def part(first: int, entries: list[bytes]) -> Any:
    return log_pb2.ListEntriesResponse(entries=entries, **{"from": first})


@contextmanager
def dealing(service: Service) -> Iterator[str]:
    server = grpc.server(ThreadPoolExecutor(4))
    log_pb2_grpc.add_LogServiceServicer_to_server(service, server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        yield f"grpc://127.0.0.1:{port}"
    finally:
        server.stop(None)


def test_a_log_over_grpc_whose_stream_breaks_off() -> None:
    service = Service(many(150))
    service.breaks = 2
    with dealing(service) as address:
        report = verify(address)
        assert (report.verdict, report.entries, service.breaks) == ("valid", 300, 0)
    assert_unreadable(verify(address), "does not answer")


def test_a_dealer_that_sends_more_than_was_asked_for() -> None:
    raws = honest().raws()

    def endless(first: int, limit: int) -> Iterator[Any]:
        yield part(first, [*raws[first:], b"beyond"])
        while True:
            yield part(len(raws) + 1, [b"beyond"])

    with dealing(Service(honest(), endless)) as address:
        assert verify(address).verdict == "valid"


def _empty_parts(first: int, limit: int) -> Iterator[Any]:
    while True:
        yield part(first, [])


def _long_entries(first: int, limit: int) -> Iterator[Any]:
    for at in range(first, first + limit):
        yield part(at, [bytes(3_000_000)])


def _one_long_entry(first: int, limit: int) -> Iterator[Any]:
    yield part(first, [bytes(5_000_000)])


def _elsewhere(first: int, limit: int) -> Iterator[Any]:
    yield part(first + 1, [b"x"])


def _silence(first: int, limit: int) -> Iterator[Any]:
    time.sleep(2)
    yield part(first, [b"x"])


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (_empty_parts, "parts and not yet"),
        (_long_entries, "than entries can have"),
        (_one_long_entry, "resource_exhausted"),
        (_elsewhere, "sent entry 1, asked for 0"),
        (_silence, "does not answer"),
    ],
)
def test_a_dealer_that_gives_no_entries_is_unreadable(answer: Callable[[int, int], Iterator[Any]], why: str) -> None:
    with dealing(Service(honest(), answer)) as address:
        start = time.monotonic()
        assert_unreadable(verify(address), why)
        assert time.monotonic() - start < 10


def test_a_dealer_that_has_fewer_entries_than_it_signed() -> None:
    with dealing(Service(honest(), lambda first, limit: iter([part(first, honest().raws()[:3])]))) as address:
        report = verify(address)
    assert report.exit_code == 4
    assert "is not there" in " ".join(report.missing)


def test_the_command_ends_with_json_that_says_so() -> None:

    with serving(Broken) as address:
        result = CliRunner().invoke(cli, ["verify", address, "--key", str(SIGNER.verifier), "--format", "json"])
    assert result.exit_code == 4
    assert json.loads(result.stdout)["verdict"] == "unreadable"


class Packs(Quiet):
    """Packs every file, as web servers do of their own accord."""

    packed: ClassVar[bytes] = b""
    """Sent in place of every file."""

    def do_GET(self) -> None:
        file = Path(self.translate_path(self.path))
        if not file.is_file():
            self.send_error(404)
            return
        assert self.headers["Accept-Encoding"] == "gzip, identity"
        data = self.packed or gzip.compress(file.read_bytes())
        self.send_response(200)
        self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def test_a_server_that_packs_an_honest_log_accuses_nobody(folder: Path) -> None:
    with serving(partial(Packs, directory=str(folder))) as address:
        assert verify(address).verdict == "valid"


def test_a_file_that_unpacks_without_end_is_unreadable(folder: Path) -> None:
    handler = type("Handler", (Packs,), {"packed": gzip.compress(bytes(64 * 2**20 + 1), 1)})
    with serving(partial(handler, directory=str(folder))) as address:
        assert_unreadable(verify(address), "gives more than 67108864 bytes")


@pytest.mark.parametrize("where", ["checkpoint", "tile/0/000.p/17", "tile/entries/000.p/17"])
def test_what_is_no_regular_file_is_unreadable_and_makes_nobody_wait(where: str, tmp_path: Path) -> None:
    file = honest().write(tmp_path) / where
    file.unlink()
    os.mkfifo(file)
    assert_unreadable(verify(str(tmp_path)), "it is a pipe, not a regular file")


ACTS = "\x1b[2J\x9b2J\u202e\u2028"


class SaysMuch(Quiet):
    def do_GET(self) -> None:
        self.wfile.write(f"HTTP/1.1 400 {ACTS}\r\nLocation: {ACTS}\r\n\r\n".encode())


@pytest.mark.parametrize("form", ["text", "json"])
def test_no_text_from_outside_acts_on_a_terminal(form: str, tmp_path: Path) -> None:
    signer = Signer(f"x/{ACTS[5:]}".replace("\u2028", ""))
    log = honest().write(tmp_path / f"log{ACTS}\n")
    (log / "checkpoint").write_bytes(signer.checkpoint(honest().raws()))
    with serving(SaysMuch) as address:
        for words in (
            ["verify", str(log), "--key", str(SIGNER.verifier)],
            ["verify", address],
            ["verify", f"{tmp_path}/no{ACTS}\nVALID"],
            ["verify", str(log), "--key", f"no{ACTS}\nVALID"],
            ["receipt", str(log / "checkpoint")],
            ["stats", f"{tmp_path}/no{ACTS}\nVALID"],
            ["verify", address.replace("://", "://me:secret@")],
            ["verify", "http://me:sec/ret@host:x/"],
        ):
            result = CliRunner().invoke(cli, [*words, "--format", form])
            assert result.exit_code in (1, 2, 3, 4), result.output
            assert not {*"\x1b\x9b\u202e\u2028"} & {*result.output}, words
            assert "\nVALID" not in result.output
            assert "secret" not in result.output
            assert "sec/ret" not in result.output
