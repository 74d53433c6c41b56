"""The auditor's key files: one line that says which half of the pair it holds, and its 32 bytes in hex (API.md)."""

from pathlib import Path

import structlog

from dealer.service.datadir import write_secret
from dealer.service.sources import EscrowKey, KeyFileError, make_escrow_pair

PRIVATE = "cutcard-escrow-private-v1"
PUBLIC = "cutcard-escrow-public-v1"
_log = structlog.get_logger()


def read_escrow_public(path: Path) -> EscrowKey:
    """Reads a file with an auditor's public key. A mark of byte order before it is passed over.

    Raises:
        KeyFileError: there is no such file, or it holds no public key.
    """
    try:
        words = path.read_text("utf-8-sig").split()
    except (OSError, ValueError) as error:
        raise KeyFileError(f"{path} cannot be read: {getattr(error, 'strerror', 'it is not UTF-8 text')}") from None
    if words[:1] == [PRIVATE]:
        raise KeyFileError(
            f"{path} holds the auditor's private key, which never belongs on the dealer's machine: delete it here, and "
            f"give the file with the public half"
        )
    labelled = words[:1] == [PUBLIC]
    try:
        (text,) = words[1:] if labelled else words
        key = EscrowKey(bytes.fromhex(text))
    except (ValueError, KeyFileError):
        raise KeyFileError(f"{path} must be one line, {PUBLIC} and the X25519 key in 64 hex digits") from None
    if not labelled:
        _log.warning(
            "nothing says which half of the pair this key is; with the private one, nobody can open sealed hands",
            file=str(path),
            remedy=f"ask the auditor for a file that begins with {PUBLIC}",
        )
    return key


def write_escrow_pair(out: Path) -> tuple[Path, Path]:
    """Makes an auditor's pair: `OUT.key`, 0600, and `OUT.pub`.

    Raises:
        KeyFileError: one of them exists, or cannot be written.
    """
    private, public = make_escrow_pair()
    key, pub = out.with_name(out.name + ".key"), out.with_name(out.name + ".pub")
    try:
        if pub.exists():
            raise FileExistsError(17, "File exists")
        write_secret(key, f"{PRIVATE} {private}\n")
        pub.write_text(f"{PUBLIC} {public}\n", "ascii")
    except OSError as error:
        raise KeyFileError(f"{key} and {pub.name} cannot be written: {error.strerror}") from None
    return key, pub
