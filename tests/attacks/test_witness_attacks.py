"""What a witness may be sent: mutated requests, replays, older sizes, two forks at once. It cosigns one history."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from audit.tlog import note
from audit.tlog.cosignature import cosigned_at
from audit.tlog.proofs import check_consistency
from audit.witness.keeper import Keeper
from audit.witness.store import Store, create, origin_hash
from tests.attacks.cosigning import NOW
from tests.attacks.maker import Signer, drawn, root
from tests.integration.witnessing import consistency, request

SIGNER = Signer()
RAWS = [b"entry %d" % number for number in range(24)]
FORK = [*RAWS[:9], b"another", *RAWS[10:]]
HASH = origin_hash(SIGNER.origin)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    create(tmp_path / "w", "witness.example/w")
    store = Store(tmp_path / "w")
    store.add_logs([SIGNER.verifier])
    yield store
    store.close()


@pytest.fixture
def keeper(store: Store) -> Iterator[Keeper]:
    keeper = Keeper(store, clock=lambda: NOW, rate=1e9)
    yield keeper
    keeper.close()


def test_a_request_changed_anywhere_moves_nothing(keeper: Keeper) -> None:
    assert keeper.add_checkpoint(request(SIGNER, RAWS[:11], 0)).status == 200
    held = keeper.checkpoint(HASH)
    honest = request(SIGNER, RAWS, 11)
    chance = random.Random(11)
    for _ in range(400):
        body = bytearray(honest)
        for _ in range(chance.choice((1, 1, 1, 4))):
            at = chance.randrange(len(body))
            body[at : at + chance.randrange(3)] = bytes(
                chance.choice((chance.randrange(256), *b"\n 0+=A")) for _ in range(chance.randrange(3))
            )
        if body == honest:
            continue
        answer = keeper.add_checkpoint(bytes(body))
        assert answer.status in (400, 403, 404, 409, 422), (answer, body)
        assert answer.status == 409 or not answer.body
        assert keeper.checkpoint(HASH) == held
    assert keeper.add_checkpoint(honest).status == 200


def test_wrong_logs_get_nothing(store: Store, keeper: Keeper) -> None:
    other = Signer("other.example", drawn("other", 32))
    store.add_logs([other.verifier])
    text = SIGNER.checkpoint(RAWS).decode().partition("\n\n")[0] + "\n"
    for signed, status in (
        (Signer("nobody.example").checkpoint(RAWS), 404),
        (f"{text}\n{other.line(text)}".encode(), 403),  # signed by another log's key
        (other.note(text), 403),
        (other.note(text).replace(b"\xe2\x80\x94 other.example ", f"\u2014 {SIGNER.origin} ".encode()), 403),
        (SIGNER.note(text.replace(SIGNER.origin, other.origin)), 403),
        (Signer(private=drawn("stolen name", 32)).checkpoint(RAWS), 403),
    ):
        assert keeper.add_checkpoint(b"old 0\n\n" + signed).status == status
    assert keeper.checkpoint(HASH) is None


def test_of_two_forks_in_any_order_one_history_is_cosigned(store: Store, keeper: Keeper) -> None:
    chance = random.Random(12)
    cosigned: list[tuple[int, bytes]] = []
    for _ in range(300):
        raws = chance.choice((RAWS, FORK))
        size = chance.randint(0, len(raws))
        held = max(cosigned, default=(0, b""))[0]
        old = chance.choice((held, held, held, 0, chance.randint(0, size)))
        if old > size:
            old = size
        answer = keeper.add_checkpoint(request(SIGNER, raws[:size], old))
        if answer.status == 200:
            signed = note.decode(SIGNER.checkpoint(raws[:size]) + answer.body.encode())
            assert cosigned_at(signed, store.key) == NOW
            cosigned.append((size, root(raws[:size])))
        elif answer.status == 409:
            assert (answer.body, old != held) == (f"{held}\n", True)
    assert len({size for size, _ in cosigned}) > 3
    kept = RAWS if cosigned[-1][1] == root(RAWS[: cosigned[-1][0]]) else FORK
    assert [size for size, _ in cosigned] == sorted(size for size, _ in cosigned)
    for (old, first), (new, second) in itertools.pairwise(cosigned):
        check_consistency(old, new, first, second, consistency(kept[:new], old) if old < new else [])
    assert all(conflict.proves for conflict in store.conflicts() if "fork" in conflict.why)


def test_of_requests_at_the_same_time_one_is_taken(keeper: Keeper) -> None:
    assert keeper.add_checkpoint(request(SIGNER, RAWS[:8], 0)).status == 200
    bodies = [
        request(SIGNER, raws, 8)
        for raws in (RAWS[:20], FORK[:20], FORK, RAWS, RAWS[:21], FORK[:21], RAWS[:9], RAWS[:10])
    ]
    with ThreadPoolExecutor(8) as pool:
        statuses = sorted(answer.status for answer in pool.map(keeper.add_checkpoint, bodies))
    assert statuses == [200] + [409] * 7
