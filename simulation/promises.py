"""What the service promises, held against everything that leaves it."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from google.protobuf.message import Message

from audit.tlog.merkle import leaf_hash
from dealer.core.seed import tag
from dealer.log.checkpoint import read_checkpoint
from dealer.log.merkle import CompactRange
from dealer.log.note import NoteVerifier
from dealer.log.receipt import Receipt
from dealer.v1 import types_pb2


class BrokenPromise(AssertionError):
    """The dealer did what it promised not to do; says what."""


def hold(holds: object, what: str) -> None:
    """Raises `BrokenPromise` unless something holds."""
    if not holds:
        raise BrokenPromise(what)


@dataclass(frozen=True, slots=True)
class Answered:
    """A request that was answered: how it can be asked again."""

    method: str
    request: bytes
    answer: bytes
    hand: str


@dataclass(slots=True)
class Promises:
    """Everything that was ever said to anybody, as far as it must not be contradicted.

    Attributes:
        answered: by request id.
        repeatable: of those, the ids whose answers are still kept.
        roots: of each tree that was shown, by its size.
        lost: hands that a dealer said were lost, and those whose keys went with a machine.
    """

    verifier: NoteVerifier
    answered: dict[str, Answered] = field(default_factory=dict)
    repeatable: set[str] = field(default_factory=set)
    roots: dict[int, bytes] = field(default_factory=dict)
    entries: dict[int, bytes] = field(default_factory=dict)
    cards: dict[tuple[str, int], str] = field(default_factory=dict)
    commitments: dict[str, bytes] = field(default_factory=dict)
    events: dict[tuple[str, int, int], bytes] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    _hands: dict[str, tuple[object, ...]] = field(default_factory=dict)
    _ends: dict[str, tuple[object, ...]] = field(default_factory=dict)
    _since: int = 0
    _shown: dict[str, int] = field(default_factory=dict)

    def answer(self, method: str, request: Any, data: bytes, response: Message) -> None:
        """Takes an answer, and holds it against all that was said before."""
        self.counts["answers"] += 1
        request_id = getattr(request, "request_id", "")
        hand = getattr(request, "hand_id", "") or next((each.hand_id for each in _of(response, "Hand")), "")
        if request_id:
            before = self.answered.get(request_id)
            if before is None:
                self.answered[request_id] = Answered(method, request.SerializeToString(), data, hand)
                if _opened_at(hand) >= self._since:
                    self.repeatable.add(request_id)
            else:
                self.counts["repeats"] += 1
                hold(before.answer == data, f"{method}: one request id was answered in two ways")
        self._take(response, hand)

    def _take(self, response: Message, hand: str) -> None:
        for each in _of(response, "Hand"):
            self._hand(each)
        for card in _of(response, "Card"):
            if card.card:
                self._card(hand, card)
        receipt, entry = getattr(response, "receipt", ""), getattr(response, "entry", b"")
        if receipt and entry:
            self.receipt(receipt, entry)

    def _hand(self, hand: types_pb2.Hand) -> None:
        is_ = (hand.table, hand.number, hand.game, hand.deck, tuple(hand.seats), hand.reveal, hand.seed_commitment)
        hold(self._hands.setdefault(hand.hand_id, is_) == is_, "a hand is told of in two ways")
        if hand.state in (types_pb2.HAND_STATE_CLOSED, types_pb2.HAND_STATE_VOID, types_pb2.HAND_STATE_LOST):
            end = (hand.state, tuple(hand.live_seats), hand.street, hand.cards_left, hand.deck_commitment)
            hold(self._ends.setdefault(hand.hand_id, end) == end, "a hand that is over ended in two ways")
        if hand.card_commitments:
            before = self.commitments.setdefault(hand.hand_id, hand.card_commitments)
            hold(before == hand.card_commitments, "a hand has two decks")
        if hand.receipt:
            self.receipt(hand.receipt, hand.commit_entry)
        if hand.offer_receipt:
            self.receipt(hand.offer_receipt, hand.offer_entry)

    def _card(self, hand: str, card: types_pb2.Card) -> None:
        self.counts["cards"] += 1
        key = hand, card.position
        if key not in self.cards:
            binary, at = bytes.fromhex(hand.replace("-", "")), card.position.to_bytes(2, "big")
            made = sha256(tag("card") + binary + at + card.card.encode() + card.salt).digest()
            committed = self.commitments.get(hand, b"")
            hold(
                committed[32 * card.position : 32 * card.position + 32] in (made, b""),
                "a card is not the one committed",
            )
        hold(self.cards.setdefault(key, card.card) == card.card, "a position has two faces")

    def receipt(self, text: str, entry: bytes) -> None:
        """Takes a receipt for an entry."""
        receipt = Receipt.parse(text)
        index = receipt.index
        hold(self.entries.setdefault(index, entry) == entry, f"two entries were shown at index {index}")
        shown = receipt.verify(entry, self.verifier)
        self._root(shown.size, shown.root)

    def checkpoint(self, note: str, by: str) -> int:
        """Takes a checkpoint, shown in one way; no later one may be smaller. Returns its size."""
        shown = read_checkpoint(note)
        self._root(shown.size, shown.root)
        hold(shown.size >= self._shown.get(by, 0), f"the log shown by {by} has shrunk")
        self._shown[by] = shown.size
        return shown.size

    def _root(self, size: int, root: bytes) -> None:
        hold(self.roots.setdefault(size, root) == root, f"two trees of {size} entries were signed")

    def event(self, hand: str, eyes: int, sequence: int, data: bytes) -> None:
        """Takes an event that a watcher was shown; a proof in it may be newer the next time."""
        before = self.events.setdefault((hand, eyes, sequence), data)
        hold(before == data, f"event {sequence} was told in two ways")

    def secrets_in(self, what: str, data: bytes, seeds: Iterable[bytes]) -> None:
        """Holds that nothing that leaves has a seed of a hand in play in it."""
        for seed in seeds:
            hold(seed not in data and seed.hex().encode() not in data, f"{what} holds a seed in play")

    def forget_repeats(self, now: int) -> None:
        """Notes that the calendar went on by a day: what is kept of hands opened before may go."""
        self._since = now
        self.repeatable.clear()

    def whole_log(self, entries: list[bytes]) -> None:
        """Holds everything that was shown against the log as it is at the end."""
        tree, roots = CompactRange(), {}
        for index, entry in enumerate(entries):
            hold(self.entries.get(index, entry) == entry, f"entry {index} is not the one that a receipt was given for")
            tree.append(leaf_hash(entry))
            roots[index + 1] = tree.root()
        for size, root in self.roots.items():
            hold(size <= len(entries), f"a tree of {size} entries was signed, and the log has {len(entries)}")
            hold(size == 0 or roots[size] == root, f"the tree of {size} entries is no prefix of the log")
        seeds, numbers = set[str](), Counter[str]()
        for entry in map(json.loads, entries):
            kind = entry["schema"].rpartition("/")[2]
            if "table" in entry and (kind == "offer" or "offer" not in entry):
                numbers[entry["table"]] += 1
                hold(entry["number"] == numbers[entry["table"]], f"a gap in the numbers of {entry['table']}")
            if "seed" in entry:
                hold(entry["seed"] not in seeds, "a seed serves two hands")
                seeds.add(entry["seed"])


def _opened_at(hand: str) -> int:
    """When a hand was opened, Unix milliseconds, by its id."""
    return int(hand.replace("-", "")[:12] or "0", 16)


def _of(message: Message, kind: str) -> Iterator[Any]:
    """Yields every part of a message that is of a kind."""
    if message.DESCRIPTOR.name == kind:
        yield message
    for field_, value in message.ListFields():
        if field_.message_type is not None:
            for each in value if field_.is_repeated else [value]:
                yield from _of(each, kind)
