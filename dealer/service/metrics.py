"""Metrics for Prometheus, on a port of their own. They hold counts and times, never an id or a card."""

import socket
from collections import Counter as Counts
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

import grpc
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, make_wsgi_app

from dealer.errors import Refused
from dealer.service.http import Bounded, serve

_WHO = ("Server", "cutcard")
_BATCHES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)

_SECONDS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30)
_AGES = (60, 600, 3600, 6 * 3600, 24 * 3600)


class _Server(Bounded, WSGIServer):
    pass


class _Server6(_Server):
    address_family = socket.AF_INET6


class _Silent(WSGIRequestHandler):
    """Writes no line for each request, and does not say what it is made of."""

    server_version, sys_version = "cutcard", ""

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the library's name
        """Writes nothing."""


class Metrics:
    """What one dealer counts."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.calls = Counter(
            "cutcard_calls", "Calls answered, by method and status code.", ("method", "code"), registry=self.registry
        )
        self.batch_commands = Histogram(
            "cutcard_batch_commands", "Commands made durable together.", buckets=_BATCHES, registry=self.registry
        )
        self.batch_seconds = Histogram(
            "cutcard_batch_seconds", "Time that one durable append took.", registry=self.registry
        )
        self.hands_in_play = Gauge("cutcard_hands_in_play", "Hands not closed yet.", registry=self.registry)
        self.log_entries = Gauge("cutcard_log_entries", "Entries in the log.", registry=self.registry)
        self.published_entries = Gauge(
            "cutcard_published_entries", "Entries under the published checkpoint.", registry=self.registry
        )
        self.written_ahead = Gauge(
            "cutcard_written_ahead_bytes", "Size of the database's write-ahead log.", registry=self.registry
        )
        self.key_overdue = Gauge(
            "cutcard_key_overdue_seconds",
            "Time for which a key at rest of several dealers has outlived its time.",
            registry=self.registry,
        )
        self.entropy = Gauge(
            "cutcard_entropy_healthy", "1 while the entropy source passes its tests.", registry=self.registry
        )
        self.entropy_failures = Counter(
            "cutcard_entropy_failures", "Times that the entropy source began to fail.", registry=self.registry
        )
        self.certificate_days = Gauge(
            "cutcard_certificate_days_left", "Days for which the server's certificate holds.", registry=self.registry
        )
        self.certificate_failed = Gauge(
            "cutcard_certificate_failed",
            "Files of TLS that cannot be read again: old ones are in use.",
            registry=self.registry,
        )
        self.call_seconds = Histogram(
            "cutcard_call_seconds", "Time of unary calls.", ("method", "code"), buckets=_SECONDS, registry=self.registry
        )
        self.refusals = Counter(
            "cutcard_refusals",
            "Calls, and requests on streams, refused, by reason.",
            ("reason",),
            registry=self.registry,
        )
        self.commit_seconds = Histogram(
            "cutcard_commit_seconds",
            "Time that the store took for one commit.",
            buckets=_SECONDS,
            registry=self.registry,
        )
        self.waiting = Gauge("cutcard_waiting_commands", "Commands that wait for the writer.", registry=self.registry)
        self.connections = Counter(
            "cutcard_tls_connections",
            "TLS handshakes begun, by listener; those that fail bring no call.",
            ("listener",),
            registry=self.registry,
        )
        self.streams = Gauge("cutcard_streams", "Streams that are open.", registry=self.registry)
        self.watchers = Gauge("cutcard_watchers", "Streams that watch a referee's hand.", registry=self.registry)
        self.room_hands = Gauge("cutcard_room_hands", "Hands in play of a room.", ("room",), registry=self.registry)
        self.older_hands = Gauge(
            "cutcard_hands_older_than", "Hands in play opened longer ago.", ("seconds",), registry=self.registry
        )
        self.build = Gauge(
            "cutcard_build_info", "1, with version and code digest.", ("version", "code_digest"), registry=self.registry
        )
        self.refused: Counts[str] = Counts()
        self.serving = Gauge("cutcard_serving", "1 while hands can be opened and dealt.", registry=self.registry)

    def call(self, method: str, code: grpc.StatusCode, error: Exception | None, seconds: float | None) -> None:
        """Counts one call that has ended.

        Args:
            method: its name.
            code: its status.
            error: what it was refused with.
            seconds: how long it took; None of a stream.
        """
        self.calls.labels(method, code.name).inc()
        if seconds is not None:
            self.call_seconds.labels(method, code.name).observe(seconds)
        if error is not None:
            self.refuse(error)

    def refuse(self, error: Exception) -> None:
        """Counts what was refused, by its reason."""
        if isinstance(error, Refused):
            self.refusals.labels(error.reason).inc()
            self.refused[error.reason] += 1

    def in_play(self, of_rooms: Mapping[str, int], ages: Sequence[float]) -> None:
        """Sets what is in play: each room's hands, and how many seconds ago each hand was opened."""
        self.room_hands.clear()
        for room, count in of_rooms.items():
            if count:
                self.room_hands.labels(room).set(count)
        for seconds in _AGES:
            self.older_hands.labels(f"{seconds}").set(sum(age > seconds for age in ages))

    def batch(self, commands: int, seconds: float) -> None:
        """Counts one batch."""
        self.batch_commands.observe(commands)
        self.batch_seconds.observe(seconds)

    def listen(self, host: str, port: int, alive: Callable[[], bool], ready: Callable[[], bool]) -> Callable[[], None]:
        """Serves `/metrics`, `/healthz` and `/readyz` over HTTP for GET and HEAD, and 404 for everything else.

        Args:
            host: where to listen.
            port: where to listen.
            alive: whether the process does its work.
            ready: whether hands can be opened and dealt.

        Returns:
            What ends it.

        Raises:
            OSError: the address cannot be listened on.
        """
        metrics = make_wsgi_app(self.registry)

        def answer(environ: dict[str, Any], start: Any) -> Iterable[bytes]:
            method, path = environ["REQUEST_METHOD"], environ.get("PATH_INFO", "")
            if method not in ("GET", "HEAD"):
                return said("405 Method Not Allowed", method, start, ("Allow", "GET, HEAD"))
            if path == "/metrics":
                parts = metrics(environ | {"REQUEST_METHOD": "GET"}, lambda status, more: start(status, [*more, _WHO]))
                return parts if method == "GET" else ()
            checks = {"/healthz": alive, "/readyz": ready}
            good = checks[path]() if path in checks else None
            status = "404 Not Found" if good is None else "200 OK" if good else "503 Service Unavailable"
            return said(status, method, start)

        def said(status: str, method: str, start: Any, *more: tuple[str, str]) -> Iterable[bytes]:
            text = f"{status.partition(' ')[2].lower()}\n".encode()
            length = ("Content-Length", str(len(text)))
            start(status, [("Content-Type", "text/plain; charset=utf-8"), length, _WHO, *more])
            return () if method == "HEAD" else (text,)

        kind = _Server6 if ":" in host else _Server
        server = make_server(host, port, answer, server_class=kind, handler_class=_Silent)
        return serve(server, "metrics")
