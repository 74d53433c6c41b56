"""Players' programs with sealed seats, at both services: an honest hand, and every trick of a room (SEATS.md, 6)."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from dealer.client import (
    CallError,
    CheckError,
    Client,
    Contribution,
    HandSeat,
    Seat,
    SeatKey,
    Stakes,
    Through,
    UsageError,
)
from dealer.double.server import Double, double_settings
from dealer.service.server import Dealer
from dealer.service.writer.sources import Sources
from dealer.store.escrow import read_escrow_public, write_escrow_pair
from dealer.v1 import dealer_pb2 as pb
from dealer.v1 import table_pb2, types_pb2
from tests.integration.inside import dealer_inside
from tests.integration.running import run_tool

STAKES = Stakes(ante=25, bring_in=50, small_bet=100, big_bet=200)
STACKS = {3: 1000, 1: 700, 2: 500}
QUIET = ("bring-in", "check", "call")
STREETS = ("third", "fourth", "fifth", "sixth", "seventh")


@pytest.fixture
async def served(tmp_path: Path) -> AsyncIterator[tuple[Dealer, Client, Client]]:
    """A dealer, its room, and a player's own client."""
    _, public_half = write_escrow_pair(tmp_path / "auditor")
    escrow = read_escrow_public(public_half)
    async with (
        dealer_inside(tmp_path / "data", Sources(escrow=escrow)) as (dealer, _),
        client_of(dealer) as room,
        client_of(dealer, tmp_path / "player") as player,
    ):
        yield dealer, room, player


def client_of(dealer: Dealer, folder: Path | None = None) -> Client:
    return Client(dealer.address, dealer.engine.state.signer.verifier_key, folder=folder)


def keys_of(*seats: int) -> dict[int, SeatKey]:
    return {seat: SeatKey.draw() for seat in seats}


def public(keys: dict[int, SeatKey]) -> dict[int, bytes]:
    return {seat: key.public for seat, key in keys.items()}


async def play(seat: Seat) -> None:
    async for _ in seat.events():
        for option in seat.options:
            if option.action in QUIET:
                await seat.act(option.action)
                break


def receipt(path: Path, dealer: Dealer) -> str:
    keys = ("--key", dealer.engine.state.signer.verifier_key, "--escrow-key", path.parent / "auditor.key")
    done = run_tool("audit", "receipt", path, *keys)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


async def passed_on(hand: Any, seats: dict[int, HandSeat]) -> None:
    for number, seat in seats.items():
        await seat.take(hand.view(number))


async def test_a_room_deals_what_it_cannot_read(served: tuple[Dealer, Client, Client], tmp_path: Path) -> None:
    dealer, room, player = served
    keys = keys_of(1, 2)
    mine = Contribution.draw("t", 1, "seat-1")
    hand = await room.open_hand(
        "t", [1, 2, 3], reveal="sealed", number=1, invited={"seat-1": mine.commitment}, seat_keys=public(keys)
    )
    seats = {
        1: player.hand_seat(1, keys[1], table="t", number=1, contribution=mine),
        2: player.hand_seat(2, keys[2], table="t"),
    }
    await passed_on(hand, seats)
    seats[1].acknowledged(await hand.submit("seat-1", seats[1].value()))
    with pytest.raises(UsageError):
        await seats[1].consent([0])
    await hand.lock()
    await passed_on(hand, seats)
    for street in STREETS:
        await hand.deal_street(street)
        await passed_on(hand, seats)
    assert all(
        not card.name and card.sealed for card in hand.cards.values() if card.seat in keys and card.face == "down"
    )
    for number, seat in seats.items():
        assert all(card.name for card in seat.cards_of(number))
        other = [card for card in seat.cards_of(3 - number) if card.face == "down"]
        assert [card.name for card in other] == [""] * 3
    down = [card.position for card in seats[1].cards_of(1) if card.face == "down"]
    await hand.show(down[:1], [await seats[1].consent(down[:1])])
    await passed_on(hand, seats)
    both = [await seats[1].consent_to_showdown(), await seats[2].consent_to_showdown()]
    with pytest.raises(CallError) as caught:
        await hand.show(down[1:], both[:1])
    assert (caught.value.reason, caught.value.metadata["seat"]) == ("CONSENT_MISSING", "2")
    shown = await hand.show(down[1:], both)
    assert [card.name for card in shown] == [seats[1].cards[at].name for at in down[1:]]
    await passed_on(hand, seats)
    await hand.close()
    for seat in seats.values():
        await seat.finish(hand.closing())
    seats[1].save(tmp_path / "hand.json")
    assert "VALID" in receipt(tmp_path / "hand.json", dealer)
    hand.save(tmp_path / "room.json")
    assert "VALID" in receipt(tmp_path / "room.json", dealer)
    with pytest.raises(CheckError, match="is its close"):
        await seats[2].consent_to_showdown()


async def committed(room: Client, player: Client, key: SeatKey | None = None) -> tuple[Any, HandSeat]:
    """A hand of three with seats 1 and 2 sealed, third street dealt, and the seat of the first."""
    keys = keys_of(1, 2)
    hand = await room.open_hand("t", [1, 2, 3], reveal="sealed", seat_keys=public(keys))
    await hand.deal_street("third")
    return hand, player.hand_seat(1, key or keys[1], table="t")


def changed(view: bytes, change: Callable[[pb.GetHandResponse], None]) -> bytes:
    message = pb.GetHandResponse.FromString(view)
    change(message)
    return message.SerializeToString()


def _open_it(message: pb.GetHandResponse) -> None:
    message.cards[0].ClearField("sealed")
    message.cards[0].card, message.cards[0].salt = "As", bytes(32)


LIES: dict[str, tuple[Callable[[pb.GetHandResponse], None], str]] = {
    "its card kept back": (lambda m: m.cards[0].ClearField("sealed"), "opening"),
    "its card cut": (lambda m: setattr(m.cards[0], "sealed", m.cards[0].sealed[:-1]), "opening"),
    "another card in its place": (lambda m: setattr(m.cards[0], "sealed", m.cards[3].sealed), "opening"),
    "its card in the clear": (_open_it, "opening"),
    "no envelope": (lambda m: m.hand.ClearField("envelopes"), "opening"),
    "an envelope of noise": (lambda m: setattr(m.hand.envelopes[0], "envelope", bytes(80)), "opening"),
    "its seat folded": (lambda m: m.hand.live_seats.remove(1), "dealing"),
    "its card shown": (lambda m: setattr(m.cards[0], "face", types_pb2.FACE_UP), "opening"),
    "a card kept back": (lambda m: m.cards.pop(), "dealing"),
    "the digests dropped": (lambda m: m.hand.ClearField("seat_keys"), "lifecycle"),
    "another number": (lambda m: setattr(m.hand, "number", 2), "lifecycle"),
}


@pytest.mark.parametrize("name", LIES)
async def test_a_lie_of_the_room_is_found_by_name(served: tuple[Dealer, Client, Client], name: str) -> None:
    _, room, player = served
    hand, seat = await committed(room, player)
    lie, check = LIES[name]
    with pytest.raises(CheckError) as caught:
        await seat.take(changed(hand.view(1), lie))
    assert caught.value.check == check
    assert caught.value.evidence is not None
    with suppress(CheckError):
        await seat.take(hand.view(1))
    with pytest.raises(UsageError):  # the truth comes too late: nothing is said in such a hand
        await seat.consent_to_showdown()


async def test_a_key_that_was_swapped_or_dropped_is_found_and_the_entry_proves_it(
    served: tuple[Dealer, Client, Client],
) -> None:
    _, room, player = served
    hand, seat = await committed(room, player, SeatKey.draw())
    with pytest.raises(CheckError, match="to another key than its player's") as caught:
        await seat.take(hand.view(1))
    assert caught.value.check == "lifecycle"
    assert caught.value.evidence is not None
    assert '"commit"' in caught.value.evidence.read_text()
    third = player.hand_seat(3, SeatKey.draw(), table="t")
    with pytest.raises(CheckError, match="was dropped"):
        await third.take(hand.view(3))
    with pytest.raises(UsageError):
        await seat.consent([0])


async def test_no_value_goes_out_for_an_offer_with_another_key(served: tuple[Dealer, Client, Client]) -> None:
    _, room, player = served
    mine = Contribution.draw("t", 1, "seat-1")
    for key in (SeatKey.draw().public, None):
        keys = {2: SeatKey.draw().public, **({1: key} if key else {})}
        hand = await room.open_hand("t", [1, 2], reveal="sealed", invited={"seat-1": mine.commitment}, seat_keys=keys)
        seat = player.hand_seat(1, SeatKey.draw(), table="t", contribution=mine)
        with pytest.raises(CheckError) as caught:
            await seat.take(hand.view(1))
        assert caught.value.check == "lifecycle"
        with pytest.raises(UsageError, match="before the offer has come"):
            seat.value()
        await hand.void()


async def test_an_envelope_of_another_hand_does_not_open(served: tuple[Dealer, Client, Client]) -> None:
    _, room, player = served
    key = SeatKey.draw()
    first = await room.open_hand("a", [1, 2], reveal="sealed", seat_keys={1: key.public})
    second = await room.open_hand("b", [1, 2], reveal="sealed", seat_keys={1: key.public})
    (envelope,) = pb.GetHandResponse.FromString(first.view(1)).hand.envelopes
    with pytest.raises(CheckError, match="does not open"):
        await player.hand_seat(1, key, table="b").take(
            changed(second.view(1), lambda m: m.hand.envelopes[0].CopyFrom(envelope))
        )


async def test_a_hand_that_is_not_the_players_is_refused(served: tuple[Dealer, Client, Client]) -> None:
    _, room, player = served
    keys = keys_of(1)
    hand = await room.open_hand("t", [1, 2], reveal="sealed", seat_keys=public(keys))
    with pytest.raises(CheckError, match="table: expected"):
        await player.hand_seat(1, keys[1], table="other").take(hand.view(1))
    with pytest.raises(CheckError, match="hand 2 of the table was expected"):
        await player.hand_seat(1, keys[1], table="t", number=2).take(hand.view(1))
    seat = player.hand_seat(1, keys[1], table="t")
    await seat.take(hand.view(1))
    await hand.void()
    again = player.hand_seat(1, keys[1], table="t")
    with pytest.raises(CheckError, match="hand 2 of the table was expected, and 1 came"):
        await again.take(hand.view(1))


async def test_a_dealer_that_shows_a_card_for_the_room_is_found(
    served: tuple[Dealer, Client, Client], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that asks for no consent: at once, if the room passes on what it did, and at the close if it waits."""
    _, room, player = served
    monkeypatch.setattr("dealer.service.writer.seats.require_consents", lambda *given: None)
    hand, seat = await committed(room, player)
    await seat.take(hand.view(1))
    own = [card.position for card in seat.cards_of(1) if card.face == "down"]
    await hand.show(own)
    await seat.consent_to_showdown()  # which is for later
    with pytest.raises(CheckError, match="without its consent") as caught:
        await seat.take(hand.view(1))
    assert caught.value.check == "dealing"
    await hand.void()
    hand, seat = await committed(room, player)
    await seat.take(hand.view(1))
    await seat.consent_to_showdown()
    own = [card.position for card in seat.cards_of(1) if card.face == "down"]
    await hand.show(own)
    for street in STREETS[1:]:
        await hand.deal_street(street)
    await seat.take(hand.view(1))
    await hand.close()
    with pytest.raises(CheckError, match="shown before the showdown") as caught:
        await seat.finish(hand.closing())
    assert caught.value.check == "dealing"


async def test_room_and_player_take_a_hand_up_again(served: tuple[Dealer, Client, Client], tmp_path: Path) -> None:
    dealer, room, player = served
    key = SeatKey.draw()
    hand = await room.open_hand("t", [1, 2, 3], reveal="sealed", seat_keys={1: key.public, 2: SeatKey.draw().public})
    await hand.deal_street("third")
    seat = player.hand_seat(1, key, table="t")
    await seat.take(hand.view(1))
    own = [card.position for card in seat.cards_of(1) if card.face == "down"]
    await hand.show(own[:1], [await seat.consent(own[:1])])
    async with client_of(dealer) as other, client_of(dealer, tmp_path / "player") as again:
        hand = (await other.resume(table="t")) or hand
        with pytest.raises(CheckError, match="hand 2 of the table was expected"):
            await again.hand_seat(1, key, table="t").take(hand.view(1))
        with pytest.raises(CheckError, match="without its consent"):
            await again.hand_seat(1, key, table="t", number=1).take(hand.view(1))
        seat = again.hand_seat(1, key, table="t", resumed=True)
        await seat.take(hand.view(1))
        await hand.deal_street("fourth")
        await seat.take(hand.view(1))
        await hand.show(own[1:], [await seat.consent(own[1:])])
        await seat.take(hand.view(1))
        await hand.void()
        assert (await seat.finish(hand.closing())).content["outcome"] == "void"


async def test_a_room_that_folds_shows_or_deals_on_behind_a_players_back_is_found(
    served: tuple[Dealer, Client, Client],
) -> None:
    _, room, player = served
    hand, seat = await committed(room, player)
    await seat.take(hand.view(1))
    await hand.fold(1)
    with pytest.raises(CheckError, match="its player did not fold"):
        await seat.take(hand.view(1))
    await hand.fold(2)
    await hand.close()
    with pytest.raises(CheckError, match="its player did not fold"):
        await seat.finish(hand.closing())
    hand, seat = await committed(room, player)
    await seat.take(hand.view(1))
    await hand.deal_street("fourth")
    await hand.void()
    with pytest.raises(CheckError, match="not those that were passed on"):
        await seat.finish(hand.closing())


async def test_players_play_the_referees_table_by_proofs(served: tuple[Dealer, Client, Client], tmp_path: Path) -> None:
    dealer, room, player = served
    keys = keys_of(1, 3)
    table = await room.start_hand("t", STACKS, STAKES, seat_keys=public(keys))
    assert list(table.tokens) == [2]
    seats = [
        player.sealed_seat(table.hand_id, 1, keys[1], table="t", reveal="public"),
        table.seat(3, key=keys[3]),
        table.seat(2),
    ]
    await asyncio.gather(*map(play, seats))
    close = await table.finish()
    assert [seat.closed and seat.closed.entry for seat in seats] == [close.entry] * 3
    assert all(card.name for seat in seats for card in seat.cards_of(seat.seat))
    seats[0].save(tmp_path / "hand.json")
    told = receipt(tmp_path / "hand.json", dealer)
    assert "VALID" in told
    assert "sealed card" in told


async def test_a_player_plays_through_a_room_that_passes_on(served: tuple[Dealer, Client, Client]) -> None:
    _, room, player = served
    keys = keys_of(1, 2, 3)
    table = await room.start_hand("t", STACKS, STAKES, seat_keys=public(keys))
    way = Through(table.pass_on, table.relay)
    seats = [player.sealed_seat(table.hand_id, n, keys[n], table="t", reveal="public", through=way) for n in keys]
    await asyncio.gather(*map(play, seats))
    assert all(seat.closed for seat in seats)
    with pytest.raises(UsageError, match="nothing that a player asks for"):
        await table.pass_on("VoidTableHand", b"")
    strange = table_pb2.ActRequest(hand_id="another").SerializeToString()
    with pytest.raises(UsageError, match="another hand"):
        await table.pass_on("Act", strange)


async def test_a_player_s_value_goes_through_its_room_too(served: tuple[Dealer, Client, Client]) -> None:
    _, room, player = served
    key, mine = SeatKey.draw(), Contribution.draw("t", 1, "seat-1")
    invited = {"seat-1": mine.commitment}
    table = await room.start_hand("t", STACKS, STAKES, invited=invited, seat_keys={1: key.public})
    assert not table.envelopes
    way = Through(table.pass_on, table.relay)
    seat = player.sealed_seat(table.hand_id, 1, key, table="t", reveal="public", contribution=mine, through=way)
    with pytest.raises(UsageError):
        seat.value()
    await seat.next()
    seat.acknowledged(await table.submit("seat-1", seat.value()))
    await table.lock()
    assert list(table.envelopes) == [1]
    await asyncio.gather(play(seat), play(table.seat(2)), play(table.seat(3)))
    assert seat.commit is not None
    assert [each["contributor"] for each in seat.commit.content["contributions"]] == ["seat-1"]


async def test_a_room_that_drops_an_action_and_lets_the_clock_act_is_found(
    served: tuple[Dealer, Client, Client],
) -> None:
    """It keeps the player's action back and says that it was taken: then the clock acts."""
    _, room, player = served
    keys = keys_of(1, 2, 3)
    table = await room.start_hand("t", STACKS, STAKES, seat_keys=public(keys), action_seconds=1)

    async def drop(method: str, request: bytes) -> bytes:
        return table_pb2.ActResponse().SerializeToString()

    way = Through(drop, table.relay)
    seats = [player.sealed_seat(table.hand_id, n, keys[n], table="t", reveal="public", through=way) for n in keys]
    found = await asyncio.gather(*map(play, seats), return_exceptions=True)
    assert any(isinstance(each, CheckError) and "the clock is said to have acted" in str(each) for each in found)


def _mine(event: table_pb2.TableEvent) -> types_pb2.Card:
    return next(card for card in event.street_dealt.cards if card.seat == 1 and card.face == types_pb2.FACE_DOWN)


TOLD: dict[str, tuple[str, Callable[[table_pb2.TableEvent], None], str]] = {
    "no envelope": ("hand_started", lambda e: e.hand_started.hand.ClearField("envelopes"), "opening"),
    "an envelope of noise": (
        "hand_started",
        lambda e: setattr(e.hand_started.hand.envelopes[0], "envelope", bytes(80)),
        "opening",
    ),
    "the digests dropped": ("hand_started", lambda e: e.hand_started.hand.ClearField("seat_keys"), "lifecycle"),
    "its card kept back": ("street_dealt", lambda e: _mine(e).ClearField("sealed"), "opening"),
    "its card cut": ("street_dealt", lambda e: setattr(_mine(e), "sealed", _mine(e).sealed[:-1]), "opening"),
    "its card changed": ("street_dealt", lambda e: setattr(_mine(e), "sealed", bytes(50)), "opening"),
    "its card at another's place": ("street_dealt", lambda e: setattr(_mine(e), "seat", 2), "dealing"),
    "a card kept back": ("street_dealt", lambda e: e.street_dealt.cards.pop(), "dealing"),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("name", TOLD)
async def test_a_lie_on_the_way_from_the_table_is_found_by_name(
    served: tuple[Dealer, Client, Client], name: str
) -> None:
    _, room, player = served
    keys = keys_of(1)
    table = await room.start_hand("t", STACKS, STAKES, seat_keys=public(keys))
    kind, lie, check = TOLD[name]

    async def told(request: bytes) -> AsyncIterator[bytes]:
        async for data in table.relay(request):
            response = table_pb2.WatchHandResponse.FromString(data)
            if response.event.WhichOneof("event") == kind:
                lie(response.event)
            yield response.SerializeToString()

    way = Through(table.pass_on, told)
    seat = player.sealed_seat(table.hand_id, 1, keys[1], table="t", reveal="public", through=way)
    with pytest.raises(CheckError) as caught:
        await play(seat)
    assert caught.value.check == check
    assert caught.value.evidence is not None
    with pytest.raises(UsageError):
        await seat.leave()


async def test_a_player_answers_a_prompt_in_one_way(served: tuple[Dealer, Client, Client]) -> None:
    """A room that kept the first answer back and called it refused does not get another to choose from."""
    _, room, player = served
    keys = keys_of(1, 2, 3)
    table = await room.start_hand("t", STACKS, STAKES, seat_keys=public(keys))
    kept: list[bytes] = []

    async def refuse(method: str, request: bytes) -> bytes:
        kept.append(request)
        raise ConnectionError("the dealer is not there")

    way = Through(refuse, table.relay)
    seats = [player.sealed_seat(table.hand_id, n, keys[n], table="t", reveal="public", through=way) for n in keys]
    for seat in seats:
        while (seen := await seat.next()) is not None and seen.kind != "seat_prompted":
            pass
    (asked,) = [seat for seat in seats if seat.options]
    first, *others = [option.action for option in asked.options]
    for _ in range(2):
        with pytest.raises(ConnectionError):
            await asked.act(first)
    for other in others:
        with pytest.raises(UsageError, match="proves nothing else"):
            await asked.act(other)
    proofs = {table_pb2.ActRequest.FromString(request).proof for request in kept}
    assert (len(kept), len(proofs)) == (2, 1)


async def test_a_hand_that_was_hidden_and_played_again_has_another_history(
    served: tuple[Dealer, Client, Client],
) -> None:
    """Prompts were kept back until the clock had played the hand out; the player is then told of another hand."""
    _, room, player = served
    keys = keys_of(1)
    table = await room.start_hand("t", {1: 1000, 2: 1000}, STAKES, seat_keys=public(keys), action_seconds=1)
    await table.finish()

    async def told(request: bytes) -> AsyncIterator[bytes]:
        async for data in table.relay(request):
            response = table_pb2.WatchHandResponse.FromString(data)
            if response.event.WhichOneof("event") == "seat_acted":
                response.event.seat_acted.cause = table_pb2.CAUSE_PLAYER
            if response.event.WhichOneof("event") == "hand_finished":
                text = response.event.hand_finished.history_phh
                response.event.hand_finished.history_phh = text.replace(" # time ran out", "")
            yield response.SerializeToString()

    for resumed, match in ((False, "its player chose nothing"), (True, "the close")):
        way = Through(table.pass_on, told)
        seat = player.sealed_seat(
            table.hand_id, 1, keys[1], table="t", reveal="public", number=1, through=way, resumed=resumed
        )
        with pytest.raises(CheckError, match=match):
            async for _ in seat.events():
                pass
    number = 0

    async def hidden(request: bytes) -> AsyncIterator[bytes]:
        nonlocal number
        async for data in table.relay(request):
            response = table_pb2.WatchHandResponse.FromString(data)
            if response.event.WhichOneof("event") != "seat_prompted":
                number += 1
                response.event.sequence = number
                yield response.SerializeToString()

    way = Through(table.pass_on, hidden)
    unasked = player.sealed_seat(table.hand_id, 1, keys[1], table="t", reveal="public", number=1, through=way)
    with pytest.raises(CheckError, match="was not asked"):
        await play(unasked)
    again = player.sealed_seat(
        table.hand_id, 1, keys[1], table="t", reveal="public", number=1, through=Through(table.pass_on, table.relay)
    )
    with pytest.raises(CheckError, match="is its close"):
        await play(again)


async def test_a_sealed_seat_is_held_to_its_table_reveal_and_key(served: tuple[Dealer, Client, Client]) -> None:
    _, room, player = served
    keys = keys_of(1)
    table = await room.start_hand("t", STACKS, STAKES, seat_keys=public(keys))
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"reveal": "sealed"}, "reveal"),
        ({"table": "other"}, "lifecycle"),
        ({"number": 2}, "lifecycle"),
        ({"key": SeatKey.draw()}, "lifecycle"),
    ]
    for change, check in wrong:
        words: dict[str, Any] = {"key": keys[1], "table": "t", "reveal": "public", **change}
        seat = player.sealed_seat(table.hand_id, 1, words.pop("key"), **words)
        with pytest.raises(CheckError) as caught:
            await seat.next()
        assert caught.value.check == check
    with pytest.raises(CheckError, match="does not open"):
        player.sealed_seat(table.hand_id, 1, keys[1], table="t", reveal="public", envelope=bytes(80))


async def test_a_key_that_the_room_dropped_at_the_referees_table_is_found(
    served: tuple[Dealer, Client, Client],
) -> None:
    """The room starts the hand without it, and watches with the token that it was given instead."""
    _, room, player = served
    table = await room.start_hand("t", STACKS, STAKES)

    async def told(request: bytes) -> AsyncIterator[bytes]:
        asked = table_pb2.WatchHandRequest.FromString(request)
        asked.token = table.tokens[1]
        async for data in table.relay(asked.SerializeToString()):
            yield data

    for way, error in ((None, CallError), (Through(table.pass_on, told), CheckError)):
        seat = player.sealed_seat(table.hand_id, 1, SeatKey.draw(), table="t", reveal="public", through=way)
        with pytest.raises(error, match="was dropped" if way else "token") as caught:
            await seat.next()
        assert not isinstance(caught.value, CheckError) or caught.value.check == "lifecycle"


async def test_a_hand_that_was_voided_to_look_at_it_is_void_in_the_log(served: tuple[Dealer, Client, Client]) -> None:
    _, room, player = served
    keys = keys_of(1, 2)
    table = await room.start_hand("t", STACKS, STAKES, seat_keys=public(keys))
    seat = player.sealed_seat(table.hand_id, 1, keys[1], table="t", reveal="public")
    while not seat.cards_of(1):
        await seat.next()
    await table.void()
    async for _ in seat.events():
        pass
    assert seat.closed is not None
    assert seat.closed.content["outcome"] == "void"
    assert not seat.options


async def test_a_test_record_is_refused_unless_asked_for(tmp_path: Path) -> None:
    double = Double(tmp_path / "double", double_settings("127.0.0.1:0"))
    await double.start()
    try:
        async with Client(double.address, double.verifier_key) as client:
            key = SeatKey.draw()
            with pytest.raises(UsageError, match="test double"):
                client.hand_seat(1, key, table="t")
            hand = await client.open_hand("t", [1, 2], reveal="sealed", seat_keys={1: key.public})
            seat = client.hand_seat(1, key, table="t", number=1, allow_test=True)
            await hand.deal_street("third")
            await seat.take(hand.view(1))
            assert all(card.name for card in seat.cards_of(1))
            await hand.void()
            await seat.finish(hand.closing())
            for reveal in ("public", "sealed"):
                table = await client.start_hand("t", STACKS, STAKES, reveal=reveal, seat_keys={1: key.public})
                seats = [table.seat(1, key=key, allow_test=True), table.seat(2), table.seat(3)]
                await asyncio.gather(*map(play, seats))
                assert seats[0].closed
                assert all(card.name for card in seats[0].cards_of(1))
    finally:
        await double.stop()
