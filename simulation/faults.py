"""What can go wrong in a world, each fault with how it begins and ends."""

import errno
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import apsw

from simulation.stores import ALTHOUGH, BEFORE, LATE

if TYPE_CHECKING:
    from simulation.world import World

HOUR = 3600 * 1000
DAY = 25 * HOUR


@dataclass(frozen=True, slots=True)
class Fault:
    """One kind of fault.

    Attributes:
        name: what it is called in a world's history.
        weight: how often it is drawn, against the others.
        begin: has it happen.
        disk: whether it needs the simulated disk.
        storage: whether the dealer may say that its storage fails.
    """

    name: str
    weight: int
    begin: Callable[["World"], None]
    disk: bool = False
    storage: bool = False


def _store(mode: str) -> Callable[["World"], None]:
    def begin(world: "World") -> None:
        rng = world.rng
        world.plan.arm(rng.randrange(12), rng.choice([1, 1, 2, 5]), mode)

    return begin


def _disk(*errors: Callable[[], Exception]) -> Callable[["World"], None]:
    """Has one call of the disk fail, some calls from now, or all of them for a while."""

    def begin(world: "World") -> None:
        rng = world.rng
        world.full = False  # this fault comes in place of that one
        after, left = rng.randrange(40), rng.choice([1, 1, 3, 200])
        calls = rng.choice([("write",), ("sync",), ("read",), ("write", "sync"), ("open",), ("truncate",)])
        make = rng.choice(errors)

        def fault(call: str) -> Exception | None:
            nonlocal after, left
            if call not in calls or left <= 0:
                return None
            after -= 1
            if after >= 0:
                return None
            left -= 1
            return make()

        world.disk.fault = fault

    return begin


def _full_disk(world: "World") -> None:
    """Nothing can be written until space is made again; everything can still be read."""
    world.disk.fault = lambda call: apsw.FullError("database or disk is full") if call == "write" else None
    world.full = True


def _files(world: "World") -> None:
    call = world.rng.choice(["open", "fsync", "pwrite"])
    world.files.failing[call] = world.rng.choice([errno.EIO, errno.ENOSPC, errno.EROFS, errno.EMFILE])


def _entropy(world: "World") -> None:
    world.entropy_fault = world.rng.choice(["raises", "zero", "replays", "short", "stalls"])
    if world.entropy_fault == "replays":
        world.replay_entropy()


def _answer_lost_on_the_way(world: "World") -> None:
    world.dropping = 3


def _unwritable(world: "World") -> None:
    world.ask_the_unwritable()


FAULTS = (
    Fault("store fails before", 3, _store(BEFORE), storage=True),
    Fault("store fails although it persisted", 4, _store(ALTHOUGH), storage=True),
    Fault("store fails late", 2, _store(LATE), storage=True),
    Fault("disk fails", 6, _disk(apsw.IOError, apsw.FullError, apsw.CantOpenError), disk=True, storage=True),
    Fault("disk full", 2, _full_disk, disk=True, storage=True),
    Fault("files fail", 3, _files, storage=True),
    Fault("entropy fails", 3, _entropy),
    Fault("clock back an hour", 1, lambda world: world.move_calendar(-HOUR)),
    Fault("clock on a day", 1, lambda world: world.move_calendar(DAY)),
    Fault("lines cannot be written", 2, lambda world: setattr(world, "mute", True)),
    Fault("callbacks raise", 2, lambda world: setattr(world, "deaf", True)),
    Fault("an answer is lost on the way", 4, _answer_lost_on_the_way),
    Fault("an answer cannot be written", 2, _unwritable),
    Fault("kill", 5, lambda world: world.kill(), storage=True),
    Fault("power cut", 4, lambda world: world.kill(power=True), disk=True, storage=True),
    Fault("restart", 2, lambda world: world.restart(), storage=True),
    Fault("keys of hands lost", 1, lambda world: world.lose_keys("seeds"), storage=True),
    Fault("keys of answers lost", 1, lambda world: world.lose_keys("answer-*.key"), storage=True),
    Fault("an older database", 1, lambda world: world.put_old_back(), storage=True),
)
