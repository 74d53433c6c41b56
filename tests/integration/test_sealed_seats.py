"""Sealed seats at DealerService: what a room gets, what it may turn up, restarts, and what the log says (SEATS.md)."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.protobuf.message import Message

from dealer.core.seed import contribution_commitment
from dealer.v1 import dealer_pb2 as pb
from dealer.v1 import types_pb2 as t
from tests.integration.running import STREETS, Room, Running, error_info, rid, run_tool, running
from tests.integration.sealed_seats import SealedSeat, bad_keys


@pytest.fixture(scope="module")
def dealer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("sealed")
    run_tool("dealer", "escrow-keygen", folder / "auditor")
    with running(folder / "data", "--escrow-public-key", str(folder / "auditor.pub")) as dealer:
        yield dealer


@pytest.fixture
def room(dealer: Running) -> Room:
    return dealer.room()


def opened(room: Room, table: str, seats: tuple[int, ...], sealed: tuple[int, ...], **fields: Any) -> Any:
    players = {seat: SealedSeat(seat) for seat in sealed}
    keys = [each.brought for each in players.values()]
    hand = room.open(table, seats=seats, reveal=t.REVEAL_SEALED, seat_keys=keys, **fields)
    if hand.state == t.HAND_STATE_COMMITTED:
        for player in players.values():
            player.take(hand)
    return hand, players


def refused(call: Callable[[], object]) -> tuple[str, str, str]:
    with pytest.raises(grpc.RpcError) as caught:
        call()
    info = error_info(caught.value)
    return caught.value.code().name, info.reason, info.metadata.get("seat", "")  # type: ignore[attr-defined]


def show(room: Room, hand: str, positions: list[int], *consents: pb.SeatConsent) -> pb.ShowCardsResponse:
    request = pb.ShowCardsRequest(request_id=rid(), hand_id=hand, positions=positions, consents=consents)
    return room.stub.ShowCards(request)


def down(cards: Any, seat: int) -> list[t.Card]:
    return [card for card in cards if card.seat == seat and card.face == t.FACE_DOWN]


def test_only_the_seat_can_read_its_cards(room: Room) -> None:
    hand, players = opened(room, "mixed", (3, 1, 2), (2, 3))
    assert [each.seat for each in hand.seat_keys] == [3, 2], "in the order of the seats"
    dealt = room.deal(hand.hand_id, t.STREET_THIRD)
    for card in dealt.cards:
        if card.face == t.FACE_DOWN and card.seat in players:
            assert (len(card.sealed), card.card, card.salt) == (50, "", b"")
            assert players[card.seat].open(card)
        else:
            assert (len(card.card), len(card.salt), card.sealed) == (2, 32, b"")
    looked = room.get(hand.hand_id)
    assert list(looked.cards) == list(dealt.cards)
    assert looked.hand.envelopes == hand.envelopes
    assert looked.hand.seat_keys == hand.seat_keys
    assert not dealt.hand.envelopes


def test_free_draw_seals_what_is_dealt_down(room: Room) -> None:
    hand, players = opened(room, "draw", (1, 2), (1,), game=t.GAME_FREE_DRAW)
    cards = room.draw(hand.hand_id, (1, t.FACE_DOWN), (1, t.FACE_UP), (2, t.FACE_DOWN), (0, t.FACE_UP)).cards
    assert [bool(card.sealed) for card in cards] == [True, False, False, False]
    held = players[1].open(cards[0])
    assert refused(lambda: show(room, hand.hand_id, [0], players[1].consent())) == (*_MISSING, "1"), (
        "never in free-draw"
    )
    turned = show(room, hand.hand_id, [0, 2], players[1].consent(0)).cards
    assert next((card.card, card.face, card.sealed) for card in turned) == (held, t.FACE_UP, b"")
    assert all(card.card for card in room.get(hand.hand_id).cards)


_MISSING = ("PERMISSION_DENIED", "CONSENT_MISSING")


def test_nothing_is_turned_up_without_consent(room: Room) -> None:
    hand, players = opened(room, "consents", (1, 2, 3), (1, 2))
    id_ = hand.hand_id
    cards = room.deal(id_, t.STREET_THIRD).cards
    one, two, three = ([card.position for card in down(cards, seat)] for seat in (1, 2, 3))
    first, second = players[1], players[2]
    foreign = pb.SeatConsent(seat=3, mac=first.consent(*one).mac)
    before, then = opened(room, "consents-before", (1, 2, 3), (1, 2))
    room.deal(before.hand_id, t.STREET_THIRD)
    wrong = {
        "none": ([*one], []),
        "beside an open seat": ([*one, *three], []),
        "for another position": ([one[0]], [first.consent(one[1])]),
        "for more positions": ([one[0]], [first.consent(*one)]),
        "for fewer positions": ([*one], [first.consent(one[0])]),
        "another seat's": ([*one], [pb.SeatConsent(seat=1, mac=second.consent(*one).mac)]),
        "of another hand": ([*one], [then[1].consent(*one)]),
        "longer": ([*one], [pb.SeatConsent(seat=1, mac=first.consent(*one).mac + bytes(1))]),
        "in hex": ([*one], [pb.SeatConsent(seat=1, mac=first.consent(*one).mac.hex().encode())]),
        "one byte": ([*one], [pb.SeatConsent(seat=1, mac=bytes(1))]),
        "endless": ([*one], [pb.SeatConsent(seat=1, mac=bytes(1 << 16))]),
        "of no seat": ([*one], [first.consent(*one), pb.SeatConsent(mac=first.consent(*one).mac)]),
        "of a seat past two bytes": ([*one], [pb.SeatConsent(seat=65_537, mac=first.consent(*one).mac)]),
        "cut short": ([*one], [pb.SeatConsent(seat=1, mac=first.consent(*one).mac[:31])]),
        "empty": ([*one], [pb.SeatConsent(seat=1)]),
        "for a proof": ([*one], [pb.SeatConsent(seat=1, mac=first.proof(0, "leave"))]),
        "a show's as a showdown's": ([*one], [pb.SeatConsent(seat=1, mac=first.consent(*one).mac, showdown=True)]),
        "before the showdown": ([*one], [first.consent(), second.consent()]),
        "one right and one wrong": ([*one, *two], [first.consent(*one), second.consent(two[0])]),
        "of a seat that shows nothing": ([*three], [first.consent(*one)]),
        "of an open seat": ([*three], [foreign]),
        "twice": ([*one], [first.consent(*one), first.consent(*one)]),
    }
    for name, (positions, consents) in wrong.items():
        code, reason, seat = refused(lambda p=positions, c=consents: show(room, id_, p, *c))  # type: ignore[misc]
        assert (code, reason) == _MISSING, name
        assert seat in ("0", "1", "2", "3", "65537"), name
    assert {card.face for card in down(room.get(id_).cards, 1)} == {t.FACE_DOWN}, "nothing has changed"
    turned = show(room, id_, [*one, *three], first.consent(*one)).cards
    assert all(card.card and not card.sealed for card in turned)
    known = {card.position: card for card in room.get(id_).cards}
    assert [known[at].card for at in one] == [first.open(card) for card in down(cards, 1)]
    assert all(known[at].sealed for at in two)


def test_the_showdown_opens_no_hand_while_others_may_bet(room: Room) -> None:
    hand, players = opened(room, "showdown", (1, 2, 3, 4), (1, 2, 3))
    id_ = hand.hand_id
    for street in STREETS[:-1]:
        room.deal(id_, street)
    early = {seat: player.consent() for seat, player in players.items()}
    dealt = {seat: [card.position for card in down(room.get(id_).cards, seat)] for seat in hand.seats}
    assert refused(lambda: show(room, id_, dealt[1], *early.values())) == (*_MISSING, "1"), "seventh is not dealt"
    room.deal(id_, t.STREET_SEVENTH)
    dealt = {seat: [card.position for card in down(room.get(id_).cards, seat)] for seat in hand.seats}
    assert refused(lambda: show(room, id_, dealt[1], early[1])) == (*_MISSING, "2")
    assert refused(lambda: show(room, id_, dealt[1], early[1], early[2])) == (*_MISSING, "3"), "it has not folded"
    room.fold(id_, 3)
    assert refused(lambda: show(room, id_, dealt[3], early[3]))[1] == "SEAT_FOLDED"
    show(room, id_, [*dealt[1], dealt[2][0]], early[1], players[2].consent(dealt[2][0]))
    show(room, id_, dealt[2][1:], early[2])
    closed = room.close(id_)
    assert closed.hand.state == t.HAND_STATE_CLOSED
    over = room.get(id_)
    assert all(card.card and not card.sealed for card in over.cards)
    assert {card.position for card in over.cards}.isdisjoint(dealt[3] + dealt[4])


def test_a_seat_that_is_alone_shows_by_its_own_word(room: Room) -> None:
    hand, players = opened(room, "alone", (1, 2), (1, 2))
    id_ = hand.hand_id
    for street in STREETS:
        room.deal(id_, street)
    room.fold(id_, 2)
    own = [card.position for card in down(room.get(id_).cards, 1)]
    assert refused(lambda: show(room, id_, own, players[1].consent())) == (*_MISSING, "1"), "two seats or more are in"
    show(room, id_, own[1:], players[1].consent(*own[1:]))


def test_a_key_that_does_not_belong_is_refused_and_nothing_changes(room: Room) -> None:
    request = rid()
    for name, (keys, seat) in bad_keys().items():
        fields = {"seats": (1, 2, 3), "reveal": t.REVEAL_SEALED, "request_id": request, "seat_keys": keys}
        found = refused(lambda fields=fields: room.open("keys", **fields))
        assert found == ("INVALID_ARGUMENT", "INVALID_SEAT_KEY", str(seat)), name
    one, two = SealedSeat(1), SealedSeat(2)
    public = lambda: room.open("keys", seats=(1, 2, 3), seat_keys=[one.brought])
    assert refused(public)[:2] == ("INVALID_ARGUMENT", "SEATS_NEED_SEALED")
    fields = {"seats": (3, 1, 2), "reveal": t.REVEAL_SEALED, "request_id": request}
    hand = room.open("keys", seat_keys=[two.brought, one.brought], **fields)
    assert (hand.number, [each.seat for each in hand.seat_keys]) == (1, [1, 2]), "no refusal used a number or the id up"
    assert room.open("keys", seat_keys=[two.brought, one.brought], **fields) == hand
    other = t.SeatKey(seat=1, key=SealedSeat(1).key.public)
    for keys in ([two.brought, other], [two.brought], [one.brought, two.brought], []):
        swapped = lambda keys=keys: room.open("keys", seat_keys=keys, **fields)
        assert refused(swapped)[:2] == ("ALREADY_EXISTS", "REQUEST_ID_REUSED"), "the keys are of the request"
    room.void(hand.hand_id)


def test_kills_repeats_and_the_record(tmp_path: Path) -> None:
    """An offered hand with sealed seats, its dealer killed before and after the lock; then the auditor's word."""
    run_tool("dealer", "escrow-keygen", tmp_path / "auditor")
    with running(tmp_path / "data", "--escrow-public-key", str(tmp_path / "auditor.pub")) as dealer:
        room, value = dealer.room(), bytes(range(32))
        invited = [pb.Contributor(id="p1", commitment=contribution_commitment("t", 1, "p1", value))]
        offered, players = opened(room, "t", (1, 2, 3), (1, 3), contributors=invited)
        assert [each.seat for each in offered.seat_keys] == [1, 3]
        assert not offered.envelopes
        dealer.kill()
        room = dealer.start().room()
        lock = pb.LockDeckRequest(request_id=rid(), hand_id=offered.hand_id)
        give = pb.SubmitEntropyRequest(request_id=rid(), hand_id=offered.hand_id, contributor="p1", value=value)
        room.stub.SubmitEntropy(give)
        hand = room.stub.LockDeck(lock).hand
        for player in players.values():
            player.take(hand)
        deal = pb.DealStreetRequest(request_id=rid(), hand_id=hand.hand_id, street=t.STREET_THIRD)
        third = room.stub.DealStreet(deal)
        looked = room.get(hand.hand_id)
        dealer.kill()
        room = dealer.start().room()
        assert encoded(room.stub.LockDeck(lock)) == encoded(pb.LockDeckResponse(hand=hand)), "the same envelopes"
        assert encoded(room.stub.DealStreet(deal)) == encoded(third)
        assert encoded(room.get(hand.hand_id)) == encoded(looked)
        own = [card.position for card in down(third.cards, 1)]
        show(room, hand.hand_id, own, players[1].consent(*own))
        for street in STREETS[1:]:
            room.deal(hand.hand_id, street)
        room.close(hand.hand_id)
        assert encoded(room.stub.DealStreet(deal)) == encoded(third), "as it was, after a show and after the close"
        assert dealer.stop() == 0
        audited = dealer.audit(tmp_path / "log", "--escrow-key", tmp_path / "auditor.key")
        assert audited.returncode == 0, audited.stdout + audited.stderr
        assert "2 seats brought a key, in 1 hand" in audited.stdout
        (tmp_path / "seat").write_text(players[3].key.private.hex())
        words = ("--key", dealer.verifier_key(), "--seat-key", tmp_path / "seat")
        explained = run_tool("audit", "explain", tmp_path / "log", hand.hand_id, *words)
        assert explained.returncode == 0, explained.stdout + explained.stderr
        assert "seat 3" in explained.stdout


def test_a_dealer_for_trials_has_an_escrow_key_of_its_own(tmp_path: Path) -> None:
    with running(tmp_path / "data") as dealer:
        hand, players = opened(dealer.room(), "t", (1, 2), (1,))
        dealer.kill()
        room = dealer.start().room()
        players[1].open(down(room.deal(hand.hand_id, t.STREET_THIRD).cards, 1)[0])
        room.void(hand.hand_id)
        assert dealer.audit(tmp_path / "log", "--escrow-key", tmp_path / "data" / "trial-escrow.key").returncode == 0


def encoded(message: Message) -> bytes:
    return message.SerializeToString(deterministic=True)
