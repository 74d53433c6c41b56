"""Changes one opened card in a copy of a static log, as a forger without the log's key would."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dealer.core.cards import DECK_KINDS
from dealer.core.entries import canonical
from dealer.log.tiles import bundle


@dataclass(frozen=True, slots=True)
class Change:
    """What was changed."""

    hand: str
    position: int
    was: str
    now: str


def change_one_card(log: Path) -> Change:
    """Changes the first opened card of the first sealed hand that is found, in the log's first bundle."""
    path = next(p for p in sorted((log / "tile" / "entries").iterdir()) if p.name.startswith("000"))
    path = next(path.iterdir()) if path.is_dir() else path
    entries = _split(path.read_bytes())
    for index, entry in enumerate(entries):
        content: dict[str, Any] = json.loads(entry)
        if content.get("openings"):
            opening = content["openings"][0]
            was = opening[1]
            opened = {card for _, card, _ in content["openings"]}
            opening[1] = next(card for card in reversed(DECK_KINDS["standard52"]) if card not in opened)
            entries[index] = canonical(content)
            path.write_bytes(bundle(entries))
            return Change(content["hand"], opening[0], was, opening[1])
    raise ValueError("no sealed hand in the log's first bundle")


def _split(data: bytes) -> list[bytes]:
    entries, at = [], 0
    while at < len(data):
        length = int.from_bytes(data[at : at + 2], "big")
        entries.append(data[at + 2 : at + 2 + length])
        at += 2 + length
    return entries
