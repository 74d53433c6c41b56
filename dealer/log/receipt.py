"""Receipts (c2sp.org/tlog-proof): that one entry stands in the log, to be checked offline (PROTOCOL.md section 9)."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from dealer.log.checkpoint import Checkpoint, open_checkpoint
from dealer.log.errors import ReceiptError
from dealer.log.merkle import leaf_hash, verify_inclusion
from dealer.log.note import NoteVerifier
from dealer.log.strict import decode_hash, decode_number, encode_base64

_HEADER = "c2sp.org/tlog-proof@v1"
_MAX_PROOF = 64  # no tree of up to 2^64-1 entries has a longer path


@dataclass(frozen=True, slots=True)
class Receipt:
    """The position of an entry, its inclusion proof, and the signed checkpoint that the proof leads to.

    Attributes:
        index: the entry's index in the log.
        proof: 32-byte hashes from the leaf's sibling up.
        checkpoint_note: the checkpoint with its signatures.
    """

    index: int
    proof: tuple[bytes, ...]
    checkpoint_note: str

    @classmethod
    def parse(cls, text: str) -> "Receipt":
        """Returns the receipt of a text; only its form is checked.

        Raises:
            ReceiptError: the text is no tlog-proof, or has an `extra` line, which ours never have.
        """
        head, blank, note = text.partition("\n\n")
        lines = head.split("\n")
        if not blank or lines[0] != _HEADER:
            raise ReceiptError(f"a receipt begins with the line {_HEADER} and has an empty line before its checkpoint")
        if len(lines) < 2 or not lines[1].startswith("index "):
            raise ReceiptError("the second line of a receipt reads: index N")
        if len(lines) - 2 > _MAX_PROOF:
            raise ReceiptError(f"an inclusion proof of {len(lines) - 2} hashes is longer than any tree is high")
        try:
            index = decode_number(lines[1].removeprefix("index "))
            proof = tuple(decode_hash(line) for line in lines[2:])
        except ValueError as error:
            raise ReceiptError(f"the receipt's index or proof does not decode: {error}") from error
        return cls(index, proof, note)

    def text(self) -> str:
        """Returns the receipt as it is sent and kept."""
        hashes = "".join([_line(each) for each in self.proof])
        return f"{_HEADER}\nindex {self.index}\n{hashes}\n{self.checkpoint_note}"

    def verify(self, entry: bytes, verifier: NoteVerifier) -> Checkpoint:
        """Returns the signed checkpoint, once it holds that its tree has exactly `entry` at the receipt's index.

        Raises:
            NoteError: the checkpoint's signature by the pinned key is missing or wrong.
            CheckpointError: what is signed is no checkpoint of this log.
            ProofError: the proof does not lead from this entry to the checkpoint's root.
        """
        checkpoint = open_checkpoint(self.checkpoint_note, verifier)
        self.verify_inclusion(entry, checkpoint)
        return checkpoint

    def verify_inclusion(self, entry: bytes, checkpoint: Checkpoint) -> None:
        """Checks that the tree of the receipt's checkpoint, opened by the caller, has `entry` at the receipt's index.

        Raises:
            ProofError: the proof does not lead from this entry to the checkpoint's root.
        """
        verify_inclusion(self.index, checkpoint.size, leaf_hash(entry), self.proof, checkpoint.root)


@lru_cache(1 << 14)
def _line(hash_: bytes) -> str:
    """Returns a hash's line; the proofs of a batch have most of theirs in common."""
    return f"{encode_base64(hash_)}\n"


def make_receipt(index: int, proof: Sequence[bytes], checkpoint_note: str) -> str:
    """Returns the receipt's text for entry `index`, its inclusion proof and the signed checkpoint of that tree."""
    return Receipt(index, tuple(proof), checkpoint_note).text()
