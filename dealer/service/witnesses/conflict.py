"""What a witness holds against this log, and keeping the proof of it (WITNESS.md section 4, start-up)."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from dealer.errors import CutcardError
from dealer.log.checkpoint import open_checkpoint, read_checkpoint
from dealer.log.note import NoteVerifier
from dealer.store.datadir import write_secret


class RolledBackError(CutcardError):
    """Witnesses hold another history of this log, or a longer one, than the dealer does."""


@dataclass(frozen=True, slots=True)
class Conflict:
    """A tree that a witness holds, or says that it holds, and that this log does not extend to.

    Attributes:
        witness: its name in the policy.
        detail: what does not fit, for people.
        ours: this log's newest signed checkpoint.
        theirs: the witness's, signed by this log's key; None where it only says so.
        proof: this log's own from the smaller of the two trees to the greater; None where it cannot give one.
    """

    witness: str
    detail: str
    ours: str
    theirs: str | None = None
    proof: tuple[bytes, ...] | None = None

    @property
    def proved(self) -> bool:
        """Whether this log's own key has signed what does not fit."""
        return self.theirs is not None


class History(Protocol):
    """What this log holds, read beside the writer."""

    async def newest(self) -> str:
        """Returns the newest signed checkpoint that is durable."""

    async def root(self, size: int) -> bytes:
        """Returns the root of the log's first entries."""

    async def proof(self, old: int, new: int) -> list[bytes]:
        """Returns the consistency proof between two sizes of the log."""


async def judge(witness: str, theirs: str, verifier: NoteVerifier, history: History) -> Conflict | None:
    """Holds the checkpoint of a witness against the log.

    Args:
        witness: its name in the policy.
        theirs: the signed note that it holds.
        verifier: this log's key.
        history: the log, read after `theirs` came: what is shown to witnesses is durable before.

    Returns:
        What does not fit; None where all does.

    Raises:
        LogError: the note is not by this log's key: it proves nothing.
        StoreError: the log cannot be read.
    """
    held = open_checkpoint(theirs, verifier)
    ours = await history.newest()
    size = read_checkpoint(ours).size
    if held.size > size:
        what = f"{held.size} entries signed by this log's key, and the log has {size}"
        return Conflict(witness, f"the witness {witness} holds {what}", ours, theirs)
    if await history.root(held.size) != held.root:
        what = f"another tree of {held.size} entries, signed by this log's key"
        proof = tuple(await history.proof(held.size, size))
        return Conflict(witness, f"the witness {witness} holds {what}", ours, theirs, proof)
    return None


def keep(conflict: Conflict, key: str, folder: Path) -> Path | None:
    """Writes both checkpoints as evidence that `audit receipt` reads, once for each pair; None if that fails.

    Args:
        conflict: what was found, proved.
        key: the log's verifier key.
        folder: where evidence goes; it is made if need be.
    """
    if conflict.theirs is None:
        return None
    notes = sorted((conflict.ours, conflict.theirs), key=lambda note: read_checkpoint(note).size)
    sizes = [read_checkpoint(note).size for note in notes]
    path = folder / f"append-only-{sizes[0]}-{sizes[1]}-{conflict.witness.encode().hex()[:32]}.json"
    hashes = None if conflict.proof is None else [each.hex() for each in conflict.proof]
    content = {
        "format": "cutcard-evidence/v1",
        "check": "append-only",
        "detail": conflict.detail,
        "key": key,
        "checkpoints": notes,
        "consistency": {"from": sizes[0], "to": sizes[1], "hashes": hashes},
    }
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        write_secret(path, json.dumps(content, indent=1) + "\n")
    except FileExistsError:
        pass
    except OSError:
        return None
    return path
