"""What is counted of witnesses; there only where a policy names some."""

import time

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram


class WitnessMetrics:
    """What one dealer counts of its witnesses."""

    def __init__(self, registry: CollectorRegistry) -> None:
        """Adds them to the dealer's."""
        self.requests = Counter(
            "cutcard_witness_requests",
            "Answers of witnesses by HTTP status, or none, unreadable, dropped (a cosignature that is not taken).",
            ("witness", "status"),
            registry=registry,
        )
        self.seconds = Histogram(
            "cutcard_witness_seconds", "Time from a request to a witness to its answer.", registry=registry
        )
        self.entries = Gauge(
            "cutcard_witnessed_entries", "Entries under the newest checkpoint with a quorum.", registry=registry
        )
        self.conflict = Gauge(
            "cutcard_witness_conflict", "1 once witnesses hold another history of this log.", registry=registry
        )
        age = Gauge(
            "cutcard_witness_quorum_age_seconds", "Seconds since the quorum's time; +Inf before any.", registry=registry
        )
        self.quorum_time: int | None = None
        age.set_function(lambda: float("inf") if self.quorum_time is None else time.time() - self.quorum_time)
