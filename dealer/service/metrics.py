"""Metrics for Prometheus, on a port of their own. They hold counts and times, never an id or a card."""

from collections.abc import Callable

import grpc
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, start_http_server

_BATCHES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)


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
        self.serving = Gauge("cutcard_serving", "1 while hands can be opened and dealt.", registry=self.registry)

    def counter(self, method: str) -> Callable[[grpc.StatusCode], None]:
        """Returns what counts a method's calls by their status codes."""
        return lambda code: self.calls.labels(method, code.name).inc()

    def batch(self, commands: int, seconds: float) -> None:
        """Counts one batch."""
        self.batch_commands.observe(commands)
        self.batch_seconds.observe(seconds)

    def listen(self, host: str, port: int) -> Callable[[], None]:
        """Serves the metrics over HTTP from a thread.

        Returns:
            What ends it.

        Raises:
            OSError: the address cannot be listened on.
        """
        server, thread = start_http_server(port, host, registry=self.registry)

        def close() -> None:
            server.shutdown()
            server.server_close()
            thread.join()

        return close
