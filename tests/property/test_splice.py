"""Answers put together from bytes are, to the byte, what protobuf's deterministic encoding gives."""

from hypothesis import given
from hypothesis import strategies as st

from dealer.core.deck import derive_deck
from dealer.core.hand import Deal, Dealt, Face, Fold, HandState, Reveal, Status
from dealer.core.seed import Seed
from dealer.games.plans import GAMES
from dealer.service.rpc import splice
from dealer.service.rpc.answers import hand_bytes, hand_message
from dealer.service.writer.live import LiveHand
from dealer.v1 import dealer_pb2 as pb
from dealer.v1 import types_pb2 as t

names = st.from_regex(r"[A-Za-z0-9._-]{1,64}", fullmatch=True)
indexes = st.one_of(st.none(), st.integers(0, 2**53 - 1))
seat = st.integers(0, 255)


@st.composite
def hands(draw: st.DrawFn) -> LiveHand:
    seats = tuple(draw(st.lists(st.integers(1, 255), min_size=1, max_size=23, unique=True)))
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
        events=(
            *dealt[: draw(st.integers(0, len(dealt)))],
            *(Fold(each) for each in draw(st.lists(st.sampled_from(seats), unique=True))),
        ),
    )
    return LiveHand(state, False, None, offer=draw(indexes), commit=draw(indexes))


@given(hands())
def test_a_hand(hand: LiveHand) -> None:
    assert hand_bytes(hand) == hand_message(hand).SerializeToString(deterministic=True)


@given(
    st.lists(st.tuples(st.integers(0, 51), seat, st.sampled_from(list(Face))), max_size=30),
    st.one_of(st.none(), st.builds(t.Opener, seat=seat, reason=st.integers(0, 2))),
    st.binary(max_size=300),
)
def test_a_street(cards: list[tuple[int, int, Face]], opener: t.Opener | None, unknown: bytes) -> None:
    deck = derive_deck("standard52", bytes(16), bytes(32), Seed(bytes(range(64))))
    hand = t.Hand(table="t", card_commitments=unknown)
    faces = {Face.UP: t.FACE_UP, Face.DOWN: t.FACE_DOWN}
    message = pb.DealStreetResponse(
        cards=[t.Card(position=p, seat=s, face=faces[f], card=deck.cards[p], salt=deck.salt(p)) for p, s, f in cards],
        opener=opener,
        hand=hand,
    )
    dealt = [Dealt(*each) for each in cards]
    made = splice.street_answer(dealt, deck, opener, hand.SerializeToString(deterministic=True))
    assert made == message.SerializeToString(deterministic=True)


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
