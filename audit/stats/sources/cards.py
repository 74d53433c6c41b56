"""Decks as text: one a line, fast if the lines are as they should be, with an exact complaint if they are not."""

from __future__ import annotations

import csv
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from audit.errors import InputError
from audit.protocol import DECKS, RANKS, SUITS

_LOOK_ALIKES = dict(zip("АКТЈԚсԁһѕΑΚΤϹссｓ♣♦♥♠♧♢♡♤", "AKTJQcdhsAKTCccscdhscdhs", strict=True))
"""Letters of other alphabets that look like ours, and the suits' symbols."""

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"

_SYMBOLS = [
    *((symbol.encode(), letter.encode()) for symbol, letter in zip("♣♦♥♠♧♢♡♤", "cdhscdhs", strict=True)),
    ("\N{VARIATION SELECTOR-15}".encode(), b""),
    ("\N{VARIATION SELECTOR-16}".encode(), b""),
]
"""Suits as symbols, and what tells a screen to draw them as text or as pictures."""


_DECK_COLUMNS = frozenset({"cards", "deck", "decks", "order", "shuffle"})
_NUMBERED = re.compile(r"([A-Za-z _.#-]*)([0-9]{1,4})")


@dataclass(frozen=True)
class DeckKind:
    """A deck kind of PROTOCOL.md section 2: `cards` is its reference order, rank ascending, then c, d, h, s."""

    name: str
    cards: tuple[str, ...]

    @property
    def size(self) -> int:
        """n, the number of cards."""
        return len(self.cards)


DECK_KINDS = {name: DeckKind(name, cards) for name, cards in DECKS.items()}
STANDARD52 = DECK_KINDS["standard52"]
SHORT36 = DECK_KINDS["short36"]


@cache
def _index(kind: DeckKind) -> dict[bytes, int]:
    return {card.encode(): index for index, card in enumerate(kind.cards)}


@cache
def _byte_values(kind: DeckKind) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Returns each rank byte's value (4 times the rank) and each suit byte's; with any other byte no sum is below n."""
    rank_of = np.full(256, 128, dtype=np.uint8)
    suit_of = np.full(256, 64, dtype=np.uint8)
    lowest = RANKS.index(kind.cards[0][0])
    for rank, letter in enumerate(RANKS[lowest:]):
        rank_of[ord(letter)] = len(SUITS) * rank
    for suit, letter in enumerate(SUITS):
        suit_of[ord(letter)] = suit
    return rank_of, suit_of


def are_permutations(decks: NDArray[np.uint8], n: int) -> NDArray[np.bool_]:
    """Returns whether each row of `decks` (uint8, shape (N, n)) holds each of 0 … n - 1, n at most 64, once."""
    bit = np.zeros(256, dtype=np.uint64)
    bit[:n] = np.left_shift(np.uint64(1), np.arange(n, dtype=np.uint64))
    held = np.zeros(len(decks), dtype=np.uint64)
    for column in np.ascontiguousarray(decks.T):
        held |= bit[column]
    result: NDArray[np.bool_] = held == np.bitwise_or.reduce(bit)
    return result


def _regular(block: bytes, kind: DeckKind) -> NDArray[np.uint8] | None:
    """Reads decks from lines that all have single spaces and the same line ending; None for any others."""
    width = 3 * kind.size - 1
    line = block.find(b"\n") + 1
    if line not in (width + 1, width + 2) or len(block) % line:
        return None
    text = np.frombuffer(block, dtype=np.uint8).reshape(-1, line)
    ending = np.frombuffer(b"\n" if line == width + 1 else b"\r\n", dtype=np.uint8)
    if not (np.all(text[:, width:] == ending) and np.all(text[:, 2:width:3] == ord(" "))):
        return None
    rank_of, suit_of = _byte_values(kind)
    decks = rank_of[text[:, 0:width:3]] + suit_of[text[:, 1:width:3]]
    return decks if np.all(are_permutations(decks, kind.size)) else None


def _spelt(line: bytes, kind: DeckKind) -> bytes:
    """Rewrites a line as ours if its meaning is certain: commas between cards, suits as symbols, cards run together."""
    for symbol, letter in _SYMBOLS:
        line = line.replace(symbol, letter)
    tokens = line.replace(b",", b" ").replace(b";", b" ").replace(b'"', b" ").split()
    if len(tokens) == 1 and len(tokens[0]) == 2 * kind.size:
        tokens = [tokens[0][at : at + 2] for at in range(0, 2 * kind.size, 2)]
    return b" ".join(tokens) + b"\n"


def header_length(text: bytes, kind: DeckKind) -> int:
    """Returns how many bytes at the front of a file's text are a line of column names, 0 if there is none for certain.

    The line below it must be a deck with as many cells. For a cell a card the names count from 0 or 1 (`card1` to
    `card52`, or `0` to `51`); for a cell a deck the name is one of `_DECK_COLUMNS`. So no deck, in whatever spelling,
    is taken for a header.
    """
    lines = text.removeprefix(_BYTE_ORDER_MARK).split(b"\n", 2)
    if len(lines) < 3 or not lines[0].isascii() or _regular(_spelt(lines[1], kind), kind) is None:
        return 0
    for separator in ",;\t":
        names, cells = (_cells(line.decode().strip(), separator) for line in lines[:2])
        if len(names) == len(cells) == 1 and names[0].strip().lower() in _DECK_COLUMNS:
            return text.index(b"\n") + 1
        if len(names) == len(cells) == kind.size and _count_up([name.strip() for name in names]):
            return text.index(b"\n") + 1
    return 0


def _cells(line: str, separator: str) -> list[str]:
    """Returns a line's cells; none if it is no line of CSV, as with a carriage return in its middle."""
    try:
        return next(csv.reader([line], delimiter=separator), [])
    except csv.Error:
        return []


def _count_up(names: Sequence[str]) -> bool:
    """Checks if names are one stem with the numbers from 0 or 1 on."""
    parts = [_NUMBERED.fullmatch(name) for name in names]
    stems = {part[1] if part else None for part in parts}
    numbers = [int(part[2]) for part in parts if part]
    return len(stems) == 1 and None not in stems and numbers in ([*range(len(names))], [*range(1, len(names) + 1)])


def parse_block(block: bytes, kind: DeckKind, name: str, first_line: int) -> NDArray[np.uint8]:
    """Reads the decks of a block of whole lines.

    Args:
        block: Lines, each ended by a line feed (a carriage return before it is passed over); cards are separated by
            spaces or tabs, one or more; or else as `_spelt` reads them. A byte order mark is passed over.
        kind: The deck kind that every line must be a permutation of.
        name: What the text is called in errors.
        first_line: The number of the block's first line, from 1.

    Returns:
        uint8, shape (lines, n): card indexes in the reference order.

    Raises:
        InputError: For a line that is no deck: with line, position and what stands there.
    """
    decks = _regular(block, kind)
    if decks is not None:
        return decks
    if first_line == 1:
        block = block.removeprefix(_BYTE_ORDER_MARK)
    lines = block.split(b"\n")[:-1]
    decks = _regular(b"".join([b" ".join(line.split()) + b"\n" for line in lines]), kind)
    if decks is None:
        decks = _regular(b"".join([_spelt(line, kind) for line in lines]), kind)
    if decks is not None:
        return decks
    for number, line in enumerate(lines, first_line):
        wrong = _what_is_wrong(line, kind)
        if wrong:
            raise InputError(f"{name}: line {number}: {wrong}")
    raise AssertionError("a block of decks that cannot be read has a line that is no deck")


def what_repeats(deck: NDArray[np.uint8], kind: DeckKind) -> str:
    """Explains why a row of card indexes is no permutation: which card stands twice, and which is not there."""
    at: dict[int, int] = {}
    for position, card in enumerate(deck.tolist()):
        if card >= kind.size:
            return f"the deck is no permutation: position {position} holds {card}, cards are 0 to {kind.size - 1}"
        if card in at:
            missing = " ".join(kind.cards[lost] for lost in sorted({*range(kind.size)} - {*deck.tolist()}))
            return (
                f"the deck is no permutation: {kind.cards[card]} stands at positions {at[card]} and {position} "
                f"(from 0), and {missing} is missing"
            )
        at[card] = position
    return "the deck is no permutation"


def _what_is_wrong(line: bytes, kind: DeckKind) -> str | None:
    """Explains to people why a line is no deck: what stands where; None for a deck."""
    try:
        line.decode()
    except UnicodeDecodeError as error:
        return f"column {error.start + 1}: byte 0x{line[error.start]:02x} is no text (UTF-8)"
    # Not text.split(), which would take a no-break space for a space and find nothing wrong.
    tokens = [token.decode() for token in line.split()]
    numbers = line.replace(b",", b" ").replace(b";", b" ").split()
    if len(numbers) == kind.size and all(number.isdigit() for number in numbers):
        return (
            "numbers, of which nobody can tell in what order they count the cards; if they are 0 to "
            f"{kind.size - 1} in our order (2c 2d 2h 2s 3c …), or suit by suit (2c 3c 4c …; then say --indexes suit), "
            "make an array of them: "
            "sed 's/[,;]/ /g' FILE | python -c \"import numpy, sys; "
            "numpy.save('decks.npy', numpy.loadtxt(sys.stdin, 'uint8', ndmin=2))\""
        )
    for position, token in enumerate(tokens):
        if token.encode() not in _index(kind):
            return f"position {position} (from 0): {_what_is_no_card(token, kind)}"
    if not tokens:
        return f"is empty; a line holds one deck of {kind.size} cards"
    if len(tokens) != kind.size:
        return f"{len(tokens)} cards, a deck has {kind.size}"
    deck = np.array([_index(kind)[token.encode()] for token in tokens], dtype=np.uint8)
    return None if are_permutations(deck[None, :], kind.size)[0] else what_repeats(deck, kind)


def _what_is_no_card(token: str, kind: DeckKind) -> str:
    shown = token if len(token) <= 12 else token[:12] + "…"
    for character in token:
        if not "!" <= character <= "~":
            name = unicodedata.name(character, "a control character")
            like = _LOOK_ALIKES.get(character, unicodedata.normalize("NFKC", character))
            looks = f"; write {like}" if like != character and like in RANKS + SUITS else ""
            return f"{shown!r} is no card: it has U+{ord(character):04X} ({name}){looks}"
    if token[:2] == "10" and token[2:] in SUITS:
        return f"{shown!r} is no card: a ten is T{token[2:]}"
    proper = token[:1].upper() + token[1:].lower()
    if proper in kind.cards:
        return f"{shown!r} is no card: write {proper}, the rank a capital and the suit a small letter"
    if proper in STANDARD52.cards:
        return f"{shown!r} is no card of {kind.name}"
    return f"{shown!r} is no card: a card is a rank of {RANKS} and a suit of {SUITS}"
