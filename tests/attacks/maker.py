"""A dealer that can lie: makes logs with a key of its own, honest ones and ones with a lie worked out to the end.

`Draft` holds everything that a hand's entries are made from, lies included: what it derives (commitments, digests,
escrow) it derives from its own fields, so that whoever changes a field before the entries are made tells a coherent
lie, and whoever changes an entry afterwards makes a plain fault. Everything is deterministic.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from audit import protocol
from audit.record.events import STREETS
from audit.record.fields import hand_bytes
from audit.tlog.keys import VerifierKey, base64_encode, derive_key_id
from audit.tlog.merkle import CompactRange, full_root, leaf_hash
from audit.tlog.tiles import WIDTH, path
from tests.attacks.sealing import sealed

ORIGIN = "dealer.example/attacks"
TEST_ORIGIN = "test.invalid/double"

Entry = dict[str, Any]


def drawn(label: str, length: int) -> bytes:
    """Bytes that look random and are always the same for a label."""
    return hashlib.shake_256(label.encode()).digest(length)


def uuid7(label: str) -> str:
    """A version 7 UUID for a label."""
    raw = bytearray(drawn(f"hand {label}", 16))
    raw[6] = 0x70 | raw[6] & 0x0F
    raw[8] = 0x80 | raw[8] & 0x3F
    text = raw.hex()
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def canonical(entry: Any) -> bytes:
    """RFC 8785 for what entries hold: ASCII text and integers."""
    return json.dumps(entry, sort_keys=True, separators=(",", ":")).encode()


@dataclass(frozen=True)
class Signer:
    """A log's private key and origin."""

    origin: str = ORIGIN
    private: bytes = field(default_factory=lambda: drawn("log key", 32))

    @property
    def verifier(self) -> VerifierKey:
        public = Ed25519PrivateKey.from_private_bytes(self.private).public_key().public_bytes_raw()
        return VerifierKey(self.origin, derive_key_id(self.origin, public), public)

    def line(self, text: str) -> str:
        """The signature line for a note's text."""
        signature = Ed25519PrivateKey.from_private_bytes(self.private).sign(text.encode())
        return f"\u2014 {self.origin} {base64_encode(self.verifier.key_id + signature)}\n"

    def note(self, text: str) -> bytes:
        """A signed note."""
        return f"{text}\n{self.line(text)}".encode()

    def checkpoint(self, raws: Sequence[bytes]) -> bytes:
        """A signed checkpoint of a log that consists of these entries."""
        return self.note(f"{self.origin}\n{len(raws)}\n{base64_encode(root(raws))}\n")

    def receipt(self, raws: Sequence[bytes], index: int) -> bytes:
        """A receipt for one entry."""
        lines = ["c2sp.org/tlog-proof@v1", f"index {index}", *map(base64_encode, inclusion(raws, index))]
        return ("\n".join(lines) + "\n\n").encode() + self.checkpoint(raws)


@dataclass(frozen=True)
class EscrowPair:
    """An auditor's escrow key."""

    private: bytes = field(default_factory=lambda: drawn("escrow key", 32))

    @property
    def public(self) -> bytes:
        return X25519PrivateKey.from_private_bytes(self.private).public_key().public_bytes_raw()


def root(raws: Sequence[bytes]) -> bytes:
    """The Merkle root over entries."""
    peaks = CompactRange()
    for raw in raws:
        peaks.append(leaf_hash(raw))
    return peaks.root()


def inclusion(raws: Sequence[bytes], index: int) -> list[bytes]:
    """The inclusion proof of RFC 6962, section 2.1.1, by its recursive definition."""
    if len(raws) == 1:
        return []
    split = 1 << (len(raws) - 1).bit_length() - 1
    if index < split:
        return [*inclusion(raws[:split], index), root(raws[split:])]
    return [*inclusion(raws[split:], index - split), root(raws[:split])]


@dataclass
class Draft:
    """A hand before its entries are made; every field may be a lie.

    Attributes:
        values: each contributor's value, in the offer's order; empty where nobody is invited.
        silent: contributors who withhold their value.
        cards: the deck that is dealt; None for the one that the seed gives.
        escrowed: the seed that goes into escrow; None for the hand's own.
        escrow_public: the key that the escrow is for; `escrow_named` is the one that the entry names.
        seat_keys: seats that bring a key; any order.
        digest: the entropy digest; None for the right one.
    """

    label: str
    table: str = "table-1"
    number: int = 1
    game: str = "seven-card-stud"
    deck: str = "standard52"
    seats: list[int] = field(default_factory=lambda: [1, 2, 3])
    reveal: str = "public"
    values: dict[str, bytes] = field(default_factory=dict)
    silent: set[str] = field(default_factory=set)
    events: list[Entry] = field(default_factory=list)
    outcome: str = "completed"
    reason: str = "operator"
    test: bool = False
    seed: bytes = b""
    cards: list[str] | None = None
    escrowed: bytes | None = None
    escrow_public: bytes = b""
    escrow_named: bytes | None = None
    digest: bytes | None = None
    seat_keys: tuple[int, ...] = ()
    open_positions: list[int] | None = None
    _ciphertext: bytes | None = None

    def __post_init__(self) -> None:
        self.seed = self.seed or drawn(f"seed {self.label}", 64)
        self.escrow_public = self.escrow_public or EscrowPair().public

    @property
    def id(self) -> str:
        return uuid7(self.label)

    @property
    def hand(self) -> bytes:
        return hand_bytes(self.id)

    @property
    def taken(self) -> list[tuple[str, bytes]]:
        return [(name, value) for name, value in self.values.items() if name not in self.silent]

    @property
    def entropy(self) -> bytes:
        return self.digest or protocol.entropy_digest(self.hand, self.taken)

    @property
    def material(self) -> bytes:
        return protocol.material(self.hand, self.entropy, self.seed)

    @property
    def dealt(self) -> list[str]:
        return self.cards or protocol.shuffle(protocol.DECKS[self.deck], self.material)

    @property
    def salts(self) -> bytes:
        return protocol.salts(self.material, len(self.dealt))

    @property
    def commitments(self) -> bytes:
        return protocol.card_commitments(self.hand, self.dealt, self.salts)

    @property
    def ciphertext(self) -> bytes:
        if self._ciphertext is None:
            info = protocol.escrow_info(self.hand, protocol.seed_commitment(self.hand, self.seed))
            ephemeral = drawn(f"ephemeral {self.label}", 32)
            self._ciphertext = sealed(self.escrowed or self.seed, self.escrow_public, info, ephemeral)
        return self._ciphertext

    def _schema(self, name: str) -> str:
        return f"cutcard-test/v1/{name}" if self.test else f"cutcard/v1/{name}"

    def _opening(self) -> Entry:
        entry: Entry = {
            "hand": self.id,
            "table": self.table,
            "number": self.number,
            "game": self.game,
            "deck": self.deck,
            "seats": list(self.seats),
            "reveal": self.reveal,
            "seed_commitment": protocol.seed_commitment(self.hand, self.seed).hex(),
            "time": "2026-11-29T12:00:00.000Z",
        }
        if self.seat_keys:
            keyed = [seat for seat in self.seats if seat in self.seat_keys]
            entry["seat_keys"] = [[seat, drawn(f"seat key {self.label} {seat}", 32).hex()] for seat in keyed]
        if self.reveal == "sealed":
            key = protocol.escrow_key_id(self.escrow_named or self.escrow_public)
            entry["escrow"] = {"key": key.hex(), "digest": protocol.escrow_digest(self.hand, self.ciphertext).hex()}
        return entry

    def offer(self) -> Entry:
        """The offer entry."""
        rows = [
            {
                "contributor": name,
                "commitment": protocol.sha256(
                    protocol.contribution_preimage(self.table, self.number, name, value)
                ).hex(),
            }
            for name, value in self.values.items()
        ]
        return {"schema": self._schema("offer"), **self._opening(), "contributors": rows}

    def commit(self, offer: int | None = None) -> Entry:
        """The commit entry, which names the offer at index `offer`."""
        entry = {
            "schema": self._schema("commit"),
            **self._opening(),
            "contributions": [{"contributor": name, "value": value.hex()} for name, value in self.taken],
            "withheld": [name for name in self.values if name in self.silent],
            "entropy_digest": self.entropy.hex(),
            "deck_commitment": protocol.deck_commitment(self.hand, self.commitments).hex(),
        }
        return entry if offer is None else {**entry, "offer": offer}

    def close(self, commit: int) -> Entry:
        """The close entry, which names the commit at index `commit`."""
        entry: Entry = {
            "schema": self._schema("close"),
            "hand": self.id,
            "commit": commit,
            "outcome": self.outcome,
            "events": self.events,
            "time": "2026-11-29T12:01:00.000Z",
        }
        if self.outcome == "lost":
            return entry
        if self.outcome == "void":
            entry["reason"] = self.reason
        if self.test:
            entry["deck"] = " ".join(self.dealt)
        if self.reveal == "public":
            return {**entry, "seed": self.seed.hex()}
        opened = self.seen() if self.open_positions is None else self.open_positions
        return {
            **entry,
            "card_commitments": base64_encode(self.commitments),
            "escrow": base64_encode(self.ciphertext),
            "openings": [[p, self.dealt[p], self.salts[32 * p : 32 * p + 32].hex()] for p in opened],
        }

    def lost(self, offer: int) -> Entry:
        """The close entry of a hand that was lost before its commit, which names the offer at index `offer`."""
        entry = {**self.close(0), "outcome": "lost", "events": [], "offer": offer}
        return {name: entry[name] for name in ("schema", "hand", "offer", "outcome", "events", "time")}

    def seen(self) -> list[int]:
        """Positions dealt up or shown."""
        up = [row[0] for event in self.events for row in event.get("cards", event.get("draw", [])) if row[2] == "up"]
        return sorted(up + [position for event in self.events for position in event.get("show", [])])

    def deal(self, last: str = "seventh", folds: dict[str, Sequence[int]] | None = None) -> Draft:
        """Deals stud to `last` street; `folds` says who folds after which street. Gives the draft itself."""
        live, at, size = list(self.seats), 0, len(protocol.DECKS[self.deck])
        for street in STREETS[: STREETS.index(last) + 1]:
            if street == "third":
                rows = [(seat, "down") for seat in live * 2] + [(seat, "up") for seat in live]
            elif street != "seventh":
                rows = [(seat, "up") for seat in live]
            elif size - at >= len(live):
                rows = [(seat, "down") for seat in live]
            else:
                rows = [(0, "up")]
            cards = [[at + i, seat, face] for i, (seat, face) in enumerate(rows)]
            self.events.append({"deal": street, "cards": cards})
            at += len(rows)
            for seat in (folds or {}).get(street, ()):
                self.events.append({"fold": seat})
                live.remove(seat)
            if len(live) == 1:
                break
        return self

    def show(self, *positions: int) -> Draft:
        """Shows cards. Gives the draft itself."""
        self.events.append({"show": list(positions)})
        return self

    def draw(self, *rows: tuple[int, str]) -> Draft:
        """Draws cards in free-draw for (seat, face). Gives the draft itself."""
        at = sum(len(event.get("draw", [])) for event in self.events)
        self.events.append({"draw": [[at + i, seat, face] for i, (seat, face) in enumerate(rows)]})
        return self

    def fold(self, seat: int) -> Draft:
        """Folds a seat. Gives the draft itself."""
        self.events.append({"fold": seat})
        return self


@dataclass
class Book:
    """A log in the making: entries in order, and the key that signs them."""

    signer: Signer = field(default_factory=Signer)
    entries: list[Entry | bytes] = field(default_factory=list)

    def add(self, entry: Entry | bytes) -> int:
        """Appends an entry; gives its index."""
        self.entries.append(entry)
        return len(self.entries) - 1

    def play(self, draft: Draft, edit: Callable[[Entry], Any] | None = None) -> Book:
        """Appends a whole hand; `edit` changes each of its entries on the way. Gives the book itself."""

        def kept(entry: Entry) -> int:
            entry = json.loads(json.dumps(entry))
            if edit is not None:
                edit(entry)
            return self.add(entry)

        offer = kept(draft.offer()) if draft.values else None
        kept(draft.close(kept(draft.commit(offer))))
        return self

    def raws(self) -> list[bytes]:
        """The exact bytes of every entry."""
        return [entry if isinstance(entry, bytes) else canonical(entry) for entry in self.entries]

    def write(self, folder: Path, raws: Sequence[bytes] | None = None) -> Path:
        """Writes the static log; gives its folder."""
        write_log(folder, self.signer, self.raws() if raws is None else raws)
        return folder


def log_files(signer: Signer, raws: Sequence[bytes]) -> dict[str, bytes]:
    """A static log by path: entry bundles, hash tiles of every level, checkpoint."""
    files = {"checkpoint": signer.checkpoint(raws)}
    for number in range(-(-len(raws) // WIDTH)):
        bundle = raws[number * WIDTH : (number + 1) * WIDTH]
        files[path("entries", number, len(bundle))] = b"".join(protocol.lp(raw) for raw in bundle)
    hashes, level = [leaf_hash(raw) for raw in raws], 0
    while hashes:
        for number in range(-(-len(hashes) // WIDTH)):
            tile = hashes[number * WIDTH : (number + 1) * WIDTH]
            files[path(level, number, len(tile))] = b"".join(tile)
        full = len(hashes) // WIDTH
        hashes, level = [full_root(hashes[i * WIDTH : (i + 1) * WIDTH]) for i in range(full)], level + 1
    return files


def write_log(folder: Path, signer: Signer, raws: Sequence[bytes]) -> None:
    """Writes a static log into a folder."""
    for name, data in log_files(signer, raws).items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)


def contributors(label: str, *names: str) -> dict[str, bytes]:
    """Values for contributors, in this order."""
    return {name: drawn(f"value {label} {name}", 32) for name in names}


def honest_hands() -> list[Draft]:
    """One honest hand of each kind: what the protocol has, this has once."""
    offered = contributors("offered", "seat-1", "seat-2", "seat-9")
    sealed_offer = contributors("sealed offer", "zed", "amy")
    return [
        Draft("board", seats=[5, 6, 7, 8, 1, 2, 3, 4]).deal().show(4, 12),
        Draft("sealed", number=2, game="seven-card-stud-hi-lo", reveal="sealed", seats=[2, 5, 8, 9])
        .deal(folds={"third": [5], "fifth": [9]})
        .show(0, 2, 4),
        Draft("offered", number=3, values=offered, silent={"seat-2"}).deal("fourth", folds={"fourth": [1, 3]}),
        Draft("void", number=4, outcome="void").deal("third"),
        Draft("draw", table="table-2", game="free-draw", deck="short36", seats=[1, 2, 3])
        .draw((1, "down"), (2, "down"), (3, "down"), (1, "down"), (2, "down"), (3, "down"))
        .fold(2)
        .draw((0, "up"), (0, "up"), (0, "up"))
        .show(0, 3),
        Draft("sealed offer", table="table-2", number=2, reveal="sealed", values=sealed_offer, silent={"zed"}).deal(
            folds={"third": [2]}
        ),
        Draft(
            "given up", table="table-2", number=3, values=contributors("given up", "x"), silent={"x"}, outcome="void"
        ),
    ]


def honest(*, test: bool = False, hands: Iterable[Draft] | None = None) -> Book:
    """An honest log."""
    book = Book(Signer(TEST_ORIGIN) if test else Signer())
    for draft in honest_hands() if hands is None else hands:
        draft.test = test
        book.play(draft)
    return book


def many(count: int, tables: int = 4, *, sealed: bool = False) -> Book:
    """A longer honest log: six-handed stud at several tables, with folds that differ from hand to hand."""
    book = Book()
    for number in range(count):
        draft = Draft(
            f"many {number}",
            table=f"table-{number % tables}",
            number=number // tables + 1,
            seats=[1, 2, 3, 4, 5, 6],
            reveal="sealed" if sealed else "public",
        )
        book.play(draft.deal(folds=_some_folds(draft)))
    return book


def many_at_once(count: int, tables: int) -> Book:
    """The hands of `many`, as many of them open at a time as there are tables; `count` is a multiple of that."""
    book, hands = Book(), many(count, tables).entries
    for first in range(0, 2 * count, 2 * tables):
        together = hands[first : first + 2 * tables]
        opened = [book.add(commit) for commit in together[0::2]]
        for commit, close in zip(opened, together[1::2], strict=True):
            assert isinstance(close, dict)
            book.add({**close, "commit": commit})
    return book


def _some_folds(draft: Draft) -> dict[str, list[int]]:
    """Who folds when: up to two seats after each street, and always two seats at the end."""
    live = list(draft.seats)
    folds: dict[str, list[int]] = {}
    for street, byte in zip(STREETS, drawn(f"folds {draft.label}", len(STREETS)), strict=True):
        out = [live[byte // 8 % len(live)]] if byte % 8 < 5 and len(live) > 2 else []
        folds[street] = out
        live = [seat for seat in live if seat not in out]
    return folds
