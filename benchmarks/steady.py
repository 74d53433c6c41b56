"""Hands a second by stream for ten minutes on end, on one folder that keeps every answer meanwhile."""

from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic

from benchmarks import servers
from benchmarks.row import Row

SECONDS = 600
ASKED = 600.0
"""Hands a second; the largest room ever averages 555."""
PART = ("stream", 20_000, 256)


def rows() -> list[Row]:
    """The whole time's rate, starts of the load's processes and all, and that of the slowest part."""
    with TemporaryDirectory(prefix="cutcard-benchmark-") as name, servers.dealer(Path(name) / "data") as dealer:
        rates, began = [], monotonic()
        while (taken := monotonic() - began) < SECONDS:
            rates.append(dealer.rate(*PART))
    return [
        Row.of(
            "hands by PlayHands for ten minutes, 256 tables, one in sixteen checked",
            len(rates) * PART[1] / taken,
            ASKED,
            "hands/s",
            1.0,
        ),
        Row.of("the slowest 20,000 of them", min(rates), ASKED, "hands/s", 1.0),
    ]
