"""Hands a second over gRPC, played by a client process of its own, against a bare server that only makes durable."""

from functools import partial

from benchmarks.rounds import medians
from benchmarks.row import Row
from benchmarks.servers import play, servers

ROUNDS = 5


def rows() -> list[Row]:
    """Whole eight-handed hands (open, five streets, close), each answer durable before it leaves."""
    with servers() as running:

        def rate(address: str, way: str, hands: int, tables: int) -> float:
            played = play(address, way, hands, tables)
            return played.hands / played.seconds

        figures = {
            (way, tables): medians(
                partial(rate, running.dealer, way, hands, tables),
                partial(rate, running.bare, way, hands, tables),
                rounds=ROUNDS,
            )
            for way, hands, tables in (("calls", 400, 64), ("stream", 1500, 256))
        }
    names = {"calls": "hands by single calls", "stream": "hands by PlayHands"}
    return [
        Row.of(f"{names[way]}, {tables} tables, against bare gRPC and fsync", ours, other, "hands/s")
        for (way, tables), (ours, other) in figures.items()
    ]
