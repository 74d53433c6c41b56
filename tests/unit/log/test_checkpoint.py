"""Checkpoints: three lines in one form, an origin that no other signed text can be mistaken for."""

import base64

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from dealer.log import checkpoint
from dealer.log.acknowledgement import acknowledgement_text
from dealer.log.checkpoint import Checkpoint
from dealer.log.errors import CheckpointError, NoteError
from dealer.log.note import NoteSigner, NoteVerifier

SIGNER = NoteSigner("log.example/room", Ed25519PrivateKey.from_private_bytes(bytes(range(32))))
VERIFIER = NoteVerifier.parse(SIGNER.verifier_key)
ROOT = bytes(range(32))
TEXT = f"log.example/room\n18\n{base64.b64encode(ROOT).decode()}\n"


def test_the_text_is_origin_size_and_root() -> None:
    state = Checkpoint("log.example/room", 18, ROOT)
    assert state.text() == TEXT
    assert checkpoint.parse(TEXT) == state


def test_a_signed_checkpoint_opens_under_its_own_key_alone() -> None:
    state = Checkpoint("log.example/room", 18, ROOT)
    note = checkpoint.sign_checkpoint(state, SIGNER)
    assert checkpoint.open_checkpoint(note, VERIFIER) == checkpoint.read_checkpoint(note) == state
    stranger = NoteSigner("log.example/room", Ed25519PrivateKey.generate())
    with pytest.raises(NoteError, match="not signed by"):
        checkpoint.open_checkpoint(note, NoteVerifier.parse(stranger.verifier_key))


def test_a_key_signs_for_the_log_of_its_own_name_alone() -> None:
    other = Checkpoint("other.example/room", 18, ROOT)
    with pytest.raises(CheckpointError, match="cannot sign"):
        checkpoint.sign_checkpoint(other, SIGNER)
    with pytest.raises(CheckpointError, match=r"of the log other\.example/room"):
        checkpoint.open_checkpoint(SIGNER.sign(other.text()), VERIFIER)


def test_an_acknowledgement_cannot_pass_for_a_checkpoint() -> None:
    text = acknowledgement_text("018f0000-0000-7000-8000-0000000000aa", "seat-1", bytes(32))
    with pytest.raises(CheckpointError):
        checkpoint.open_checkpoint(SIGNER.sign(text), VERIFIER)


@pytest.mark.parametrize("origin", ["cutcard", "cutcard.example", "cutcard/v1/entropy", "", "a b", "a+b", "a\u2009b"])
def test_an_origin_is_a_key_name_that_does_not_begin_with_cutcard(origin: str) -> None:
    with pytest.raises(CheckpointError, match="is no origin"):
        Checkpoint(origin, 0, ROOT)
    with pytest.raises(CheckpointError, match="is no origin"):
        checkpoint.check_origin(origin)


@pytest.mark.parametrize("origin", ["room.example/cutcard", "Cutcard", "test.invalid/double", "r"])
def test_any_other_name_may_be_an_origin(origin: str) -> None:
    checkpoint.check_origin(origin)


@pytest.mark.parametrize(
    "text",
    [
        "",
        TEXT[:-1],
        TEXT + "\n",
        TEXT + "an extension line\n",
        TEXT.replace("\n18\n", "\n018\n"),
        TEXT.replace("\n18\n", "\n+18\n"),
        TEXT.replace("\n18\n", "\n-18\n"),
        TEXT.replace("\n18\n", "\n 18\n"),
        TEXT.replace("\n18\n", "\n1_8\n"),
        TEXT.replace("\n18\n", "\n\u0661\u0668\n"),
        TEXT.replace("\n18\n", "\n\u00b2\n"),
        TEXT.replace("\n18\n", "\n\n"),
        TEXT.replace("\n18\n", "\n18446744073709551616\n"),
        TEXT.replace("\n18\n", f"\n{'9' * 5000}\n"),
        TEXT.replace("Hh8=", "Hh9="),
        TEXT.replace("Hh8=", "Hh8"),
        TEXT.replace("Hh8=", "HhA_"),
        f"log.example/room\n18\n{base64.b64encode(bytes(31)).decode()}\n",
    ],
)
def test_a_checkpoint_has_one_form(text: str) -> None:
    with pytest.raises(CheckpointError):
        checkpoint.parse(text)


def test_the_greatest_size_is_taken() -> None:
    assert checkpoint.parse(TEXT.replace("\n18\n", f"\n{2**64 - 1}\n")).size == 2**64 - 1
    with pytest.raises(CheckpointError, match="cannot have"):
        Checkpoint("log.example", 2**64, ROOT)
    with pytest.raises(CheckpointError, match="cannot have"):
        Checkpoint("log.example", -1, ROOT)
    with pytest.raises(CheckpointError, match="32 bytes"):
        Checkpoint("log.example", 1, ROOT[:-1])


def test_a_note_without_signatures_is_no_checkpoint() -> None:
    with pytest.raises(CheckpointError, match="without signatures"):
        checkpoint.read_checkpoint(TEXT)


def test_a_checkpoint_is_all_of_what_is_signed_not_its_beginning() -> None:
    with pytest.raises(CheckpointError, match="three lines"):
        checkpoint.read_checkpoint(SIGNER.sign(f"{TEXT}\nand more\n"))
