"""What is noted of entries and hands beside their checks: times, decks, void hands, words. No verdict depends on it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from audit.hand.checks import Case, HandResult
from audit.hand.verified_deck import Dealt, dealt_hand
from audit.hand.words import refused_words
from audit.protocol import DECKS, material
from audit.record.entries import Close, Commit, Offer
from audit.whole.voids import VoidedHand, voided_hand


@dataclass(slots=True)
class Observed:
    """Notes of some entries and hands; the sum over all batches is the log's.

    Attributes:
        want_decks: whether somebody takes decks.
        times: the earliest and the latest time that entries say, None where none says any.
        voids: void hands whose decks are known.
        dealt: decks whose hand passed its checks, where they are wanted.
        words_used: words that swaps of derived decks took.
        words_refused: words that these decks refused.
    """

    want_decks: bool = False
    times: tuple[str, str] | None = None
    voids: list[VoidedHand] = field(default_factory=list)
    dealt: list[Dealt] = field(default_factory=list)
    words_used: int = 0
    words_refused: int = 0

    def read(self, entries: Iterable[Offer | Commit | Close]) -> None:
        """Notes a stretch's entries; to be called once."""
        times = [entry.time for entry in entries]
        self.times = (min(times), max(times)) if times else None

    def hand(self, case: Case, outcome: HandResult) -> None:
        """Notes a hand that was checked."""
        close, deck = case.close, outcome.deck
        if close is not None and close.outcome == "void" and deck is not None:
            voided = voided_hand(case.commit, deck)
            self.voids += [voided] if voided is not None else []
        self._add_words(case, outcome)
        if self.want_decks and not outcome.findings and deck is not None:
            self.dealt.append(dealt_hand(case, deck))

    def _add_words(self, case: Case, outcome: HandResult) -> None:
        """Counts the words of a shuffle that was derived again and holds; a test record's own deck has none."""
        commit, close = case.commit, case.close
        if outcome.seed is None or outcome.findings or close is None or close.deck is not None:
            return
        cards = len(DECKS[commit.deck])
        self.words_refused += refused_words(cards, material(commit.hand, commit.entropy_digest, outcome.seed))
        self.words_used += cards - 1
