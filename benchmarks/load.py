"""Plays eight-handed stud over gRPC from a process of its own: `python -m benchmarks.load ADDRESS WAY HANDS TABLES`.

It prints one JSON object: hands played, hands checked, seconds, and the seconds of each street. What it plays against
may be the dealer or one of the servers of `benchmarks.bare`; it does the same work for all of them. With `--key` it
checks one hand in sixteen wholly, as a customer's load generator would: both receipts under the key, the seed of the
close against the commit, and every card and salt against the deck that the seed gives. By the way `client`
all hands go through the client of `dealer.client`, which needs the key and checks everything of each.
"""

import asyncio
import json
import uuid
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import asdict, dataclass, field
from itertools import count
from pathlib import Path
from time import perf_counter

import click
import grpc

from dealer.client import Client, prove, tls_credentials
from dealer.core.deck import derive_deck
from dealer.core.seed import Seed
from dealer.log.note import NoteVerifier
from dealer.v1 import dealer_pb2 as pb
from dealer.v1 import dealer_pb2_grpc as rpc
from dealer.v1 import table_pb2, table_pb2_grpc
from dealer.v1 import types_pb2 as types

SEATS = (1, 2, 3, 4, 5, 6, 7, 8)
STREETS = (
    types.STREET_THIRD,
    types.STREET_FOURTH,
    types.STREET_FIFTH,
    types.STREET_SIXTH,
    types.STREET_SEVENTH,
)
NAMES = ("third", "fourth", "fifth", "sixth", "seventh")
ONE_CHECKED_IN = 16
WARM = 20
STAKES = table_pb2.Stakes(ante=25, bring_in=50, small_bet=100, big_bet=200)
PASSIVE = (table_pb2.ACTION_BRING_IN, table_pb2.ACTION_CHECK, table_pb2.ACTION_CALL)


@dataclass
class Played:
    """What one run played.

    Attributes:
        hands: hands that were closed.
        checked: how many of them were checked wholly.
        seconds: the whole run.
        streets: the wait for each street, in seconds.
        at: when each of these was asked for, in seconds from the start; of paced runs the moment it was due.
        acts: actions of seats at the referee's tables.
    """

    hands: int = 0
    checked: int = 0
    seconds: float = 0.0
    streets: list[float] = field(default_factory=list)
    at: list[float] = field(default_factory=list)
    acts: int = 0


@dataclass
class Kept:
    """A hand that is being played: how far it is, and its answers if it is one of those to be checked."""

    checked: bool
    hand_id: str = ""
    streets: int = 0
    asked: float = 0.0
    opened: pb.OpenHandResponse | None = None
    cards: list[types.Card] = field(default_factory=list)


def opening(table: str) -> pb.OpenHandRequest:
    """Asks for the next hand of a table."""
    return pb.OpenHandRequest(
        request_id=str(uuid.uuid4()),
        table=table,
        game=types.GAME_SEVEN_CARD_STUD,
        seats=SEATS,
        reveal=types.REVEAL_PUBLIC,
    )


def street(hand_id: str, name: "types.Street.ValueType") -> pb.DealStreetRequest:
    """Asks for a street."""
    return pb.DealStreetRequest(request_id=str(uuid.uuid4()), hand_id=hand_id, street=name)


def closing(hand_id: str) -> pb.CloseHandRequest:
    """Asks for the close."""
    return pb.CloseHandRequest(request_id=str(uuid.uuid4()), hand_id=hand_id)


def check(hand: Kept, closed: pb.CloseHandResponse, key: NoteVerifier) -> None:
    """Checks a whole hand; raises where something does not hold."""
    assert hand.opened is not None
    opened = hand.opened.hand
    commit = prove(opened.commit_entry, opened.receipt, key, opened.commit_index).content
    close = prove(closed.entry, closed.receipt, key).content
    identity, seed = uuid.UUID(opened.hand_id).bytes, Seed(bytes.fromhex(close["seed"]))
    deck = derive_deck("standard52", identity, bytes.fromhex(commit["entropy_digest"]), seed)
    right = (
        commit["hand"] == close["hand"] == opened.hand_id
        and commit["seed_commitment"] == seed.commitment(identity).hex()
        and bytes.fromhex(commit["deck_commitment"]) == deck.commitment
        and opened.card_commitments == deck.card_commitments
        and [card.position for card in hand.cards] == list(range(49))
        and all(deck.cards[card.position] == card.card for card in hand.cards)
        and all(deck.salt(card.position) == card.salt for card in hand.cards)
    )
    if not right:
        raise RuntimeError(f"hand {opened.hand_id} does not hold")


class Room:
    """A load generator: which hands it checks, and what it has played."""

    def __init__(self, key: str | None) -> None:
        self.key = NoteVerifier.parse(key) if key else None
        self.played = Played()
        self.start = perf_counter()
        self._opened = count()

    def hand(self) -> Kept:
        """Begins a hand."""
        return Kept(checked=self.key is not None and next(self._opened) % ONE_CHECKED_IN == 0)

    def opened(self, hand: Kept, answer: pb.OpenHandResponse) -> None:
        """Takes the answer that opened a hand."""
        hand.hand_id = answer.hand.hand_id
        if hand.checked:
            hand.opened = answer

    def dealt(self, hand: Kept, answer: pb.DealStreetResponse) -> None:
        """Takes a street."""
        self.played.streets.append(perf_counter() - hand.asked)
        self.played.at.append(hand.asked - self.start)
        hand.streets += 1
        if hand.checked:
            hand.cards.extend(answer.cards)

    def closed(self, hand: Kept, answer: pb.CloseHandResponse) -> None:
        """Takes the close, and checks the hand where it is one of those."""
        self.played.hands += 1
        if hand.checked and self.key is not None:
            check(hand, answer, self.key)
            self.played.checked += 1

    async def calls(self, stub: "rpc.DealerServiceAsyncStub", hands: int, tables: int) -> None:
        """Plays with one call for each request, one hand after another at each table, all tables at once."""
        left, run = count(), uuid.uuid4().hex

        async def sit(table: str) -> None:
            while next(left) < hands:
                await self.hand_by_calls(stub, table)

        await asyncio.gather(*(sit(f"{run}.{number}") for number in range(tables)))

    async def hand_by_calls(
        self, stub: "rpc.DealerServiceAsyncStub", table: str, due: list[float] | None = None
    ) -> None:
        """Plays one hand; with `due` each street is asked for at its time on the clock, and its wait counts from it."""
        hand = self.hand()
        self.opened(hand, await stub.OpenHand(opening(table)))
        for index, name in enumerate(STREETS):
            hand.asked = perf_counter()
            if due is not None:
                await asyncio.sleep(max(0.0, due[index] - hand.asked))
                hand.asked = due[index]
            self.dealt(hand, await stub.DealStreet(street(hand.hand_id, name)))
        self.closed(hand, await stub.CloseHand(closing(hand.hand_id)))

    async def paced(self, stub: "rpc.DealerServiceAsyncStub", hands: int, in_play: int, rate: float) -> None:
        """Opens `rate` hands a second, come what may, and paces each so that `in_play` hands are in play at any time.

        An open loop: a server that falls behind is not waited for, so that its stalls count for all who came meanwhile.
        """
        run, begin, pause = uuid.uuid4().hex, perf_counter() + 0.1, in_play / rate / len(STREETS)
        playing = []
        for number in range(hands):
            opens = begin + number / rate
            await asyncio.sleep(max(0.0, opens - perf_counter()))
            due = [opens + pause * (index + 1) for index in range(len(STREETS))]
            playing.append(asyncio.ensure_future(self.hand_by_calls(stub, f"{run}.{number}", due)))
        await asyncio.gather(*playing)

    async def stream(self, stub: "rpc.DealerServiceAsyncStub", hands: int, tables: int) -> None:
        """Plays all tables over one PlayHands stream, one street a hand and message: between streets lies the betting.

        What one message of answers allows goes out in one message.
        """
        run, opened, playing = uuid.uuid4().hex, 0, dict[str, Kept]()
        outbox: asyncio.Queue[pb.PlayHandsRequest | None] = asyncio.Queue()

        async def messages() -> AsyncIterator[pb.PlayHandsRequest]:
            while (message := await outbox.get()) is not None:
                yield message

        def begin(message: pb.PlayHandsRequest, table: str) -> None:
            playing[table] = self.hand()
            message.requests.add(correlation_id=table, open_hand=opening(table))

        first = pb.PlayHandsRequest()
        for number in range(min(hands, tables)):
            begin(first, f"{run}.{number}")
            opened += 1
        outbox.put_nowait(first)
        async for answers in stub.PlayHands(messages()):
            message = pb.PlayHandsRequest()
            for answer in answers.responses:
                table, kind = answer.correlation_id, answer.WhichOneof("response")
                hand = playing[table]
                if kind == "error":
                    raise RuntimeError(answer.error.message)
                if kind == "open_hand":
                    self.opened(hand, answer.open_hand)
                elif kind == "deal_street":
                    self.dealt(hand, answer.deal_street)
                elif kind == "close_hand":
                    self.closed(hand, answer.close_hand)
                    if opened < hands:
                        opened += 1
                        begin(message, table)
                    continue
                if hand.streets < len(STREETS):
                    hand.asked = perf_counter()
                    message.requests.add(correlation_id=table, deal_street=street(hand.hand_id, STREETS[hand.streets]))
                else:
                    message.requests.add(correlation_id=table, close_hand=closing(hand.hand_id))
            if message.requests:
                outbox.put_nowait(message)
            if self.played.hands == hands:
                outbox.put_nowait(None)

    async def client(self, client: Client, hands: int, tables: int) -> None:
        """Plays all tables with one client, which checks every hand wholly."""
        left, run = count(), uuid.uuid4().hex

        async def sit(table: str) -> None:
            while next(left) < hands:
                await self.hand_by_client(client, table)

        await asyncio.gather(*(sit(f"{run}.{number}") for number in range(tables)))

    async def hand_by_client(self, client: Client, table: str) -> None:
        """Plays one hand."""
        hand = await client.open_hand(table, SEATS)
        for name in NAMES:
            asked = perf_counter()
            await hand.deal_street(name)
            self.played.streets.append(perf_counter() - asked)
            self.played.at.append(asked - self.start)
        await hand.close()
        self.played.hands += 1
        self.played.checked += 1

    async def tables(self, stub: "table_pb2_grpc.TableServiceAsyncStub", hands: int, tables: int) -> None:
        """Has the referee run check/call hands to the showdown, one after another at each table, all tables at once."""
        left, run = count(), uuid.uuid4().hex

        async def sit(table: str) -> None:
            while next(left) < hands:
                await self.hand_by_referee(stub, table)

        await asyncio.gather(*(sit(f"{run}.{number}") for number in range(tables)))

    async def hand_by_referee(self, stub: "table_pb2_grpc.TableServiceAsyncStub", table: str) -> None:
        """Plays one hand; every seat does the cheapest thing that keeps it in."""
        request = table_pb2.StartHandRequest(
            request_id=str(uuid.uuid4()),
            table=table,
            game=types.GAME_SEVEN_CARD_STUD,
            stakes=STAKES,
            seats=[table_pb2.SeatStack(seat=seat, stack=100_000) for seat in SEATS],
            reveal=types.REVEAL_PUBLIC,
        )
        started = await stub.StartHand(request)
        tokens, hand = {each.seat: each.token for each in started.tokens}, started.table_hand
        while not hand.finished:
            option = next(option for option in hand.options if option.action in PASSIVE)
            act = table_pb2.ActRequest(
                request_id=str(uuid.uuid4()),
                hand_id=started.table_hand.hand_id,
                seat=hand.to_act,
                token=tokens[hand.to_act],
                action=option.action,
                amount=option.amount,
            )
            hand = (await stub.Act(act)).table_hand
            self.played.acts += 1
        self.played.hands += 1


def _channel(address: str, certificates: Path | None) -> grpc.aio.Channel:
    if certificates is None:
        return grpc.aio.insecure_channel(address)
    return grpc.aio.secure_channel(
        address, tls_credentials(*(certificates / name for name in ("ca.pem", "room.pem", "room.key")))
    )


async def _run(
    address: str, way: str, hands: int, tables: int, key: str | None, rate: float, certificates: Path | None
) -> Played:
    async with AsyncExitStack() as stack:
        channel = await stack.enter_async_context(_channel(address, certificates))
        if way == "client":
            client = await stack.enter_async_context(Client(address, key or "", stream=True))
        stub: rpc.DealerServiceAsyncStub = rpc.DealerServiceStub(channel)
        referee: table_pb2_grpc.TableServiceAsyncStub = table_pb2_grpc.TableServiceStub(channel)

        async def play(room: Room, hands: int, tables: int) -> None:
            if way == "client":
                await room.client(client, hands, tables)
            elif way == "stream":
                await room.stream(stub, hands, tables)
            elif way == "tables":
                await room.tables(referee, hands, tables)
            elif way == "paced" and hands > WARM:
                await room.paced(stub, hands, tables, rate)
            else:
                await room.calls(stub, hands, tables)

        await play(Room(key), min(hands, WARM), min(tables, WARM))
        room = Room(key)
        await play(room, hands, tables)
        room.played.seconds = perf_counter() - room.start
    return room.played


@click.command()
@click.argument("address")
@click.argument("way", type=click.Choice(["calls", "stream", "client", "paced", "tables"]))
@click.argument("hands", type=int)
@click.argument("tables", type=int)
@click.option(
    "--key", default=None, help="The log's verifier key: one hand in sixteen is checked; by `client` every one."
)
@click.option("--rate", type=float, default=100.0, help="Hands a second that a paced run opens.")
@click.option(
    "--certificates", type=click.Path(path_type=Path), default=None, help="A folder: ca.pem, room.pem and room.key."
)
def main(
    address: str, way: str, hands: int, tables: int, key: str | None, rate: float, certificates: Path | None
) -> None:
    """Plays a few hands to warm up, then those that count."""
    if way == "client" and key is None:
        raise click.UsageError("the client checks every hand under the log's key: give --key")
    print(json.dumps(asdict(asyncio.run(_run(address, way, hands, tables, key, rate, certificates)))))


if __name__ == "__main__":
    main()
