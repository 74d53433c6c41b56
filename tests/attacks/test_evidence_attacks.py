"""A client's evidence is judged by the checks that judge the log, and by nothing that nobody signed."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from audit.cli import cli
from audit.errors import FormatError
from audit.evidence import client
from audit.evidence.receipt import Evidence
from audit.hand.escrow_keys import read_keys
from audit.tlog.keys import VerifierKey, base64_encode
from tests.attacks.judging import ESCROW, audit_entries
from tests.attacks.maker import Book, Draft, Entry, EscrowPair, Signer, canonical, contributors, drawn, honest_hands
from tests.attacks.mutating import mutants

SIGNER = Signer()
KINDS = ("offer", "commit", "close")


def evidence(raws: list[bytes], hand: str, signer: Signer = SIGNER, **more: Any) -> dict[str, Any]:
    """What a client would have kept of a hand that is the whole log."""
    content: dict[str, Any] = {"format": client.FORMAT, "check": "x", "detail": "y", "hand": hand}
    for index, raw in enumerate(raws):
        receipt = signer.receipt(raws, index).decode()
        content[KINDS[index - len(raws)]] = {"entry": base64_encode(raw), "receipt": receipt}
    return content | more


def checked(content: dict[str, Any], key: VerifierKey | None = SIGNER.verifier) -> Evidence:
    kept = client.decode(json.dumps(content).encode())
    assert kept is not None
    return client.check(kept, key, ESCROW)


def code(found: Evidence) -> int:
    return found.judge(allow_test=False)[1]


def failing(found: Evidence) -> set[str]:
    return {step.name for step in found.steps if step.state == "fail"}


def alone() -> list[Draft]:
    """One honest hand of each kind, each the first of its table; the longest adds cards to them and nothing else."""
    return [replace(draft, number=1) for draft in honest_hands() if draft.label != "board"]


@pytest.mark.parametrize("draft", alone(), ids=lambda draft: draft.label)
def test_a_whole_honest_hand_is_valid_and_no_mutant_is(draft: Draft) -> None:
    book = Book().play(draft)
    whole = checked(evidence(book.raws(), draft.id))
    assert (code(whole), failing(whole)) == (0, set())
    passed = []
    for name, raws in mutants(book):
        found = checked(evidence(raws, draft.id))
        # The log is asked only where the evidence does not convict.
        if code(found) != 1 and audit_entries(SIGNER, raws).exit_code == 1:
            passed.append((name, code(found)))
    assert passed == []


def offered(**fields: Any) -> Draft:
    return Draft("hand", values=contributors("hand", "a", "b"), **fields).deal(folds={"third": [2]})


def _edited(draft: Draft, **changes: dict[str, Any]) -> list[bytes]:
    offer, commit, close = draft.offer(), draft.commit(0), draft.close(1)
    made: dict[str, Entry] = {"offer": offer, "commit": commit, "close": close}
    return [canonical({**entry, **changes.get(kind, {})}) for kind, entry in made.items()]


def _acknowledged(value: bytes, contributor: str = "a", hand: str = "") -> list[str]:
    text = f"cutcard/v1/entropy\n{hand or offered().id}\n{contributor}\n{value.hex()}\n"
    return [SIGNER.note(text).decode()]


def _silent() -> dict[str, Any]:
    draft = offered(silent={"a"})
    return evidence(_edited(draft), draft.id, acknowledgements=_acknowledged(draft.values["a"]))


def _nowhere() -> dict[str, Any]:
    draft = offered()
    content = draft.commit(0)["contributions"]
    raws = _edited(draft, commit={"contributions": content[1:]})
    return evidence(raws, draft.id, acknowledgements=_acknowledged(draft.values["a"]))


def _another_value() -> dict[str, Any]:
    draft = offered()
    return evidence(_edited(draft), draft.id, acknowledgements=_acknowledged(bytes(32)))


def _stranger() -> dict[str, Any]:
    draft = offered()
    return evidence(_edited(draft), draft.id, acknowledgements=_acknowledged(bytes(32), "z"))


def _two_values() -> dict[str, Any]:
    draft = offered()
    raws = _edited(draft)
    given = draft.values["a"]
    content = evidence(raws, draft.id, acknowledgements=_acknowledged(given) + _acknowledged(bytes(32)))
    return {name: value for name, value in content.items() if name not in KINDS}


def _another_hand() -> dict[str, Any]:
    draft = offered()
    said = _acknowledged(draft.values["a"], hand=Draft("other").id)
    return evidence(_edited(draft), draft.id, acknowledgements=said)


def _lie(kind: str, **members: Any) -> Callable[[], dict[str, Any]]:
    def made() -> dict[str, Any]:
        draft = offered()
        return evidence(_edited(draft, **{kind: members}), draft.id)

    return made


def _before_its_offer() -> dict[str, Any]:
    draft = offered()
    raws = [canonical(draft.commit(1)), canonical(draft.offer()), canonical(draft.close(0))]
    content = evidence(raws, draft.id)
    content["offer"], content["commit"] = content["commit"], content["offer"]
    return content


def _without(member: str) -> Callable[[], dict[str, Any]]:
    def made() -> dict[str, Any]:
        draft = offered(reveal="public" if member == "seed" else "sealed")
        raws = _edited(draft)
        close = {name: value for name, value in draft.close(1).items() if name != member}
        return evidence([*raws[:2], canonical(close)], draft.id)

    return made


def _sealed(**members: Any) -> Callable[[], dict[str, Any]]:
    def made() -> dict[str, Any]:
        draft = offered(reveal="sealed")
        return evidence(_edited(draft, close=members), draft.id)

    return made


def _wrong_opening() -> dict[str, Any]:
    draft = offered(reveal="sealed")
    openings = draft.close(1)["openings"]
    openings[0][1] = "2c" if openings[0][1] != "2c" else "2d"
    return evidence(_edited(draft, close={"openings": openings}), draft.id)


def _another_position() -> dict[str, Any]:
    draft = offered()
    events = json.loads(json.dumps(draft.events))
    events[0]["cards"][0][0] = 9
    return evidence(_edited(draft, close={"events": events}), draft.id)


def _another_hands_close() -> dict[str, Any]:
    draft, other = offered(), Draft("other").deal()
    return evidence([*_edited(draft)[:2], canonical(other.close(1))], draft.id)


def _fork() -> dict[str, Any]:
    one, two = _edited(offered()), _edited(offered(seats=[1, 2, 3, 4]))
    content = evidence(one, offered().id)
    content["close"] = evidence(two, offered().id)["close"]
    return content


LIES: dict[str, tuple[str, Callable[[], dict[str, Any]]]] = {
    "an acknowledged value listed as withheld": ("acknowledgement", _silent),
    "an acknowledged value named nowhere": ("acknowledgement", _nowhere),
    "another value in an acknowledged one's place": ("acknowledgement", _another_value),
    "an acknowledgement of somebody not invited": ("acknowledgement", _stranger),
    "two acknowledged values": ("acknowledgement", _two_values),
    "an acknowledgement for another hand": ("acknowledgement", _another_hand),
    "a commit that differs from its offer": ("lifecycle", _lie("offer", number=2)),
    "a commit before its offer": ("lifecycle", _before_its_offer),
    "a wrong entropy digest": ("entropy", _lie("commit", entropy_digest="0" * 64)),
    "a commit to another deck": ("deck", _lie("commit", deck_commitment="0" * 64)),
    "another position": ("dealing", _another_position),
    "another seed": ("seed", _lie("close", seed="0" * 128)),
    "no seed": ("reveal", _without("seed")),
    "no escrow": ("reveal", _without("escrow")),
    "no openings": ("reveal", _without("openings")),
    "a wrong opening": ("opening", _wrong_opening),
    "a wrong escrow": ("seed", _sealed(escrow=base64_encode(bytes(112)))),
    "another commit named": ("lifecycle", _lie("close", commit=0)),
    "another hand's close": ("lifecycle", _another_hands_close),
    "an entry out of form": ("commit", _lie("commit", withheld=None)),
    "a number that its table cannot have come to": ("lifecycle", _lie("commit", number=9)),
    "two trees of one size": ("close", _fork),
}


@pytest.mark.parametrize("name", LIES)
def test_a_signed_lie_convicts_by_its_own_name(name: str) -> None:
    step, made = LIES[name]
    found = checked(made())
    assert code(found) == 1
    assert step in failing(found), found.steps


@pytest.mark.parametrize("missing", KINDS)
def test_what_is_not_in_the_evidence_is_missing_and_no_lie(missing: str) -> None:
    draft = offered()
    content = evidence(_edited(draft), draft.id)
    del content[missing]
    found = checked(content)
    assert (code(found), failing(found)) == (3, set())
    assert missing in {step.name for step in found.steps if step.state == "missing"}


def test_a_later_hand_needs_the_log() -> None:
    first, draft = Draft("first").deal(), replace(offered(), number=2)
    raws = [*Book().play(first).raws(), *[canonical(e) for e in (draft.offer(), draft.commit(2), draft.close(3))]]
    content = evidence(raws[:3], draft.id)
    for kind, index in zip(KINDS, (2, 3, 4), strict=True):
        content[kind] = {"entry": base64_encode(raws[index]), "receipt": SIGNER.receipt(raws, index).decode()}
    found = checked(content)
    assert (code(found), failing(found)) == (3, set())
    assert {step.name for step in found.steps if step.state == "missing"} == {"number"}


def test_a_lost_hand_is_incomplete() -> None:
    draft = offered(outcome="lost")
    for raws in (_edited(draft), [canonical(draft.offer()), canonical(draft.lost(0))]):
        content = evidence(raws, draft.id)
        if len(raws) == 2:
            content["offer"] = content.pop("commit")
        found = checked(content)
        assert (code(found), failing(found)) == (3, set())


def test_a_sealed_hand_needs_the_escrow_key(tmp_path: Path) -> None:
    draft = offered(reveal="sealed")
    file, escrow = tmp_path / "evidence.json", tmp_path / "escrow.key"
    file.write_text(json.dumps(evidence(_edited(draft), draft.id)))
    escrow.write_text(EscrowPair().private.hex())
    command = ["receipt", str(file), "--key", str(SIGNER.verifier)]
    without = CliRunner().invoke(cli, command)
    assert (without.exit_code, "--escrow-key" in without.output) == (3, True)
    assert CliRunner().invoke(cli, [*command, "--escrow-key", str(escrow)]).exit_code == 0


@pytest.mark.parametrize("kept", [KINDS, ("offer", "commit"), ("offer",)], ids=lambda kept: kept[-1])
def test_a_wrong_escrow_key_is_the_auditor_s_own_slip(kept: tuple[str, ...]) -> None:
    draft = offered(reveal="sealed")
    whole = evidence(_edited(draft), draft.id)
    content = client.decode(json.dumps({name: whole[name] for name in ("format", *kept)}).encode())
    assert content is not None
    found = client.check(content, SIGNER.verifier, read_keys([drawn("another escrow key", 32).hex()]))
    assert (code(found), failing(found)) == (3, set())
    assert any(step.name == "escrow" and "is yours the right one?" in step.detail for step in found.steps)


@pytest.mark.parametrize("answers", [["AA=="], ["AA==", "AA=="], ["AA==", "AQ=="]], ids=["one", "same", "two"])
def test_nothing_signed_is_the_client_s_word(answers: list[str], tmp_path: Path) -> None:
    file = tmp_path / "evidence.json"
    file.write_text(json.dumps({"format": client.FORMAT, "answers": answers}))
    for options in ([], ["--key", str(SIGNER.verifier)]):
        done = CliRunner().invoke(cli, ["receipt", str(file), *options])
        assert done.exit_code == 3
        assert "the client's word" in " ".join(done.output.split())


@pytest.mark.parametrize("place", ["check", "detail", "hand", "key", "cards", "answers", "commit", "odd"])
def test_half_a_character_is_unreadable(place: str, tmp_path: Path) -> None:
    draft = offered()
    content = evidence(_edited(draft), draft.id)
    content[place] = {"cards": [{"position": 0, "card": "\ud800", "salt": ""}], "answers": ["\ud800"]}.get(
        place, {"entry": "AA==", "receipt": "\ud800"} if place == "commit" else "\ud800"
    )
    file = tmp_path / "evidence.json"
    file.write_text(json.dumps(content))
    for options in ([], ["--format", "json"]):
        done = CliRunner().invoke(cli, ["receipt", str(file), "--key", str(SIGNER.verifier), *options])
        assert done.exit_code == 4, done.output
        assert isinstance(done.exception, SystemExit)


FORGER = Signer(SIGNER.origin, drawn("forger", 32))
DRAFT = offered()
RAWS = _edited(DRAFT)
FALSE = _edited(offered(), commit={"entropy_digest": "0" * 64})
GENUINE = [SIGNER.receipt(raws, index).decode() for raws in (RAWS, FALSE) for index in range(3)]
FORGED = [FORGER.receipt(raws, index).decode() for raws in (RAWS, FALSE) for index in range(3)]
SIGNED = [SIGNER.checkpoint(RAWS).decode(), SIGNER.checkpoint(RAWS[:2]).decode(), *_acknowledged(DRAFT.values["a"])]
UNSIGNED = [FORGER.checkpoint(RAWS).decode(), FORGER.checkpoint(RAWS[:2]).decode()]

_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-1, 2**54) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)
_NOTES = st.sampled_from([*SIGNED, *UNSIGNED, "", "x\n\n— y AAAA\n"])
_CARD = st.fixed_dictionaries(
    {},
    optional={
        "position": st.integers(-1, 70000) | _JSON,
        "card": st.sampled_from(["2c", "As", "", "xx"]) | _JSON,
        "salt": st.sampled_from(["", "00" * 32, DRAFT.salts[:32].hex()]) | _JSON,
    },
)
_PROVEN = st.fixed_dictionaries(
    {
        "entry": st.sampled_from([base64_encode(raw) for raw in [*RAWS, *FALSE]] + ["", "AA=="]),
        "receipt": st.sampled_from([*GENUINE, *FORGED, "", "x"]),
    }
)
_FILES = st.fixed_dictionaries(
    {"format": st.just(client.FORMAT)},
    optional={
        "hand": st.just(DRAFT.id) | _JSON,
        **dict.fromkeys(KINDS, _PROVEN | _JSON),
        "card_commitments": st.just(base64_encode(DRAFT.commitments)) | _JSON,
        "cards": st.lists(_CARD | _JSON, max_size=2) | _JSON,
        "acknowledgements": st.lists(_NOTES | _JSON, max_size=2) | _JSON,
        "checkpoints": st.lists(_NOTES | _JSON, max_size=2) | _JSON,
        "consistency": st.fixed_dictionaries({"hashes": st.lists(st.just("00" * 32), max_size=2) | _JSON}) | _JSON,
        "answers": st.lists(st.sampled_from(["AA==", "AQ=="]) | _JSON, max_size=3) | _JSON,
    },
)


@settings(max_examples=100, deadline=None)
@given(_FILES)
def test_a_verdict_rests_on_a_signature(content: dict[str, Any]) -> None:
    try:
        kept = client.decode(json.dumps(content).encode())
        assert kept is not None
        verdict = client.check(kept, SIGNER.verifier).judge(allow_test=False)[0]
    except FormatError:
        return
    texts = {value["receipt"] for kind in KINDS if isinstance(value := content.get(kind), dict) and "receipt" in value}
    for name in ("acknowledgements", "checkpoints"):
        given_notes = content.get(name)
        texts |= {text for text in given_notes if isinstance(text, str)} if isinstance(given_notes, list) else set()
    if verdict in ("valid", "invalid"):
        assert texts & {*GENUINE, *SIGNED}
    else:
        assert verdict == "incomplete"
