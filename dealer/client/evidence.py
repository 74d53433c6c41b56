"""What a client keeps when a check fails: one JSON file with everything that another person needs to judge it.

`audit receipt` reads these files. Their members, all optional but the first four: `format`, `check`, `detail`, `key`
(the pinned verifier key); `checkpoints` (signed notes, the older tree first) with `consistency` (`from`, `to`, `hashes`
in hex: the dealer's proof, or null if it gave none); `hand`; `offer`, `commit` and `close` (`entry` in base64 and
`receipt`); `card_commitments` (base64); `cards` (`position`, `seat`, `face`, `card`, `salt` in hex); `acknowledgements`
(signed notes); `cosigned` (a note with a cosignature that is wrong); `answers` (base64: two answers to one request).
"""

import base64
import json
import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

from dealer.client.calls import RepeatError
from dealer.client.errors import CheckError
from dealer.v1 import dealer_pb2, types_pb2

FORMAT = "cutcard-evidence/v1"


@dataclass(slots=True)
class Evidence:
    """What has been seen so far and may have to be shown; grows while a hand is played.

    Attributes:
        key: the pinned verifier key.
        hand: UUID of the hand, as the dealer gave it.
        entries: bytes and receipt of "offer", "commit" and "close", whether or not they hold.
        card_commitments: the list, joined.
        acknowledgements: signed notes.
    """

    key: str
    hand: str | None = None
    entries: dict[str, tuple[bytes, str]] = field(default_factory=dict)
    card_commitments: bytes = b""
    acknowledgements: list[str] = field(default_factory=list)

    def take_opened(self, hand: types_pb2.Hand) -> None:
        """Records the signed entries of an answer that opened a hand: beside them an auditor can judge the rest."""
        self.hand = hand.hand_id
        for name, entry, receipt in (
            ("offer", hand.offer_entry, hand.offer_receipt),
            ("commit", hand.commit_entry, hand.receipt),
        ):
            if entry:
                self.entries[name] = (entry, receipt)

    def content(self, check: str, detail: str, **more: Any) -> dict[str, Any]:
        """Returns the members of the file."""
        content: dict[str, Any] = {"format": FORMAT, "check": check, "detail": detail, "key": self.key}
        if self.hand is not None:
            content["hand"] = self.hand
        for name, (entry, receipt) in self.entries.items():
            content[name] = {"entry": _base64(entry), "receipt": receipt}
        if self.card_commitments:
            content["card_commitments"] = _base64(self.card_commitments)
        if self.acknowledgements:
            content["acknowledgements"] = self.acknowledgements
        return content | more


def card_member(card: types_pb2.Card) -> dict[str, Any]:
    """Returns one element of `cards`, as it came."""
    face = {types_pb2.FACE_DOWN: "down", types_pb2.FACE_UP: "up"}.get(card.face)
    return {"position": card.position, "seat": card.seat, "face": face, "card": card.card, "salt": card.salt.hex()}


def consistency_member(old: int, new: int, hashes: Sequence[bytes] | None) -> dict[str, Any]:
    """Returns `consistency`; `hashes` is None if the dealer gave no proof."""
    return {"from": old, "to": new, "hashes": None if hashes is None else [each.hex() for each in hashes]}


def answers_member(*answers: bytes) -> list[str]:
    """Returns `answers`."""
    return [_base64(answer) for answer in answers]


class keeping:  # noqa: N801  # used like a function, and a class for its speed: a hand enters it a dozen times
    """Gives a failed check its evidence, unless it has some.

    Raises:
        CheckError: the check that failed, with the evidence.
    """

    __slots__ = ("_cards", "_folder", "_known")

    def __init__(self, known: Evidence, folder: Path | None, cards: Sequence[types_pb2.Card] = ()) -> None:
        """Remembers what a failed check is shown with.

        Args:
            known: what has been seen.
            folder: where evidence goes; None: a temporary folder of its own.
            cards: of the answer at hand.
        """
        self._known, self._folder, self._cards = known, folder, cards

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, at: object) -> None:
        if not isinstance(error, CheckError) or error.evidence is not None:
            return
        more: dict[str, Any] = {}
        if isinstance(error, RepeatError):
            more["answers"] = answers_member(*error.answers)
            if not self._known.entries and isinstance(error.first, dealer_pb2.OpenHandResponse):
                self._known.take_opened(error.first.hand)
        if self._cards:
            more["cards"] = [card_member(card) for card in self._cards]
        path = write(self._known.content(error.check, error.detail, **more), self._folder)
        raise CheckError(error.check, error.detail, path) from error


def write(content: dict[str, Any], folder: Path | None) -> Path | None:
    """Writes evidence for its owner's eyes; it may hold down cards.

    Args:
        content: the file's members.
        folder: where to; None: a temporary folder of its own, which stays.

    Returns:
        The file; None if it cannot be written: the failed check counts all the same.
    """
    try:
        if folder is None:
            folder = Path(tempfile.mkdtemp(prefix="cutcard-evidence-"))
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = folder / f"{content['check']}-{uuid4().hex[:12]}.json"
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            json.dump(content, file, indent=1)
            file.write("\n")
    except OSError:
        return None
    return path


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")
