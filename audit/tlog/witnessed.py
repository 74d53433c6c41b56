"""The check `witness`: whether enough of the witnesses that a policy believes have cosigned a note, and when."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from audit.findings import Finding
from audit.plural import counted
from audit.tlog.cosignature import CosignatureError, cosigned_at
from audit.tlog.note import Note
from audit.tlog.policy import NONE, Policy

AHEAD_SECONDS = 300
"""So far a witness's clock may be ahead of the reader's (WITNESS.md section 7)."""
_UNITS = (("day", 86_400), ("hour", 3_600), ("minute", 60), ("second", 1))


@dataclass(frozen=True, slots=True)
class Demand:
    """What a reader asks of cosignatures.

    Attributes:
        policy: who is believed.
        now: the reader's clock, POSIX seconds.
        max_age: how old the quorum's time may be, in seconds; None for any age.
    """

    policy: Policy
    now: int
    max_age: int | None = None

    @property
    def asks(self) -> bool:
        """Whether any cosignature is asked for at all."""
        return self.policy.quorum != NONE


@dataclass(frozen=True, slots=True)
class Witnessed:
    """The result of the check `witness`.

    Attributes:
        names: the witnesses of the quorum whose cosignatures verify, by their names in the policy.
        of: how many witnesses count towards the quorum.
        since: the quorum's time, POSIX seconds; None where it does not hold.
        findings: cosignatures that are wrong.
        missing: what the record lacks; None where the check holds or fails.
    """

    names: tuple[str, ...]
    of: int
    since: int | None
    findings: tuple[Finding, ...]
    missing: str | None

    @property
    def holds(self) -> bool:
        """Whether the note is witnessed as the policy asks."""
        return not self.findings and self.missing is None

    def __str__(self) -> str:
        since = f", since {time_text(self.since)}" if self.since is not None else ""
        names = f" ({', '.join(self.names)})" if self.names else ""
        return f"{len(self.names)} of {self.of}{names}{since}"


def check_witnessed(note: Note, demand: Demand) -> Witnessed:
    """Makes the check `witness` on a checkpoint's signed note (WITNESS.md section 7).

    Lines by keys that the policy does not have are passed over, whatever they say.
    """
    policy = demand.policy
    times: dict[str, int] = {}
    wrong = []
    for witness in policy.witnesses.values():
        try:
            time = cosigned_at(note, witness.key)
        except CosignatureError as error:
            detail = f"the cosignature of {witness.name} is wrong: {error.why} ({witness.key.name})"
            wrong.append(Finding("witness", None, None, detail))
            continue
        if time is not None:
            times[witness.name] = time
    counting = policy.quorum_witnesses()
    names = tuple(name for name in counting if name in times)
    since = policy.time(times)
    missing = None if wrong else next(_missing(policy, times, since, demand), None)
    return Witnessed(names, len(counting), since, tuple(wrong), missing)


def _missing(policy: Policy, times: dict[str, int], since: int | None, demand: Demand) -> Iterator[str]:
    if since is None:
        asked, there = policy.counts(times)
        yield f"cosignatures: {there} of the {asked} that the policy asks"
    elif since > demand.now + AHEAD_SECONDS:
        yield "a time that can be: cosigned in the future"
    elif demand.max_age is not None and demand.now - since > demand.max_age:
        yield f"a fresh state: cosigned {_ago(demand.now - since)} ago"


def time_text(seconds: int) -> str:
    """Returns POSIX seconds as people write them, in UTC; a time after the year 9999 as the number that it is."""
    try:
        return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (ValueError, OverflowError, OSError):
        return f"second {seconds} of the POSIX clock"


def _ago(seconds: int) -> str:
    unit, length = next((each for each in _UNITS if seconds >= each[1]), _UNITS[-1])
    return counted(seconds // length, unit)
