"""The check `witness`, word for word: who has cosigned, since when, how old that is, and every line that is wrong."""

from __future__ import annotations

import pytest

from audit.tlog.note import decode
from audit.tlog.policy import parse
from audit.tlog.witnessed import AHEAD_SECONDS, Demand, check_witnessed, time_text
from tests.attacks.cosigning import NOW, ONE, THREE, TWO, policy_text
from tests.attacks.maker import Signer

SIGNER = Signer()
SIGNED = SIGNER.checkpoint([b"entry"])
POLICY = parse(policy_text([SIGNER.verifier]).encode())
BOTH = TWO.onto(ONE.onto(SIGNED), NOW + 60)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "0 seconds"), (1, "1 second"), (59, "59 seconds"), (60, "1 minute"), (3_599, "59 minutes"),
        (3_600, "1 hour"), (86_399, "23 hours"), (86_400, "1 day"), (3 * 86_400, "3 days"),
    ],
)  # fmt: skip
def test_an_old_state_is_so_old(seconds: int, words: str) -> None:
    found = check_witnessed(decode(BOTH), Demand(POLICY, NOW + seconds, max_age=-1))
    assert (found.missing, found.holds) == (f"a fresh state: cosigned {words} ago", False)


def test_what_holds_is_said_with_names_and_time() -> None:
    found = check_witnessed(decode(BOTH), Demand(POLICY, NOW, max_age=0))
    assert found.holds
    assert str(found) == "2 of 3 (one, two), since 2027-01-15T08:00:00Z"
    assert str(check_witnessed(decode(SIGNED), Demand(POLICY, NOW))) == "0 of 3"


def test_a_clock_may_be_five_minutes_ahead() -> None:
    for ahead, missing in ((AHEAD_SECONDS, None), (AHEAD_SECONDS + 1, "a time that can be: cosigned in the future")):
        assert check_witnessed(decode(BOTH), Demand(POLICY, NOW - ahead)).missing == missing


def test_every_wrong_line_is_named_and_nothing_is_said_of_the_quorum_beside_them() -> None:
    lines = [each.line("another text\n").encode() for each in (ONE, TWO)]
    found = check_witnessed(decode(THREE.onto(SIGNED + b"".join(lines))), Demand(POLICY, NOW))
    assert [each.detail.partition(":")[0] for each in found.findings] == [
        "the cosignature of one is wrong",
        "the cosignature of two is wrong",
    ]
    assert all(
        each.check == "witness" and each.detail.endswith(f"({key})")
        for each, key in zip(found.findings, (ONE.key.name, TWO.key.name), strict=True)
    )
    assert (found.names, found.missing, found.holds) == (("three",), None, False)


def test_a_time_after_the_calendar_is_a_number() -> None:
    assert time_text(253_402_300_799) == "9999-12-31T23:59:59Z"
    assert time_text(253_402_300_800) == "second 253402300800 of the POSIX clock"
