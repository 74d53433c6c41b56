"""A watcher's client checks the referee's hand as it goes, and refuses one that does not hold."""

import random
import uuid
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from dealer.client import CheckError
from dealer.client.calls import Caller, Retry
from dealer.client.checks import Asked
from dealer.client.folder import Folder
from dealer.client.log import LogView
from dealer.client.watched import WatchedHand
from dealer.core.hand import Reveal
from dealer.games.plans import SEVEN_CARD_STUD
from dealer.service.server import Dealer
from dealer.service.writer.sources import Sources
from dealer.store.escrow import EscrowKey, make_escrow_pair
from dealer.v1 import log_pb2_grpc
from dealer.v1 import table_pb2 as pb
from dealer.v1 import types_pb2 as t
from tests.integration.inside import dealer_inside
from tests.integration.running import rid
from tests.integration.table_room import TableRoom, at_random


@pytest.fixture
async def served(tmp_path: Path) -> AsyncIterator[tuple[Dealer, TableRoom]]:
    sources = Sources(escrow=EscrowKey(bytes.fromhex(make_escrow_pair()[1])))
    async with dealer_inside(tmp_path / "dealer", sources) as (dealer, room):
        yield dealer, TableRoom(room.channel)


def watched(dealer: Dealer, room: TableRoom, seats: tuple[int, ...], reveal: Reveal = Reveal.PUBLIC) -> WatchedHand:
    key = dealer.engine.state.signer.verifier_key
    log = LogView(log_pb2_grpc.LogServiceStub(room.channel), Caller(Retry(), uuid.uuid4), key, Folder(None, key))
    return WatchedHand(log, Asked("t", 1, 0, SEVEN_CARD_STUD, "standard52", seats, reveal, ()))


@pytest.mark.parametrize("reveal", list(Reveal))
@pytest.mark.parametrize("eyes", [0, 2])
async def test_an_honest_hand_holds_to_its_end(served: tuple[Dealer, TableRoom], eyes: int, reveal: Reveal) -> None:
    dealer, room = served
    wire = {Reveal.PUBLIC: t.REVEAL_PUBLIC, Reveal.SEALED: t.REVEAL_SEALED}[reveal]
    started = await room.start(dict.fromkeys(range(1, 9), 1000), reveal=wire)
    await started.play_out()
    seen = watched(dealer, room, tuple(range(1, 9)), reveal)
    for event in await started.seen(eyes):
        await seen.take(event)
    assert seen.closed is not None
    assert seen.commit is not None
    assert seen.closed.index > seen.commit.index
    own = [card for card in seen.cards.values() if card.seat == eyes]
    assert all(card.name for card in own)
    assert (seen.deck is None) == (reveal is Reveal.SEALED)


def another_card(event: pb.TableEvent) -> bool:
    if event.HasField("street_dealt"):
        event.street_dealt.cards[-1].card = "As" if event.street_dealt.cards[-1].card != "As" else "Ks"
        return True
    return False


def another_position(event: pb.TableEvent) -> bool:
    if event.HasField("street_dealt"):
        event.street_dealt.cards[0].position += 1
        return True
    return False


def another_commitment(event: pb.TableEvent) -> bool:
    if event.HasField("hand_started"):
        event.hand_started.hand.card_commitments = bytes(52 * 32)
        return True
    return False


def another_receipt(event: pb.TableEvent) -> bool:
    if event.HasField("hand_started"):
        event.hand_started.hand.receipt = event.hand_started.hand.receipt.replace("index 0", "index 1")
        return True
    return False


def another_history(event: pb.TableEvent) -> bool:
    if event.HasField("hand_finished"):
        event.hand_finished.history_phh += "#\n"
        return True
    return False


def a_missing_event(event: pb.TableEvent) -> bool:
    if event.sequence == 3:
        event.sequence = 4
        return True
    return False


@pytest.mark.parametrize(
    ("lie", "check"),
    [
        (another_card, "opening"),
        (another_position, "dealing"),
        (another_commitment, "deck"),
        (another_receipt, "checkpoint"),
        (another_history, "lifecycle"),
        (a_missing_event, "dealing"),
    ],
)
async def test_a_lie_is_refused_for_the_reason_named(
    served: tuple[Dealer, TableRoom], lie: Callable[[pb.TableEvent], bool], check: str
) -> None:
    dealer, room = served
    started = await room.start(request_id=rid())
    await started.play_out(at_random(random.Random(1)))
    seen = watched(dealer, room, (1, 2, 3))
    for event in await started.seen():
        if lie(event):
            with pytest.raises(CheckError) as refused:
                await seen.take(event)
            assert refused.value.check == check
            return
        await seen.take(event)
    pytest.fail("the lie was never told")


async def test_events_that_come_before_the_start_or_a_second_start_are_refused(
    served: tuple[Dealer, TableRoom],
) -> None:
    dealer, room = served
    started = await room.start(request_id=rid())
    await started.play_out(at_random(random.Random(1)))
    events = {event.WhichOneof("event"): event for event in await started.seen()}
    for kind in ("street_dealt", "seat_acted", "hand_shown", "hand_finished"):
        event = events.get(kind) or pb.TableEvent(hand_shown=pb.HandShown())
        event.sequence = 1
        with pytest.raises(CheckError, match=f"dealing: {kind} came before the hand's start"):
            await watched(dealer, room, (1, 2, 3)).take(event)
    seen, start = watched(dealer, room, (1, 2, 3)), events["hand_started"]
    await seen.take(start)
    start.sequence = 2
    with pytest.raises(CheckError, match="dealing: hand_started came after the hand's start"):
        await seen.take(start)
