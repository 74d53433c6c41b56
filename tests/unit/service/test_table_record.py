"""A referee's record: it begins with its version, names what it holds, and the first version still reads."""

import json
from dataclasses import replace

import pytest

from dealer.core.hand import Face, VoidReason
from dealer.service.referee import record
from dealer.service.referee.record import RefereedHand, TableCard
from dealer.table.betting import Turn
from dealer.table.phh import Heading
from dealer.table.stakes import Lineup, Stakes

STAKES = Stakes(ante=5, bring_in=10, small_bet=20, big_bet=40, chip=5, open_pair_double=False)


def played() -> RefereedHand:
    lineup = Lineup(hi_lo=True, stakes=STAKES, seats=(1, 2), stacks=(1000, 500))
    tokens = {1: b"a" * 32, 2: b"b" * 32}
    hand = record.begin(bytes(16), Heading("id", "t", 7), lineup, 30, tokens)
    faces = [Face.DOWN, Face.DOWN, Face.DOWN, Face.DOWN, Face.UP, Face.UP]
    cards = ["Ah", "Kd", "2c", "3c", "4s", "9d"]
    third = [TableCard(at, at % 2 + 1, faces[at], cards[at], bytes([at]) * 32) for at in range(6)]
    hand = record.deal(hand, "third", third)
    turn = hand.state.waits_for
    assert isinstance(turn, Turn)
    return record.act(hand, turn.seat, turn.options[0])


def test_a_record_begins_with_its_version_and_gives_the_hand_back() -> None:
    hand = played()
    assert hand.fresh[0].startswith(b'{"version":3,')
    assert record.read_record(hand.fresh) == replace(hand, fresh=())


def test_a_record_of_the_first_version_still_reads() -> None:
    hand = played()
    head = json.loads(hand.fresh[0])
    del head["version"]
    head["stakes"] = [5, 10, 20, 40, 5, False]
    first = json.dumps(head).encode() + b"\n"
    assert record.read_record([first, *hand.fresh[1:]]) == replace(hand, fresh=())


def test_a_record_of_the_second_version_still_reads() -> None:
    hand = played()
    head = json.loads(hand.fresh[0])
    del head["offered"]
    second = json.dumps(head | {"version": 2}).encode() + b"\n"
    assert record.read_record([second, *hand.fresh[1:]]) == replace(hand, fresh=())


def test_an_offered_hand_is_read_back_with_its_lock_and_its_end() -> None:
    lineup = Lineup(hi_lo=False, stakes=STAKES, seats=(1, 2), stacks=(1000, 500))
    tokens = {1: b"a" * 32, 2: b"b" * 32}
    offered = record.begin(bytes(16), Heading("id", "t", 7), lineup, 30, tokens, offered=True)
    left = record.leave(offered, 2)
    for hand in (offered, left, record.lock(left), record.void(record.lock(left), VoidReason.MISDEAL)):
        assert record.read_record(hand.fresh) == replace(hand, fresh=())
    assert record.lock(left).state.left == {2}


def test_a_record_with_sealed_seats_has_a_version_of_its_own_and_gives_them_back() -> None:
    lineup = Lineup(hi_lo=False, stakes=STAKES, seats=(1, 2), stacks=(1000, 500))
    offered = record.begin(bytes(16), Heading("id", "t", 7), lineup, 30, {1: b"a" * 32}, offered=True)
    assert offered.fresh[0].startswith(b'{"version":4,')
    locked = record.lock(record.seal(offered, {2: b"s" * 32}, {2: b"e" * 80}))
    card = TableCard(0, 2, Face.DOWN, "Ah", bytes(32), sealed=b"c" * 50)
    dealt = record.deal(
        locked, "third", [card, TableCard(1, 1, Face.UP, "2c", bytes(32)), TableCard(2, 2, Face.UP, "3c", bytes(32))]
    )
    for hand in (offered, locked, dealt):
        assert record.read_record(hand.fresh) == replace(hand, fresh=())
        assert hand.is_sealed(2)
        assert not hand.is_sealed(1)


def test_a_record_of_a_later_version_is_refused() -> None:
    hand = played()
    later = hand.fresh[0].replace(b'"version":3', b'"version":5')
    with pytest.raises(ValueError, match="version 5"):
        record.read_record([later, *hand.fresh[1:]])
