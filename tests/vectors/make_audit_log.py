"""Writes the small log that docs/verify-by-hand.md follows: `python -m tests.vectors.make_audit_log FOLDER`."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.attacks.maker import EscrowPair, Signer, honest, write_log

RECEIPT_OF = 5
SIGNER = Signer("dealer.example/room")


def make(folder: Path) -> None:
    """Writes the log, its verifier key, the escrow key, and a receipt with its entry; the same bytes each time."""
    raws = honest().raws()
    write_log(folder / "log", SIGNER, raws)
    (folder / "vkey").write_text(f"{SIGNER.verifier}\n")
    (folder / "escrow.key").write_text(f"{EscrowPair().private.hex()}\n")
    (folder / "receipt").write_bytes(SIGNER.receipt(raws, RECEIPT_OF))
    (folder / "entry").write_bytes(raws[RECEIPT_OF])


if __name__ == "__main__":
    make(Path(sys.argv[1]))
