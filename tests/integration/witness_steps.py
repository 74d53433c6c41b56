"""Kills a witness at each line of an update in turn, and tells whether two cosignatures ever contradict each other.

Run as a program of its own, since it forks: `python -m tests.integration.witness_steps FOLDER`.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
import threading
from pathlib import Path
from types import FrameType
from typing import Any

from audit.witness import keeper as working
from audit.witness import store as stored
from audit.witness.keeper import Answer, Keeper
from audit.witness.store import Store, create
from tests.attacks.maker import Signer
from tests.integration.witnessing import request

SIGNER = Signer()
RAWS = [b"entry %d" % number for number in range(20)]
FORK = [*RAWS[:15], b"another", *RAWS[16:]]
TRACED = {working.__file__, stored.__file__}


def answer(folder: Path, body: bytes) -> Answer:
    store = Store(folder)
    keeper = Keeper(store)
    try:
        return keeper.add_checkpoint(body)
    finally:
        keeper.close()
        store.close()


def killed_at(step: int, folder: Path) -> tuple[bytes, bool]:
    """The answer that left, empty for none; and whether there was a kill: the update may take fewer steps."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        update(step, folder, write)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        left = pipe.read()
    status = os.waitpid(child, 0)[1]
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0
    return left, os.WIFSIGNALED(status)


def update(step: int, folder: Path, write: int) -> None:
    lines = 0

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal lines
        if frame.f_code.co_filename not in TRACED:
            return None
        if event == "line":
            lines += 1
            if lines == step:
                os.kill(os.getpid(), signal.SIGKILL)
        return trace

    store = Store(folder)
    threading.settrace(trace)
    sys.settrace(trace)
    keeper = Keeper(store)
    os.write(write, keeper.add_checkpoint(request(SIGNER, RAWS, 10)).body.encode())
    keeper.close()
    store.close()
    os._exit(0)


def main(base: Path) -> None:
    create(base / "first", "witness.example/w")
    store = Store(base / "first")
    store.add_logs([SIGNER.verifier])
    store.close()
    assert answer(base / "first", request(SIGNER, RAWS[:10], 0)).status == 200
    kept = lost = 0
    for step in range(1, 1000):
        folder = base / "now"
        shutil.copytree(base / "first", folder)
        left, killed = killed_at(step, folder)
        fork = answer(folder, request(SIGNER, FORK, 10))
        again = answer(folder, request(SIGNER, RAWS, 20 if fork.status == 409 else 10))
        if fork.status == 409:
            kept += 1
            assert (fork.body, again.status) == ("20\n", 200), step
        else:
            lost += 1
            assert not left, f"step {step}: a cosignature left, and after the kill its fork got one as well"
            assert (fork.status, again.status, again.body) == (200, 409, "20\n"), step
        shutil.rmtree(folder)
        if not killed:
            break
    print(f"{step - 1} kills: {lost} before the update was durable, {kept - 1} after")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
