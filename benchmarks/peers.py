"""What others do for the same purpose: how a certified deck and a checked receipt compare with less than they give."""

import hashlib
import hmac
import os
import random
import uuid

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from benchmarks.rounds import medians, seconds_per_call
from benchmarks.row import Row
from dealer.core.cards import DECK_KINDS
from dealer.core.deck import derive_deck
from dealer.core.seed import draw_seed, entropy_digest
from dealer.log.checkpoint import Checkpoint, sign_checkpoint
from dealer.log.merkle import CompactRange, inclusion_proof, leaf_hash, node_hash
from dealer.log.note import NoteSigner, NoteVerifier
from dealer.log.receipt import Receipt, make_receipt

REFERENCE = DECK_KINDS["standard52"]
ROUNDS = 15


def rows() -> list[Row]:
    """A deck against an HMAC shuffle and against `random.shuffle`, a receipt against its bare primitives."""
    hand = uuid.uuid4().bytes

    def certified() -> object:
        seed = draw_seed(os.urandom)
        digest = entropy_digest(hand, ())
        return seed.commitment(hand), derive_deck("standard52", hand, digest, seed)

    def predictable() -> object:
        cards = list(REFERENCE)
        random.shuffle(cards)
        return cards

    deck, hashed, twister = medians(
        lambda: seconds_per_call(certified, 500),
        lambda: seconds_per_call(_hmac_shuffle, 500),
        lambda: seconds_per_call(predictable, 500),
        rounds=ROUNDS,
    )
    checked, bare = _receipt()
    return [
        Row.of("certified deck against an HMAC shuffle, committed as a whole", 1e6 * deck, 1e6 * hashed, "us/deck"),
        Row.of("certified deck against random.shuffle, predictable", 1e6 * deck, 1e6 * twister, "us/deck"),
        Row.of("checked receipt against bare hashes and Ed25519", 1e6 * checked, 1e6 * bare, "us/receipt"),
    ]


def _hmac_shuffle() -> object:
    """The scheme of many sites that call themselves provably fair, for one hand.

    The hash of a server seed is shown before; each HMAC-SHA256 of client seed, nonce and round gives eight fractions
    of 4 bytes, and each of these one swap. No card has a commitment of its own, and orders are not exactly equally
    likely.
    """
    server_seed, client_seed = os.urandom(32), os.urandom(16).hex()
    shown = hashlib.sha256(server_seed).digest()
    cards = list(REFERENCE)
    numbers = b"".join(hmac.digest(server_seed, f"{client_seed}:1:{number}".encode(), "sha256") for number in range(7))
    for i in range(len(cards) - 1, 0, -1):
        place = 4 * (len(cards) - 1 - i)
        j = int.from_bytes(numbers[place : place + 4], "big") * (i + 1) >> 32
        cards[i], cards[j] = cards[j], cards[i]
    return shown, cards


def _receipt() -> tuple[float, float]:
    """Seconds to check a receipt from a log of 1,000 entries, and to do the same hashes and signature alone."""
    private_key = Ed25519PrivateKey.generate()
    signer = NoteSigner("benchmark.example/log", private_key)
    verifier, public_key = NoteVerifier.parse(signer.verifier_key), private_key.public_key()
    entries = [os.urandom(720) for _ in range(1_000)]
    tree = CompactRange()
    nodes = {(node.level, node.index): node.hash for entry in entries for node in tree.append(leaf_hash(entry))}
    checkpoint = Checkpoint(signer.name, tree.size, tree.root())
    proof = inclusion_proof(500, tree.size, lambda level, index: nodes[level, index])
    text = make_receipt(500, proof, sign_checkpoint(checkpoint, signer))
    message = checkpoint.text().encode()
    signature = private_key.sign(message)

    def ours() -> object:
        return Receipt.parse(text).verify(entries[500], verifier)

    def primitives() -> None:
        node = leaf_hash(entries[500])
        for sibling in proof:
            node = node_hash(node, sibling)
        public_key.verify(signature, message)

    checked, bare = medians(
        lambda: seconds_per_call(ours, 200), lambda: seconds_per_call(primitives, 200), rounds=ROUNDS
    )
    return checked, bare
