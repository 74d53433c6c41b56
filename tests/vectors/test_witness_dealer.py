"""Cosignatures and policies of `witness.json`, read by the dealer, which shares no code with the auditor."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dealer.log.cosignature import CosignatureError, WitnessKey, cosigned, with_lines
from dealer.log.errors import NoteError
from dealer.log.note import signature_lines
from dealer.log.policy import PolicyError, parse
from dealer.log.receipt import Receipt
from tests.vectors.places import FOREIGN

VECTORS: dict[str, Any] = json.loads((FOREIGN / "witness.json").read_text("utf-8"))
why = lambda case: case.get("why") or case.get("time")


def note_of(case: dict[str, Any]) -> str:
    return f"{case['checkpoint']}\n{case['line']}"


def test_a_log_key_is_no_witness_key() -> None:
    with pytest.raises(NoteError, match="no key for cosignatures"):
        WitnessKey.parse(VECTORS["log"]["vkey"])


@pytest.mark.parametrize("case", VECTORS["cosignatures"], ids=why)
def test_cosignature(case: dict[str, Any]) -> None:
    keys = {"w": WitnessKey.parse(case["witness"])}
    if case["valid"]:
        assert cosigned(note_of(case), keys) == {"w": case["time"]}
    else:
        with pytest.raises(CosignatureError):
            cosigned(note_of(case), keys)


@pytest.mark.parametrize("case", VECTORS["passed_over"], ids=why)
def test_a_line_by_another_key_is_passed_over(case: dict[str, Any]) -> None:
    assert cosigned(note_of(case), {"w": WitnessKey.parse(case["witness"])}) == {}


@pytest.mark.parametrize("case", VECTORS["policies"])
def test_policy(case: dict[str, Any]) -> None:
    policy = parse(case["policy"].encode())
    assert policy.time(cosigned(case["note"], policy.witnesses)) == case["time"]
    assert (case["time"] is not None) == case["holds"]
    assert parse(case["policy"].rstrip("\n").encode()) == policy


@pytest.mark.parametrize("case", VECTORS["bad_policies"], ids=why)
def test_policy_that_is_refused(case: dict[str, Any]) -> None:
    with pytest.raises(PolicyError, match=r"line|quorum"):
        parse(case["policy"].encode())


@pytest.mark.parametrize("case", VECTORS["receipts"])
def test_receipt(case: dict[str, Any]) -> None:
    policy = parse(case["policy"].encode())
    note = Receipt.parse(case["receipt"]).checkpoint_note
    if case["witness"] == "wrong":
        with pytest.raises(CosignatureError):
            cosigned(note, policy.witnesses)
        return
    since = policy.time(cosigned(note, policy.witnesses))
    assert (since is not None) == (case["witness"] == "holds")
    assert since is None or since == case["time"]


def test_lines_stand_in_the_policys_order_and_the_latest_counts() -> None:
    good = [case for case in VECTORS["cosignatures"] if case["valid"]]
    case = next(case for case in good if sum(each["checkpoint"] == case["checkpoint"] for each in good) > 1)
    same = [each for each in good if each["checkpoint"] == case["checkpoint"]]
    names = list(dict.fromkeys(each["witness"] for each in same))[::-1]
    keys = {name: WitnessKey.parse(name) for name in names}
    log_line = "\u2014 log.example " + "AAAAAAAA" + "\n"
    bare = f"{case['checkpoint']}\n{log_line}"
    merged = with_lines(bare, keys, *(f"{bare}{each['line']}" for each in same))
    signers = [name for name, _ in signature_lines(merged)[1]]
    assert signers == ["log.example", *(keys[name].name for name in names)]
    latest = {name: max(each["time"] for each in same if each["witness"] == name) for name in names}
    assert cosigned(merged, keys) == latest
    assert with_lines(merged, {}) == bare
