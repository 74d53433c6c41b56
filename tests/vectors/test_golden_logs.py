"""The dealer writes the golden logs again: each hand is replayed through the state machine, to the same bytes."""

import base64
import json
import uuid
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.hpke import AEAD, KDF, KEM, Suite

from dealer.core import hand as machine
from dealer.core.deck import derive_deck
from dealer.core.entries import canonical, close_entry, commit_entry, lost_entry, offer_entry
from dealer.core.hand import Face, HandState, Reveal, Status, VoidReason
from dealer.core.seed import Seed, contribution_commitment, entropy_digest, escrow_digest, escrow_info
from dealer.games.plans import GAMES
from tests.vectors.places import FOREIGN

SUITE = Suite(KEM.X25519, KDF.HKDF_SHA256, AEAD.CHACHA20_POLY1305)


def read_entries(log: Path) -> list[bytes]:
    entries = []
    for path in sorted(p for p in (log / "tile" / "entries").rglob("*") if p.is_file()):
        data, at = path.read_bytes(), 0
        while at < len(data):
            length = int.from_bytes(data[at : at + 2], "big")
            entries.append(data[at + 2 : at + 2 + length])
            at += 2 + length
    return entries


def milliseconds(text: str) -> int:
    return round(datetime.fromisoformat(text).timestamp() * 1000)


def opened_state(entry: dict[str, Any], invited: list[dict[str, str]]) -> HandState:
    return HandState(
        hand=uuid.UUID(entry["hand"]).bytes,
        table=entry["table"],
        number=entry["number"],
        game=GAMES[entry["game"]],
        deck=entry["deck"],
        seats=tuple(entry["seats"]),
        reveal=Reveal(entry["reveal"]),
        status=Status.OFFERED,
        seed_commitment=bytes.fromhex(entry["seed_commitment"]),
        invited=tuple((each["contributor"], bytes.fromhex(each["commitment"])) for each in invited),
    )


def replay(state: HandState, events: list[dict[str, Any]]) -> HandState:
    for event in events:
        if "deal" in event:
            state, done = machine.deal_street(state, event["deal"])
            assert [[c.position, c.seat, c.face] for c in done.cards] == event["cards"]
        elif "draw" in event:
            state, drawn = machine.draw(state, [(seat, Face(face)) for _, seat, face in event["draw"]])
            assert [c.position for c in drawn.cards] == [position for position, _, _ in event["draw"]]
        elif "fold" in event:
            state, _ = machine.fold(state, event["fold"])
        else:
            state, _ = machine.show(state, event["show"])
    return state


@pytest.mark.parametrize("name", ["golden-log", "golden-log-200", "golden-log-lost"])
def test_a_golden_log_is_written_again(name: str) -> None:
    private = X25519PrivateKey.from_private_bytes(bytes.fromhex((FOREIGN / f"{name}.escrow-key.hex").read_text()))
    raw = read_entries(FOREIGN / name)
    entries = [json.loads(entry) for entry in raw]
    commits = {entry["hand"]: (index, entry) for index, entry in enumerate(entries) if "contributions" in entry}
    offers = {entry["hand"]: (index, entry) for index, entry in enumerate(entries) if "contributors" in entry}
    for close_index, close in enumerate(entries):
        if not close["schema"].endswith("/close"):
            continue
        if close["outcome"] == "lost":
            continue  # below
        commit_index, commit = commits[close["hand"]]
        offer_index, offer = offers.get(close["hand"], (None, {}))
        state = opened_state(commit, offer.get("contributors", []))
        escrow = commit.get("escrow")
        if offer_index is not None:
            assert offer_entry(state, escrow, milliseconds(offer["time"])) == raw[offer_index]
        ciphertext = base64.b64decode(close.get("escrow", ""))
        if state.reveal is Reveal.SEALED:
            assert escrow_digest(state.hand, ciphertext).hex() == escrow["digest"]
            seed = Seed(SUITE.decrypt(ciphertext, private, escrow_info(state.hand, state.seed_commitment)))
        else:
            seed = Seed(bytes.fromhex(close["seed"]))
        assert seed.commitment(state.hand) == state.seed_commitment
        values = {each["contributor"]: bytes.fromhex(each["value"]) for each in commit["contributions"]}
        for contributor, commitment in state.invited:
            if contributor in values:
                made = contribution_commitment(state.table, state.number, contributor, values[contributor])
                assert made == commitment
        digest = entropy_digest(state.hand, [(n, values[n]) for n, _ in state.invited if n in values])
        deck = derive_deck(state.deck, state.hand, digest, seed)
        made = commit_entry(
            state,
            escrow,
            milliseconds(commit["time"]),
            offer=offer_index,
            values=values,
            entropy_digest=digest,
            deck_commitment=deck.commitment,
        )
        assert made == raw[commit_index]
        state = replay(machine.lock(state), close["events"])
        void = close["outcome"] == "void"
        state = machine.void(state) if void else machine.complete(state)
        made = close_entry(
            state,
            milliseconds(close["time"]),
            commit=commit_index,
            reason=VoidReason(close["reason"]) if void else None,
            deck=deck,
            seed=seed,
            escrow_ciphertext=ciphertext,
            history=bytes.fromhex(close["history"]) if "history" in close else None,
        )
        assert made == raw[close_index]
        assert canonical(close) == raw[close_index]


def test_the_golden_lost_hands_are_closed_again() -> None:
    raw = read_entries(FOREIGN / "golden-log-lost")
    closes = {index: json.loads(entry) for index, entry in enumerate(raw) if b'"outcome":"lost"' in entry}
    assert len(closes) == 2
    for index, close in closes.items():
        offer, commit = close.get("offer"), close.get("commit")
        opening = json.loads(raw[offer if commit is None else commit])
        state = opened_state(opening, opening.get("contributors", []))
        if commit is None:
            assert offer_entry(state, opening["escrow"], milliseconds(opening["time"])) == raw[offer]
        else:
            state = replay(machine.lock(state), close["events"])
        state = machine.lose(state)
        assert lost_entry(state, milliseconds(close["time"]), offer=offer, commit=commit) == raw[index]
