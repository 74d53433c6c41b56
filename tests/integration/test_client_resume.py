"""A room that is killed after any call finds its hand again, with everything checked, and finishes it."""

import json
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from dealer.client import CheckError, Client, Contribution, Hand, SyncClient, UsageError
from dealer.core.hand import Status
from dealer.double.server import Double
from dealer.service.server import Dealer
from dealer.service.settings import Settings
from dealer.service.writer.sources import Sources
from dealer.store.escrow import EscrowKey
from dealer.v1 import dealer_pb2 as pb
from dealer.v1 import types_pb2 as t
from tests.integration.inside import dealer_inside
from tests.integration.lying_server import honest_dealer, lying_server
from tests.integration.running import Running, running
from tests.integration.test_client_lies import refused

ROOM = Path(__file__).with_name("mortal_room.py")


def next_life(dealer: Running, folder: Path) -> "subprocess.CompletedProcess[str]":
    """Runs a room that finds its hand again, makes one call more, and is killed before it can note anything."""
    command = [sys.executable, str(ROOM), dealer.address, dealer.verifier_key(), str(folder)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


def test_a_room_that_is_killed_after_every_single_call_finds_its_hand_and_finishes_it(tmp_path: Path) -> None:
    with running(tmp_path / "data") as dealer:
        lives = []
        while not lives or lives[-1] != "close":
            life = next_life(dealer, tmp_path / "room")
            assert life.returncode == -signal.SIGKILL, life.stderr
            lives.append(life.stdout.strip())
        assert lives == [
            *("open", "lock", "third", "fold 2", "fourth", "fifth", "fold 4", "sixth", "seventh", "show", "close")
        ]
        last = next_life(dealer, tmp_path / "room")
        assert (last.returncode, last.stdout.strip()) == (0, "over, next 2"), last.stderr
        verdict = dealer.audit(tmp_path / "log", "--format", "json")
        assert verdict.returncode == 0, verdict.stdout
        assert json.loads(verdict.stdout)["hands"]["completed"] == 1


Inside = tuple[Dealer, Client]


@pytest.fixture
async def inside(tmp_path: Path) -> AsyncIterator[Inside]:
    async with dealer_inside(tmp_path / "data") as (dealer, _), client_of(dealer) as client:
        yield dealer, client


def client_of(dealer: Dealer, folder: Path | None = None) -> Client:
    return Client(dealer.address, dealer.engine.state.signer.verifier_key, folder=folder)


def known(hand: Hand) -> dict[str, Any]:
    """What a hand knows that does not depend on how it was come by."""
    names = ("hand_id", "table", "number", "status", "seats", "street", "cards_left", "cards", "opener", "deck")
    return {name: getattr(hand, name) for name in names}


async def test_after_every_step_the_hand_is_known_as_before(inside: Inside) -> None:
    dealer, client = inside
    hand = await client.open_hand("t", [5, 2, 4, 7])

    async def same() -> Hand:
        async with client_of(dealer) as other:
            found = await other.resume(hand.hand_id)
            again = await other.resume(table="t")
            assert again is not None
            assert known(found) == known(again) == known(hand)
            return found

    await same()
    for street, folds in (("third", (2, 5)), ("fourth", ()), ("fifth", ()), ("sixth", ()), ("seventh", ())):
        await hand.deal_street(street)
        await same()
        for seat in folds:
            await hand.fold(seat)
    await hand.show([2, 6])  # seat 4's down cards, which is not asked to stay
    await same()
    await hand.show([3])
    await hand.fold(4)
    assert (await same()).seats == (7,)
    await hand.close()
    async with client_of(dealer) as other:
        assert known(await other.resume(hand.hand_id)) == known(hand) | {"opener": None}
        assert await other.resume(table="t") is None
        assert await other.next_number("t") == 2


async def test_folds_and_shows_whose_order_was_lost_are_taken_as_the_log_has_them(inside: Inside) -> None:
    dealer, client = inside
    for ending in ("close", "void"):
        hand = await client.open_hand("t", [1, 2, 3, 4, 5])
        await hand.deal_street("third")
        await hand.fold(4)
        await hand.show([2])
        await hand.fold(2)
        await hand.deal_street("fourth")
        await hand.fold(1)
        async with client_of(dealer) as other:
            found = await other.resume(hand.hand_id)
            await found.deal_street("fifth")
            if ending == "close":
                await found.fold(3)
                close = await found.close()
            else:
                close = await found.void("misdeal")
        events = close.content["events"]
        assert [event["fold"] for event in events if "fold" in event][:3] == [4, 2, 1]
        assert found.deck is not None


async def test_a_free_draw_is_found_again(inside: Inside) -> None:
    dealer, client = inside
    hand = await client.open_hand("t", [1, 2, 3], game="free-draw", deck="short36")
    await hand.draw([(1, "down"), (2, "up"), (3, "down")])
    await hand.fold(2)
    await hand.draw([(0, "up"), (1, "down")])
    await hand.show([0])
    async with client_of(dealer) as other:
        found = await other.resume(table="t")
        assert found is not None
        assert (found.seats, found.cards_left, found.opener) == ((1, 3), 31, None)
        await found.draw([(3, "down")])
        await found.close()


async def test_an_offered_hand_goes_on_and_what_was_acknowledged_is_held_to(tmp_path: Path) -> None:
    async with dealer_inside(tmp_path / "data") as (dealer, _):
        drawn = Contribution.draw("t", 1, "x")
        async with client_of(dealer, tmp_path / "room") as client:
            hand = await client.open_hand("t", [1, 2], invited={"x": drawn.commitment, "y": bytes(32)}, number=1)
            assert hand.offer is not None
            await hand.submit("x", drawn.release(hand.offer))
        async with client_of(dealer, tmp_path / "room") as client:
            found = await client.resume(table="t")
            assert found is not None
            assert (found.status, set(found.acknowledgements)) == (Status.OFFERED, {"x"})
            await found.lock()
            assert found.commit is not None
            assert found.commit.content["withheld"] == ["y"]
            await found.deal_street("third")
            await found.void()


async def test_what_was_kept_of_a_hand_is_held_against_what_comes(tmp_path: Path) -> None:
    async with dealer_inside(tmp_path / "data") as (dealer, _):
        async with client_of(dealer, tmp_path / "room") as client:
            hand = await client.open_hand("t", [1, 2])
        kept = tmp_path / "room" / "receipts" / f"{hand.hand_id}.commit.entry"
        kept.write_bytes(kept.read_bytes().replace(b'"seats":[1,2]', b'"seats":[2,1]'))
        async with client_of(dealer, tmp_path / "room") as client:
            with pytest.raises(CheckError, match="the hand's commit is another than the one kept"):
                await client.resume(hand.hand_id)


async def test_a_sealed_hand_is_found_again_before_and_after_its_close(tmp_path: Path) -> None:
    sources = Sources(escrow=EscrowKey(bytes(range(1, 33))))
    async with dealer_inside(tmp_path / "data", sources) as (dealer, _), client_of(dealer) as client:
        hand = await client.open_hand("t", [1, 2], reveal="sealed")
        for street in ("third", "fourth", "fifth", "sixth", "seventh"):
            await hand.deal_street(street)
        found = await client.resume(hand.hand_id)
        assert known(found) == known(hand)
        await found.show([0, 2, 12])
        await found.close()
        over = await client.resume(hand.hand_id)
        assert (over.status, over.deck) == (Status.CLOSED, None)
        assert sorted(over.cards) == [0, 2, *range(4, 13)]


async def test_the_double_s_hands_are_found_again(tmp_path: Path) -> None:
    double = Double(tmp_path / "double", Settings(grace_seconds=1))
    await double.start()
    try:
        async with Client(double.address, double.verifier_key) as client:
            hand = await client.open_hand("t", [1, 2])
            await hand.deal_street("third")
            found = await client.resume(table="t")
            assert found is not None
            await found.void()
            assert (await client.resume(hand.hand_id)).status is Status.VOID
    finally:
        await double.stop()


async def test_hands_in_play_are_listed(inside: Inside) -> None:
    _, client = inside
    opened = [(await client.open_hand(table, [1, 2])).hand_id for table in ("a", "b")]
    listed = await client.hands_in_play()
    assert [each.hand_id for each in listed] == opened
    assert [(each.table, each.number, each.status, each.referee) for each in listed] == [
        ("a", 1, Status.COMMITTED, False),
        ("b", 1, Status.COMMITTED, False),
    ]
    with pytest.raises(UsageError):
        await client.resume()  # type: ignore[call-overload]


def test_the_synchronous_client_does_the_same(tmp_path: Path) -> None:
    with running(tmp_path / "data") as dealer, SyncClient(dealer.address, dealer.verifier_key()) as client:
        hand = client.open_hand("t", [1, 2])
        found = client.resume(table="t")
        assert found is not None
        assert found.hand_id == hand.hand_id == client.hands_in_play()[0].hand_id
        found.deal_street("third")
        assert client.resume(hand.hand_id).cards == found.cards
        found.void()
        assert client.resume(table="t") is None


def no_number(answer: pb.GetTableResponse) -> None:
    answer.next_number = 0


def number_of_a_proven_hand(answer: pb.GetTableResponse) -> None:
    answer.next_number = 1


@pytest.mark.parametrize(("lie", "check"), [(no_number, "schema"), (number_of_a_proven_hand, "lifecycle")])
async def test_a_dealer_that_lies_of_a_table_is_found_out(tmp_path: Path, lie: Any, check: str) -> None:
    async with (
        honest_dealer(tmp_path / "data") as dealer,
        lying_server(dealer) as liar,
        Client(liar.address, liar.signer.verifier_key, folder=tmp_path / "room") as client,
    ):
        await client.open_hand("t", [1, 2])
        liar.lie("GetTable", lie)
        await refused(check, "the next hand of table t is", client.next_number("t"))
        await refused(check, "the next hand of table t is", client.resume(table="t"))


def a_folded_seat(answer: pb.GetHandResponse) -> None:
    answer.hand.live_seats.remove(3)


def a_seat_more(answer: pb.GetHandResponse) -> None:
    answer.hand.live_seats.append(2)


def a_card_less(answer: pb.GetHandResponse) -> None:
    del answer.cards[-1]


def a_shown_card(answer: pb.GetHandResponse) -> None:
    answer.cards[1].face = t.FACE_UP  # it is known by its face alone: a room that forgot cannot tell


def another_name(answer: pb.GetHandResponse) -> None:
    answer.cards[0].card = "2c" if answer.cards[0].card != "2c" else "3c"


def another_hand(answer: pb.GetHandResponse) -> None:
    answer.hand.hand_id = "0190a0a0-0000-7000-8000-000000000000"


def closed(answer: pb.GetHandResponse) -> None:
    answer.hand.state = t.HAND_STATE_CLOSED


def no_street(answer: pb.GetHandResponse) -> None:
    answer.hand.street = t.STREET_UNSPECIFIED


def other_commitments(answer: pb.GetHandResponse) -> None:
    answer.hand.card_commitments = bytes(len(answer.hand.card_commitments))


LIES = [
    (a_seat_more, "dealing"),
    (a_card_less, "dealing"),
    (another_name, "opening"),
    (another_hand, "lifecycle"),
    (closed, "lifecycle"),
    (no_street, "dealing"),
    (other_commitments, "deck"),
]


@pytest.mark.parametrize(("lie", "check"), LIES)
async def test_a_dealer_that_lies_of_a_hand_that_is_found_again_is_found_out(
    tmp_path: Path, lie: Any, check: str
) -> None:
    async with (
        honest_dealer(tmp_path / "data") as dealer,
        lying_server(dealer) as liar,
        Client(liar.address, liar.signer.verifier_key) as client,
    ):
        hand = await client.open_hand("t", [1, 2, 3])
        await hand.deal_street("third")
        await hand.fold(2)
        await hand.deal_street("fourth")
        liar.lie("GetHand", lie)
        with pytest.raises(CheckError) as caught:
            await client.resume(hand.hand_id)
        assert caught.value.check == check


@pytest.mark.parametrize("lie", [a_folded_seat, a_shown_card])
async def test_what_nobody_can_know_who_has_forgotten_comes_out_at_the_close(tmp_path: Path, lie: Any) -> None:
    async with (
        honest_dealer(tmp_path / "data") as dealer,
        lying_server(dealer) as liar,
        Client(liar.address, liar.signer.verifier_key) as client,
    ):
        hand = await client.open_hand("t", [1, 2, 3, 4])
        await hand.deal_street("third")
        liar.lie("GetHand", lie)
        found = await client.resume(hand.hand_id)

        def as_the_lie(answer: pb.VoidHandResponse) -> None:
            if lie is a_folded_seat:
                answer.hand.live_seats.remove(3)

        liar.lie("VoidHand", as_the_lie)
        with pytest.raises(CheckError, match="the close's events") as caught:  # no signature contradicts another
            await found.void()
        assert caught.value.check == "dealing"
