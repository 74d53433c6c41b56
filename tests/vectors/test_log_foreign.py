"""The log against what others made: proofs, receipts, two golden logs and a foreign C2SP log."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from dealer.log.acknowledgement import acknowledgement_text, open_acknowledgement
from dealer.log.checkpoint import open_checkpoint, read_checkpoint
from dealer.log.errors import LogError, ProofError
from dealer.log.merkle import CompactRange, consistency_proof, verify_consistency, verify_inclusion
from dealer.log.note import NoteVerifier
from dealer.log.receipt import Receipt, make_receipt
from dealer.log.tiles import publish
from tests.unit.log.naive import KeptNodes
from tests.vectors.places import FOREIGN, OTHERS, needs_others

RECEIPTS = json.loads((FOREIGN / "receipts.json").read_text())


def others_proofs() -> Any:
    """The proofs of transparency-dev; empty where they are not there, and then their tests are skipped."""
    proofs = OTHERS / "merkle-proofs.json"
    return json.loads(proofs.read_text()) if proofs.exists() else {"inclusion": [], "consistency": []}


def decode(text: str | None) -> bytes:
    return base64.b64decode(text or "")


def bundled_entries(log: Path) -> list[bytes]:
    """The entries of a static log, the widest bundle of each number in turn."""
    bundles: dict[str, Path] = {}
    for path in (log / "tile" / "entries").rglob("*"):
        if path.is_file():
            number = path.parent.name.removesuffix(".p") if path.parent.suffix == ".p" else path.name
            if number not in bundles or path.stat().st_size > bundles[number].stat().st_size:
                bundles[number] = path
    entries = []
    for _, path in sorted(bundles.items()):
        data = path.read_bytes()
        while data:
            end = 2 + int.from_bytes(data[:2], "big")
            entries.append(data[2:end])
            data = data[end:]
    return entries


@needs_others
@pytest.mark.parametrize("case", others_proofs()["inclusion"], ids=lambda case: case["case"])
def test_inclusion_proof(case: dict[str, Any]) -> None:
    arguments = (case["leafIdx"], case["treeSize"], decode(case["leafHash"]))
    proof, root = [decode(each) for each in case["proof"] or []], decode(case["root"])
    if case["wantErr"]:
        with pytest.raises(ProofError):
            verify_inclusion(*arguments, proof, root)
    else:
        verify_inclusion(*arguments, proof, root)


@needs_others
@pytest.mark.parametrize("case", others_proofs()["consistency"], ids=lambda case: case["case"])
def test_consistency_proof(case: dict[str, Any]) -> None:
    arguments = (case["size1"], case["size2"], decode(case["root1"]), decode(case["root2"]))
    proof = [decode(each) for each in case["proof"] or []]
    if case["wantErr"]:
        with pytest.raises(ProofError):
            verify_consistency(*arguments, proof)
    else:
        verify_consistency(*arguments, proof)


@needs_others
def test_every_proof_case_is_there() -> None:
    cases = others_proofs()
    assert len(cases["inclusion"]) + len(cases["consistency"]) == 195


@pytest.mark.parametrize("case", RECEIPTS["receipts"], ids=lambda case: f"{case['index']}-of-{case['size']}")
def test_receipt(case: dict[str, Any]) -> None:
    verifier = NoteVerifier.parse(RECEIPTS["verifier_key"])
    receipt = Receipt.parse(case["receipt"])
    state = receipt.verify(case["entry"].encode(), verifier)
    assert (receipt.index, state.size) == (case["index"], case["size"])
    assert make_receipt(receipt.index, receipt.proof, receipt.checkpoint_note) == case["receipt"]
    with pytest.raises(LogError):
        receipt.verify(case["entry"].encode() + b" ", verifier)


def test_acknowledgement() -> None:
    case = RECEIPTS["acknowledgement"]
    opened = open_acknowledgement(case["note"], NoteVerifier.parse(RECEIPTS["verifier_key"]))
    assert (opened.hand, opened.contributor, opened.value.hex()) == (case["hand"], case["contributor"], case["value"])
    text = acknowledgement_text(case["hand"], case["contributor"], bytes.fromhex(case["value"]))
    assert case["note"].startswith(text + "\n")


@pytest.mark.parametrize("name", ["golden-log", "golden-log-200", "golden-log-lost", "golden-log-seats"])
def test_a_golden_log_published_again_is_the_same_to_the_byte(name: str, tmp_path: Path) -> None:
    golden = FOREIGN / name
    note = (golden / "checkpoint").read_text()
    kept = KeptNodes(bundled_entries(golden))
    state = open_checkpoint(note, NoteVerifier.parse((FOREIGN / f"{name}.vkey").read_text().strip()))
    assert (state.size, state.root) == (len(kept.entries), kept.tree.root())
    publish(tmp_path, 0, state.size, note, kept.read, kept.read_entries)
    files = [
        {str(path.relative_to(log)): path.read_bytes() for path in log.rglob("*") if path.is_file()}
        for log in (golden, tmp_path)
    ]
    assert files[0] == files[1]


@needs_others
def test_the_foreign_log_has_our_tree_at_every_size(tmp_path: Path) -> None:
    foreign = OTHERS / "tessera-log"
    kept = KeptNodes(bundled_entries(foreign))
    shown = [read_checkpoint((foreign / f"checkpoint.{size}").read_text()) for size in range(16)]
    assert len(kept.entries) == 15
    for size, state in enumerate(shown):
        assert (state.size, state.root) == (size, CompactRange.load(size, kept.read).root())
    for new in shown:
        for old in shown[: new.size + 1]:
            verify_consistency(old.size, new.size, old.root, new.root, consistency_proof(old.size, new.size, kept.read))
    for size in range(1, 16):
        note = (foreign / f"checkpoint.{size}").read_text()
        publish(tmp_path, size - 1, size, note, kept.read, kept.read_entries)
        for kind in ("0", "entries"):
            made = (tmp_path / "tile" / kind / "000.p" / str(size)).read_bytes()
            assert made == (foreign / "tile" / kind / "000.p" / str(size)).read_bytes()
