"""`successor` and `predecessor`: what an ended log and the next one say of each other (WITNESS.md section 11)."""

from dealer.log.checkpoint import Checkpoint
from dealer.log.errors import CheckpointError
from dealer.log.note import NoteSigner, NoteVerifier
from dealer.log.strict import encode_base64

SUCCESSOR, PREDECESSOR = "successor", "predecessor"


def successor(final: Checkpoint, key: str, signer: NoteSigner) -> str:
    """Returns the note by which an ended log names the next one.

    Args:
        final: the ended log's last state.
        key: the new log's verifier key.
        signer: the ended log's.

    Raises:
        NoteError: the key does not decode.
        CheckpointError: it is of the same origin: a log has one key for ever.
    """
    _require_another(NoteVerifier.parse(key).name, signer.name)
    state = f"{final.size}\n{encode_base64(final.root)}"
    return signer.sign(f"cutcard/v1/{SUCCESSOR}\n{signer.name}\n{state}\n{key}\n")


def predecessor(final: Checkpoint, key: str, signer: NoteSigner) -> str:
    """Returns the note by which a new log names the ended one.

    Args:
        final: the ended log's last state, its signature checked.
        key: the ended log's verifier key.
        signer: the new log's.

    Raises:
        CheckpointError: it is of the same origin.
    """
    _require_another(final.origin, signer.name)
    state = f"{final.size}\n{encode_base64(final.root)}"
    return signer.sign(f"cutcard/v1/{PREDECESSOR}\n{signer.name}\n{key}\n{state}\n")


def _require_another(other: str, own: str) -> None:
    if other == own:
        raise CheckpointError(f"{own} cannot follow itself: an origin is one log for ever, so choose another")
