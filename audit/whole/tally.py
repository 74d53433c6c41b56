"""What an audit found: findings and counts, the first ones word for word, and the verdict that they make."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from audit.findings import Finding
from audit.plural import counted
from audit.verdict import judge

KEPT = 1000
"""How many findings of one check are kept word for word; all are counted."""

NAMED = 20
"""How many things of one kind are named one by one where something is missing."""


class FirstFew:
    """Things of one kind, of which the first few are named and all are counted."""

    def __init__(self, one: str, many: str) -> None:
        self._one, self._many = one, many
        self._first: list[str] = []
        self._count = 0

    def add(self, text: str) -> None:
        """Adds one."""
        self._count += 1
        if len(self._first) < NAMED:
            self._first.append(text)

    def texts(self) -> list[str]:
        """Returns the first ones, and how many more there are."""
        more = self._count - len(self._first)
        return self._first + ([f"and {counted(more, f'more {self._one}', f'more {self._many}')}"] if more else [])


@dataclass(slots=True)
class Tally:
    """Gathers findings and counts; how much memory it takes does not depend on how much is wrong.

    Attributes:
        made: how often each check was made.
        failed: how many findings count against each check.
        unreadable: why the record cannot be read in full (exit code 4).
        missing: why the record is incomplete (exit code 3).
        first_unknown: the first index whose entry is unknown, None where all are known.
        excused: findings that an earlier unknown entry may explain.
        is_test: something in the record says that it is a test record.
        take_finding: handed each finding that counts, all of them, kept or not.
    """

    made: Counter[str] = field(default_factory=Counter)
    failed: Counter[str] = field(default_factory=Counter)
    unreadable: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    first_unknown: int | None = None
    excused: int = 0
    is_test: bool = False
    take_finding: Callable[[Finding], None] | None = None
    _kept: dict[str, list[Finding]] = field(default_factory=dict)

    def saw_unknown(self, index: int) -> None:
        """Notes that the entry at `index` is unknown; to be called before findings at later indexes come in."""
        self.first_unknown = index if self.first_unknown is None else min(index, self.first_unknown)

    def add(self, findings: Iterable[Finding]) -> None:
        """Counts findings, but for those that an unknown entry before them may explain (section 10)."""
        for finding in findings:
            if self._is_excused(finding):
                self.excused += 1
                continue
            self.failed[finding.check] += 1
            if self.take_finding is not None:
                self.take_finding(finding)
            kept = self._kept.setdefault(finding.check, [])
            kept.append(finding)
            if len(kept) >= 2 * KEPT:
                kept.sort(key=lambda f: f.order)
                del kept[KEPT:]

    def take_over(self, other: Tally) -> None:
        """Counts what another tally has gathered."""
        for check, kept in other._kept.items():
            self.add(kept)
            self.failed[check] += other.failed[check] - len(kept)

    def _is_excused(self, finding: Finding) -> bool:
        if finding.check != "lifecycle" and not finding.missing_offer:
            return False
        return self.first_unknown is not None and finding.index is not None and finding.index > self.first_unknown

    def findings(self) -> tuple[Finding, ...]:
        """Returns the findings kept, in log order: the first `KEPT` of each check."""
        lists = (sorted(kept, key=lambda f: f.order)[:KEPT] for kept in self._kept.values())
        return tuple(sorted((finding for kept in lists for finding in kept), key=lambda f: f.order))

    def judge(self, allow_test: bool) -> tuple[str, int]:
        """Returns the verdict and the exit code."""
        return judge(
            is_test=self.is_test,
            allow_test=allow_test,
            failed=any(self.failed.values()),
            unreadable=bool(self.unreadable) or self.first_unknown is not None,
            incomplete=bool(self.missing) or not any(self.made.values()),
        )
