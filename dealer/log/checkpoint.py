"""Checkpoints (c2sp.org/tlog-checkpoint): the signed statement of a log's size and root (PROTOCOL.md section 9)."""

from dataclasses import dataclass

from dealer.log.errors import CheckpointError
from dealer.log.note import NoteSigner, NoteVerifier, is_key_name
from dealer.log.strict import MAX_NUMBER, decode_hash, decode_number, encode_base64


def check_origin(origin: str) -> None:
    """Checks that a log may have this origin: a legal key name that does not begin with `cutcard`.

    The log's key signs other texts too, which all begin with `cutcard/v1/`; so none of them can pass for a checkpoint.

    Raises:
        CheckpointError: it may not.
    """
    if not is_key_name(origin):
        raise CheckpointError(
            f"{origin!r} is no origin: it must not be empty or hold spaces, control characters or plus signs"
        )
    if origin.startswith("cutcard"):
        raise CheckpointError(f"{origin!r} is no origin: names that begin with 'cutcard' are kept for signed texts")


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The state of a log.

    Attributes:
        origin: the log's name, which is its key's name.
        size: how many entries it has, 0 to 2^64-1.
        root: the tree hash over them, 32 bytes.
    """

    origin: str
    size: int
    root: bytes

    def __post_init__(self) -> None:
        check_origin(self.origin)
        if not 0 <= self.size <= MAX_NUMBER:
            raise CheckpointError(f"a log cannot have {self.size} entries")
        if len(self.root) != 32:
            raise CheckpointError(f"a root has 32 bytes, not {len(self.root)}")

    def text(self) -> str:
        """Returns the text that is signed: origin, size and the root in base64, each on a line."""
        return f"{self.origin}\n{self.size}\n{encode_base64(self.root)}\n"


def parse(text: str) -> Checkpoint:
    """Returns the checkpoint of a text without extension lines.

    Raises:
        CheckpointError: the text is not exactly what `Checkpoint.text` gives.
    """
    lines = text.split("\n")
    if len(lines) != 4 or lines[3]:
        raise CheckpointError("a checkpoint is three lines: origin, size, root; ours have no extension lines")
    try:
        size, root = decode_number(lines[1]), decode_hash(lines[2])
    except ValueError as error:
        raise CheckpointError(f"the checkpoint's size or root does not decode: {error}") from error
    return Checkpoint(lines[0], size, root)


def sign_checkpoint(checkpoint: Checkpoint, signer: NoteSigner) -> str:
    """Returns the checkpoint as a signed note.

    Raises:
        CheckpointError: the signer's name is not the checkpoint's origin.
    """
    if signer.name != checkpoint.origin:
        raise CheckpointError(f"{signer.name} cannot sign for the log {checkpoint.origin}")
    return signer.sign(checkpoint.text())


def open_checkpoint(note: str, verifier: NoteVerifier) -> Checkpoint:
    """Returns the checkpoint of a signed note, once the pinned key's signature holds and the origin is that key's name.

    Raises:
        NoteError: the note does not decode or the signature is missing or wrong.
        CheckpointError: what is signed is no checkpoint, or one of another log.
    """
    checkpoint = parse(verifier.verify(note))
    if checkpoint.origin != verifier.name:
        raise CheckpointError(f"the checkpoint is of the log {checkpoint.origin}, the key of {verifier.name}")
    return checkpoint


def read_checkpoint(note: str) -> Checkpoint:
    """Returns the checkpoint of a signed note whose signature is not this caller's to judge.

    Raises:
        CheckpointError: the note's text is no checkpoint.
    """
    text, blank, _ = note.rpartition("\n\n")
    if not blank:
        raise CheckpointError("a checkpoint without signatures")
    return parse(text + "\n")
