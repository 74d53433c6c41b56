"""A room plays 200 hands over 20 tables at once; every one of them passes the audit."""

import random
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from dealer.v1 import types_pb2 as t
from tests.integration.running import STREETS, Room, Running, run_tool, running


def play_stud(room: Room, rng: random.Random, table: str) -> None:
    seats = rng.sample(range(1, 256), rng.randint(2, 8))
    game = rng.choice([t.GAME_SEVEN_CARD_STUD, t.GAME_SEVEN_CARD_STUD_HI_LO])
    hand = room.open(table, seats=seats, game=game, reveal=rng.choice([t.REVEAL_PUBLIC, t.REVEAL_SEALED])).hand_id
    live = list(seats)
    downs: dict[int, list[int]] = {seat: [] for seat in seats}
    for street in STREETS:
        if rng.random() < 0.03:
            room.void(hand, rng.choice([1, 2, 3, 4]))
            return
        for card in room.deal(hand, street).cards:
            if card.face == t.FACE_DOWN:
                downs[card.seat].append(card.position)
        while len(live) > 1 and rng.random() < 0.2:
            room.fold(hand, live.pop(rng.randrange(len(live))))
        if len(live) == 1:
            break
    if len(live) > 1 and rng.random() < 0.8:
        room.show(hand, *[p for seat in live for p in downs[seat]])
    room.close(hand)


def play_free(room: Room, rng: random.Random, table: str) -> None:
    seats = rng.sample(range(1, 256), rng.randint(1, 23))
    opened = room.open(table, seats=seats, game=t.GAME_FREE_DRAW, deck=rng.choice(["", "short36"]))
    left = opened.cards_left
    while left and rng.random() < 0.8:
        count = rng.randint(1, min(left, 12))
        wanted = [
            (seat, t.FACE_UP if seat == 0 else rng.choice([t.FACE_UP, t.FACE_DOWN]))
            for seat in rng.choices([0, *seats], k=count)
        ]
        left = room.draw(opened.hand_id, *wanted).hand.cards_left
    room.close(opened.hand_id)


@pytest.fixture
def dealer(tmp_path: Path):
    run_tool("dealer", "escrow-keygen", tmp_path / "auditor")
    with running(tmp_path / "data", "--escrow-public-key", str(tmp_path / "auditor.pub")) as dealer:
        yield dealer


def test_200_hands_over_20_tables_pass_the_audit(dealer: Running, tmp_path: Path) -> None:
    def table(number: int) -> None:
        rng = random.Random(number)
        room = dealer.room()
        for _ in range(10):
            (play_free if rng.random() < 0.2 else play_stud)(room, rng, f"table-{number}")

    with ThreadPoolExecutor(20) as pool:
        list(pool.map(table, range(20)))
    done = dealer.audit(tmp_path / "log", "--escrow-key", tmp_path / "auditor.key")
    assert done.returncode == 0, done.stdout
    assert "VALID" in done.stdout
    assert "200" in done.stdout
    asked = ["--key", dealer.verifier_key(), "--escrow-key", str(tmp_path / "auditor.key")]
    over_grpc = run_tool("audit", "verify", f"grpc://{dealer.address}", *asked)
    assert over_grpc.returncode == 0, over_grpc.stdout
