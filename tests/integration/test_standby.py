"""A dealer that stands by takes over, and nothing that left is contradicted: MACHINES.md, sections 3 to 7."""

import signal
import time

import grpc
import pytest

from dealer.client import SyncClient
from dealer.v1 import dealer_pb2 as pb
from dealer.v1 import log_pb2
from dealer.v1 import types_pb2 as t
from tests.integration.running import STREETS, refusal, rid, run_tool
from tests.integration.sharing import asked, is_ready, sharing

TAKEOVER_SECONDS = 3.0


def test_a_crash_a_repeat_elsewhere_and_an_orderly_stop(postgres, tmp_path):
    with sharing(postgres, tmp_path) as (first, second):
        one, two = first.room(), second.room()
        request = pb.OpenHandRequest(
            request_id=rid(), table="t1", game=t.GAME_SEVEN_CARD_STUD, seats=[1, 2], reveal=t.REVEAL_PUBLIC
        )
        opened = asked(lambda: one.stub.OpenHand(request))
        is_ready(second)
        with pytest.raises(grpc.RpcError) as error:
            two.stub.OpenHand(request)
        assert refusal(error.value) == (grpc.StatusCode.UNAVAILABLE, "STANDBY")
        shown = one.deal(opened.hand.hand_id, STREETS[0])
        checkpoint = two.log.GetCheckpoint(log_pb2.GetCheckpointRequest()).checkpoint
        assert checkpoint.split("\n")[1] == "1", "a standby serves the log"

        first.kill()
        began = time.monotonic()
        again = asked(lambda: two.stub.OpenHand(request))
        assert time.monotonic() - began < 2 * TAKEOVER_SECONDS  # twice, on a machine that is busy
        assert again.SerializeToString() == opened.SerializeToString()
        cards = two.get(opened.hand.hand_id).cards
        assert [card.position for card in cards] == [card.position for card in shown.cards]
        assert list(cards) == list(shown.cards)
        two.deal(opened.hand.hand_id, STREETS[1])

        first.start()
        one = first.room()
        is_ready(first)
        assert second.stop() == 0
        asked(lambda: one.deal(opened.hand.hand_id, STREETS[2]), 10)
        for street in STREETS[3:]:
            one.deal(opened.hand.hand_id, street)
        one.close(opened.hand.hand_id)
        assert first.stop() == 0
        url = first.options[first.options.index("--store") + 1]
        written = run_tool("dealer", "export", tmp_path / "out", "--data-dir", first.data, "--store", url)
        assert written.returncode == 0, written.stderr
        for log in (first.data / "public", tmp_path / "out"):
            verdict = run_tool("audit", "verify", log, "--key", first.verifier_key())
            assert verdict.returncode == 0, verdict.stdout


def test_a_holder_s_own_restart_and_its_orderly_stop_are_at_once(postgres, tmp_path):
    """By a lease that would last longer than all of this."""
    lease = 30.0
    with sharing(postgres, tmp_path, 2, "--lease-seconds", str(lease)) as (first, second):
        hand = asked(lambda: first.room().open("t1"))
        is_ready(second)
        first.kill()
        began = time.monotonic()
        first.start()
        asked(lambda: first.room().deal(hand.hand_id, STREETS[0]))
        assert "epoch=2" in first.log_lines()
        assert time.monotonic() - began < lease / 2
        began = time.monotonic()
        assert first.stop() == 0
        asked(lambda: second.room().deal(hand.hand_id, STREETS[1]))
        assert time.monotonic() - began < lease / 2


@pytest.mark.parametrize("stream", [pytest.param(False, marks=pytest.mark.soak), True])
def test_a_client_of_both_plays_on_through_a_crash(postgres, tmp_path, stream):
    with sharing(postgres, tmp_path) as (first, second):
        asked(lambda: first.room().open("probe"))
        is_ready(second)
        with SyncClient([first.address, second.address], first.verifier_key(), stream=stream) as client:
            hand = client.open_hand("t1", seats=[1, 2])
            hand.deal_street("third")
            first.kill()
            for street in ("fourth", "fifth", "sixth", "seventh"):
                hand.deal_street(street)
            hand.close()
            client.refresh()


def test_a_writer_that_was_stopped_comes_back_as_the_standby(postgres, tmp_path):
    with sharing(postgres, tmp_path) as (first, second):
        one, two = first.room(), second.room()
        hand = asked(lambda: one.open("t1"))
        is_ready(second)
        assert first.process is not None
        first.process.send_signal(signal.SIGSTOP)
        asked(lambda: two.deal(hand.hand_id, STREETS[0]))
        looked = one.stub.GetHand.future(pb.GetHandRequest(hand_id=hand.hand_id))
        dealt = one.stub.DealStreet.future(
            pb.DealStreetRequest(request_id=rid(), hand_id=hand.hand_id, street=STREETS[1])
        )
        first.process.send_signal(signal.SIGCONT)
        for call in (looked, dealt):
            error = call.exception(30)
            assert error is not None
            code, reason = refusal(error)
            assert (code, reason) in [(grpc.StatusCode.UNAVAILABLE, why) for why in ("LEASE_LOST", "STANDBY")]
        until = time.monotonic() + 30
        while True:
            with pytest.raises(grpc.RpcError) as refused:
                one.get(hand.hand_id)
            if refusal(refused.value)[1] == "STANDBY":
                break
            assert time.monotonic() < until
        assert len(two.get(hand.hand_id).cards) == 3 * 8
