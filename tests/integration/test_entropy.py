"""Entropy from players over the wire: any order of values, the offer's order in the deck, silence, and refusals."""

import hashlib
import json
from collections.abc import AsyncIterator
from pathlib import Path

import grpc
import pytest

from dealer.core.deck import derive_deck
from dealer.core.seed import Seed, contribution_commitment, entropy_digest
from dealer.log.acknowledgement import open_acknowledgement
from dealer.log.note import NoteVerifier
from dealer.log.receipt import Receipt
from dealer.service.server import Dealer
from dealer.v1 import dealer_pb2 as pb
from dealer.v1 import types_pb2 as t
from tests.integration.inside import AsyncRoom, dealer_inside
from tests.integration.running import refusal, rid, running

NAMES = ("seat-3", "seat-1", "room", "seat-2")
INVALID, PRECONDITION = grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.FAILED_PRECONDITION


def value(name: str) -> bytes:
    return hashlib.sha256(name.encode()).digest()


def invited(*names: str, table: str = "t", number: int = 1) -> list[pb.Contributor]:
    return [pb.Contributor(id=n, commitment=contribution_commitment(table, number, n, value(n))) for n in names]


async def submit(
    room: AsyncRoom, hand: str, name: str, given: bytes | None = None, request: str = ""
) -> pb.SubmitEntropyResponse:
    return await room.stub.SubmitEntropy(
        pb.SubmitEntropyRequest(
            request_id=request or rid(), hand_id=hand, contributor=name, value=value(name) if given is None else given
        )
    )


async def lock(room: AsyncRoom, hand: str) -> t.Hand:
    return (await room.stub.LockDeck(pb.LockDeckRequest(request_id=rid(), hand_id=hand))).hand


async def refused(call) -> tuple[grpc.StatusCode, str]:
    with pytest.raises(grpc.RpcError) as error:
        await call
    return refusal(error.value)


@pytest.fixture
async def inside(tmp_path: Path) -> AsyncIterator[tuple[Dealer, AsyncRoom]]:
    async with dealer_inside(tmp_path / "data") as both:
        yield both


@pytest.fixture
def room(inside) -> AsyncRoom:
    return inside[1]


@pytest.fixture
def verifier(inside) -> NoteVerifier:
    return NoteVerifier.parse(inside[0].engine.state.signer.verifier_key)


async def test_the_offer_binds_the_seed_before_any_value_is_given(room: AsyncRoom, verifier: NoteVerifier):
    hand = await room.open(contributors=invited(*NAMES))
    assert hand.state == t.HAND_STATE_OFFERED
    assert (hand.deck_commitment, hand.card_commitments, hand.receipt) == (b"", b"", "")
    assert not hand.HasField("commit_index")
    Receipt.parse(hand.offer_receipt).verify(hand.offer_entry, verifier)
    offer = json.loads(hand.offer_entry)
    assert offer["seed_commitment"] == hand.seed_commitment.hex()
    assert [c["contributor"] for c in offer["contributors"]] == list(NAMES)


async def test_values_come_in_any_order_and_go_into_the_deck_in_the_offer_s(room: AsyncRoom):
    opened = await room.open(contributors=invited(*NAMES))
    for name in reversed(NAMES):
        await submit(room, opened.hand_id, name)
    locked = await lock(room, opened.hand_id)
    commit = json.loads(locked.commit_entry)
    assert [(c["contributor"], c["value"]) for c in commit["contributions"]] == [(n, value(n).hex()) for n in NAMES]
    assert commit["withheld"] == []
    assert commit["offer"] == opened.offer_index
    close = json.loads((await room.void(opened.hand_id)).entry)
    hand = bytes.fromhex(opened.hand_id.replace("-", ""))
    digest = entropy_digest(hand, [(n, value(n)) for n in NAMES])
    deck = derive_deck("standard52", hand, digest, Seed(bytes.fromhex(close["seed"])))
    assert deck.card_commitments == locked.card_commitments


async def test_each_value_is_acknowledged_under_the_log_s_key(room: AsyncRoom, verifier: NoteVerifier):
    opened = await room.open(contributors=invited("seat-1", "seat-2"))
    for name in ("seat-2", "seat-1"):
        acknowledged = open_acknowledgement((await submit(room, opened.hand_id, name)).acknowledgement, verifier)
        assert (acknowledged.hand, acknowledged.contributor, acknowledged.value) == (opened.hand_id, name, value(name))


async def test_who_stays_silent_is_listed_and_the_hand_goes_on(room: AsyncRoom):
    opened = await room.open(contributors=invited(*NAMES))
    await submit(room, opened.hand_id, "room")
    commit = json.loads((await lock(room, opened.hand_id)).commit_entry)
    assert [c["contributor"] for c in commit["contributions"]] == ["room"]
    assert commit["withheld"] == ["seat-3", "seat-1", "seat-2"]
    await room.play_out(opened.hand_id)


async def test_a_hand_where_all_are_silent_is_dealt_all_the_same(room: AsyncRoom):
    opened = await room.open(contributors=invited("seat-1"))
    commit = json.loads((await lock(room, opened.hand_id)).commit_entry)
    assert (commit["contributions"], commit["withheld"]) == ([], ["seat-1"])


async def test_a_wrong_value_is_refused_and_uses_nothing_up(room: AsyncRoom):
    opened = await room.open(contributors=invited("seat-1", "seat-2"))
    hand = opened.hand_id
    for given, reason in (
        (bytes(32), "INVALID_VALUE"),
        (value("seat-2"), "INVALID_VALUE"),
        (b"short", "INVALID_VALUE"),
    ):
        assert await refused(submit(room, hand, "seat-1", given)) == (INVALID, reason)
    assert (await submit(room, hand, "seat-1")).hand.state == t.HAND_STATE_OFFERED
    assert json.loads((await lock(room, hand)).commit_entry)["withheld"] == ["seat-2"]


async def test_a_value_under_another_s_name_is_refused(room: AsyncRoom):
    hand = (await room.open(contributors=invited("seat-1", "seat-2"))).hand_id
    assert await refused(submit(room, hand, "seat-2", value("seat-1"))) == (INVALID, "INVALID_VALUE")
    assert await refused(submit(room, hand, "seat-9", value("seat-1"))) == (INVALID, "INVALID_CONTRIBUTORS")
    assert await refused(submit(room, hand, "", value("seat-1"))) == (INVALID, "INVALID_CONTRIBUTORS")


async def test_a_late_value_is_refused_and_changes_no_deck(room: AsyncRoom):
    hand = (await room.open(contributors=invited("seat-1"))).hand_id
    locked = await lock(room, hand)
    assert await refused(submit(room, hand, "seat-1")) == (PRECONDITION, "HAND_LOCKED")
    assert (await room.stub.GetHand(pb.GetHandRequest(hand_id=hand))).hand.deck_commitment == locked.deck_commitment
    await room.void(hand)
    assert await refused(submit(room, hand, "seat-1")) == (PRECONDITION, "HAND_CLOSED")


async def test_a_hand_without_an_invitation_takes_no_value(room: AsyncRoom):
    hand = (await room.open()).hand_id
    assert await refused(submit(room, hand, "seat-1")) == (PRECONDITION, "HAND_LOCKED")
    assert await refused(lock(room, hand)) == (PRECONDITION, "HAND_LOCKED")


async def test_the_same_value_again_is_acknowledged_again_and_counts_once(room: AsyncRoom):
    hand = (await room.open(contributors=invited("seat-1"))).hand_id
    request = rid()
    first = await submit(room, hand, "seat-1", request=request)
    assert await submit(room, hand, "seat-1", request=request) == first
    assert (await submit(room, hand, "seat-1")).acknowledgement == first.acknowledgement
    assert len(json.loads((await lock(room, hand)).commit_entry)["contributions"]) == 1


async def test_a_value_for_another_hand_or_table_is_none(room: AsyncRoom):
    """The commitment holds table and number, so no contributor's value can be used twice."""
    hand = (await room.open("u", contributors=invited("seat-1", table="t"))).hand_id
    assert await refused(submit(room, hand, "seat-1")) == (INVALID, "INVALID_VALUE")
    await room.void(hand)
    hand = (await room.open("u", contributors=invited("seat-1", table="u", number=1))).hand_id
    assert await refused(submit(room, hand, "seat-1")) == (INVALID, "INVALID_VALUE")


async def test_an_offered_hand_is_in_play_and_deals_nothing(room: AsyncRoom):
    hand = (await room.open(contributors=invited("seat-1"))).hand_id
    assert await refused(room.open()) == (PRECONDITION, "TABLE_BUSY")
    assert await refused(room.deal(hand, t.STREET_THIRD)) == (PRECONDITION, "HAND_NOT_LOCKED")
    assert await refused(room.close(hand)) == (PRECONDITION, "HAND_NOT_LOCKED")
    assert list((await room.stub.GetHand(pb.GetHandRequest(hand_id=hand))).cards) == []


async def test_an_acknowledged_value_does_not_leave_before_the_commit(inside):
    """Whoever reads the log or asks for the hand learns nothing of the values until the deck is committed."""
    dealer, room = inside
    hand = (await room.open(contributors=invited("seat-1", "seat-2"))).hand_id
    await submit(room, hand, "seat-1")
    seen = b"".join(dealer.engine.state.store.entries(0, dealer.engine.state.store.size()))
    seen += (await room.stub.GetHand(pb.GetHandRequest(hand_id=hand))).SerializeToString()
    assert value("seat-1") not in seen
    assert value("seat-1").hex().encode() not in seen


def test_values_outlive_a_kill_and_the_record_is_valid(tmp_path: Path):
    """`kill -9` between value and lock: the value is in the deck, and an auditor finds nothing wrong."""
    with running(tmp_path / "data") as dealer:
        room = dealer.room()
        hand = room.open("t", contributors=invited("seat-1", "seat-2")).hand_id
        room.stub.SubmitEntropy(
            pb.SubmitEntropyRequest(request_id=rid(), hand_id=hand, contributor="seat-1", value=value("seat-1"))
        )
        dealer.kill()
        dealer.start()
        room = dealer.room()
        locked = room.stub.LockDeck(pb.LockDeckRequest(request_id=rid(), hand_id=hand)).hand
        commit = json.loads(locked.commit_entry)
        assert [c["contributor"] for c in commit["contributions"]] == ["seat-1"]
        room.play_out(hand)
        room.void(room.open("t", contributors=invited("seat-1", number=2)).hand_id)
        judged = dealer.audit(tmp_path / "log", "--format", "json")
        assert judged.returncode == 0, judged.stdout
        report = json.loads(judged.stdout)
        entropy = next(check for check in report["checks"] if check["name"] == "entropy")
        assert entropy["made"] > 0
        assert entropy["failed"] == 0
