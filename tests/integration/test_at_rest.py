"""At rest nothing is left from which a closed hand's seed, or an undealt card, could be read."""

import os
import sqlite3
from pathlib import Path
from typing import Any

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

from dealer.service.server import Settings
from dealer.service.sources import EscrowKey, Sources, make_escrow_pair
from dealer.service.unit import Limits
from dealer.v1 import types_pb2 as t
from tests.integration.inside import dealer_inside


class Recorder:
    """An entropy source that remembers what it gave."""

    def __init__(self) -> None:
        self.given: list[bytes] = []

    def __call__(self, length: int) -> bytes:
        self.given.append(os.urandom(length))
        return self.given[-1]


def everything_that_opens(folder: Path) -> bytes:
    """Every blob of every table, as it is and as every key that is left opens it."""
    keys = [ChaCha20Poly1305(path.read_bytes()) for path in (folder / "at-rest").glob("*.key")]
    found = [path.read_bytes() for path in (folder / "db").iterdir()]
    db = sqlite3.connect(folder / "db" / "cutcard.sqlite3")
    sealed = db.execute("SELECT hand, secrets, hand FROM hands WHERE secrets IS NOT NULL")
    rows: list[tuple[Any, ...]] = sealed.fetchall()
    rows += [
        (request, answer, caller.encode() + request)
        for caller, request, answer in db.execute("SELECT caller, request, answer FROM answers")
    ]
    opened = 0
    for _, blob, context in rows:
        for key in keys:
            try:
                found.append(key.decrypt(blob[:12], blob[12:], context))
                opened += 1
            except InvalidTag:
                continue
    assert opened == len(rows), "the test itself must be able to open what can be opened"
    return b"\0".join(found)


async def test_no_seed_of_a_closed_hand_can_be_opened_with_what_is_left(tmp_path: Path) -> None:
    recorder = Recorder()
    _, public = make_escrow_pair()
    sources = Sources(entropy=recorder, escrow=EscrowKey(bytes.fromhex(public)))
    async with dealer_inside(tmp_path / "data", sources) as (_, room):
        open_hand = await room.open("open", reveal=t.REVEAL_SEALED)
        for number in range(5):
            hand = await room.open(f"closed-{number}", reveal=t.REVEAL_SEALED)
            await room.play_out(hand.hand_id)
        await room.deal(open_hand.hand_id, t.STREET_THIRD)
        left = everything_that_opens(tmp_path / "data")
    assert len(recorder.given) == 6
    assert recorder.given[0].hex().encode() in left, "the open hand's seed is there, sealed"
    for seed in recorder.given[1:]:
        assert seed not in left
        assert seed.hex().encode() not in left


async def test_a_seed_key_goes_with_its_last_hand_and_an_answer_key_with_its_last_answer(tmp_path: Path) -> None:
    now = [1_700_000_000_000]
    sources = Sources(clock=lambda: now[0])
    settings = Settings(grace_seconds=1, limits=Limits(answer_seconds=24 * 3600))
    keys = tmp_path / "data" / "at-rest"
    async with dealer_inside(tmp_path / "data", sources, settings) as (dealer, room):
        first, second = await room.open("a"), await room.open("b")
        assert len(list(keys.glob("seed-*.key"))) == 1
        await room.void(first.hand_id)
        assert len(list(keys.glob("seed-*.key"))) == 1
        await room.void(second.hand_id)
        assert list(keys.glob("seed-*.key")) == []
        assert len(list(keys.glob("answer-*.key"))) == 1
        now[0] += 24 * 3600 * 1000 - 1
        await dealer.engine.forget_expired()
        assert len(list(keys.glob("answer-*.key"))) == 1
        now[0] += 1
        await dealer.engine.forget_expired()
        assert list(keys.glob("answer-*.key")) == []
        third = await room.open("a")
        assert third.number == 2
        assert (keys.stat().st_mode & 0o077) == 0
        assert all((path.stat().st_mode & 0o177) == 0 for path in keys.iterdir())


async def test_keys_change_with_the_clock(tmp_path: Path) -> None:
    settings = Settings(grace_seconds=1, limits=Limits(key_seconds=0))
    async with dealer_inside(tmp_path / "data", None, settings) as (_, room):
        for number in range(3):
            await room.open(f"t{number}")
        assert len(list((tmp_path / "data" / "at-rest").glob("seed-*.key"))) == 3
