"""Witnesses that can lie: cosignatures by keys of their own, and the policies that name them. Deterministic."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from audit.tlog.cosignature import WitnessKey, cosignature_line, cosigned_message
from audit.tlog.keys import VerifierKey
from tests.attacks.maker import drawn

NOW = 1_800_000_000


@dataclass(frozen=True)
class Cosigner:
    """A witness's private key, and its name in policies."""

    name: str

    @property
    def private(self) -> Ed25519PrivateKey:
        return Ed25519PrivateKey.from_private_bytes(drawn(f"witness {self.name}", 32))

    @property
    def key(self) -> WitnessKey:
        return WitnessKey.of(f"witness.example/{self.name}", self.private.public_key().public_bytes_raw())

    def line(self, text: str, time: int = NOW) -> str:
        """The cosignature line for a checkpoint's text."""
        return cosignature_line(self.key, time, self.private.sign(cosigned_message(text, time)))

    def onto(self, signed: bytes, time: int = NOW) -> bytes:
        """A signed note, or a receipt, with one more line."""
        text = signed.decode().rpartition("\n\n")[0].rpartition("\n\n")[2] + "\n"
        return signed + self.line(text, time).encode()


ONE, TWO, THREE = (Cosigner(name) for name in ("one", "two", "three"))


def policy_text(logs: Iterable[VerifierKey], needed: int | str = 2, urls: dict[str, str] | None = None) -> str:
    """A policy that asks for some of the three witnesses."""
    lines = [f"log {key}" for key in logs]
    for each in (ONE, TWO, THREE):
        lines.append(f"witness {each.name} {each.key} {(urls or {}).get(each.name, '')}")
    return "\n".join([*lines, f"group g {needed} one two three", "quorum g", ""])
