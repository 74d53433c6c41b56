"""The course of an audit: what has to be known of the entries read so far, to go on with those that come next."""

from __future__ import annotations

from collections import Counter

from audit.findings import Finding
from audit.hand.escrow import EscrowKeys
from audit.logs.log import Log
from audit.plural import counted
from audit.record.fields import hand_text
from audit.whole.judge import Judge
from audit.whole.lifecycle import Kept, Lifecycle, shared_id
from audit.whole.observed import Observed
from audit.whole.rates import VoidTest
from audit.whole.repeats import Repeats
from audit.whole.stretch import HandResults, StretchResult
from audit.whole.tally import FirstFew, Tally
from audit.whole.traces import CloseTrace, SplitHand, Trace


class Course:
    """Takes the results of stretches in log order; whoever keeps it after one can go on from there.

    Attributes:
        tally: what was found.
        lifecycle: the tables, and the hands that are open.
        judge: who decides whether the log can be valid.
        tree: the judge's, up to the last stretch.
        voids: void hands by table and seat.
        entries: how many entries were read.
        times: the earliest and the latest time that they say, None where none says any.
    """

    def __init__(self, seeds: Repeats, ids: Repeats) -> None:
        self.tally = Tally()
        self.lifecycle = Lifecycle(self.tally, Kept())
        self.judge = Judge(seeds, ids)
        self.tree = self.judge.tree
        self.voids = VoidTest()
        self.entries = 0
        self.times: tuple[str, str] | None = None
        self.words_used = self.words_refused = 0
        self._without_key = 0
        self._escrow_keys: Counter[bytes] = Counter()
        self._other_keys = Tally()
        self._missing_tiles = FirstFew("hash tile that is not there", "hash tiles that are not there")
        self._unknown = FirstFew("unknown entry", "unknown entries")

    def close(self) -> None:
        """Closes what is open."""
        self.lifecycle.end()

    def follow(self, read: StretchResult, log: Log, size: int) -> list[SplitHand]:
        """Takes the next stretch of a log of `size` entries: unknown entries first, for they may explain what follows.

        Returns:
            Hands that were cut apart and can be checked now.
        """
        self.tally.add(self.judge.grow(read, log, size))
        self.entries += read.entries
        self.tally.is_test = self.tally.is_test or read.is_test
        for index, why in read.unknown:
            self.tally.saw_unknown(index)
            self._unknown.add(f"entry {index}: {why}")
        self.name_missing(read.missing_tiles)
        self.tally.made["lifecycle"] += len(read.traces)
        split = [hand for trace in read.traces if (hand := self._follow_trace(trace)) is not None]
        self.take(read.hands)
        return split

    def _follow_trace(self, trace: Trace) -> SplitHand | None:
        if isinstance(trace, CloseTrace):
            self.judge.follow(trace, None)
            return self.lifecycle.close(trace)
        self.judge.follow(trace, self.lifecycle.follow(trace))
        return None

    def name_missing(self, tiles: list[str]) -> None:
        """Notes hash tiles that are not there."""
        for tile in tiles:
            self._missing_tiles.add(f"hash tile {tile} is not there")

    def take(self, checked: HandResults) -> None:
        """Takes the results of hands that were checked."""
        self.judge.take(checked)
        self.tally.made.update(checked.made)
        self._add(checked.findings)
        self._without_key += checked.without_key
        self._escrow_keys.update(checked.escrow_keys)
        seen = checked.seen
        assert isinstance(seen, Observed)
        if seen.times is not None:
            known = self.times or seen.times
            self.times = min(known[0], seen.times[0]), max(known[1], seen.times[1])
        self.voids.add(seen.voids)
        self.words_used += seen.words_used
        self.words_refused += seen.words_refused

    def _add(self, findings: list[Finding]) -> None:
        """Counts findings; whether another escrow key than ours is one only the whole log tells."""
        mine = [finding for finding in findings if not finding.other_key]
        self.tally.add(mine)
        if len(mine) < len(findings):
            self._other_keys.add(finding for finding in findings if finding.other_key)

    def judge_escrow_keys(self, keys: EscrowKeys) -> None:
        """Section 10: where no sealed hand names a key that was given, the auditor may hold the wrong one."""
        named, ours = self._escrow_keys, keys.by_id
        if not named:
            return
        if any(key in ours for key in named):
            self.tally.take_over(self._other_keys)
            return
        few = FirstFew("key", "keys")
        for key in sorted(named):
            few.add(key.hex())
        one, count = len(ours) == 1, sum(named.values())
        if count == 1:
            said = f"{'this key does' if one else 'these keys do'} not open the one sealed hand, which names"
        else:
            said = f"{'this key opens' if one else 'these keys open'} none of the {count} sealed hands, which name"
        question = "is it the right one?" if one else "are they the right ones?"
        self.tally.missing.append(f"{said} {', '.join(few.texts())}: {question}")

    def find_duplicates(self) -> None:
        """Compares every seed and every hand's id with all others."""
        for what, twice in self.judge.repeats():
            if what == "id":
                self.tally.add(shared_id(twice))
                continue
            first, second = hand_text(twice.first_data), hand_text(twice.second_data)
            detail = f"this seed is also that of hand {first} (entry {twice.first}): a seed serves one hand"
            self.tally.add([Finding("seed", twice.second, second, detail)])

    def say_what_is_missing(self) -> None:
        """Puts into words what could not be read or checked; to be called once, at the end."""
        tally = self.tally
        tally.unreadable += self._unknown.texts()
        if tally.excused:
            what = counted(tally.excused, "lifecycle finding or missing offer", "lifecycle findings and missing offers")
            tally.missing.append(f"{what} may be explained by the unknown entry {tally.first_unknown}")
        tally.missing += self._missing_tiles.texts()
        if self._without_key:
            stay = counted(self._without_key, "sealed hand stays", "sealed hands stay")
            tally.missing.append(f"{stay} closed: no escrow key was given")
