"""A player's hand file, `cutcard-hand/v1` (API.md): one hand's proven entries, its cards, and what opens them."""

import base64
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from dealer.client.errors import UsageError
from dealer.client.folder import write_whole
from dealer.client.receipts import Proven
from dealer.client.sealed import Sealed
from dealer.client.values import Card
from dealer.core.hand import HandState
from dealer.core.ids import hand_text

FORMAT = "cutcard-hand/v1"


def save(
    path: Path | str,
    *,
    key: str,
    state: HandState,
    entries: Mapping[str, Proven | None],
    cards: Iterable[Card],
    own: Sealed | None = None,
    acknowledgements: Iterable[str] = (),
) -> None:
    """Writes a hand file for its owner's eyes: it opens with `audit receipt` and on the page.

    Args:
        path: where to.
        key: the pinned verifier key.
        state: the hand as far as it went.
        entries: "offer", "commit" and "close", as far as they are there.
        cards: the owner's; those without a name are left out.
        own: the owner's sealed seat.
        acknowledgements: signed notes.

    Raises:
        UsageError: the hand has no commit yet.
        FolderError: it cannot be written.
    """
    if entries.get("commit") is None:
        raise UsageError("a hand file begins with the commit, which has not come yet")
    content: dict[str, Any] = {"format": FORMAT, "key": key, "hand": hand_text(state.hand)}
    for name, proven in entries.items():
        if proven is not None:
            content[name] = {"entry": _base64(proven.entry), "receipt": proven.receipt}
    content["cards"] = [_card(card, state) for card in cards if card.name]
    if own is not None:
        content |= {"seat": own.seat, "seat_key": own.key.private.hex()}
        if own.envelope:
            content["envelope"] = _base64(own.envelope)
        content["sealed"] = [{"position": at, "sealed": _base64(data)} for at, data in sorted(own.cards.items())]
    if notes := list(acknowledgements):
        content["acknowledgements"] = notes
    write_whole(Path(path), json.dumps(content, indent=1).encode("ascii") + b"\n")


def _card(card: Card, state: HandState) -> dict[str, Any]:
    """Returns one of `cards`, its face as it was dealt: that it was shown later stands in the close."""
    face = state.dealt[card.position].face
    return {"position": card.position, "seat": card.seat, "face": face, "card": card.name, "salt": card.salt.hex()}


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")
