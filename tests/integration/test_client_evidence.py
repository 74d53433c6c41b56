"""What a client keeps of a failed check can be judged by the auditor, who shares no code with it."""

import json
from pathlib import Path
from uuid import uuid4

import pytest
from click.testing import CliRunner
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from audit.commands.receipt import receipt
from dealer.client import CheckError, Client
from dealer.log.acknowledgement import acknowledgement_text
from dealer.log.note import NoteSigner
from dealer.v1 import dealer_pb2 as pb
from tests.integration.test_client_lies import (
    SEATS,
    another_card,
    another_commitment_in_the_list,
    client,
    liar,
    look_up,
    other_dealer,
    resigned,
    stack,
)

__all__ = ["client", "liar", "stack"]  # fixtures


async def evidence_of(work) -> Path:
    with pytest.raises(CheckError) as caught:
        await work
    return caught.value.evidence


def audit(path: Path, key: str | None = None) -> tuple[int, dict[str, tuple[str, str]]]:
    """Exit code, and state and detail of each step by its name."""
    options = ["--key", key] if key else []
    done = CliRunner().invoke(receipt, [str(path), "--format", "json", *options])
    report = json.loads(done.output)
    assert report["kind"] == "client's evidence"
    return done.exit_code, {step["name"]: (step["state"], step["detail"]) for step in report["steps"]}


async def test_a_false_card_beside_a_proven_commit(liar, client):
    hand = await client.open_hand("t", SEATS)
    liar.lie("DealStreet", another_card)
    code, steps = audit(await evidence_of(hand.deal_street("third")), liar.signer.verifier_key)
    assert code == 1
    assert steps["commit"][0] == "ok"
    assert steps["list"][0] == "ok"
    assert steps["card 0"][0] == "fail"
    assert steps["card 1"][0] == "ok"


async def test_a_list_that_is_not_the_committed_one(liar, client):
    liar.lie("OpenHand", another_commitment_in_the_list)
    code, steps = audit(await evidence_of(client.open_hand("t", SEATS)), liar.signer.verifier_key)
    assert (code, steps["commit"][0]) == (1, "ok")
    assert steps["list"] == ("fail", "it does not give the deck commitment")


async def test_a_root_that_the_log_s_key_signed_for_another_tree(liar, client):
    liar.lie("OpenHand", lambda a: setattr(a.hand, "receipt", resigned(a.hand.receipt, liar.signer, bytes(32))))
    code, steps = audit(await evidence_of(client.open_hand("t", SEATS)), liar.signer.verifier_key)
    assert code == 1
    assert steps["commit"] == ("fail", "the inclusion proof does not lead to the root")


async def test_a_value_that_was_acknowledged_and_listed_as_withheld(liar, client):
    async def pretend(request, forward):
        text = acknowledgement_text(request.hand_id, request.contributor, request.value)
        hand = await look_up(liar, request.hand_id)
        return pb.SubmitEntropyResponse(hand=hand, acknowledgement=liar.signer.sign(text))

    liar.lies["SubmitEntropy"] = pretend
    path = await evidence_of(client.open_hand("t", SEATS, contribute_as=["me"]))
    code, steps = audit(path, liar.signer.verifier_key)
    assert (code, steps["commit"][0], steps["offer"][0]) == (1, "ok", "ok")
    assert steps["acknowledgement"] == ("fail", "me gave its value in time and is listed as silent")


async def test_a_fork_is_proven_by_two_signed_trees(stack, liar, client, tmp_path):
    await (await client.open_hand("t", SEATS)).void()
    forked = await other_dealer(stack, tmp_path, "fork")
    await (await client.open_hand("t", SEATS)).void()
    async with Client(forked.address, liar.signer.verifier_key) as confederate:
        await (await confederate.open_hand("t", SEATS)).void()
    liar.go_over_to(forked.address)
    path = await evidence_of(client.refresh())
    code, steps = audit(path, liar.signer.verifier_key)
    assert code == 1
    assert "a fork, proven" in steps["append-only"][1]


async def test_a_rollback_is_told_and_the_log_has_to_be_asked(stack, liar, client, tmp_path):
    await (await client.open_hand("t", SEATS)).void()
    restored = await other_dealer(stack, tmp_path, "backup")
    await (await client.open_hand("t", SEATS)).void()
    liar.go_over_to(restored.address)
    code, steps = audit(await evidence_of(client.refresh()), liar.signer.verifier_key)
    assert code == 3
    assert steps["append-only"][0] == "missing"


async def test_evidence_without_a_key_is_incomplete_and_with_another_key_convicts_nobody(liar, client, tmp_path):
    await (await client.open_hand("t", SEATS)).void()
    hand = await client.open_hand("t", SEATS)
    liar.lie("FoldSeat", lambda answer: answer.hand.live_seats.append(9))
    await hand.deal_street("third")
    path = await evidence_of(hand.fold(1))
    code, steps = audit(path)
    assert code == 3
    assert steps["signature"][0] == "missing"
    stranger = NoteSigner("example.com/room", Ed25519PrivateKey.generate()).verifier_key
    code, steps = audit(path, stranger)
    assert (code, steps["commit"][0]) == (3, "fail")
    assert "no signature by example.com/room" in steps["commit"][1]
    assert "the client's word" in steps["signature"][1]


async def test_two_answers_to_one_request_are_judged_beside_the_commit_that_was_proven(liar, client):
    request_id = uuid4()
    hand = await client.open_hand("t", SEATS, number=1, request_id=request_id)
    liar.lie("OpenHand", lambda answer: setattr(answer.hand, "cards_left", 51))
    path = await evidence_of(client.open_hand("t", SEATS, number=1, request_id=request_id))
    assert json.loads(path.read_text())["commit"]["receipt"] == hand.commit.receipt
    code, steps = audit(path, liar.signer.verifier_key)
    assert (code, steps["commit"][0]) == (1, "ok")
    assert steps["repeat"] == ("fail", "one request was answered in two ways")


CARD = {"position": 0, "seat": 1, "face": "down", "card": "As", "salt": "00" * 32}


@pytest.mark.parametrize(
    "change",
    [
        {"commit": "x"},
        {"commit": {"entry": "%", "receipt": ""}},
        {"cards": {}},
        {"cards": [1]},
        {"cards": [{"position": "0"}]},
        *({"cards": [CARD | changed]} for changed in ({"seat": "1"}, {"seat": -1}, {"seat": 2**32}, {"face": 1})),
        *({"cards": [CARD | changed]} for changed in ({"face": "sideways"}, {"card": 1}, {"salt": "0G"})),
        {"commit": None},
        {"hand": 7},
        {"detail": None},
        {"consistency": {"hashes": ["00"]}},
        {"consistency": {"from": "0", "to": 1, "hashes": None}},
        {"checkpoints": []},
        {"acknowledgements": 3},
        {"checkpoints": ["x", "y"]},
        {"answers": ["%"]},
        {"card_commitments": 7},
    ],
)
def test_malformed_evidence_is_unreadable(tmp_path, change):
    path = tmp_path / "evidence.json"
    path.write_text(json.dumps({"format": "cutcard-evidence/v1", "check": "x", "detail": "y", **change}))
    done = CliRunner().invoke(receipt, [str(path)])
    assert done.exit_code == 4, done.output


@pytest.mark.parametrize("member", ["cards", "checkpoints", "consistency", "later"])
async def test_a_member_out_of_form_beside_what_is_proven_is_unreadable_and_an_unknown_one_is_not(
    liar, client, tmp_path, member
):
    hand = await client.open_hand("t", SEATS)
    liar.lie("DealStreet", another_card)
    path = await evidence_of(hand.deal_street("third"))
    content = json.loads(path.read_text())
    checkpoint = content["commit"]["receipt"].partition("\n\n")[2]
    wrong = {"cards": [CARD | {"face": "sideways"}], "checkpoints": [checkpoint], "consistency": 1, "later": 1}
    path.write_text(json.dumps(content | {member: wrong[member]}))
    done = CliRunner().invoke(receipt, [str(path), "--key", liar.signer.verifier_key])
    assert done.exit_code == (1 if member == "later" else 4), done.output
    assert member in done.output or member == "later"
