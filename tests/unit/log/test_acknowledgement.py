"""Acknowledgements: the log key's word for one value of one contributor to one hand."""

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from dealer.log.acknowledgement import Acknowledgement, acknowledgement_text, open_acknowledgement
from dealer.log.checkpoint import Checkpoint, sign_checkpoint
from dealer.log.errors import NoteError, ReceiptError
from dealer.log.note import NoteSigner, NoteVerifier

SIGNER = NoteSigner("log.example/room", Ed25519PrivateKey.from_private_bytes(bytes(range(32))))
VERIFIER = NoteVerifier.parse(SIGNER.verifier_key)
HAND = "018f0000-0000-7000-8000-0000000000aa"
VALUE = bytes(range(32))
TEXT = f"cutcard/v1/entropy\n{HAND}\nseat-1\n{VALUE.hex()}\n"


def test_the_text_is_header_hand_contributor_and_value() -> None:
    assert acknowledgement_text(HAND, "seat-1", VALUE) == TEXT
    assert open_acknowledgement(SIGNER.sign(TEXT), VERIFIER) == Acknowledgement(HAND, "seat-1", VALUE)


def test_it_holds_under_the_pinned_key_alone() -> None:
    stranger = NoteSigner(SIGNER.name, Ed25519PrivateKey.generate())
    with pytest.raises(NoteError, match="not signed by"):
        open_acknowledgement(stranger.sign(TEXT), VERIFIER)


def test_a_checkpoint_cannot_pass_for_an_acknowledgement() -> None:
    with pytest.raises(ReceiptError, match="four lines"):
        open_acknowledgement(sign_checkpoint(Checkpoint(SIGNER.name, 0, VALUE), SIGNER), VERIFIER)


@pytest.mark.parametrize(
    "text",
    [
        "",
        TEXT[:-1],
        TEXT + "\n",
        TEXT + "more\n",
        TEXT.replace("v1", "v2"),
        TEXT.replace("018f", "018F"),
        TEXT.replace("-7000-", "-4000-"),
        TEXT.replace("-8000-", "-c000-"),
        TEXT.replace("seat-1", ""),
        TEXT.replace("seat-1", "seat 1"),
        TEXT.replace("seat-1", "s" * 65),
        TEXT.replace("1c1d", "1C1D"),
        TEXT.replace("1e1f", "1e"),
    ],
)
def test_an_acknowledgement_has_one_form(text: str) -> None:
    assert text != TEXT
    with pytest.raises(ReceiptError, match="acknowledgement"):
        Acknowledgement.parse(text)


def test_a_value_has_32_bytes() -> None:
    with pytest.raises(ReceiptError, match="32 bytes, not 31"):
        acknowledgement_text(HAND, "seat-1", VALUE[:-1])


def test_a_value_is_not_shown_before_its_commit_shows_it() -> None:
    shown = repr(Acknowledgement(HAND, "seat-1", VALUE))
    assert "seat-1" in shown
    assert "value" not in shown
