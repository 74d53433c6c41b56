"""The log against this project's own vectors, made by the RFC's recursion: every text and file to the byte."""

import base64
import json
from hashlib import sha256
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from dealer.log.acknowledgement import acknowledgement_text, open_acknowledgement
from dealer.log.checkpoint import Checkpoint, open_checkpoint, sign_checkpoint
from dealer.log.merkle import CompactRange, consistency_proof, inclusion_proof, verify_consistency
from dealer.log.note import NoteSigner, NoteVerifier
from dealer.log.receipt import Receipt, make_receipt
from dealer.log.tiles import publish
from tests.unit.log.naive import KeptNodes
from tests.vectors.make_log import make

VECTORS = json.loads(Path(__file__).with_name("log.json").read_text())
VERIFIER = NoteVerifier.parse(VECTORS["verifier_key"])
SIGNER = NoteSigner(VERIFIER.name, Ed25519PrivateKey.from_private_bytes(bytes.fromhex(VECTORS["private_key"])))
KEPT = KeptNodes([b"", *(b"entry %d" % number for number in range(1, 700))])
SIZES = [int(size) for size in VECTORS["checkpoints"]]


def root(size: int) -> bytes:
    return CompactRange.load(size, KEPT.read).root()


def test_the_vectors_are_what_their_maker_makes() -> None:
    assert make() == VECTORS


@pytest.mark.parametrize("size", SIZES)
def test_checkpoints(size: int) -> None:
    note = VECTORS["checkpoints"][str(size)]
    state = Checkpoint(VERIFIER.name, size, root(size))
    assert sign_checkpoint(state, SIGNER) == note
    assert open_checkpoint(note, VERIFIER) == state
    assert SIGNER.verifier_key == VECTORS["verifier_key"]


@pytest.mark.parametrize("case", VECTORS["receipts"], ids=lambda case: f"{case['index']}-of-{case['size']}")
def test_receipts(case: dict[str, int | str]) -> None:
    index, size, text = int(case["index"]), int(case["size"]), str(case["receipt"])
    assert make_receipt(index, inclusion_proof(index, size, KEPT.read), VECTORS["checkpoints"][str(size)]) == text
    assert Receipt.parse(text).verify(KEPT.entries[index], VERIFIER).size == size


def test_consistency_proofs() -> None:
    assert len(VECTORS["consistency"]) == len(SIZES) * (len(SIZES) + 1) // 2
    for case in VECTORS["consistency"]:
        proof = consistency_proof(case["old"], case["new"], KEPT.read)
        assert [base64.b64encode(each).decode() for each in proof] == case["proof"]
        verify_consistency(case["old"], case["new"], root(case["old"]), root(case["new"]), proof)


@pytest.mark.parametrize("size", SIZES)
def test_static_files(tmp_path: Path, size: int) -> None:
    publish(tmp_path, 0, size, VECTORS["checkpoints"][str(size)], KEPT.read, KEPT.read_entries)
    made = {
        str(path.relative_to(tmp_path)): sha256(path.read_bytes()).hexdigest()
        for path in tmp_path.rglob("*")
        if path.is_file()
    }
    assert made == VECTORS["files"][str(size)]


def test_the_acknowledgement() -> None:
    case = VECTORS["acknowledgement"]
    value = bytes.fromhex(case["value"])
    assert SIGNER.sign(acknowledgement_text(case["hand"], case["contributor"], value)) == case["note"]
    assert open_acknowledgement(case["note"], VERIFIER).value == value
