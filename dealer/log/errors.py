"""What can be wrong with a log: one class for each part of it, so that a caller can tell them apart."""

from dealer.errors import CutcardError


class LogError(CutcardError):
    """Anything of the log that does not decode, does not verify or may not be done."""


class ProofError(LogError):
    """A Merkle proof that does not prove what it is given for, or was asked of sizes that have none."""


class NoteError(LogError):
    """A key or a signed note that does not decode, or a signature that is missing or wrong."""


class CheckpointError(LogError):
    """A checkpoint that does not decode, or whose origin may not be used."""


class ReceiptError(LogError):
    """A receipt (tlog-proof) or an acknowledgement that does not decode."""


class PublishError(LogError):
    """A static log folder that cannot be written to without showing its readers a contradiction."""
