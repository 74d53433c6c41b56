"""The auditor against vectors that an implementation sharing nothing with it made."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from audit import protocol
from audit.errors import CheckError
from audit.hand import words
from audit.hand.escrow import EscrowKeys
from audit.hand.escrow_keys import read_keys
from audit.logs.folder import FolderLog
from audit.record.acknowledgement import read_acknowledgement
from audit.record.entries import Close, Commit, Offer
from audit.record.reading import parse
from audit.tlog import merkle, note, proofs, receipt
from audit.tlog.checkpoint import read_checkpoint
from audit.tlog.keys import VerifierKey
from audit.tlog.tiles import WIDTH, decode_bundle, path
from audit.whole.report import Report
from audit.whole.verify import Options, verify
from tests.vectors.places import FOREIGN, OTHERS, needs_others


def _json(name: str) -> Any:
    return json.loads((FOREIGN / name).read_text())


def _verify(name: str, *, with_escrow: bool, processes: int = 1) -> Report:
    keys = read_keys([(FOREIGN / f"{name}.escrow-key.hex").read_text()]) if with_escrow else EscrowKeys()
    key = VerifierKey.parse((FOREIGN / f"{name}.vkey").read_text().strip())
    return verify(FolderLog(FOREIGN / name), Options(key, keys, processes=processes))


@pytest.mark.parametrize(
    ("name", "hands", "entries"), [("golden-log", 8, 18), ("golden-log-200", 200, 467), ("golden-log-seats", 4, 9)]
)
def test_golden_log(name: str, hands: int, entries: int) -> None:
    report = _verify(name, with_escrow=True)
    assert (report.verdict, report.exit_code, report.findings, report.missing) == ("valid", 0, (), ())
    assert (report.hands.total, report.entries) == (hands, entries)
    sealed = _verify(name, with_escrow=False)
    assert (sealed.verdict, sealed.exit_code, sealed.findings) == ("incomplete", 3, ())


def test_golden_log_with_lost_hands() -> None:
    report = _verify("golden-log-lost", with_escrow=True)
    assert (report.verdict, report.exit_code, report.findings) == ("incomplete", 3, ())
    assert (report.hands.total, report.hands.lost, report.hands.open, report.entries) == (5, 2, 0, 10)
    assert [(hand.table, hand.number, hand.dealt, hand.others) for hand in report.lost] == [
        ("a", 2, True, 0),
        ("b", 1, False, 0),
    ]
    assert len(report.missing) == 2
    assert all(hand.hand in text for hand, text in zip(report.lost, report.missing, strict=True))


@pytest.mark.parametrize("hand", _json("hands.json")["hands"], ids=lambda hand: hand["name"])
def test_hand(hand: dict[str, Any]) -> None:
    commitments_are_for = _json("hands.json")["commitments_are_for"]
    hand_id, seed = bytes.fromhex(hand["hand_id"]), bytes.fromhex(hand["seed"])
    contributions = [(each["contributor"], bytes.fromhex(each["value"])) for each in hand["contributions"]]
    for each, (name, value) in zip(hand["contributions"], contributions, strict=True):
        table, number = commitments_are_for["table"], commitments_are_for["number"]
        preimage = protocol.contribution_preimage(table, number, name, value)
        assert protocol.sha256(preimage).hex() == each["commitment"]
    digest = protocol.entropy_digest(hand_id, contributions)
    source = protocol.material(hand_id, digest, seed)
    deck = protocol.shuffle(protocol.DECKS[hand["deck_kind"]], source)
    salts = protocol.salts(source, len(deck))
    commitments = protocol.card_commitments(hand_id, deck, salts)
    assert protocol.seed_commitment(hand_id, seed).hex() == hand["seed_commitment"]
    assert digest.hex() == hand["entropy_digest"]
    assert " ".join(deck) == hand["deck"]
    assert len(words.words_used(len(deck), source)) == hand["words_consumed"]
    assert (salts[:32].hex(), salts[-32:].hex()) == (hand["first_salt"], hand["last_salt"])
    assert commitments[:32].hex() == hand["first_card_commitment"]
    assert commitments[-32:].hex() == hand["last_card_commitment"]
    assert protocol.deck_commitment(hand_id, commitments).hex() == hand["deck_commitment"]


def test_receipts() -> None:
    vectors = _json("receipts.json")
    key = VerifierKey.parse(vectors["verifier_key"])
    assert vectors["receipts"]
    for vector in vectors["receipts"]:
        given = receipt.decode(vector["receipt"].encode())
        note.check_signed(given.note, key)
        assert (given.index, given.checkpoint.size) == (vector["index"], vector["size"])
        leaf = merkle.leaf_hash(vector["entry"].encode())
        proofs.check_inclusion(given.index, given.checkpoint.size, leaf, given.proof, given.checkpoint.root)
        assert isinstance(parse(vector["entry"].encode()), Offer | Commit | Close)


def test_receipts_are_prefixes_of_the_log() -> None:
    vectors = _json("receipts.json")
    since = tuple((f"receipt {n}", each["receipt"].encode()) for n, each in enumerate(vectors["receipts"]))
    key = VerifierKey.parse(vectors["verifier_key"])
    report = verify(FolderLog(FOREIGN / "golden-log-200"), Options(key, since=since))
    assert report.exit_code == 3  # no escrow key was given
    assert next(check for check in report.checks if check.name == "append-only").made == len(since)
    assert not report.findings


def test_acknowledgement() -> None:
    vectors = _json("receipts.json")
    signed = note.decode(vectors["acknowledgement"]["note"].encode())
    note.check_signed(signed, VerifierKey.parse(vectors["verifier_key"]))
    said = read_acknowledgement(signed)
    expected = vectors["acknowledgement"]
    assert (said.hand, said.contributor, said.value.hex()) == (
        expected["hand"],
        expected["contributor"],
        expected["value"],
    )


def _hashes(values: list[str] | None) -> list[bytes]:
    return [base64.b64decode(value) for value in values or []]


@needs_others
def test_merkle_proofs_right_and_wrong() -> None:
    vectors = json.loads((OTHERS / "merkle-proofs.json").read_text())
    judged = 0
    for case in vectors["inclusion"]:
        leaf, root = base64.b64decode(case["leafHash"]), base64.b64decode(case["root"])
        args = (case["leafIdx"], case["treeSize"], leaf, _hashes(case["proof"]), root)
        judged += _judge(case, lambda args=args: proofs.check_inclusion(*args))
    for case in vectors["consistency"]:
        roots = base64.b64decode(case["root1"]), base64.b64decode(case["root2"])
        args = (case["size1"], case["size2"], *roots, _hashes(case["proof"]))
        judged += _judge(case, lambda args=args: proofs.check_consistency(*args))
    assert judged == 195


def _judge(case: dict[str, Any], check: Any) -> int:
    try:
        check()
    except CheckError:
        assert case["wantErr"], case
    else:
        assert not case["wantErr"], case
    return 1


@needs_others
@pytest.mark.parametrize("size", range(16))
def test_a_foreign_logs_tree(size: int) -> None:
    folder = OTHERS / "tessera-log"
    wanted = read_checkpoint(note.decode((folder / f"checkpoint.{size}").read_bytes()))
    assert wanted.size == size
    peaks = merkle.CompactRange()
    if size:
        raws = decode_bundle((folder / path("entries", 0, size)).read_bytes(), size, prefix=False)
        tile = (folder / path(0, 0, size)).read_bytes()
        assert tile == b"".join(merkle.leaf_hash(raw) for raw in raws)
        for raw in raws:
            peaks.append(merkle.leaf_hash(raw))
    assert peaks.root() == wanted.root


def test_tile_paths() -> None:
    assert path(0, 1234067) == "tile/0/x001/x234/067"
    assert path("entries", 0, 18) == "tile/entries/000.p/18"
    assert path(1, 999) == "tile/1/999"
    assert path(1, 1000, WIDTH - 1) == "tile/1/x001/000.p/255"
