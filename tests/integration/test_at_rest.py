"""At rest nothing is left from which a closed hand's seed, or an undealt card, could be read."""

import asyncio
import os
import shutil
import sqlite3
import time
import uuid
from contextlib import closing, suppress
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

from dealer.service.settings import Limits, Settings
from dealer.service.writer.sources import Sources
from dealer.service.writer.watched_source import START_UP_DRAWS
from dealer.store.escrow import EscrowKey, make_escrow_pair
from dealer.store.kept import Packing
from dealer.v1 import dealer_pb2 as pb
from dealer.v1 import types_pb2 as t
from tests.integration.inside import dealer_inside
from tests.integration.running import running


class Recorder:
    """An entropy source that remembers what it gave."""

    def __init__(self) -> None:
        self._all: list[bytes] = []

    def __call__(self, length: int) -> bytes:
        self._all.append(os.urandom(length))
        return self._all[-1]

    @property
    def given(self) -> list[bytes]:
        """The seeds, without what the dealer tests at its start and throws away."""
        return self._all[START_UP_DRAWS:]


def keys_left(folder: Path, step: int = 64, first: int = 8) -> list[ChaCha20Poly1305]:
    """Everything in the folder of keys that may be one: the slots' keys, or with a step of 8 whatever lies there."""
    files = [path.read_bytes() for path in (folder / "at-rest").iterdir() if path.suffix == ".key"]
    slots = (folder / "at-rest" / "seeds").read_bytes()
    files += [slots[at : at + 32] for at in range(first, len(slots) - 31, step)]
    return [ChaCha20Poly1305(secret) for secret in files if len(secret) == 32]


def opened(keys: list[ChaCha20Poly1305], sealed: bytes, context: bytes) -> bytes | None:
    for key in keys:
        with suppress(InvalidTag):
            return key.decrypt(sealed[:12], sealed[12:], context)
    return None


def sealed_seeds(folder: Path) -> dict[bytes, bytes]:
    """What the database holds, encrypted, of each hand in play."""
    with closing(sqlite3.connect(folder / "db" / "cutcard.sqlite3")) as db:
        return dict(db.execute("SELECT hand, secrets FROM playing WHERE secrets IS NOT NULL"))


def everything_that_opens(folder: Path) -> bytes:
    """Every blob of every table, as it is and as every key that is left opens it."""
    keys = keys_left(folder)
    found = [path.read_bytes() for path in (folder / "db").iterdir()]
    rows = [(sealed, hand) for hand, sealed in sealed_seeds(folder).items()]
    with closing(sqlite3.connect(folder / "db" / "cutcard.sqlite3")) as db:
        batches = db.execute("SELECT batch, sealed, members FROM kept").fetchall()
    kept = [opened(keys, sealed, b"batch" + batch.to_bytes(8, "big") + members) for batch, sealed, members in batches]
    plain = [opened(keys, sealed, context) for sealed, context in rows]
    plain += [None if blob is None else b"\0".join(Packing().unpack(blob)) for blob in kept]
    assert None not in plain, "the test itself must be able to open what can be opened"
    return b"\0".join([*found, *filter(None, plain)])


async def overwritten(folder: Path, sealed: bytes, hand: bytes) -> None:
    """Waits until no key of a hand that has closed is left."""
    while opened(keys_left(folder), sealed, hand) is not None:  # noqa: ASYNC110 - another process would see no more
        await asyncio.sleep(0.02)


async def test_nothing_opens_the_seed_of_a_closed_hand_while_another_hand_is_open(tmp_path: Path) -> None:
    recorder, data, copy = Recorder(), tmp_path / "data", tmp_path / "copy"
    sources = Sources(entropy=recorder, escrow=EscrowKey(bytes.fromhex(make_escrow_pair()[1])))
    async with dealer_inside(data, sources) as (_, room):
        closed, left = [await room.open(table, reveal=t.REVEAL_SEALED) for table in ("closed", "left")]
        ids = [uuid.UUID(hand.hand_id).bytes for hand in (closed, left)]
        sealed = sealed_seeds(data)
        await room.play_out(closed.hand_id)
        started = time.monotonic()
        await asyncio.wait_for(overwritten(data, sealed[ids[0]], ids[0]), 20)
        assert time.monotonic() - started < 10, "it takes under a second where nothing else runs"
        shutil.copytree(data, copy)
        await room.deal(left.hand_id, t.STREET_THIRD)
    assert sealed[ids[0]] in (copy / "db" / "cutcard.sqlite3-wal").read_bytes(), "the encrypted seed itself stays"
    everything = keys_left(copy, step=8, first=0)
    assert opened(everything, sealed[ids[0]], ids[0]) is None
    assert recorder.given[1].hex().encode() in (opened(everything, sealed[ids[1]], ids[1]) or b"")


def test_the_key_of_a_hand_that_closed_before_a_crash_goes_at_the_start(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with running(data) as dealer:
        room = dealer.room()
        closed, left = room.open("closed"), room.open("left")
        ids = [uuid.UUID(hand.hand_id).bytes for hand in (closed, left)]
        sealed = sealed_seeds(data)
        assert None not in [opened(keys_left(data), sealed[hand], hand) for hand in ids]
        room.void(closed.hand_id)
        dealer.kill()
        dealer.start()
        assert opened(keys_left(data), sealed[ids[0]], ids[0]) is None
        assert opened(keys_left(data), sealed[ids[1]], ids[1]) is not None
        dealer.room().play_out(left.hand_id)


async def test_hands_under_a_key_of_an_earlier_version_go_on(tmp_path: Path) -> None:
    data = tmp_path / "data"
    async with dealer_inside(data) as (_, room):
        first = await room.open("first")
        second = await room.open("second", contributors=[pb.Contributor(id="alice", commitment=bytes(32))])
    secret, file = ChaCha20Poly1305.generate_key(), data / "at-rest" / "seed-77.key"
    with closing(sqlite3.connect(data / "db" / "cutcard.sqlite3")) as db, db:
        for hand, sealed in sealed_seeds(data).items():
            plain = opened(keys_left(data), sealed, hand)
            assert plain is not None
            again = bytes(12) + ChaCha20Poly1305(secret).encrypt(bytes(12), plain, hand)
            db.execute("UPDATE playing SET seed_key = 77, secrets = ? WHERE hand = ?", (again, hand))
    file.write_bytes(secret)
    async with dealer_inside(data) as (_, room):
        await room.play_out(first.hand_id)
        assert file.read_bytes() == secret
        await room.void(second.hand_id)
        assert not file.exists()
        await room.play_out((await room.open("first")).hand_id)


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


async def test_an_answer_key_goes_with_its_last_answer(tmp_path: Path) -> None:
    now = [1_700_000_000_000]
    sources = Sources(clock=lambda: now[0])
    settings = Settings(grace_seconds=1, limits=Limits(answer_seconds=24 * 3600))
    keys = tmp_path / "data" / "at-rest"
    async with dealer_inside(tmp_path / "data", sources, settings) as (dealer, room):
        await room.void((await room.open("a")).hand_id)
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


async def test_answer_keys_change_with_the_clock(tmp_path: Path) -> None:
    settings = Settings(grace_seconds=1, limits=Limits(key_seconds=0))
    async with dealer_inside(tmp_path / "data", None, settings) as (_, room):
        for number in range(3):
            await room.open(f"t{number}")
        assert len(list((tmp_path / "data" / "at-rest").glob("answer-*.key"))) == 3
