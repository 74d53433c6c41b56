"""Whatever leaves the service before a hand's close is searched for its secrets: nothing is found."""

import base64
import logging
import os
import re
import uuid
from pathlib import Path
from typing import Any

import grpc
import pytest
import structlog
from grpc_health.v1 import health_pb2, health_pb2_grpc
from prometheus_client import generate_latest

from dealer.core.cards import DECK_KINDS
from dealer.core.deck import Deck, derive_deck
from dealer.core.seed import Seed, contribution_commitment, entropy_digest
from dealer.service.writer.sources import Sources
from dealer.service.writer.watched_source import START_UP_DRAWS
from dealer.store.escrow import EscrowKey, make_escrow_pair
from dealer.v1 import dealer_pb2 as pb
from dealer.v1 import log_pb2
from dealer.v1 import types_pb2 as t
from tests.integration.inside import AsyncRoom, dealer_inside
from tests.integration.running import rid

DEALER, LOG = "/dealer.v1.DealerService/", "/dealer.v1.LogService/"

REPR_OF_BYTES = re.compile(r"""\bb(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")""")


class Wire:
    """Calls from bytes to bytes, and keeps all that came back: answers, errors, details."""

    def __init__(self, room: AsyncRoom) -> None:
        self.channel, self.seen = room.channel, list[bytes]()

    async def call(self, method: str, request: Any) -> bytes:
        data = request if isinstance(request, bytes) else request.SerializeToString()
        try:
            answer: bytes = await self.channel.unary_unary(method)(data)
        except grpc.aio.AioRpcError as error:
            self.seen += [repr(error).encode(), (error.details() or "").encode()]
            self.seen += [
                value if isinstance(value, bytes) else value.encode() for _, value in error.trailing_metadata() or ()
            ]
            return b""
        self.seen.append(answer)
        return answer

    async def exchange(self, request: pb.PlayHandsRequest) -> None:
        call = self.channel.stream_stream(DEALER + "PlayHands")(iter([request.SerializeToString()]))
        async for part in call:
            self.seen.append(part)

    async def stream(self, method: str, request: Any) -> None:
        async for part in self.channel.unary_stream(method)(request.SerializeToString()):
            self.seen.append(part)


def spellings(secret: bytes) -> list[bytes]:
    """Raw, hex of both cases, and base64 at each of its three offsets."""
    found = [secret, secret.hex().encode(), secret.hex().upper().encode()]
    for offset in range(3):
        whole = base64.b64encode(bytes(offset) + secret)
        found.append(whole[offset and 4 : -4])
    return found


def assert_nothing_of(haystack: bytes, texts: str, deck: Deck, seed: bytes, undealt: range) -> None:
    for secret in (seed, *(deck.salt(p) for p in undealt)):
        for spelling in spellings(secret):
            assert spelling not in haystack
    for position in undealt:
        card = deck.cards[position]
        assert b"\x22\x02" + card.encode() not in haystack  # a Card's text on the wire
        assert not re.search(rf"(?<![A-Za-z0-9+/=]){card}(?![A-Za-z0-9+/=])", texts)


@pytest.mark.parametrize("reveal", [t.REVEAL_PUBLIC, t.REVEAL_SEALED])
async def test_nothing_of_a_deck_in_play_leaves(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], reveal: t.Reveal.ValueType
) -> None:
    seeds: list[bytes] = []

    def entropy(length: int) -> bytes:
        seeds.append(os.urandom(length))
        return seeds[-1]

    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.DEBUG))
    sources = Sources(entropy=entropy, escrow=EscrowKey(bytes.fromhex(make_escrow_pair()[1])))
    async with dealer_inside(tmp_path / "data", sources) as (dealer, room):
        wire = Wire(room)
        opening = pb.OpenHandRequest(request_id=rid(), table="t", game=1, seats=[1, 2, 3], reveal=reveal)
        answer = pb.OpenHandResponse.FromString(await wire.call(DEALER + "OpenHand", opening))
        hand = answer.hand.hand_id
        for street in (1, 2):
            request = pb.DealStreetRequest(request_id=rid(), hand_id=hand, street=street)
            await wire.call(DEALER + "DealStreet", request)
        await wire.call(DEALER + "OpenHand", opening)
        await wire.call(DEALER + "FoldSeat", pb.FoldSeatRequest(request_id=rid(), hand_id=hand, seat=2))
        await wire.call(DEALER + "ShowCards", pb.ShowCardsRequest(request_id=rid(), hand_id=hand, positions=[0]))
        for refused in (
            ("DealStreet", pb.DealStreetRequest(request_id=rid(), hand_id=hand, street=5)),
            ("ShowCards", pb.ShowCardsRequest(request_id=rid(), hand_id=hand, positions=[51])),
            ("ShowCards", pb.ShowCardsRequest(request_id=rid(), hand_id=hand, positions=[1])),
            ("CloseHand", pb.CloseHandRequest(request_id=rid(), hand_id=hand)),
            ("DrawCards", pb.DrawCardsRequest(request_id=rid(), hand_id=hand, draws=[pb.Draw(seat=1, face=1)])),
            ("OpenHand", pb.OpenHandRequest(request_id=rid(), table="t", game=1, seats=[1, 2], reveal=reveal)),
            ("GetHand", b"\xff"),
        ):
            await wire.call(DEALER + refused[0], refused[1])
        await wire.call(DEALER + "GetHand", pb.GetHandRequest(hand_id=hand))
        await wire.call(LOG + "GetCheckpoint", log_pb2.GetCheckpointRequest())
        await wire.call(LOG + "GetReceipt", log_pb2.GetReceiptRequest(index=0))
        await wire.stream(LOG + "ListEntries", log_pb2.ListEntriesRequest())
        health = await health_pb2_grpc.HealthStub(room.channel).Check(health_pb2.HealthCheckRequest())
        metrics = generate_latest(dealer._metrics.registry)
        console = "".join(capfd.readouterr())
        public = b"".join(path.read_bytes() for path in (tmp_path / "data" / "public").rglob("*") if path.is_file())
        live = dealer.engine.state.live[uuid.UUID(hand).bytes]
        printed = f"{live!r} {live.secrets!r} {live.deck!r} {dealer.engine!r} {dealer!r}"

        binary = uuid.UUID(hand).bytes
        deck = derive_deck("standard52", binary, entropy_digest(binary, ()), Seed(seeds[START_UP_DRAWS]))
        assert deck.commitment == answer.hand.deck_commitment
        words = REPR_OF_BYTES.sub("", printed)  # two random bytes may look like a card; salts are sought in the whole
        texts = "\n".join([console, metrics.decode(), words, str(health)])
        haystack = b"\0".join([*wire.seen, metrics, console.encode(), printed.encode(), public])
        assert len(wire.seen) > 12
        assert_nothing_of(haystack, texts, deck, seeds[START_UP_DRAWS], range(12, 52))
        with pytest.raises(AssertionError):  # the search itself finds what is there
            assert_nothing_of(haystack, texts, deck, seeds[START_UP_DRAWS], range(11, 52))


async def test_nothing_of_an_offered_hand_leaves_by_calls_or_by_a_stream(tmp_path: Path) -> None:
    seeds: list[bytes] = []

    def entropy(length: int) -> bytes:
        seeds.append(os.urandom(length))
        return seeds[-1]

    value = os.urandom(32)
    invited = [
        pb.Contributor(id="seat-1", commitment=contribution_commitment("t", 1, "seat-1", value)),
        pb.Contributor(id="seat-2", commitment=bytes(32)),
    ]
    sources = Sources(entropy=entropy, escrow=EscrowKey(bytes.fromhex(make_escrow_pair()[1])))
    async with dealer_inside(tmp_path / "data", sources) as (dealer, room):
        wire = Wire(room)
        opening = pb.OpenHandRequest(
            request_id=rid(), table="t", game=1, seats=[1, 2], reveal=t.REVEAL_SEALED, contributors=invited
        )
        hand = pb.OpenHandResponse.FromString(await wire.call(DEALER + "OpenHand", opening)).hand.hand_id
        wrong = pb.SubmitEntropyRequest(request_id=rid(), hand_id=hand, contributor="seat-2", value=value)
        await wire.call(DEALER + "SubmitEntropy", wrong)
        plays = [
            pb.PlayRequest(correlation_id="look", get_hand=pb.GetHandRequest(hand_id=hand)),
            pb.PlayRequest(
                correlation_id="early", deal_street=pb.DealStreetRequest(request_id=rid(), hand_id=hand, street=1)
            ),
        ]
        await wire.exchange(pb.PlayHandsRequest(requests=plays))
        await wire.stream(LOG + "ListEntries", log_pb2.ListEntriesRequest())
        offered = b"\0".join(wire.seen)
        assert not any(spelling in offered for spelling in spellings(seeds[START_UP_DRAWS]))
        plays = [
            pb.PlayRequest(
                correlation_id="value",
                submit_entropy=pb.SubmitEntropyRequest(
                    request_id=rid(), hand_id=hand, contributor="seat-1", value=value
                ),
            ),
            pb.PlayRequest(correlation_id="lock", lock_deck=pb.LockDeckRequest(request_id=rid(), hand_id=hand)),
            pb.PlayRequest(
                correlation_id="deal", deal_street=pb.DealStreetRequest(request_id=rid(), hand_id=hand, street=1)
            ),
            pb.PlayRequest(correlation_id="look", get_hand=pb.GetHandRequest(hand_id=hand)),
        ]
        await wire.exchange(pb.PlayHandsRequest(requests=plays))
        await wire.stream(LOG + "ListEntries", log_pb2.ListEntriesRequest())
        live = dealer.engine.state.live[uuid.UUID(hand).bytes]
        deck = live.known_deck()
        assert deck.salt(5) in b"\0".join(wire.seen)  # third street was dealt
        assert_nothing_of(b"\0".join(wire.seen), "", deck, seeds[START_UP_DRAWS], range(6, 52))
        assert live.secrets is not None
        assert live.secrets.escrow not in b"\0".join(wire.seen)


async def test_answers_for_a_down_card_have_the_same_length_for_all_52_cards(tmp_path: Path) -> None:
    lengths, cards = set(), set()
    reference = DECK_KINDS["standard52"]
    turned = Sources(stacked=lambda state: (*reference[state.number - 1 :], *reference[: state.number - 1]))
    async with dealer_inside(tmp_path / "data", turned) as (_, room):
        for _ in range(52):
            hand = await room.open("t", game=t.GAME_FREE_DRAW, seats=[1])
            request = pb.DrawCardsRequest(
                request_id=rid(), hand_id=hand.hand_id, draws=[pb.Draw(seat=1, face=t.FACE_DOWN)]
            )
            data = await room.channel.unary_unary(DEALER + "DrawCards")(request.SerializeToString())
            cards.add(pb.DrawCardsResponse.FromString(data).cards[0].card)
            lengths.add(len(data))
            await room.close(hand.hand_id)
    assert len(cards) == 52
    assert len(lengths) == 1
