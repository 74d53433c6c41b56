"""What an insider of the room reads out of what passed through it: `insider.py MEMORY HAND_FILE...`.

It tries every way it knows: each player's down card by its salt, raw, in hex and in base64, and by its name in every
text. The hand files are the players' own, so that it knows what to look for; a real insider would know less.
"""

import base64
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from google.protobuf.message import Message

from dealer.v1 import dealer_pb2

MESSAGES = {"view": dealer_pb2.GetHandResponse, "closing": dealer_pb2.CloseHandResponse}
NAMES = re.compile(r"(?:[2-9TJQKA][cdhs])+")


def texts(message: Message) -> Iterator[str]:
    """Yields every text in a message, and all bytes in it that are text."""
    for _, value in message.ListFields():
        for each in [value] if isinstance(value, str | bytes | Message) or not hasattr(value, "__len__") else value:
            if isinstance(each, Message):
                yield from texts(each)
            elif isinstance(each, str):
                yield each
            elif isinstance(each, bytes) and each.isascii():
                yield each.decode("ascii")


def named(lines: list[str]) -> set[str]:
    """Returns the cards that texts name, alone or in a row."""
    tokens = {token for line in lines for token in re.findall(r"[0-9A-Za-z+/=_-]+", line)}
    rows = [token for token in tokens if NAMES.fullmatch(token)]
    return {row[at : at + 2] for row in rows for at in range(0, len(row), 2)}


def base64_forms(data: bytes) -> list[bytes]:
    """Returns how bytes look inside base64, at each of its three alignments, without the edges."""
    return [base64.b64encode(bytes(shift) + data)[4:-4] for shift in range(3)]


def found(data: bytes, names: set[str], card: str, salt: bytes) -> list[str]:
    """Returns the ways in which a card can be read in what passed."""
    url_safe = [form.replace(b"+", b"-").replace(b"/", b"_") for form in base64_forms(salt)]
    ways = {
        "raw": [salt],
        "hex": [salt.hex().encode(), salt.hex().upper().encode()],
        "base64": base64_forms(salt) + url_safe,
    }
    return [way for way, forms in ways.items() if any(form in data for form in forms)] + ["text"] * (card in names)


def read(memory: str) -> tuple[bytes, list[str]]:
    """Returns the memory with all messages in it decoded behind it, and its texts."""
    data, lines = memory.encode(), []
    for line in memory.splitlines():
        said: dict[str, Any] = json.loads(line) if line.startswith("{") else {"": line}
        for name, text in said.items():
            if name in MESSAGES:
                raw = base64.b64decode(text)
                data += raw
                lines += texts(MESSAGES[name].FromString(raw))
            else:
                lines.append(str(text))
    return data, lines


def down_cards(path: Path) -> list[tuple[int, str, bytes]]:
    """Returns seat, name and salt of a player's down cards."""
    cards = json.loads(path.read_text())["cards"]
    return [(card["seat"], card["card"], bytes.fromhex(card["salt"])) for card in cards if card["face"] == "down"]


def main(memory: str, *files: str) -> int:
    data, lines = read(Path(memory).read_text())
    names, hits = named(lines), 0
    print(f"{len(data):,} bytes passed before the showdown")
    for path in map(Path, files):
        for seat, card, salt in down_cards(path):
            ways = found(data, names, card, salt)
            hits += bool(ways)
            print(f"seat {seat} {card}: {', '.join(ways) or 'nowhere'}")
    return hits


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]) > 0)
