"""Receipts: checked offline with the verifier key and the entry, and with nothing else."""

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from dealer.log.checkpoint import Checkpoint, sign_checkpoint
from dealer.log.errors import CheckpointError, NoteError, ProofError, ReceiptError
from dealer.log.merkle import inclusion_proof
from dealer.log.note import NoteSigner, NoteVerifier
from dealer.log.receipt import Receipt, make_receipt
from tests.unit.log.naive import KeptNodes

SIGNER = NoteSigner("log.example/room", Ed25519PrivateKey.from_private_bytes(bytes(range(32))))
VERIFIER = NoteVerifier.parse(SIGNER.verifier_key)
KEPT = KeptNodes([b"entry %d" % number for number in range(13)])
STATE = Checkpoint(SIGNER.name, 13, KEPT.tree.root())
NOTE = sign_checkpoint(STATE, SIGNER)
TEXT = make_receipt(6, inclusion_proof(6, 13, KEPT.read), NOTE)


def test_a_receipt_is_a_tlog_proof() -> None:
    lines = TEXT.split("\n")
    assert lines[:2] == ["c2sp.org/tlog-proof@v1", "index 6"]
    assert [len(line) for line in lines[2:6]] == [44] * 4
    assert lines[6] == ""
    assert "\n".join(lines[7:]) == NOTE


@pytest.mark.parametrize("index", range(13))
def test_every_entry_has_a_receipt_that_verifies(index: int) -> None:
    text = make_receipt(index, inclusion_proof(index, 13, KEPT.read), NOTE)
    receipt = Receipt.parse(text)
    assert receipt.text() == text
    assert receipt.verify(KEPT.entries[index], VERIFIER) == STATE


def test_a_receipt_of_the_only_entry_has_no_hashes() -> None:
    single = KeptNodes([b"alone"])
    note = sign_checkpoint(Checkpoint(SIGNER.name, 1, single.tree.root()), SIGNER)
    text = make_receipt(0, [], note)
    assert text == f"c2sp.org/tlog-proof@v1\nindex 0\n\n{note}"
    Receipt.parse(text).verify(b"alone", VERIFIER)


def test_a_receipt_is_for_its_own_entry_and_index() -> None:
    receipt = Receipt.parse(TEXT)
    with pytest.raises(ProofError, match="does not give the root"):
        receipt.verify(KEPT.entries[7], VERIFIER)
    with pytest.raises(ProofError, match="does not give the root"):
        Receipt(7, receipt.proof, NOTE).verify(KEPT.entries[6], VERIFIER)
    with pytest.raises(ProofError, match="has no entry 13"):
        Receipt(13, receipt.proof, NOTE).verify(KEPT.entries[6], VERIFIER)


def test_a_receipt_is_worth_what_its_signature_is() -> None:
    stranger = NoteSigner(SIGNER.name, Ed25519PrivateKey.generate())
    with pytest.raises(NoteError, match="not signed by"):
        Receipt(6, Receipt.parse(TEXT).proof, sign_checkpoint(STATE, stranger)).verify(KEPT.entries[6], VERIFIER)
    other_log = SIGNER.sign(Checkpoint("other.example", 13, STATE.root).text())
    with pytest.raises(CheckpointError, match=r"other\.example"):
        Receipt(6, Receipt.parse(TEXT).proof, other_log).verify(KEPT.entries[6], VERIFIER)


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("tlog-proof@v1", "tlog-proof@v2", "begins with"),
        ("\nindex 6\n", "\n", "index N"),
        ("index 6", "index  6", "does not decode"),
        ("index 6", "index 06", "does not decode"),
        ("index 6", "index -6", "does not decode"),
        ("index 6", "index \u0666", "does not decode"),
        ("index 6", "extra AAAA\nindex 6", "index N"),
        ("index 6", "index 6\nAAAA", "does not decode"),
        ("index 6", "index 6\n" + "\n".join(["A" * 43 + "="] * 61), "longer than any tree"),
        ("=\n\nlog", "=\nlog", "does not decode"),
        ("=\n\nlog", "=\r\n\r\nlog", "does not decode"),
    ],
)
def test_a_receipt_has_one_form(old: str, new: str, reason: str) -> None:
    assert TEXT.count(old) == 1
    with pytest.raises(ReceiptError, match=reason):
        Receipt.parse(TEXT.replace(old, new))


def test_a_text_without_a_checkpoint_is_no_receipt() -> None:
    with pytest.raises(ReceiptError, match="empty line before"):
        Receipt.parse("")
    with pytest.raises(ReceiptError, match="empty line before"):
        Receipt.parse(TEXT.partition("\n\n")[0])


def test_a_proof_is_as_long_as_a_tree_can_be_high_and_no_longer() -> None:
    line = TEXT.split("\n")[2]
    head = "c2sp.org/tlog-proof@v1\nindex 6\n"
    assert len(Receipt.parse(head + f"{line}\n" * 64 + f"\n{NOTE}").proof) == 64
    for count in (65, 66):
        with pytest.raises(ReceiptError, match=f"of {count} hashes is longer"):
            Receipt.parse(head + f"{line}\n" * count + f"\n{NOTE}")
