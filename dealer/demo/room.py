"""The demonstration's room: a process of its own that has hands dealt and shows the table as it goes."""

import sys
import uuid
from collections.abc import Sequence
from pathlib import Path

import grpc
from rich.console import Console
from rich.table import Table

from dealer.client.channel import OPTIONS
from dealer.log.note import NoteVerifier
from dealer.log.receipt import Receipt
from dealer.v1 import dealer_pb2 as pb
from dealer.v1 import dealer_pb2_grpc
from dealer.v1 import types_pb2 as t

_STREETS = {t.STREET_THIRD: "third", t.STREET_FOURTH: "fourth", t.STREET_FIFTH: "fifth", t.STREET_SIXTH: "sixth"}
_STREETS |= {t.STREET_SEVENTH: "seventh"}
_SUITS = {"c": "[green]♣[/]", "d": "[blue]♦[/]", "h": "[red]♥[/]", "s": "♠"}


def _card(card: str, face: t.Face.ValueType) -> str:
    text = card[0] + _SUITS[card[1]]
    return text if face == t.FACE_UP else f"({text})"


class Room:
    """Deals one hand after another and prints what the table sees; down cards are in brackets."""

    def __init__(self, address: str, verifier: NoteVerifier) -> None:
        self._stub = dealer_pb2_grpc.DealerServiceStub(grpc.insecure_channel(address, options=OPTIONS))
        self._verifier = verifier
        self._console = Console(highlight=False, soft_wrap=True)

    def open(self, title: str, game: t.Game.ValueType, seats: Sequence[int], reveal: t.Reveal.ValueType) -> t.Hand:
        """Opens a hand and checks its commitment's receipt before any card is asked for."""
        request = pb.OpenHandRequest(
            request_id=str(uuid.uuid4()), table="main-1", game=game, seats=seats, reveal=reveal
        )
        hand = self._stub.OpenHand(request).hand
        checkpoint = Receipt.parse(hand.receipt).verify(hand.commit_entry, self._verifier)
        self._console.print(f"\n[bold]{title}[/]  hand {hand.number}, {hand.hand_id}")
        self._console.print(
            f"[dim]deck committed as {hand.deck_commitment.hex()[:16]}…, entry {hand.commit_index} of the log, "
            f"receipt checked under the tree of {checkpoint.size}[/]"
        )
        return hand

    def deal(self, hand: t.Hand, street: t.Street.ValueType, table: dict[int, list[str]]) -> None:
        """Deals a street and says who opens, and why."""
        request = pb.DealStreetRequest(request_id=str(uuid.uuid4()), hand_id=hand.hand_id, street=street)
        answer = self._stub.DealStreet(request)
        for card in answer.cards:
            table.setdefault(card.seat, []).append(_card(card.card, card.face))
        opener = answer.opener
        showing = " ".join(card for card in table[opener.seat] if not card.startswith("("))
        lowest = opener.reason == t.OPENER_REASON_LOWEST_CARD
        why = "brings in with the lowest card" if lowest else "opens with the highest hand showing"
        board = "  one card to the board, for everybody" if any(card.seat == 0 for card in answer.cards) else ""
        self._console.print(f"  {_STREETS[street]:<8} seat {opener.seat} {why}: {showing}{board}")

    def fold(self, hand: t.Hand, seat: int) -> None:
        """Folds a seat."""
        self._stub.FoldSeat(pb.FoldSeatRequest(request_id=str(uuid.uuid4()), hand_id=hand.hand_id, seat=seat))
        self._console.print(f"           seat {seat} folds")

    def show(self, table: dict[int, list[str]], folded: Sequence[int] = ()) -> None:
        """Prints the table."""
        drawn = Table(box=None, padding=(0, 2), show_header=False)
        for seat in sorted(table, key=lambda seat: (seat == 0, seat)):
            style = "dim" if seat in folded else ""
            drawn.add_row("board" if seat == 0 else f"seat {seat}", " ".join(table[seat]), style=style)
        self._console.print(drawn)

    def close(self, hand: t.Hand) -> None:
        """Closes a hand and says what it reveals."""
        answer = self._stub.CloseHand(pb.CloseHandRequest(request_id=str(uuid.uuid4()), hand_id=hand.hand_id))
        Receipt.parse(answer.receipt).verify(answer.entry, self._verifier)
        sealed = hand.reveal == t.REVEAL_SEALED
        what = "the cards that the table saw; the seed went to the auditor alone" if sealed else "the whole deck"
        self._console.print(f"  [dim]closed; the log reveals {what}[/]")

    def void(self, hand: t.Hand) -> None:
        """Gives a hand up."""
        request = pb.VoidHandRequest(request_id=str(uuid.uuid4()), hand_id=hand.hand_id, reason=t.VOID_REASON_MISDEAL)
        self._stub.VoidHand(request)
        self._console.print("  [dim]void, as a misdeal: revealed like any other hand, so that none can disappear[/]")


def play(room: Room) -> None:
    """Plays the demonstration's three hands."""
    table: dict[int, list[str]] = {}
    hand = room.open("Seven Card Stud, eight seats to the end", t.GAME_SEVEN_CARD_STUD, range(1, 9), t.REVEAL_PUBLIC)
    for street in _STREETS:
        room.deal(hand, street, table)
    room.show(table)
    room.close(hand)

    table = {}
    hand = room.open("Stud Hi/Lo, sealed", t.GAME_SEVEN_CARD_STUD_HI_LO, (2, 3, 5, 7), t.REVEAL_SEALED)
    for street in _STREETS:
        room.deal(hand, street, table)
        if street == t.STREET_THIRD:
            room.fold(hand, 3)
        if street == t.STREET_FIFTH:
            room.fold(hand, 7)
    room.show(table, (3, 7))
    room.close(hand)

    give_up(room)


def give_up(room: Room) -> None:
    """Plays one hand, to third street."""
    table: dict[int, list[str]] = {}
    hand = room.open("A hand that is given up", t.GAME_SEVEN_CARD_STUD, (1, 4, 6), t.REVEAL_PUBLIC)
    room.deal(hand, t.STREET_THIRD, table)
    room.show(table)
    room.void(hand)


if __name__ == "__main__":
    hands = give_up if "--one" in sys.argv else play
    hands(Room(sys.argv[1], NoteVerifier.parse(Path(sys.argv[2]).read_text("utf-8").strip())))
