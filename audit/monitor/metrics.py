"""A monitor's metrics for Prometheus (docs/witnesses.md)."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, start_http_server

from audit.findings import CHECKS
from audit.monitor.alarms import KINDS
from audit.monitor.follow import Looked
from audit.monitor.memory import Memory


class Metrics:
    """The metrics of one monitor, served over HTTP once `serve` is called."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._looks = Counter(
            "cutcard_monitor_looks", "Looks at the log, by verdict.", ["verdict"], registry=self._registry
        )
        self._time = self._gauge("last_look_timestamp_seconds", "When the last look ended.")
        self._entries = self._gauge("entries", "Entries of the log that were audited.")
        self._open = self._gauge("open_hands", "Hands that are open.")
        self._findings = self._gauge("findings", "Findings, by check.", "check")
        self._alarms = self._gauge("alarms", "Alarms that stand, by kind.", "kind")
        self._quorum = self._gauge("quorum_timestamp_seconds", "The newest time of a quorum of witnesses.")

    def _gauge(self, name: str, what: str, *labels: str) -> Gauge:
        return Gauge(f"cutcard_monitor_{name}", what, labels, registry=self._registry)

    def serve(self, host: str, port: int) -> int:
        """Serves them from a thread of its own, at `/metrics`; gives the port.

        Raises:
            OSError: the port cannot be had.
        """
        server, _ = start_http_server(port, host, self._registry)
        return int(server.server_port)

    def take(self, looked: Looked, memory: Memory, now: int) -> None:
        """Takes a look's results, once its alarms are noted."""
        report = looked.report
        self._looks.labels(report.verdict).inc()
        if looked.whole:
            self._entries.set(report.entries)
            self._open.set(report.hands.open)
        failed = {check.name: check.failed for check in report.checks}
        for check in CHECKS:
            self._findings.labels(check).set(failed[check])
        kinds = [stands.alarm.get("kind") for stands in memory.standing().values()]
        for kind in KINDS:
            self._alarms.labels(kind).set(kinds.count(kind))
        self._quorum.set(memory.quorum_since())
        self._time.set(now)
