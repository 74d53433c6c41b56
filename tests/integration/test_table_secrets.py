"""Whatever leaves TableService before the showdown is searched for cards that its reader may not see."""

import asyncio
from pathlib import Path

import grpc
import pytest

from dealer.core.hand import Face
from dealer.service.referee.record import TableCard
from dealer.service.writer.sources import Sources
from dealer.store.escrow import EscrowKey, make_escrow_pair
from dealer.v1 import log_pb2, log_pb2_grpc
from dealer.v1 import table_pb2 as pb
from dealer.v1 import types_pb2 as t
from tests.integration.inside import dealer_inside
from tests.integration.table_room import TableRoom
from tests.integration.test_secrets import spellings

EYES = (0, 3)
WATCH = "/dealer.v1.TableService/WatchHand"


async def watched_bytes(channel: grpc.aio.Channel, request: pb.WatchHandRequest, until: int) -> bytes:
    """Every byte of a watcher's stream up to a sequence number, after a new connection each time."""
    stream, seen = channel.unary_stream(WATCH)(request.SerializeToString()), b""
    async for part in stream:
        seen += part
        if pb.WatchHandResponse.FromString(part).event.sequence == until:
            stream.cancel()
            break
    return seen


@pytest.mark.parametrize("reveal", [t.REVEAL_PUBLIC, t.REVEAL_SEALED])
async def test_no_reader_gets_a_hidden_card_before_the_showdown(tmp_path: Path, reveal: int) -> None:
    sources = Sources(escrow=EscrowKey(bytes.fromhex(make_escrow_pair()[1])))
    async with dealer_inside(tmp_path / "dealer", sources) as (dealer, room):
        started = await TableRoom(room.channel).start(dict.fromkeys(range(1, 7), 3000), reveal=reveal)
        (live,) = dealer.engine.state.live.values()
        deck = live.known_deck()
        seen: dict[int, bytes] = {0: started.hand.SerializeToString(), 3: b""}
        while not started.hand.finished:
            for eyes in EYES:
                token = started.tokens.get(eyes, b"")
                request = pb.WatchHandRequest(hand_id=started.id, seat=eyes, token=token)
                async with grpc.aio.insecure_channel(dealer.address) as channel:
                    seen[eyes] += await watched_bytes(channel, request, started.hand.sequence)
            seen[0] += (await started.get()).SerializeToString()
            # Nobody has shown yet: the cards that lie face up, and a watcher's own, are all there is to see.
            (live,) = dealer.engine.state.live.values()
            up = {card.position for card in live.state.dealt if card.face is Face.UP}
            own = {card.position for card in live.state.dealt if card.seat == 3}
            for eyes, may_see in ((0, up), (3, up | own)):
                for position in set(range(52)) - may_see:
                    assert not any(text in seen[eyes] for text in spellings(deck.salt(position)))
                for position in may_see:
                    assert eyes == 0 or deck.salt(position) in seen[3]
            for view in (await started.get(), started.hand):
                for seat in view.seats:
                    mine = [card for card in live.state.dealt if card.seat == seat.seat]
                    assert list(seat.cards) == [deck.cards[c.position] if c.face is Face.UP else "??" for c in mine]
            await started.act()
            if not started.hand.finished:
                seen[0] += started.hand.SerializeToString()
        stub = log_pb2_grpc.LogServiceStub(room.channel)
        async for part in stub.ListEntries(log_pb2.ListEntriesRequest(**{"from": 0, "limit": 1})):
            assert all(deck.salt(position) not in part.SerializeToString() for position in range(52))


async def test_answers_for_a_down_card_have_the_same_length_whatever_it_is(tmp_path: Path) -> None:
    async with dealer_inside(tmp_path / "dealer") as (_, room):
        tables = TableRoom(room.channel)
        lengths = set()
        for number in range(20):
            started = await tables.start(table=f"t{number:02}")
            stream = started.watch()
            async for response in stream:
                if response.event.HasField("street_dealt"):
                    down = [card for card in response.event.street_dealt.cards if card.face == t.FACE_DOWN]
                    lengths |= {(card.position, len(card.SerializeToString())) for card in down}
                    break
            stream.cancel()
            await asyncio.sleep(0)
        assert len(lengths) == 6  # one length for each of the six positions


def test_a_card_does_not_print_itself() -> None:
    text = repr(TableCard(3, 1, Face.DOWN, "As", b"\x07" * 32))
    assert "As" not in text
    assert "07" not in text
