"""Sealed seats at the referee's table: who sees what, who may act by which proof, restarts, and the end (SEATS.md)."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import grpc
import pytest

from dealer.core.seed import contribution_commitment
from dealer.v1 import dealer_pb2
from dealer.v1 import table_pb2 as pb
from dealer.v1 import types_pb2 as t
from tests.integration.inside import dealer_inside
from tests.integration.running import error_info, refusal, rid
from tests.integration.sealed_seats import SealedSeat, bad_keys
from tests.integration.table_room import Started, TableRoom, check_or_call

_PROOF, _TOKEN = ("PERMISSION_DENIED", "WRONG_PROOF"), ("PERMISSION_DENIED", "WRONG_TOKEN")


@pytest.fixture
async def room(tmp_path: Path) -> AsyncIterator[TableRoom]:
    async with dealer_inside(tmp_path / "data") as (_, room):
        yield TableRoom(room.channel)


class Sealed(Started):
    """A hand under way with sealed seats, which act by proofs."""

    players: dict[int, SealedSeat]
    prompted: int = 0

    async def look(self, seat: int = 0, proof: bytes = b"") -> list[pb.TableEvent]:
        """Everything that has happened so far, as a seat sees it."""
        rail = (await self.get()).sequence
        request = pb.WatchHandRequest(hand_id=self.id, seat=seat, proof=proof, token=self.tokens.get(seat, b""))
        events = []
        async for response in self.stub.WatchHand(request):
            events.append(response.event)
            if response.event.sequence == rail:
                break
        return events

    async def prompt(self) -> pb.TableEvent:
        return [each for each in await self.look() if each.WhichOneof("event") == "seat_prompted"][-1]

    async def request(self, option: pb.ActionOption | None = None, **fields: Any) -> pb.ActRequest:
        """The request by which the seat to act takes an option; by default it checks or calls."""
        prompt = await self.prompt()
        seat, sequence = prompt.seat_prompted.seat, prompt.sequence
        chosen = option or check_or_call(list(prompt.seat_prompted.options))
        if seat in self.players:
            name = pb.Action.Name(chosen.action).removeprefix("ACTION_").lower()
            fields.setdefault("proof", self.players[seat].proof(sequence, name, chosen.amount))
        return self.act_request(chosen.action, chosen.amount, seat=seat, **fields)

    async def check_down(self) -> pb.TableHand:
        while not (await self.get()).finished:
            await self.stub.Act(await self.request())
        return await self.get()


async def started(room: TableRoom, sealed: tuple[int, ...] = (1, 3), **fields: Any) -> Sealed:
    players = {seat: SealedSeat(seat) for seat in sealed}
    keys = [each.brought for each in reversed(players.values())]
    answer = await room.stub.StartHand(room.request(seat_keys=keys, **fields))
    hand = Sealed(room.stub, answer.table_hand, {each.seat: each.token for each in answer.tokens})
    hand.players = players
    if answer.table_hand.hand.state == t.HAND_STATE_COMMITTED:
        for player in players.values():
            player.take(answer.table_hand.hand)
    return hand


async def denied(call: Any) -> tuple[str, str]:
    with pytest.raises(grpc.RpcError) as caught:
        await (anext(aiter(call)) if hasattr(call, "__aiter__") else call)
    code, reason = refusal(caught.value)
    return code.name, reason


async def test_a_sealed_seat_has_no_token_and_its_cards_are_sealed_to_all_but_its_player(room: TableRoom) -> None:
    hand = await started(room)
    assert set(hand.tokens) == {2}
    mine, rail, other = await hand.look(1), await hand.look(), await hand.look(2)
    for events, eyes in ((mine, 1), (rail, 0), (other, 2)):
        (street,) = [each.street_dealt for each in events if each.WhichOneof("event") == "street_dealt"]
        for card in street.cards:
            if card.face == t.FACE_UP or (eyes == 2 and card.seat == 2):
                assert (len(card.card), len(card.salt), card.sealed) == (2, 32, b"")
            elif eyes == 1 and card.seat == 1:
                assert hand.players[1].open(card)
            else:
                assert (card.card, card.salt, card.sealed) == ("", b"", b"")
    started_ = mine[0].hand_started.hand
    assert started_.envelopes == hand.hand.hand.envelopes == (await hand.get()).hand.envelopes
    assert [each.seat for each in started_.seat_keys] == [1, 3]


async def test_only_a_proof_for_just_this_prompt_and_action_acts(room: TableRoom) -> None:
    hand = await started(room, sealed=(1, 2, 3))
    prompt = await hand.prompt()
    seat, at = prompt.seat_prompted.seat, prompt.sequence
    player, option = hand.players[seat], prompt.seat_prompted.options[0]
    other = hand.players[next(each for each in hand.players if each != seat)]
    name = pb.Action.Name(option.action).removeprefix("ACTION_").lower()

    def act(proof: bytes = b"", token: bytes = b"") -> Any:
        return hand.stub.Act(hand.act_request(option.action, option.amount, seat=seat, token=token, proof=proof))

    elsewhere = await started(room, sealed=(1, 2, 3), table="another")

    assert await denied(act()) == _TOKEN
    assert await denied(act(token=bytes(32))) == _TOKEN
    for proof in (
        player.proof(at + 1, name, option.amount),
        player.proof(at - 1, name, option.amount),
        player.proof(0, name, option.amount),
        player.proof(at, name, option.amount + 1),
        player.proof(at, "fold"),
        player.proof(at, name.replace("_", "-"), option.amount) if "_" in name else bytes(32),
        player.proof(0, "leave"),
        other.proof(at, name, option.amount),
        elsewhere.players[seat].proof(at, name, option.amount),
        player.proof(at, name, option.amount)[:31],
        player.proof(at, name, option.amount) + bytes(1),
        player.proof(at, name, option.amount).hex().encode(),
        bytes(1),
        bytes(1 << 16),
        bytes(32),
    ):
        assert await denied(act(proof)) == _PROOF
    assert await denied(hand.stub.Act(hand.act_request(option.action, -1, seat=seat, proof=bytes(32)))) == _PROOF
    never_asked = other.proof(at, "check")
    early = hand.act_request(pb.ACTION_CHECK, 0, seat=other.seat, proof=never_asked)
    assert await denied(hand.stub.Act(early)) == _PROOF
    assert (await hand.prompt()).sequence == at, "nothing has changed"
    right = await hand.request(option)
    done = await hand.stub.Act(right)
    assert await hand.stub.Act(right) == done, "the same request is the same answer"
    again = hand.act_request(option.action, option.amount, seat=seat, proof=right.proof)
    assert await denied(hand.stub.Act(again)) == ("FAILED_PRECONDITION", "OUT_OF_TURN"), "right, and for what is over"
    while (prompt := await hand.prompt()).seat_prompted.seat != seat:
        await hand.stub.Act(await hand.request())
    assert await denied(hand.stub.Act(again)) == _PROOF, "and for an older prompt it is wrong"


async def test_leaving_and_watching_have_proofs_of_their_own(room: TableRoom) -> None:
    hand = await started(room)
    player = hand.players[1]

    def leave(proof: bytes = b"") -> Any:
        return hand.stub.LeaveHand(pb.LeaveHandRequest(request_id=rid(), hand_id=hand.id, seat=1, proof=proof))

    assert await denied(leave()) == _TOKEN
    assert await denied(leave(player.proof(0, "watch"))) == _PROOF
    for seat, proof in ((1, player.proof(0, "leave")), (1, bytes(32)), (3, player.proof(0, "watch"))):
        assert await denied(hand.stub.WatchHand(pb.WatchHandRequest(hand_id=hand.id, seat=seat, proof=proof))) == _PROOF
    assert await hand.look(1, player.proof(0, "watch")) == await hand.look(1), "its room needs none"
    assert (await leave(player.proof(0, "leave"))).table_hand.seats[0].left


async def test_the_showdown_is_in_the_clear_and_what_was_told_stays_as_it_was(tmp_path: Path) -> None:
    """A hand to its end, its dealer started again in between: watchers are told the same, sealed as it was."""
    async with dealer_inside(tmp_path / "data") as (_, room):
        hand = await started(TableRoom(room.channel), sealed=(1, 2, 3))
        before = {seat: await hand.look(seat) for seat in hand.players}
        await hand.stub.Act(await hand.request())
    async with dealer_inside(tmp_path / "data") as (_, room):
        hand.stub = TableRoom(room.channel).stub
        for seat, events in before.items():
            told = await hand.look(seat)
            assert told[1 : len(events)] == events[1:]
            assert told[0].hand_started.hand.envelopes == events[0].hand_started.hand.envelopes
        over = await hand.check_down()
        assert over.shown
        first = over.shown[0]
        whole = await hand.look(first)
        (shown,) = [e.hand_shown for e in whole if e.WhichOneof("event") == "hand_shown" and e.hand_shown.seat == first]
        dealt = [
            card for e in whole for card in e.street_dealt.cards if card.seat == first and card.face == t.FACE_DOWN
        ]
        assert [hand.players[first].open(card) for card in dealt] == [card.card for card in shown.cards]
        assert all(card.salt and not card.sealed for card in shown.cards)
        watch = hand.players[first].proof(0, "watch")
        assert await hand.look(first, watch) == whole, "by its player too, after the end"
        assert (await hand.get()).hand.envelopes == hand.hand.hand.envelopes


async def test_an_offered_hand_has_its_envelopes_with_the_lock(room: TableRoom) -> None:
    value = bytes(32)
    invited = [dealer_pb2.Contributor(id="p", commitment=contribution_commitment("t", 1, "p", value))]
    hand = await started(room, contributors=invited)
    assert set(hand.tokens) == {2}
    assert not hand.hand.hand.envelopes
    nobody = pb.LeaveHandRequest(request_id=rid(), hand_id=hand.id, seat=1, proof=bytes(32))
    assert await denied(hand.stub.LeaveHand(nobody)) == _PROOF
    give = pb.SubmitTableEntropyRequest(request_id=rid(), hand_id=hand.id, contributor="p", value=value)
    await hand.stub.SubmitTableEntropy(give)
    lock = pb.LockTableDeckRequest(request_id=rid(), hand_id=hand.id)
    locked = await hand.stub.LockTableDeck(lock)
    assert [each.seat for each in locked.table_hand.hand.envelopes] == [1, 3]
    for player in hand.players.values():
        player.take(locked.table_hand.hand)
    assert (await hand.look(1))[0].WhichOneof("event") == "hand_offered"
    await hand.check_down()
    assert await hand.stub.LockTableDeck(lock) == locked


async def test_bad_keys_are_refused_here_too_and_nothing_changes(room: TableRoom) -> None:
    request = rid()
    for name, (keys, seat) in bad_keys().items():
        with pytest.raises(grpc.RpcError) as caught:
            await room.stub.StartHand(room.request(seat_keys=keys, request_id=request))
        code, reason = refusal(caught.value)
        assert (code.name, reason) == ("INVALID_ARGUMENT", "INVALID_SEAT_KEY"), name
        assert error_info(caught.value).metadata["seat"] == str(seat), name
    one = SealedSeat(1)
    started = room.request(seat_keys=[one.brought], request_id=request)
    answer = await room.stub.StartHand(started)
    assert answer.table_hand.hand.number == 1, "no refusal used a number or the id up"
    assert await room.stub.StartHand(started) == answer
    other = room.request(seat_keys=[SealedSeat(1).brought], request_id=request)
    assert await denied(room.stub.StartHand(other)) == ("ALREADY_EXISTS", "REQUEST_ID_REUSED")
