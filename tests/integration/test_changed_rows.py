"""Rows of hands in play that somebody with the database changed: lost or refused, and never dealt from."""

import time
from collections.abc import Callable
from typing import Any

import grpc
import psycopg
import pytest

from dealer.v1 import dealer_pb2 as pb
from dealer.v1 import types_pb2 as t
from tests.integration.running import STREETS, refusal, run_tool
from tests.integration.sharing import asked, sharing

KEPT = "CREATE TABLE kept AS SELECT * FROM hands"
PUT_BACK = (
    "UPDATE hands h SET (state, closed, key, secrets, mac) = (SELECT k.state, k.closed, k.key, k.secrets, k.mac FROM "
    "kept k WHERE k.hand = h.hand) WHERE h.hand = {}"
)
OTHER = "(SELECT {0} FROM hands o WHERE o.hand = {1})"
CHANGES: dict[str, Callable[[str], str]] = {
    "nonsense": lambda good: "state = '{'",
    "no state": lambda good: "state = NULL",
    "another form": lambda good: "state = '[1]'",
    "an unknown game": lambda good: "state = replace(state, 'seven-card-stud', 'bridge')",
    "a card more": lambda good: 'state = replace(state, \'"events":[\', \'"events":[["draw",[[51,1,"up"]]],\')',
    "another table": lambda good: 'state = replace(state, \'"table":"\', \'"table":"good\')',
    "another's state": lambda good: f"state = {OTHER.format('state', good)}",
    "another's seed": lambda good: f"secrets = {OTHER.format('secrets', good)}",
    "another's whole row": lambda good: (
        f"(state, secrets, key, mac) = {OTHER.format('state, secrets, key, mac', good)}"
    ),
    "no proof": lambda good: "mac = NULL",
    "no key": lambda good: "key = 1",
    "another state and no key": lambda good: f"key = 1, state = {OTHER.format('state', good)}",
}


def bytea(hand: str) -> str:
    return f"'\\x{hand.replace('-', '')}'"


def test_a_changed_row_is_lost_and_one_put_back_is_refused(postgres, tmp_path):
    with sharing(postgres, tmp_path, 1) as (dealer,):
        room = dealer.room()
        good = asked(lambda: room.open("good")).hand_id
        room.deal(good, STREETS[0])
        hands = {what: room.open(f"t{number}").hand_id for number, what in enumerate(CHANGES)}
        for hand in hands.values():
            room.deal(hand, STREETS[0])
        over = room.open("over").hand_id
        for street in STREETS[:4]:
            room.deal(over, street)
        url = dealer.options[dealer.options.index("--store") + 1]
        with psycopg.connect(url, autocommit=True) as link:
            link.execute(KEPT)
            room.deal(over, STREETS[4])
            room.close(over)
            dealer.kill()
            for what, hand in hands.items():
                link.execute(f"UPDATE hands SET {CHANGES[what](bytea(good))} WHERE hand = {bytea(hand)}".encode())
            link.execute(PUT_BACK.format(bytea(over)).encode())
        dealer.start()
        room = dealer.room()
        cards = asked(lambda: room.get(good)).cards
        assert len(cards) == 3 * 8
        for what, hand in hands.items():
            found = room.get(hand)
            assert (found.hand.state, list(found.cards)) == (t.HAND_STATE_LOST, []), what
            assert refused(lambda hand=hand: room.deal(hand, STREETS[1])) == "HAND_LOST", what
            assert room.open(found.hand.table).number == 2, what
        assert refused(lambda: room.deal(over, STREETS[4])) == "HAND_NOT_FOUND"
        assert refused(lambda: room.close(over)) == "HAND_NOT_FOUND"
        assert room.open("over").number == 2
        for street in STREETS[1:]:
            room.deal(good, street)
        room.close(good)
        said = dealer.log_lines()
        assert said.count("a hand in play is lost") == len(hands)
        assert said.count("its table has it not in play") == 1
        assert dealer.stop() == 0
        verdict = run_tool("audit", "verify", dealer.data / "public", "--key", dealer.verifier_key())
        assert verdict.returncode == 3, verdict.stdout + verdict.stderr
        assert good not in verdict.stdout
        assert over not in verdict.stdout
        assert all(hand in verdict.stdout for hand in hands.values())


def test_a_row_that_does_not_say_where_the_log_has_it_is_said_so(postgres, tmp_path):
    with sharing(postgres, tmp_path, 1) as (dealer,):
        hand = asked(lambda: dealer.room().open("t")).hand_id
        dealer.kill()
        url = dealer.options[dealer.options.index("--store") + 1]
        with psycopg.connect(url, autocommit=True) as link:
            link.execute("UPDATE hands SET state = '{', committed = NULL")
            dealer.start()
            until = time.monotonic() + 30
            while f"the row of hand {hand} was changed from outside" not in dealer.log_lines():
                assert time.monotonic() < until, dealer.log_lines()
                time.sleep(0.05)
            link.execute("UPDATE hands SET committed = 0")
        request = pb.GetHandRequest(hand_id=hand)
        assert asked(lambda: dealer.room().stub.GetHand(request)).hand.state == t.HAND_STATE_LOST


def refused(call: Callable[[], Any]) -> str | None:
    with pytest.raises(grpc.RpcError) as error:
        call()
    return refusal(error.value)[1]
