"""The client of a room's backend: opens hands at a dealer whose log key it has from elsewhere, and believes nothing."""

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Any, overload
from uuid import UUID, uuid4

import grpc

from dealer.client import evidence
from dealer.client.calls import Caller, Retry
from dealer.client.channel import connect
from dealer.client.checks import Asked, require
from dealer.client.contribution import Contribution
from dealer.client.cosigned import read_wanted
from dealer.client.errors import ANSWER_LOST, CallError, CheckError, LostError, UsageError
from dealer.client.folder import Folder
from dealer.client.hand import Hand, Shared
from dealer.client.hand_seat import HandSeat
from dealer.client.log import LogView
from dealer.client.sealed import Sealed, SeatKey
from dealer.client.seat import Seat, Through, Token, require_certified, sealed_seat
from dealer.client.stream import StreamStub
from dealer.client.table import Table
from dealer.client.values import HandInPlay, game_value, parse_reveal, read_in_play, reveal_value
from dealer.client.watched import WatchedHand
from dealer.core.hand import Reveal
from dealer.core.ids import MAX_INTEGER
from dealer.core.seed import Entropy
from dealer.games.plans import GAMES
from dealer.log.checkpoint import Checkpoint
from dealer.table.stakes import Stakes
from dealer.v1 import dealer_pb2 as pb
from dealer.v1 import dealer_pb2_grpc, log_pb2_grpc, table_pb2, table_pb2_grpc, types_pb2

_DIGITS = len(str(MAX_INTEGER))
_PAGE = 1000
_OF_THE_TABLE = ("WRONG_NUMBER", "TABLE_BUSY")
_NOBODY: Mapping[str, bytes] = MappingProxyType({})
_NO_KEYS: Mapping[int, bytes] = MappingProxyType({})


class Client:
    """Deals certified hands and checks everything that it is given (PROTOCOL.md, section 10).

    ```python
    async with Client("127.0.0.1:50051", key) as client:
        hand = await client.open_hand("table-1", seats=[1, 2, 3])
        cards = await hand.deal_street("third")
    ```
    """

    def __init__(
        self,
        address: str | Sequence[str],
        key: str,
        *,
        server_name: str | None = None,
        folder: Path | str | None = None,
        credentials: grpc.ChannelCredentials | None = None,
        retry: Retry | None = None,
        stream: bool = False,
        policy: Path | str | None = None,
        witnessed: str | None = None,
        witness_seconds: float = 10.0,
        on_unwitnessed: Callable[[Hand], object] | None = None,
        request_ids: Callable[[], UUID] = uuid4,
        entropy: Entropy = os.urandom,
    ) -> None:
        """Reads the key and the folder; connects when it is first needed.

        Args:
            address: HOST:PORT; or those of several dealers on one log, of which one deals at a time.
            key: the log's verifier key, `name+id+key`. It has to come from elsewhere than the dealer: who is given the
                key by a liar can check nothing.
            server_name: the DNS name that the certificates of several dealers share.
            folder: where the newest checkpoint, the tables' numbers, receipts and evidence are kept from one run to
                the next; None: they are forgotten, evidence apart.
            credentials: for TLS; None: a plain connection, for the loopback.
            retry: how long an unavailable dealer is asked again; None: for 30 seconds.
            stream: whether hands are played over one PlayHands stream. What many hands ask for at once goes out in one
                message, which costs both sides less; for one hand at a time it changes nothing.
            policy: a policy file, or its text: whose cosignatures count, and how many. Without one nobody's do.
            witnessed: "no"; "close", as it is with a policy: after a hand's close its receipt is asked for in the
                background until witnesses enough have cosigned it; "commit": also the first card is asked for only once
                the commit is cosigned, which takes seconds a hand.
            witness_seconds: the dealer's pace of asking witnesses.
            on_unwitnessed: called with a hand whose close has no such receipt within 60 seconds and two paces, or got
                one that does not hold; `Hand.witnessed` says which.
            request_ids: makes the ids of requests; a test may drive it.
            entropy: what contributions are drawn from: the operating system's CSPRNG, but in tests.

        Raises:
            NoteError: the key does not decode.
            FolderError: the folder cannot be read, or remembers another key.
            PolicyError: the policy does not decode.
            UsageError: there is no such mode, it needs a policy, or the policy is another log's.
        """
        wanted = read_wanted(policy, witnessed, witness_seconds, on_unwitnessed, key)
        several = not isinstance(address, str)
        self._channel = connect(address, credentials, server_name=server_name)
        self._log_channel = self._channel
        if several:
            self._log_channel = connect(address, credentials, "dealer.v1.LogService", server_name)
        self._folder = Folder(None if folder is None else Path(folder), key)
        calls = Caller(retry or Retry(), request_ids, wait_for_ready=several)
        self._log = LogView(log_pb2_grpc.LogServiceStub(self._log_channel), calls, key, self._folder)
        stub = dealer_pb2_grpc.DealerServiceStub(self._channel)
        self._table_stub: Any = table_pb2_grpc.TableServiceStub(self._channel)
        self._stream = StreamStub(stub.PlayHands) if stream else None
        self._shared = Shared(self._stream or stub, calls, self._log, self._folder, key, wanted)
        self._entropy = entropy
        self._drawn: dict[str, dict[str, Contribution]] = {}  # by table and id, until the hand is opened or refused

    async def __aenter__(self) -> "Client":
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Lets go of the connection. Hands in play stay in play, and receipts are asked for no more."""
        self._log.closed = True
        for task in list(self._shared.background):
            task.cancel()
        await asyncio.gather(*self._shared.background, return_exceptions=True)
        if self._stream is not None:
            await self._stream.aclose()
        await self._channel.close()
        if self._log_channel is not self._channel:
            await self._log_channel.close()

    @property
    def checkpoint(self) -> Checkpoint | None:
        """The greatest tree of the log that was seen and found to extend all before; None: none yet."""
        return self._log.seen

    async def refresh(self) -> Checkpoint:
        """Asks for the log's newest checkpoint, checks that it extends the last one seen, and returns it.

        Raises:
            CheckError: it is not signed by the log's key, or does not extend what was seen.
            CallError: the dealer did not answer.
        """
        with self._checked():
            return await self._log.refresh()

    async def open_hand(
        self,
        table: str,
        seats: Sequence[int],
        *,
        game: str = "seven-card-stud",
        deck: str = "standard52",
        reveal: Reveal | str = Reveal.PUBLIC,
        number: int | None = None,
        contribute_as: Sequence[str] = (),
        invited: Mapping[str, bytes] = _NOBODY,
        seat_keys: Mapping[int, bytes] = _NO_KEYS,
        request_id: UUID | None = None,
    ) -> Hand:
        """Opens the table's next hand, and checks its commit before it returns.

        Args:
            table: table id.
            seats: in dealing order, clockwise from the dealer's left.
            game: "seven-card-stud", "seven-card-stud-hi-lo" or "free-draw".
            deck: deck kind, "standard52" or "short36".
            reveal: "public" or "sealed".
            number: the hand's number; None: one more than the last that this client knows of; 0: whatever is next.
            contribute_as: ids under which this client contributes entropy itself: it draws, commits, and sends the
                values once the offer's receipt holds.
            invited: others' commitments by their ids. If there are any, the hand comes back offered: give their
                values to `Hand.submit` and end with `Hand.lock`.
            seat_keys: players' public keys by their seats, whose down cards are then sealed to them; with a sealed
                reveal alone. See `Hand.view`.
            request_id: the request's id, if the caller wants to choose it.

        Raises:
            UsageError: no such game or policy.
            CallError: the dealer refused or did not answer. The same call again is then the same request.
            LostError: the dealer has lost the hand, or its answer. The same call again opens another hand.
            CheckError: what the dealer answered does not hold.
        """
        offering = (number, contribute_as, invited, seat_keys)
        asked, own = await self._asked(table, seats, game, deck, reveal, *offering)
        request = _open_request(asked)
        answer = await self._open("OpenHand", self._shared.stub.OpenHand, asked, request, request_id)
        hand = Hand(self._shared)
        try:
            await hand.begin(answer.hand, asked, own)
        except LostError:
            self._take_number(table, hand.number)
            raise
        except (CallError, asyncio.CancelledError):
            self._shared.calls.keep_open("OpenHand", request)  # the hand is there: asked again, it goes on
            raise
        self._take_number(table, hand.number)
        return hand

    async def start_hand(
        self,
        table: str,
        stacks: Mapping[int, int],
        stakes: Stakes,
        *,
        game: str = "seven-card-stud",
        reveal: Reveal | str = Reveal.PUBLIC,
        action_seconds: int = 0,
        number: int | None = None,
        contribute_as: Sequence[str] = (),
        invited: Mapping[str, bytes] = _NOBODY,
        seat_keys: Mapping[int, bytes] = _NO_KEYS,
        request_id: UUID | None = None,
    ) -> Table:
        """Has the referee start the table's next hand, and checks its commit, or its offer, before it returns.

        Args:
            table: table id.
            stacks: the seats in dealing order, and what each brings.
            stakes: what is played for.
            game: "seven-card-stud" or "seven-card-stud-hi-lo".
            reveal: "public" or "sealed".
            action_seconds: the time for each action; 0: the dealer's usual 30.
            number: as in `open_hand`.
            contribute_as: as in `open_hand`.
            invited: others' commitments by their ids. If there are any, the hand comes back offered: give their values
                to `Table.submit` and end with `Table.lock`.
            seat_keys: players' public keys by their seats, whose down cards are then sealed to them; such a seat has no
                token, and its player acts by proofs. See `Table.relay`.
            request_id: the request's id, if the caller wants to choose it. Only the same request under the same id
                gives the seats' tokens again, to a room that was killed.

        Raises:
            UsageError: no such game or policy.
            CallError: the dealer refused or did not answer. The same call again is then the same request.
            LostError: the dealer has lost the hand, or its answer.
            CheckError: what the dealer answered does not hold.
        """
        offering = (number, contribute_as, invited, seat_keys)
        asked, own = await self._asked(table, tuple(stacks), game, "standard52", reveal, *offering)
        request = _start_request(asked, stacks, stakes, action_seconds)
        stub = self._table_stub
        answer: table_pb2.StartHandResponse = await self._open("StartHand", stub.StartHand, asked, request, request_id)
        tokens = {each.seat: each.token for each in answer.tokens}
        hand_id = answer.table_hand.hand_id
        started = Table(stub, self._shared.calls, self._log, hand_id, asked, tokens)
        try:
            await started.begin(own)
        except (CallError, asyncio.CancelledError):
            self._shared.calls.keep_open("StartHand", request)
            raise
        self._take_number(table, started.number)
        return started

    @overload
    async def resume_table(self, hand_id: str) -> Table: ...

    @overload
    async def resume_table(self, *, table: str) -> Table | None: ...

    async def resume_table(self, hand_id: str | None = None, *, table: str | None = None) -> Table | None:
        """Takes a referee's hand up again: everything that happened is told again, and checked as it comes.

        Args:
            hand_id: its UUID.
            table: the table whose hand in play it is.

        Returns:
            The hand, its first event checked; None if the table has none in play.

        Raises:
            UsageError: neither or both were given.
            CallError: the dealer refused or did not answer; `HAND_NOT_FOUND` also if the referee does not run the hand.
            LostError: the dealer has lost the hand.
            CheckError: something does not hold.
        """
        wanted = await self._wanted(hand_id, table)
        if not wanted:
            return None
        found = Table(self._table_stub, self._shared.calls, self._log, wanted, None, {})
        await found.begin()
        with self._checked():
            require(table in (None, found.table), "lifecycle", f"a hand of table {table} was asked for")
        self._take_number(found.table, found.number)
        return found

    def seat(
        self, hand_id: str, seat: int, token: bytes, *, table: str, contribution: Contribution | None = None
    ) -> Seat:
        """Returns a player's side of a referee's hand: for a player's own program, with its own connection.

        Args:
            hand_id: UUID of the hand.
            seat: the seat.
            token: the seat's, as the room handed it on.
            table: the table at which the player sits: a hand of another one is refused.
            contribution: the player's own, if it was invited; see `Seat.value`.
        """
        known = self._folder.numbers.get(table, 0)
        watched = WatchedHand(self._log, None, seat, table=table, number=max(known, 1), contribution=contribution)
        return Seat(self._table_stub, self._shared.calls, watched, hand_id, seat, Token(token), contribution)

    def sealed_seat(
        self,
        hand_id: str,
        seat: int,
        key: SeatKey,
        *,
        table: str,
        reveal: Reveal | str,
        number: int | None = None,
        envelope: bytes = b"",
        contribution: Contribution | None = None,
        through: Through | None = None,
        resumed: bool = False,
        allow_test: bool = False,
    ) -> Seat:
        """Returns the side of a player whose seat is sealed, of a referee's hand; it has no token, and acts by proofs.

        Everything is checked that docs/seats.md asks of a player's program: a room that swaps or drops the key, hides
        prompts, lets the clock play the hand out and plays it again to its player, or goes on after the close is found.

        Args:
            hand_id: UUID of the hand.
            seat: the seat.
            key: drawn for this hand alone; its public half went to the room.
            table: the table at which the player sits.
            reveal: the policy that the player plays with.
            number: the hand's number; None: one after the last that this client knows of at the table, or if `resumed`
                that one.
            envelope: the seat's of `Table.envelopes`, as the room handed it on: without it the dealer's public listener
                shows nothing.
            contribution: the player's own, if it was invited; see `Seat.value`.
            through: the way to the dealer through the room; None: this client's own connection. The log is read by this
                client's own in any case.
            resumed: whether an earlier run of this program may have acted in this hand.
            allow_test: whether to play on a test double.

        Raises:
            UsageError: no such policy; or the log is a test double's, and that was not allowed.
            CheckError: the envelope does not open.
        """
        own = Sealed(seat, key)
        if envelope:
            with self._checked():
                own.open_envelope(UUID(hand_id).bytes, envelope)
        return sealed_seat(
            through or self._table_stub,
            self._shared.calls,
            self._log,
            hand_id,
            own,
            table=table,
            number=self._least(table, number, resumed=resumed),
            exact=number is not None,
            reveal=parse_reveal(reveal),
            contribution=contribution,
            resumed=resumed,
            allow_test=allow_test,
        )

    def hand_seat(
        self,
        seat: int,
        key: SeatKey,
        *,
        table: str,
        number: int | None = None,
        contribution: Contribution | None = None,
        resumed: bool = False,
        allow_test: bool = False,
    ) -> HandSeat:
        """Returns the side of a player whose seat is sealed, of a hand that a room deals by `Client.open_hand`.

        Args:
            seat: the seat.
            key: drawn for this hand alone; its public half went to the room.
            table: the table at which the player sits.
            number: as in `sealed_seat`.
            contribution: the player's own, if it was invited; see `HandSeat.value`.
            resumed: whether an earlier run of this program may have folded or consented in this hand.
            allow_test: whether to play on a test double.

        Raises:
            UsageError: the log is a test double's, and that was not allowed.
        """
        require_certified(self._log, allow_test=allow_test)
        least, exact = self._least(table, number, resumed=resumed), number is not None
        return HandSeat(self._log, Sealed(seat, key), table, least, contribution, exact=exact, resumed=resumed)

    def _least(self, table: str, number: int | None, *, resumed: bool) -> int:
        """Returns the number that a player's next hand has to have at least; a hand taken up again may be the last."""
        known = self._folder.numbers.get(table, 0)
        return number or max(1, known if resumed else known + 1)

    async def _asked(
        self,
        table: str,
        seats: Sequence[int],
        game: str,
        deck: str,
        reveal: Reveal | str,
        number: int | None,
        contribute_as: Sequence[str],
        invited: Mapping[str, bytes],
        seat_keys: Mapping[int, bytes],
    ) -> tuple[Asked, list[Contribution]]:
        """Makes what is asked for of the arguments of a call that opens a hand, and draws what it contributes."""
        if game not in GAMES:
            raise UsageError(f"{game!a} is no game: {', '.join(GAMES)}")
        known = self._folder.numbers.get(table, 0)
        if number is None:
            number = await self._number(table, known, for_entropy=bool(contribute_as or invited))
        if not number and (contribute_as or invited):
            raise UsageError("contributions are for one number: leave `number` out, or give it")
        own = [self._contribution(table, number, name) for name in contribute_as]
        commitments = [(each.contributor, each.commitment) for each in own] + list(invited.items())
        policy = parse_reveal(reveal)
        keys = tuple(seat_keys.items())
        return Asked(table, number, known, GAMES[game], deck, tuple(seats), policy, tuple(commitments), keys), own

    @overload
    async def resume(self, hand_id: str) -> Hand: ...

    @overload
    async def resume(self, *, table: str) -> Hand | None: ...

    async def resume(self, hand_id: str | None = None, *, table: str | None = None) -> Hand | None:
        """Takes a hand up again that an earlier run of this client, or another one of the room, has opened.

        Everything is rebuilt and checked: entries and receipts against the log as it was seen, and against what the
        folder has of the hand; every card against its commitment. Then the hand goes on, or is voided, as any other.
        Values that an earlier run drew itself and did not send are gone: they are withheld.

        Args:
            hand_id: its UUID; one that is over is looked up in the log with its end.
            table: the table whose hand in play it is.

        Returns:
            The hand; None if the table has none in play.

        Raises:
            UsageError: neither or both were given.
            CallError: the dealer refused or did not answer; `REFEREE_HAND`: the referee runs it.
            LostError: the dealer has lost the hand.
            CheckError: something does not hold.
        """
        wanted = await self._wanted(hand_id, table)
        if not wanted:
            return None
        with self._checked():
            request = pb.GetHandRequest(hand_id=wanted)
            answer: pb.GetHandResponse = await self._shared.calls.ask("GetHand", self._shared.stub.GetHand, request)
            found = answer.hand
            require(found.hand_id == wanted, "lifecycle", f"hand {wanted} was asked for, and another one came")
            require(table in (None, found.table), "lifecycle", f"a hand of table {table} was asked for")
        hand = Hand(self._shared)
        await hand.take_up(answer)
        known = self._folder.numbers.get(hand.table, 0)
        if hand.in_play and hand.number < known:
            with self._checked():
                said = f"hand {hand.number} of {hand.table} is in play, the dealer says; it has proven hand {known}"
                raise CheckError("lifecycle", said)
        self._take_number(hand.table, hand.number)
        return hand

    async def _wanted(self, hand_id: str | None, table: str | None) -> str:
        """Returns the hand that is to be taken up again; "" if it is a table's, which has none in play."""
        if (hand_id is None) == (table is None):
            raise UsageError("name the hand or the table that is to be taken up again, one of them")
        return hand_id if table is None and hand_id else (await self._table(table or "")).hand_id

    async def hands_in_play(self) -> tuple[HandInPlay, ...]:
        """Lists the room's own hands in play, the oldest first: what `resume` can take up again.

        Raises:
            CallError: the dealer refused or did not answer.
        """
        found: list[HandInPlay] = []
        request = pb.ListHandsRequest(page_size=_PAGE)
        while True:
            answer: pb.ListHandsResponse = await self._shared.calls.ask(
                "ListHands", self._shared.stub.ListHands, request
            )
            found += [read_in_play(each) for each in answer.hands]
            if not answer.next_page_token or not answer.hands:
                return tuple(found)
            request.page_token = answer.next_page_token

    async def _table(self, table: str) -> pb.GetTableResponse:
        """Looks a table up; a dealer that denies a hand that it has proven was rolled back, or is forked."""
        with self._checked():
            request = pb.GetTableRequest(table=table)
            answer: pb.GetTableResponse = await self._shared.calls.ask("GetTable", self._shared.stub.GetTable, request)
            number, known = answer.next_number, self._folder.numbers.get(table, 0)
            require(0 < number <= MAX_INTEGER, "schema", f"the next hand of table {table} is said to be {number}")
            if number <= known:
                await self._log.refresh()
                raise CheckError("lifecycle", _denied(table, str(number), known))
        return answer

    def _take_number(self, table: str, number: int) -> None:
        """Remembers that the log holds the table's hand of this number."""
        self._drawn.pop(table, None)
        self._folder.take_number(table, number)

    async def _open(self, method: str, call: Any, asked: Asked, request: Any, request_id: UUID | None) -> Any:
        with self._checked():
            try:
                return await self._shared.calls.change(method, call, request, request_id)
            except CallError as error:
                if error.refused or error.reason == ANSWER_LOST:
                    self._drawn.pop(asked.table, None)
                if error.reason == ANSWER_LOST:
                    raise LostError(error, str(error), None) from error
                await self._hold_to_what_is_proven(error, asked)
                raise

    async def _hold_to_what_is_proven(self, error: CallError, asked: Asked) -> None:
        """Looks at the log if a dealer denies a hand that it has proven: it was rolled back, or is forked.

        Raises:
            CheckError: it does not extend what was seen; or it does, and the dealer denies what stands there.
        """
        said = error.metadata.get("next_number", "")[:_DIGITS]
        if not asked.after or error.reason not in _OF_THE_TABLE or (said.isdecimal() and int(said) > asked.after):
            return
        with suppress(CallError):  # the dealer is gone meanwhile: then its refusal is all there is to tell
            await self._log.refresh()
            if said:
                raise CheckError("lifecycle", _denied(asked.table, said, asked.after))

    def _checked(self) -> AbstractContextManager[None]:
        return evidence.keeping(evidence.Evidence(self._shared.key), self._folder.evidence)

    async def _number(self, table: str, known: int, *, for_entropy: bool) -> int:
        """The number to ask for: that of a hand whose opening was never answered, or one more than the last."""
        if for_entropy and self._drawn.get(table):
            return next(iter(self._drawn[table].values())).number
        if known:
            return known + 1
        return await self.next_number(table) if for_entropy else 0

    def _contribution(self, table: str, number: int, name: str) -> Contribution:
        """Draws a value once for each hand, so that a hand that is asked for again is the same request."""
        drawn = self._drawn.setdefault(table, {})
        if name not in drawn or drawn[name].number != number:
            drawn[name] = Contribution.draw(table, number, name, self._entropy)
        return drawn[name]

    async def next_number(self, table: str) -> int:
        """Asks for a table's next number: for a client that does not know the table yet.

        The dealer refuses a hand of another number, so a wrong answer opens nothing.

        Raises:
            CheckError: `lifecycle` if the dealer has proven a hand of this number before.
            CallError: the dealer refused or did not answer.
        """
        return (await self._table(table)).next_number


def _denied(table: str, said: str, proven: int) -> str:
    return f"the next hand of table {table} is number {said}, the dealer says; it has proven hand {proven}"


def _open_request(asked: Asked) -> pb.OpenHandRequest:
    return pb.OpenHandRequest(
        table=asked.table,
        game=game_value(asked.game),
        deck=asked.deck,
        seats=asked.seats,
        reveal=reveal_value(asked.reveal),
        contributors=[pb.Contributor(id=name, commitment=commitment) for name, commitment in asked.invited],
        number=asked.number,
        seat_keys=[types_pb2.SeatKey(seat=seat, key=key) for seat, key in asked.seat_keys],
    )


def _start_request(
    asked: Asked, stacks: Mapping[int, int], stakes: Stakes, action_seconds: int
) -> table_pb2.StartHandRequest:
    opening = _open_request(asked)
    return table_pb2.StartHandRequest(
        table=asked.table,
        game=opening.game,
        stakes=table_pb2.Stakes(
            ante=stakes.ante,
            bring_in=stakes.bring_in,
            small_bet=stakes.small_bet,
            big_bet=stakes.big_bet,
            chip=stakes.chip,
            open_pair_double=stakes.open_pair_double,
        ),
        seats=[table_pb2.SeatStack(seat=seat, stack=stack) for seat, stack in stacks.items()],
        reveal=opening.reveal,
        action_seconds=action_seconds,
        contributors=opening.contributors,
        number=asked.number,
        seat_keys=opening.seat_keys,
    )
