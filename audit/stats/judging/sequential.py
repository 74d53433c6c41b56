"""Continuous watching: decks tested as they come, with alpha kept over all looks together (STATISTICS.md section 2).

Half of alpha goes to e-values, which are valid at every look. The other half goes to the whole battery, which is looked
at when 2^k decks are there, k = 7, 8, …, each time with alpha/(k (k+1)).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from math import exp, nan

import numpy as np

from audit.stats.batch import Batch, Bytes
from audit.stats.counting.corpus import Corpus, Plan
from audit.stats.families.duplicates import deck_keys
from audit.stats.family import MIN_DECKS
from audit.stats.judging.battery import no_decks, pictures_of, verdict_of, whole_outcomes
from audit.stats.judging.detectable import detectable_effects
from audit.stats.judging.evalues import PLAYER, EProcesses
from audit.stats.judging.holm import holm
from audit.stats.results import CHUNK, Alarm, BatteryResult, Detectable, Source, TestResult, Verdict

EVERY = 100
"""Decks between looks at the e-values."""

_FIRST_LOOK = 7
_LAST_EXPONENT = 700.0


def watch(
    source: Source,
    alpha: float,
    *,
    order: Bytes | None = None,
    names: tuple[str, ...] | None = None,
    progress: Callable[[int], None] = lambda decks: None,
) -> BatteryResult:
    """Watches decks until the first alarm or the end.

    Args:
        source: the decks, in the order in which they were dealt.
        alpha: the chance that fair decks ever sound the alarm, however long they are watched.
        order: (n,) the place of each card before the shuffle; None for the reference order.
        names: families to look at; None for all.
        progress: is told of decks read.
    """
    watcher: _Watcher | None = None
    for chunk in source:
        if watcher is None:
            watcher = _Watcher(Plan(chunk.decks.shape[1], order, names), alpha)
        for deck_piece in _pieces(chunk.decks, watcher.decks):
            watcher.add(deck_piece)
            if watcher.alarm is not None:
                break
        progress(len(chunk.decks))
        if watcher.alarm is not None:
            break
    if watcher is None:
        return replace(no_decks(alpha, source), sequential=True)
    return watcher.result(source)


def _pieces(decks: Bytes, seen: int) -> Iterator[Bytes]:
    """Cuts decks at each power of two of all decks seen."""
    while len(decks):
        room = min(CHUNK, (1 << seen.bit_length()) - seen)
        piece, decks = decks[:room], decks[room:]
        yield piece
        seen += len(piece)


class _Watcher:
    """What was seen so far, and the alarm if it rang."""

    def __init__(self, plan: Plan, alpha: float) -> None:
        self._corpus = Corpus.empty(plan)
        self._processes = EProcesses(plan.n, EVERY)
        self._alpha = alpha
        self._looks: list[TestResult] = []
        self._detectable: list[Detectable] = []
        self.alarm: Alarm | None = None

    @property
    def decks(self) -> int:
        """Decks seen."""
        return self._corpus.whole.decks

    def add(self, decks: Bytes) -> None:
        """Takes decks up to the next power of two at most."""
        plan, before = self._corpus.plan, self._corpus.whole.tail
        start = self.decks
        batch = Batch(decks, plan.order, before)
        self._corpus.whole.add(plan.families, batch)
        self._corpus.whole.passed(decks)
        if plan.keeps_keys:
            self._corpus.keys.add(deck_keys(batch))
        self._bet(batch)
        exponent = self.decks.bit_length() - 1
        if self.decks == 1 << exponent and exponent >= _FIRST_LOOK and start < self.decks:
            self._look(exponent)

    def _bet(self, batch: Batch) -> None:
        for name, looks in self._processes.add(batch).items():
            for decks, log_wealth in looks:
                if decks >= MIN_DECKS and self._paid_bet(log_wealth) < self._alpha:
                    if self.alarm is None or decks < self.alarm.decks:
                        self.alarm = Alarm(decks, name, "e-value", exp(min(log_wealth, _LAST_EXPONENT)))
                    break

    def _paid_bet(self, log_wealth: float) -> float:
        """Returns the p-value of a wealth, paid for: half of alpha is shared among the groups of bets."""
        return min(1.0, 2 * len(self._processes.bets) * exp(-max(log_wealth, 0.0)))

    def _look(self, exponent: int) -> None:
        """Looks at the whole battery at 2^exponent decks."""
        outcomes = whole_outcomes(self._corpus)
        if not outcomes:
            return
        adjusted = holm([each.p for each in outcomes], [each.weight for each in outcomes])
        best = int(np.argmin(adjusted))
        price = 2 * exponent * (exponent + 1)
        paid = min(1.0, float(adjusted[best]) * price)
        least = outcomes[best]
        self._looks.append(
            TestResult(
                name=f"look at {self.decks:,} decks",
                statistic=least.statistic,
                p=float(adjusted[best]),
                p_adjusted=paid,
                decks_used=self.decks,
                needs=MIN_DECKS,
                verdict="fail" if paid < self._alpha else "pass",
                family="battery",
                sees="Everything that the battery sees, at this number of decks.",
                detail=f"least of {len(outcomes)} tests: {least.name}: {least.detail}",
                bars=least.bars,
            )
        )
        weights = [sum(each.weight for each in outcomes)]
        self._detectable = detectable_effects(self._corpus, self._alpha / price, weights)
        if paid < self._alpha and self.alarm is None:
            self.alarm = Alarm(self.decks, least.name, "look", float(adjusted[best]))

    def result(self, source: Source) -> BatteryResult:
        """Returns the answer for what was seen."""
        tests = tuple(self._bet_results() + self._looks)
        return BatteryResult(
            verdict=verdict_of(tests),
            decks=self.decks,
            cards=self._corpus.plan.n,
            alpha=self._alpha,
            tests=tests,
            looks=len(self._looks) + len(self._processes.bets) * (self.decks // EVERY),
            detectable=tuple(self._detectable),
            pictures=pictures_of(self._corpus),
            sources=(source.name,),
            notes=(*source.notes, *self._player()),
            logs=tuple(source.logs),
            sequential=True,
            alarm=self.alarm,
        )

    def _wealth(self, name: str) -> float:
        """Returns what 1 became at the last look, bet on a group of events."""
        return exp(min(self._processes.now[name], _LAST_EXPONENT))

    def _player(self) -> Iterator[str]:
        """Yields what everybody understands, if the player has bet at all."""
        if PLAYER in self._processes.now:
            yield f"a player who bet on this room's faults would have turned 1 into {self._wealth(PLAYER):.2g}"

    def _bet_results(self) -> list[TestResult]:
        results = []
        for bets in self._processes.bets:
            highest = self._processes.highest[bets.name]
            enough = self.decks >= MIN_DECKS
            paid = self._paid_bet(highest)
            verdict: Verdict = "insufficient" if not enough else "fail" if paid < self._alpha else "pass"
            results.append(
                TestResult(
                    name=f"e-value: {bets.name}",
                    statistic=exp(min(highest, _LAST_EXPONENT)) if enough else nan,
                    p=min(1.0, exp(-highest)) if enough else nan,
                    p_adjusted=paid if enough else nan,
                    decks_used=self.decks if enough else 0,
                    needs=MIN_DECKS,
                    verdict=verdict,
                    family="e-values",
                    sees=bets.sees,
                    detail=f"who bet on this would have turned 1 into {self._wealth(bets.name):.2g}; the statistic is "
                    "the most at any look, which reaches x on fair decks with chance at most 1/x"
                    if enough
                    else f"needs {MIN_DECKS}, has {self.decks}",
                )
            )
        return results
