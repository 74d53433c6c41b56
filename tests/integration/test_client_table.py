"""The client for the referee's table: the room's side and the players', everything checked as it comes."""

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from dealer.client import CheckError, Client, Contribution, Seat, SeatKey, Stakes, SyncClient, Table, UsageError
from dealer.core.hand import Status
from dealer.double.server import Double
from dealer.service.server import Dealer
from dealer.service.settings import Settings
from dealer.v1 import table_pb2 as pb
from tests.integration.inside import dealer_inside
from tests.integration.running import running

STAKES = Stakes(ante=25, bring_in=50, small_bet=100, big_bet=200)
QUIET = ("bring-in", "check", "call")
STACKS = {3: 1000, 1: 700, 2: 20}


def client_of(dealer: Dealer, folder: Path | None = None) -> Client:
    return Client(dealer.address, dealer.engine.state.signer.verifier_key, folder=folder)


@pytest.fixture
async def served(tmp_path: Path) -> AsyncIterator[tuple[Dealer, Client]]:
    async with dealer_inside(tmp_path / "data") as (dealer, _), client_of(dealer) as client:
        yield dealer, client


async def play(seat: Seat) -> None:
    """Plays a seat to the end: it brings in, checks and calls."""
    async for _ in seat.events():
        for option in seat.options:
            if option.action in QUIET:
                await seat.act(option.action)
                break


async def look_on(seat: Seat) -> None:
    async for _ in seat.events():
        pass


async def play_all(table: Table) -> list[Seat]:
    seats = [table.seat(number) for number in STACKS]
    await asyncio.gather(*map(play, seats))
    return seats


async def test_a_hand_is_played_by_room_and_players(served: tuple[Dealer, Client]) -> None:
    _, client = served
    table = await client.start_hand("t", STACKS, STAKES)
    assert (table.number, table.status, table.stacks) == (1, Status.COMMITTED, STACKS)
    seats = await play_all(table)
    close = await table.finish()
    assert table.status is Status.CLOSED
    for seat in seats:
        assert seat.closed is not None
        assert (seat.closed.entry, seat.deck, seat.stacks) == (close.entry, table.deck, table.stacks)
        assert all(card.name for card in seat.cards_of(seat.seat))
    assert sum(table.stacks.values()) == sum(STACKS.values())
    again = await client.start_hand("t", STACKS, STAKES, game="seven-card-stud-hi-lo")
    assert again.number == 2


async def test_players_contribute_and_the_deck_is_held_to_what_was_acknowledged(served: tuple[Dealer, Client]) -> None:
    dealer, client = served
    number = await client.next_number("t")
    mine = {seat: Contribution.draw("t", number, f"seat-{seat}") for seat in STACKS}
    invited = {each.contributor: each.commitment for each in mine.values()}
    table = await client.start_hand("t", STACKS, STAKES, number=number, invited=invited)
    assert (table.status, table.commit, table.cards) == (Status.OFFERED, None, {})
    async with client_of(dealer) as other:
        seats = {
            seat: other.seat(table.hand_id, seat, table.tokens[seat], table="t", contribution=mine[seat])
            for seat in STACKS
        }
        with pytest.raises(UsageError):
            seats[1].value()  # not before the offer has come
        for number, seat in seats.items():
            assert (await seat.next()).kind == "hand_offered"  # type: ignore[union-attr]
            if number != 2:
                seat.acknowledged(await table.submit(f"seat-{number}", seat.value()))
        await table.lock()
        assert table.commit is not None
        assert [each["contributor"] for each in table.commit.content["contributions"]] == ["seat-3", "seat-1"]
        assert table.commit.content["withheld"] == ["seat-2"]
        await asyncio.gather(*map(play, seats.values()))
    assert (await table.finish()).content["outcome"] == "completed"


async def test_a_room_contributes_itself(served: tuple[Dealer, Client]) -> None:
    _, client = served
    table = await client.start_hand("t", STACKS, STAKES, contribute_as=["room"])
    assert table.commit is not None
    assert list(table.acknowledgements) == ["room"]
    await table.void("misdeal")


@pytest.mark.parametrize("offered", [True, False])
async def test_a_hand_is_given_up_and_everybody_has_their_chips(served: tuple[Dealer, Client], offered: bool) -> None:
    _, client = served
    invited = {"x": bytes(32)} if offered else {}
    table = await client.start_hand("t", STACKS, STAKES, number=1, invited=invited)
    seat = table.seat(1)
    close = await table.void("failure")
    assert (close.content["reason"], table.status, table.stacks) == ("failure", Status.VOID, STACKS)
    kinds = [seen.kind async for seen in seat.events()]
    assert (kinds[0], kinds[-1]) == ("hand_offered" if offered else "hand_started", "hand_voided")
    assert (seat.deck == table.deck, seat.options) == (True, ())


async def test_a_room_that_was_killed_takes_its_hand_up_again(served: tuple[Dealer, Client]) -> None:
    dealer, client = served
    table = await client.start_hand("t", STACKS, STAKES)
    async with client_of(dealer) as other:
        found = await other.resume_table(table="t")
        assert found is not None
        assert (found.hand_id, found.number, found.tokens) == (table.hand_id, 1, {})
        with pytest.raises(UsageError, match="the token of seat 1"):
            found.seat(1)
        await found.void()
        assert await other.resume_table(table="t") is None
        assert (await (await other.resume_table(table.hand_id)).finish()).content["outcome"] == "void"


async def test_a_seat_does_only_what_it_may(served: tuple[Dealer, Client]) -> None:
    _, client = served
    table = await client.start_hand("t", STACKS, STAKES)
    seat = table.seat(3)
    with pytest.raises(UsageError, match="seat 3 may nothing, and not check"):
        await seat.act("check")
    await seat.leave()
    await asyncio.gather(look_on(seat), *map(play, [table.seat(1), table.seat(2)]))
    left = [seen.kind async for seen in table.events() if seen.kind == "seat_left"]
    assert left == ["seat_left"]


async def test_a_hand_of_another_table_or_without_the_own_value_is_refused(served: tuple[Dealer, Client]) -> None:
    _, client = served
    table = await client.start_hand("t", STACKS, STAKES, number=1, invited={"x": bytes(32)})
    elsewhere = client.seat(table.hand_id, 1, table.tokens[1], table="u")
    with pytest.raises(CheckError, match="expected u, found t"):
        await elsewhere.next()
    mine = Contribution.draw("t", 1, "x")
    swapped = client.seat(table.hand_id, 1, table.tokens[1], table="t", contribution=mine)
    with pytest.raises(CheckError, match="does not hold the commitment of x") as caught:
        await swapped.next()
    assert (caught.value.check, caught.value.evidence is not None) == ("entropy", True)


def kept_back(event: pb.TableEvent) -> None:
    for card in event.street_dealt.cards:
        if card.card and card.face == 1:
            card.card, card.salt = "", b""


def other_stacks(event: pb.TableEvent) -> None:
    if event.hand_finished.stacks:
        event.hand_finished.stacks[0].stack += 1


def other_history(event: pb.TableEvent) -> None:
    if event.hand_finished.history_phh:
        event.hand_finished.history_phh += "# \n"


def not_what_was_brought(event: pb.TableEvent) -> None:
    if event.hand_voided.stacks:
        event.hand_voided.stacks[0].stack -= 1


def another_reason(event: pb.TableEvent) -> None:
    if event.hand_voided.stacks:
        event.hand_voided.reason = 1


def an_event_less(event: pb.TableEvent) -> None:
    event.sequence += event.sequence > 4


PLAYED: list[tuple[Callable[[pb.TableEvent], None], str]] = [
    (kept_back, "opening"),
    (other_stacks, "dealing"),
    (other_history, "lifecycle"),
    (an_event_less, "dealing"),
]
VOIDED: list[tuple[Callable[[pb.TableEvent], None], str]] = [
    (not_what_was_brought, "dealing"),
    (another_reason, "lifecycle"),
]


@pytest.mark.parametrize(("lie", "check", "void"), [(*e, False) for e in PLAYED] + [(*e, True) for e in VOIDED])
async def test_a_player_finds_a_lie_by_the_check_that_is_named(
    served: tuple[Dealer, Client], lie: Callable[[pb.TableEvent], None], check: str, void: bool
) -> None:
    _, client = served
    table = await client.start_hand("t", STACKS, STAKES)
    if void:
        await table.void("misdeal")
    else:
        await play_all(table)
    seat = table.seat(1)
    take = seat._watched.take

    async def told(event: pb.TableEvent) -> Any:
        lie(event)
        return await take(event)

    seat._watched.take = told  # type: ignore[method-assign]
    with pytest.raises(CheckError) as caught:
        await look_on(seat)
    assert caught.value.check == check


async def test_the_double_s_table_is_played_with_the_same_client(tmp_path: Path) -> None:
    double = Double(tmp_path / "double", Settings(grace_seconds=1))
    await double.start()
    try:
        async with Client(double.address, double.verifier_key) as client:
            table = await client.start_hand("t", STACKS, STAKES, contribute_as=["room"])
            await play_all(table)
            assert (await table.finish()).content["schema"] == "cutcard-test/v1/close"
    finally:
        await double.stop()


def test_the_synchronous_client_plays_the_same(tmp_path: Path) -> None:
    with running(tmp_path / "data") as dealer, SyncClient(dealer.address, dealer.verifier_key()) as client:
        table = client.start_hand("t", STACKS, STAKES, contribute_as=["room"])
        seats = [table.seat(number) for number in STACKS]
        for prompted in table.events():
            if prompted.kind == "seat_prompted":
                seat = next(each for each in seats if each.seat == prompted.event.seat_prompted.seat)
                next(seen for seen in seat.events() if seen.event.sequence == prompted.event.sequence)
                seat.act(next(each.action for each in seat.options if each.action in QUIET))
        assert (table.status, table.deck is not None) == (Status.CLOSED, True)
        resumed = client.resume_table(table.hand_id)
        assert resumed.finish().entry == table.finish().entry
        key = SeatKey.draw()
        table = client.start_hand("t", STACKS, STAKES, seat_keys={1: key.public})
        envelope = table.envelopes[1]
        seat = client.sealed_seat(table.hand_id, 1, key, table="t", reveal="public", number=2, envelope=envelope)
        while not seat.cards_of(1):
            next(seat.events())
        table.void("misdeal")
        assert [seen.kind for seen in seat.events()][-1] == "hand_voided"
        hand = client.open_hand("t", [1, 2], reveal="sealed", seat_keys={1: key.public})
        own = client.hand_seat(1, key, table="t", number=3)
        hand.deal_street("third")
        own.take(hand.view(1))
        own.require_in_play()
        assert [card.name for card in hand.show([0], [own.consent([0])])] == [own.cards[0].name]
        own.take(hand.view(1))
        hand.void("misdeal")
        assert own.finish(hand.closing()) == own.closed
