"""What a monitor says: each alarm once when it begins, and again when it is over (WITNESS.md section 9)."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass
from typing import Any

from audit.findings import Finding
from audit.monitor.follow import Looked
from audit.monitor.memory import Memory, Standing
from audit.tlog.witnessed import time_text
from audit.whole.tally import KEPT

FINDING, QUORUM, UNREADABLE = KINDS = ("finding", "quorum", "unreadable")
_SHOWS = re.compile(r"^the log shows \d+ entr(?:y|ies)[;,] ")


@dataclass(frozen=True, slots=True)
class Alarm:
    """One alarm.

    Attributes:
        kind: `finding`, `quorum` (no fresh one) or `unreadable` (the log).
        text: what is wrong.
        check: of a finding.
        index: the log index that a finding belongs to, None for the log as a whole.
        hand: UUID text, None where no single hand is meant.
        whole: notes that belong to it whole.
    """

    kind: str
    text: str
    check: str | None = None
    index: int | None = None
    hand: str | None = None
    whole: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """Tells it from others. What the log shows at the moment is no part of it."""
        text = _SHOWS.sub("", self.text) if self.kind == FINDING else ""
        return json.dumps([self.kind, self.check, self.index, self.hand, text])


def take(looked: Looked, memory: Memory, now: int, max_age: int | None) -> None:
    """Notes in a monitor's memory which alarms a look begins, and which it ends.

    Args:
        looked: the look.
        memory: the monitor's.
        now: POSIX seconds.
        max_age: so old, in seconds, a quorum's time may be; None for any age.
    """
    found = {alarm.key: alarm for alarm in _alarms(looked, memory, now, max_age)}
    standing = memory.standing()
    with memory.change():
        for key, alarm in found.items():
            if key not in standing:
                memory.begin(key, asdict(alarm), _said("begins", asdict(alarm), now, looked.report.address))
            if looked.whole and not (key in standing and standing[key].proven):
                memory.prove(key)
        for key, stands in standing.items():
            if key not in found and _may_end(stands, looked):
                memory.end(key, _said("ends", stands.alarm, now, looked.report.address))


def _alarms(looked: Looked, memory: Memory, now: int, max_age: int | None) -> list[Alarm]:
    report = looked.report
    alarms = [_of_finding(finding) for finding in report.findings]
    many = f"more than {KEPT} findings: only the first ones are named"
    alarms += [Alarm(FINDING, many, check.name) for check in report.checks if check.failed > KEPT]
    explained = any(finding.check == "checkpoint" and finding.index is None for finding in report.findings)
    if report.unread or report.verdict == "test-record" or not (looked.whole or explained):
        alarms.append(Alarm(UNREADABLE, "; ".join(report.missing) or "it is a test double's record"))
    since = memory.quorum_since()
    if max_age is not None and now - since > max_age:
        alarms.append(Alarm(QUORUM, f"no quorum of the witnesses since {time_text(since)}"))
    return alarms


def _of_finding(finding: Finding) -> Alarm:
    return Alarm(FINDING, finding.detail, finding.check, finding.index, finding.hand, finding.whole)


def _may_end(stands: Standing, looked: Looked) -> bool:
    """Tells whether a look that does not find it may end an alarm.

    What an entry of the log said stays said, whatever the log shows now. Of all else a look that saw the whole log has
    the word, and so it has of entries that somebody sent in a log's place.
    """
    if stands.alarm.get("kind") == FINDING:
        return looked.whole and not (stands.proven and stands.alarm.get("index") is not None)
    return True


def _said(what: str, alarm: dict[str, Any], now: int, log: str) -> dict[str, Any]:
    return {"alarm": what, "time": time_text(now), "log": log, **alarm}
