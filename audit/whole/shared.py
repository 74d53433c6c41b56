"""What several logs may not share: a seed, a hand's id, a deck (PROTOCOL.md section 10, `seed`; API.md, several LOGs).

An operator's logs are shards of one room, or rooms of one house. Each is judged by itself; two that deal from one seed
would each look right.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from types import TracebackType
from typing import NamedTuple

from audit.findings import Finding
from audit.hand.verified_deck import Dealt
from audit.protocol import sha256
from audit.record.fields import hand_text
from audit.whole.lifecycle import ID_BYTES
from audit.whole.repeats import Duplicates
from audit.whole.stretch import SEED_KEY_BYTES
from audit.whole.tally import KEPT

_DECK_KEY_BYTES = 16
_LOG_SHIFT = 48
"""An index is kept as log number and index in one: no log has 2^48 entries."""


class SharedFinding(NamedTuple):
    """Something that two logs share: the address of the later log, and the finding at its entry."""

    log: str
    finding: Finding


@dataclass(slots=True)
class _Log:
    address: str
    origin: str | None = None
    is_test: bool = False


class Shared:
    """Gathers seeds, ids and decks of several logs; memory does not grow with them.

    Two states of one origin share all their hands rightly, so they are not compared.
    """

    def __init__(self) -> None:
        self._logs: list[_Log] = []
        self._seeds = Duplicates(SEED_KEY_BYTES, ID_BYTES)
        self._ids = Duplicates(ID_BYTES, 0)
        self._decks = Duplicates(_DECK_KEY_BYTES, ID_BYTES)
        self.failed = 0

    def __enter__(self) -> Shared:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for each in (self._seeds, self._ids, self._decks):
            each.__exit__(kind, error, at)

    def begin(self, address: str) -> None:
        """Says that what comes next is of another log."""
        self._logs.append(_Log(address))

    def decks(self, dealt: Iterable[Dealt]) -> None:
        """Takes decks of the log that was begun last."""
        for hand in dealt:
            key = sha256(hand.deck_kind.encode() + b"\0" + hand.order)[:_DECK_KEY_BYTES]
            self._decks.add(key, self._at(hand.at), hand.hand)

    def end(self, origin: str | None, *, is_test: bool, seeds: Duplicates, ids: Duplicates) -> None:
        """Takes what the audit of the log gathered.

        Args:
            origin: as its checkpoint says it, None where there is none.
            is_test: a test double's, which deals chosen decks: these may come again.
            seeds: digest of each seed that is known, with the close's index and the hand.
            ids: each hand's id, with the index of its first entry.
        """
        self._logs[-1].origin, self._logs[-1].is_test = origin, is_test
        for key, at, hand in seeds.records():
            self._seeds.add(key, self._at(at), hand[:ID_BYTES])
        for hand, at, _ in ids.records():
            self._ids.add(hand, self._at(at), b"")

    def _at(self, index: int) -> int:
        return (len(self._logs) - 1 << _LOG_SHIFT) + index

    def findings(self) -> Iterator[SharedFinding]:
        """Yields what the log that ended last shares with one before it: at most `KEPT` findings; all are counted."""
        found = sorted(self._found(), key=lambda each: each[0])
        self.failed += len(found)
        for (number, *_), finding in found[:KEPT]:
            yield SharedFinding(self._logs[number].address, finding)

    def _found(self) -> Iterator[tuple[tuple[int, int, str], Finding]]:
        last = len(self._logs) - 1
        kinds = (("seed", self._seeds), ("deck", self._decks), ("id", self._ids))
        for what, records in kinds:
            for twice in records.found():
                (then, before), (now, at) = (divmod(index, 1 << _LOG_SHIFT) for index in (twice.first, twice.second))
                one, other = self._logs[then], self._logs[now]
                if now != last or then == now or one.origin == other.origin:
                    continue
                if what == "deck" and (one.is_test or other.is_test):
                    continue
                hand = hand_text(twice.second_data or twice.key)
                whose = "a hand" if what == "id" else f"hand {hand_text(twice.first_data)}"
                detail = f"this {what} is also that of {whose} in {one.address}, entry {before}: each serves one hand"
                yield (now, at, what), Finding("seed", at, hand, detail)
