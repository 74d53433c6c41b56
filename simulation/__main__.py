"""The command `python -m simulation`: lives worlds from their seeds, one or as many as an hour holds."""

import json
import os
import random
import sys
import time
from collections import Counter
from itertools import count

import click

from simulation.promises import BrokenPromise
from simulation.world import Outcome, World


def short_world(seed: int, *, disk: bool | None = None) -> World:
    """Returns a short world; one in eight is on the simulated disk, if that is not said."""
    on_disk = seed % 8 == 0 if disk is None else disk
    return World(seed, disk=on_disk, rooms=1, tables=1, steps=80, fault_every=16, audited=seed % 4 == 0)


def long_world(seed: int) -> World:
    """Returns a long world; every other one is on the simulated disk."""
    return World(seed, disk=seed % 2 == 0, rooms=6, tables=3, steps=6000, fault_every=200)


def _lived(world: World) -> tuple[Outcome, str]:
    try:
        return world.run(), ""
    except BrokenPromise as broken:
        return world.outcome, str(broken)
    except Exception as error:
        return world.outcome, f"{type(error).__name__}: {error}"


@click.command(name="python -m simulation")
@click.option("--seed", type=click.IntRange(0), default=None, help="Live the world of this seed, and tell its history.")
@click.option("--hours", type=click.FloatRange(0.001), default=None, help="Live worlds from chance for so long.")
@click.option("--seeds", type=click.IntRange(1), default=None, help="Live so many worlds, of seeds from 0.")
@click.option("--long/--short", "long", default=False, help="Long worlds, of some hundred hands.")
def main(seed: int | None, hours: float | None, seeds: int | None, *, long: bool) -> None:
    """Lives simulated worlds; the exit status is 1 if the dealer broke a promise in one of them.

    The same seed gives the same world; its order, its faults and its end.
    """
    make = long_world if long or hours else short_world
    if seed is not None:
        outcome, broken = _lived(make(seed))
        click.echo("\n".join([*outcome.history, json.dumps(outcome.counts), f"trace {outcome.trace}"]))
        if broken:
            click.echo(f"broken: {broken}", err=True)
        sys.exit(bool(broken))
    first = 0 if seeds else random.SystemRandom().getrandbits(40)
    until = time.monotonic() + 3600 * hours if hours else None
    totals, failed, started = Counter[str](), 0, time.process_time()
    for number in count(first):
        if (seeds and number >= seeds) or (until and time.monotonic() >= until):
            break
        outcome, broken = _lived(make(number))
        totals.update(outcome.counts)
        totals["worlds"] += 1
        if broken:
            failed += 1
            click.echo(f"seed {number} broke a promise: {broken}", err=True)
    totals["broken"] = failed
    click.echo(json.dumps({**totals, "processor_seconds": round(time.process_time() - started, 1)}))
    sys.exit(bool(failed))


if __name__ == "__main__":
    if os.environ.get("PYTHONHASHSEED") != "0":  # sets of bytes would come in another order each time
        os.execve(
            sys.executable, [sys.executable, "-m", "simulation", *sys.argv[1:]], {**os.environ, "PYTHONHASHSEED": "0"}
        )
    main()
