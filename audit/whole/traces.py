"""Traces: short notes of what entries say, for whoever follows the whole log's order; and hands that were cut apart.

A trace carries its entry's bytes only where the hand could not be checked where the entry was read.
"""

from __future__ import annotations

from typing import NamedTuple

from audit.record.entries import Close, Commit, Offer
from audit.record.events import Fold, Show


class OfferTrace(NamedTuple):
    """An offer at log index `at`. `raw` is its bytes where the hand's other entries are elsewhere."""

    at: int
    hand: bytes
    table: str
    number: int
    sealed_seats: int
    raw: bytes | None


class CommitTrace(NamedTuple):
    """A commit at log index `at`, with whom it lists as taken and as withheld."""

    at: int
    hand: bytes
    table: str
    number: int
    sealed_seats: int
    offer: int | None
    taken: tuple[str, ...]
    withheld: tuple[str, ...]
    raw: bytes | None


class CloseTrace(NamedTuple):
    """A close at log index `at`; `dealt`: whether its events deal cards. It names its commit, or its offer."""

    at: int
    hand: bytes
    commit: int | None
    offer: int | None
    outcome: str
    reason: str | None
    dealt: bool
    raw: bytes | None


Trace = OfferTrace | CommitTrace | CloseTrace


def trace_of(at: int, entry: Offer | Commit | Close, kept: bytes | None) -> Trace:
    """What is needed of the entry at log index `at`; `kept` is its bytes where they are needed again."""
    if isinstance(entry, Commit):
        taken = tuple([name for name, _ in entry.contributions])
        opened = (entry.hand, entry.table, entry.number, len(entry.seat_keys))
        return CommitTrace(at, *opened, entry.offer, taken, entry.withheld, kept)
    if isinstance(entry, Close):
        dealt = any(not isinstance(event, Fold | Show) for event in entry.events)
        return CloseTrace(at, entry.hand, entry.commit, entry.offer, entry.outcome, entry.reason, dealt, kept)
    return OfferTrace(at, entry.hand, entry.table, entry.number, len(entry.seat_keys), kept)


class SplitHand(NamedTuple):
    """The bytes of a hand that was not checked where it was read, with their log indexes; an open one may lack some."""

    commit: tuple[int, bytes] | None
    offer: tuple[int, bytes] | None
    close: tuple[int, bytes] | None
    without_offer: bool = False
