"""Answers put together from bytes are, to the byte, what protobuf's deterministic encoding gives."""

from hashlib import sha256
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from dealer.core.deck import derive_deck
from dealer.core.hand import Deal, Dealt, Face, Fold, HandState, Reveal, Status
from dealer.core.seats import SEALED_BYTES
from dealer.core.seed import Seed
from dealer.games.plans import GAMES
from dealer.service.rpc import splice
from dealer.service.rpc.answers import hand_bytes, hand_message
from dealer.service.rpc.requests import body_digest
from dealer.service.writer.live import LiveHand
from dealer.service.writer.seats import no_seals
from dealer.v1 import dealer_pb2 as pb
from dealer.v1 import types_pb2 as t

names = st.from_regex(r"[A-Za-z0-9._-]{1,64}", fullmatch=True)
indexes = st.one_of(st.none(), st.integers(0, 2**53 - 1))
seat = st.integers(0, 255)
envelopes = st.builds(t.SeatEnvelope, seat=seat, envelope=st.binary(max_size=80))


@st.composite
def hands(draw: st.DrawFn) -> LiveHand:
    seats = tuple(draw(st.lists(st.integers(1, 255), min_size=1, max_size=23, unique=True)))
    sealed = draw(st.lists(st.sampled_from(seats), unique=True))
    game = GAMES[draw(st.sampled_from(sorted(GAMES)))]
    dealt = [Deal(street.name, (Dealt(at, seats[0], Face.UP),)) for at, street in enumerate(game.streets)]
    state = HandState(
        draw(st.binary(min_size=16, max_size=16)),
        draw(names),
        draw(st.integers(1, 2**53 - 1)),
        game,
        draw(st.sampled_from(["standard52", "short36"])),
        seats,
        draw(st.sampled_from(list(Reveal))),
        draw(st.sampled_from(list(Status))),
        draw(st.binary(min_size=32, max_size=32)),
        draw(st.sampled_from([b"", bytes(32), b"\xff" * 32])),
        seat_keys=tuple((seat, draw(st.binary(min_size=32, max_size=32))) for seat in sealed),
        events=(
            *dealt[: draw(st.integers(0, len(dealt)))],
            *(Fold(each) for each in draw(st.lists(st.sampled_from(seats), unique=True))),
        ),
    )
    return LiveHand(state, False, None, offer=draw(indexes), commit=draw(indexes))


@given(hands())
def test_a_hand(hand: LiveHand) -> None:
    assert hand_bytes(hand) == hand_message(hand).SerializeToString(deterministic=True)


@given(hands(), *[st.binary(max_size=200)] * 3, *[st.text(max_size=200)] * 2, st.lists(envelopes))
def test_a_hand_as_it_is_opened(
    live: LiveHand,
    commitments: bytes,
    commit_entry: bytes,
    offer_entry: bytes,
    receipt: str,
    offer_receipt: str,
    sealed: list[t.SeatEnvelope],
) -> None:
    hand = hand_message(live)
    hand.card_commitments, hand.commit_entry, hand.offer_entry = commitments, commit_entry, offer_entry
    hand.receipt, hand.offer_receipt = receipt, offer_receipt
    hand.envelopes.extend(sealed)
    digests = [t.SeatKeyDigest(seat=seat, digest=digest) for seat, digest in live.state.seat_keys]
    hand.seat_keys.extend(digests)
    front = hand_bytes(live.but(commit=None, offer=None))
    whole = splice.WholeHand(front, commitments, live.commit, live.offer, commit_entry, offer_entry)
    whole.receipt, whole.offer_receipt, whole.seat_keys, whole.envelopes = receipt, offer_receipt, digests, sealed
    message = pb.OpenHandResponse(hand=hand)
    made = splice.Opened(whole).SerializeToString(deterministic=True)
    assert made == message.SerializeToString(deterministic=True)


@given(
    hands(),
    st.binary(max_size=300),
    st.text(max_size=300),
    st.sampled_from([pb.CloseHandResponse, pb.VoidHandResponse]),
)
def test_a_hand_that_is_over(
    live: LiveHand, entry: bytes, receipt: str, kind: type[pb.CloseHandResponse] | type[pb.VoidHandResponse]
) -> None:
    message = kind(hand=hand_message(live), receipt=receipt, entry=entry)
    made = splice.Over(hand_bytes(live), entry, receipt).SerializeToString(deterministic=True)
    assert made == message.SerializeToString(deterministic=True)


@given(hands())
def test_a_fold(live: LiveHand) -> None:
    made = splice.part(1, hand_bytes(live))
    assert made == pb.FoldSeatResponse(hand=hand_message(live)).SerializeToString(deterministic=True)


@given(
    st.lists(st.tuples(seat, st.sampled_from(list(Face))), min_size=1, max_size=26),
    st.integers(0, 26),
    st.one_of(st.none(), st.tuples(seat, st.integers(0, 2))),
    st.binary(max_size=300),
    st.one_of(st.none(), st.sets(seat)),
)
def test_a_street(
    dealt: list[tuple[int, Face]],
    first: int,
    opener: splice.Opener | None,
    unknown: bytes,
    sealed_seats: set[int] | None,
) -> None:
    cards = [Dealt(first + at, seat, face) for at, (seat, face) in enumerate(dealt)]
    deck = derive_deck("standard52", bytes(16), bytes(32), Seed(bytes(range(64))))
    hand = t.Hand(table="t", card_commitments=unknown)
    faces = {Face.UP: t.FACE_UP, Face.DOWN: t.FACE_DOWN}
    seals, sealed_card = no_seals, bytes(range(SEALED_BYTES))
    if sealed_seats is not None:
        seals = lambda card: sealed_card if card.face is Face.DOWN and card.seat in sealed_seats else b""
    message = pb.DealStreetResponse(
        cards=[
            t.Card(position=c.position, seat=c.seat, face=faces[c.face], sealed=sealed_card)
            if seals(c)
            else t.Card(
                position=c.position,
                seat=c.seat,
                face=faces[c.face],
                card=deck.cards[c.position],
                salt=deck.salt(c.position),
            )
            for c in cards
        ],
        opener=opener and t.Opener(seat=opener[0], reason=opener[1]),
        hand=hand,
    )
    encoded = hand.SerializeToString(deterministic=True)
    made = splice.street_answer(Deal("third", tuple(cards)), deck, opener, encoded, seals)
    assert made == message.SerializeToString(deterministic=True)


@given(
    st.uuids(),
    st.builds(pb.OpenHandRequest, table=names, game=st.integers(0, 5), seats=st.lists(seat), number=st.integers(0, 9)),
    st.sampled_from([b"", b"\xa0\x1f\x01"]),
)
def test_what_a_request_is_recognised_by(id_: UUID, request: pb.OpenHandRequest, unknown: bytes) -> None:
    digest = sha256(b"dealer.v1.OpenHandRequest\0" + request.SerializeToString(deterministic=True)).digest()
    request.MergeFromString(unknown)
    request.request_id = str(id_)
    assert body_digest(request) == digest


@given(st.lists(st.tuples(st.text(max_size=70), st.binary(max_size=300)), max_size=5))
def test_answers_of_a_stream(answers: list[tuple[str, bytes]]) -> None:
    message = pb.PlayHandsResponse()
    for mark, salt in answers:
        message.responses.add(correlation_id=mark, deal_street=pb.DealStreetResponse(cards=[t.Card(salt=salt)]))
    field = pb.PlayResponse.DESCRIPTOR.fields_by_name["deal_street"].number
    parts = [
        splice.played(each.correlation_id, field, each.deal_street.SerializeToString()) for each in message.responses
    ]
    read = pb.PlayHandsResponse.FromString(b"".join(parts))
    assert read == message
    marked = [each for each in message.responses if each.correlation_id]
    if len(marked) == len(answers):
        assert b"".join(parts) == message.SerializeToString(deterministic=True)
