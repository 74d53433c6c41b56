"""Fair timing: what is compared takes turns in the same run, and the median of the rounds counts."""

import gc
from collections.abc import Callable
from statistics import median
from time import perf_counter


def seconds_per_call(work: Callable[[], object], calls: int) -> float:
    """Mean seconds of one call of `work` over `calls` calls in a row, the collector at rest meanwhile."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        start = perf_counter()
        for _ in range(calls):
            work()
        return (perf_counter() - start) / calls
    finally:
        if was_enabled:
            gc.enable()


def medians(*measures: Callable[[], float], rounds: int = 7) -> list[float]:
    """The median figure of each measure, the measures taking turns `rounds` times after one round to warm up.

    Taking turns means that whatever else the machine does in the meantime weighs on all of them alike.
    """
    for measure in measures:
        measure()
    figures: list[list[float]] = [[] for _ in measures]
    for turn in range(rounds):
        order = range(len(measures)) if turn % 2 == 0 else reversed(range(len(measures)))
        for index in order:
            figures[index].append(measures[index]())
    return [median(taken) for taken in figures]
