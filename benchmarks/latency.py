"""How long a table waits for a street, beside a bare gRPC echo that makes its request durable."""

from statistics import median, quantiles

from benchmarks.rounds import medians
from benchmarks.row import Row
from benchmarks.servers import play, servers

ROUNDS = 7
HANDS = 60


def rows() -> list[Row]:
    """DealStreet at one table alone, and at one of 32 busy tables: median and 99th percentile."""
    figures: list[tuple[str, float, float]] = []
    with servers() as running:
        for tables in (1, 32):
            measured: dict[str, list[float]] = {running.dealer: [], running.bare: []}

            def middle(address: str, tables: int = tables, measured: dict[str, list[float]] = measured) -> float:
                streets = play(address, "calls", HANDS * min(tables, 8), tables).streets
                measured[address] += streets
                return median(streets)

            ours, other = medians(lambda: middle(running.dealer), lambda: middle(running.bare), rounds=ROUNDS)
            name = f"street, {tables} table{'s' if tables > 1 else ''}"
            figures.append((f"{name}, median", ours, other))
            figures.append((f"{name}, 99th percentile", _tail(measured[running.dealer]), _tail(measured[running.bare])))
    return [Row.of(f"{name}, against echo and fsync", 1e3 * ours, 1e3 * other, "ms") for name, ours, other in figures]


def _tail(seconds: list[float]) -> float:
    """The 99th percentile over all rounds."""
    return quantiles(seconds, n=100)[98]
