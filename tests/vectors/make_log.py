"""Makes log.json by RFC 6962's recursion and plain strings, without dealer.log: `python -m tests.vectors.make_log`."""

import base64
import json
from hashlib import sha256
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tests.unit.log.naive import path, proof, tree_hash

PRIVATE_KEY = sha256(b"cutcard own vectors: log key").digest()
ORIGIN = "vectors.example/room"
SIZES = (0, 1, 2, 3, 7, 8, 255, 256, 257, 511, 512, 700)
HAND, CONTRIBUTOR = "018f0000-0000-7000-8000-0000000000aa", "seat-1"


def entry(index: int) -> bytes:
    """Entry 0 is empty, the others name themselves."""
    return b"entry %d" % index if index else b""


ENTRIES = [entry(index) for index in range(max(SIZES))]


def encode(data: bytes) -> str:
    return base64.b64encode(data).decode()


def signed(text: str) -> str:
    key = Ed25519PrivateKey.from_private_bytes(PRIVATE_KEY)
    key_id = sha256(ORIGIN.encode() + b"\n\x01" + key.public_key().public_bytes_raw()).digest()[:4]
    return f"{text}\n\u2014 {ORIGIN} {encode(key_id + key.sign(text.encode()))}\n"


def checkpoint(size: int) -> str:
    return signed(f"{ORIGIN}\n{size}\n{encode(tree_hash(ENTRIES[:size]))}\n")


def receipt(index: int, size: int) -> str:
    hashes = "".join(encode(each) + "\n" for each in path(index, ENTRIES[:size]))
    return f"c2sp.org/tlog-proof@v1\nindex {index}\n{hashes}\n{checkpoint(size)}"


def static_files(size: int) -> dict[str, str]:
    """SHA-256 of every file of the static log, by its path."""
    contents = {"checkpoint": checkpoint(size).encode()}
    level, span = 0, 1
    while size // span:
        for number in range((size // span + 255) // 256):
            width = min(256, size // span - 256 * number)
            name = f"{number:03d}" if width == 256 else f"{number:03d}.p/{width}"
            places = range(256 * number, 256 * number + width)
            contents[f"tile/{level}/{name}"] = b"".join(tree_hash(ENTRIES[p * span : (p + 1) * span]) for p in places)
            if level == 0:
                contents[f"tile/entries/{name}"] = b"".join(
                    len(ENTRIES[p]).to_bytes(2, "big") + ENTRIES[p] for p in places
                )
        level, span = level + 1, span * 256
    return {name: sha256(content).hexdigest() for name, content in sorted(contents.items())}


def make() -> dict[str, Any]:
    public_key = Ed25519PrivateKey.from_private_bytes(PRIVATE_KEY).public_key().public_bytes_raw()
    key_id = sha256(ORIGIN.encode() + b"\n\x01" + public_key).digest()[:4]
    value = sha256(b"cutcard own vectors: value").digest()
    return {
        "entries": "entry 0 is empty, entry N is the ASCII text 'entry N'",
        "private_key": PRIVATE_KEY.hex(),
        "verifier_key": f"{ORIGIN}+{key_id.hex()}+{encode(bytes([1]) + public_key)}",
        "checkpoints": {str(size): checkpoint(size) for size in SIZES},
        "files": {str(size): static_files(size) for size in SIZES},
        "receipts": [
            {"index": index, "size": size, "receipt": receipt(index, size)}
            for size in SIZES
            for index in sorted({0, size // 3, size - 1} if size else ())
        ],
        "consistency": [
            {"old": old, "new": new, "proof": [encode(each) for each in (proof(old, ENTRIES[:new]) if old else [])]}
            for new in SIZES
            for old in SIZES
            if old <= new
        ],
        "acknowledgement": {
            "hand": HAND,
            "contributor": CONTRIBUTOR,
            "value": value.hex(),
            "note": signed(f"cutcard/v1/entropy\n{HAND}\n{CONTRIBUTOR}\n{value.hex()}\n"),
        },
    }


if __name__ == "__main__":
    Path(__file__).with_name("log.json").write_text(json.dumps(make(), indent=1) + "\n")
