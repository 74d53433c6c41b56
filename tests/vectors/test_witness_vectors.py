"""Cosignatures, policies, receipts and whole logs of `witness.json`, judged as their makers tell."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from audit.errors import FormatError
from audit.evidence.receipt import check_evidence
from audit.hand.escrow_keys import read_keys
from audit.logs.folder import FolderLog
from audit.tlog import note, receipt
from audit.tlog.cosignature import (
    CosignatureError,
    WitnessKey,
    cosignature_line,
    cosigned_at,
    cosigned_message,
)
from audit.tlog.keys import VerifierKey
from audit.tlog.policy import parse
from audit.tlog.witnessed import Demand, check_witnessed
from audit.whole.verify import Options, verify
from tests.vectors.places import FOREIGN

VECTORS: dict[str, Any] = json.loads((FOREIGN / "witness.json").read_text("utf-8"))
why = lambda case: case.get("why") or case.get("time")


def signed(case: dict[str, Any]) -> note.Note:
    return note.decode(f"{case['checkpoint']}\n{case['line']}".encode())


def test_keys_are_read_and_written_again() -> None:
    for text, kind in [(VECTORS["log"]["vkey"], VerifierKey), *((w["vkey"], WitnessKey) for w in VECTORS["witnesses"])]:
        assert str(kind.parse(text)) == text
        with pytest.raises(FormatError):
            {VerifierKey: WitnessKey, WitnessKey: VerifierKey}[kind].parse(text)


@pytest.mark.parametrize("case", VECTORS["cosignatures"], ids=why)
def test_cosignature(case: dict[str, Any]) -> None:
    key = WitnessKey.parse(case["witness"])
    if not case["valid"]:
        with pytest.raises(CosignatureError, match=f"the cosignature of {key.name} is wrong"):
            cosigned_at(signed(case), key)
        return
    assert cosigned_at(signed(case), key) == case["time"]
    assert cosigned_message(case["checkpoint"], case["time"]).decode() == case["message"]
    (line,) = signed(case).signatures
    assert cosignature_line(key, case["time"], line.signature[8:]) == case["line"]


@pytest.mark.parametrize("case", VECTORS["passed_over"], ids=why)
def test_a_line_by_another_key_is_passed_over(case: dict[str, Any]) -> None:
    assert cosigned_at(signed(case), WitnessKey.parse(case["witness"])) is None


@pytest.mark.parametrize("case", VECTORS["policies"])
def test_policy(case: dict[str, Any]) -> None:
    policy = parse(case["policy"].encode())
    times = {each.name: cosigned_at(note.decode(case["note"].encode()), each.key) for each in policy.witnesses.values()}
    named = {name: time for name, time in times.items() if time is not None}
    assert (policy.time(named) is not None) == case["holds"]
    assert policy.time(named) == case["time"]
    asked, there = policy.counts(named)
    assert (asked == there) == case["holds"]
    assert parse(case["policy"].rstrip("\n").encode()) == policy


@pytest.mark.parametrize("case", VECTORS["bad_policies"], ids=why)
def test_policy_that_is_refused(case: dict[str, Any]) -> None:
    with pytest.raises(FormatError, match=r"line|quorum"):
        parse(case["policy"].encode())


LATER = 1_800_000_100


def judged(case: dict[str, Any]) -> dict[str, str]:
    demand = Demand(parse(case["policy"].encode()), LATER)
    evidence = check_evidence(case["receipt"].encode(), None, entry=case["entry"].encode(), witnesses=demand)
    return {step.name: step.state for step in evidence.steps}


@pytest.mark.parametrize("case", VECTORS["receipts"])
def test_receipt(case: dict[str, Any]) -> None:
    steps = judged(case)
    assert steps["signature"] == ("ok" if case["signature"] else "fail")
    assert steps["inclusion"] == ("ok" if case["inclusion"] else "fail")
    assert steps["witness"] == {"holds": "ok", "too few": "missing", "wrong": "fail"}[case["witness"]]
    given = receipt.decode(case["receipt"].encode())
    assert (
        receipt.encode(given.index, given.proof, case["receipt"].partition("\n\n")[2].encode()).decode()
        == case["receipt"]
    )
    if case["witness"] == "holds":
        assert check_witnessed(given.note, Demand(parse(case["policy"].encode()), LATER)).since == case["time"]


@pytest.mark.parametrize("case", VECTORS["golden_log"]["cases"], ids=why)
def test_golden_log_with_cosignatures(case: dict[str, Any], tmp_path: Path) -> None:
    folder = tmp_path / "log"
    shutil.copytree(FOREIGN / "golden-log", folder)
    (folder / "checkpoint").write_bytes(case["checkpoint"].encode())
    escrow = read_keys([(FOREIGN / "golden-log.escrow-key.hex").read_text()])
    demand = Demand(parse(VECTORS["golden_log"]["policy"].encode()), LATER)
    report = verify(FolderLog(folder), Options(escrow=escrow, witnesses=demand))
    assert report.exit_code == case["exit_code"]
    assert report.witnessed is not None
    assert (report.witnessed.since if report.witnessed.holds else None) == case["time"]
    assert {check.name for check in report.checks if check.failed} == ({"witness"} if case["exit_code"] == 1 else set())
    assert verify(FolderLog(folder), Options(demand.policy.logs[0], escrow)).exit_code == 0
