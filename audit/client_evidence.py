"""What a client kept when a check failed (docs/client.md): everything in it is checked anew, offline.

What is under the log's signature convicts the log's key. The cards of an answer are not signed: that the dealer gave
them is the client's word, that they do not fit the commitments is arithmetic.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from audit import note, proof, protocol
from audit.entries import Close, Commit, Offer, parse
from audit.errors import AuditError, CheckError, FormatError
from audit.forms import SchemaError, base64_bytes, hand_text, hex_bytes, integer, list_of
from audit.keys import VerifierKey
from audit.merkle import check_consistency, check_inclusion, leaf_hash
from audit.receipt import Evidence, Step
from audit.signed import is_test_name

FORMAT = "cutcard-evidence/v1"
_ENTRIES = ("offer", "commit", "close")


def decode(data: bytes) -> dict[str, Any] | None:
    """The members of a client's evidence; None where the bytes are something else."""
    if not data.lstrip().startswith(b"{"):
        return None
    try:
        content = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return content if isinstance(content, dict) and content.get("format") == FORMAT else None


def check(content: dict[str, Any], key: VerifierKey | None) -> Evidence:
    """Checks a client's evidence.

    Args:
        content: what `decode` gave.
        key: the verifier key that is pinned; the one that the file names is only shown.

    Raises:
        FormatError: a member is malformed.
    """
    evidence = Evidence("client's evidence")
    for name in ("check", "detail", "hand", "key"):
        evidence.facts[name] = str(content.get(name, "-"))
    evidence.is_test = is_test_name(key, None)
    if key is None:
        evidence.steps.append(Step("signature", "missing", "no verifier key was given (--key)"))
    reader = _Reader(content, key, evidence)
    reader.entries()
    reader.list_of_commitments()
    reader.cards()
    reader.acknowledgements()
    reader.checkpoints()
    reader.answers()
    return evidence


@dataclass(slots=True)
class _Reader:
    """Goes through the members, each check a step; what was proven is kept for the next."""

    content: dict[str, Any]
    key: VerifierKey | None
    evidence: Evidence
    offer: Offer | None = None
    commit: Commit | None = None
    close: Close | None = None

    def _try(self, name: str, ok: str, *errors: AuditError | None) -> bool:
        wrong = next((error for error in errors if error is not None), None)
        self.evidence.add(name, wrong, ok)
        return wrong is None

    def entries(self) -> None:
        """Each entry against its receipt; then whether commit and close of a public hand fit together."""
        for name in _ENTRIES:
            member = self.content.get(name)
            if member is None:
                continue
            if not isinstance(member, dict) or not isinstance(member.get("receipt"), str):
                raise FormatError(f"{name} is not an entry with its receipt")
            self._entry(name, base64_bytes(member.get("entry"), f"{name}.entry"), member["receipt"].encode())
        if self.commit is not None and self.close is not None:
            self._reveal(self.commit, self.close)

    def _entry(self, name: str, raw: bytes, receipt: bytes) -> None:
        try:
            decoded = proof.decode(receipt)
            self._signed(decoded.note)
            tree = decoded.checkpoint
            check_inclusion(decoded.index, tree.size, leaf_hash(raw), decoded.proof, tree.root)
            entry = parse(raw)
        except SchemaError as error:
            self.evidence.is_test = self.evidence.is_test or error.test
            self._try(name, "", CheckError(f"proven, and malformed: {error}"))
            return
        except AuditError as error:
            self._try(name, "", error)
            return
        self._try(name, f"entry {decoded.index} of the log")
        self.evidence.is_test = self.evidence.is_test or entry.test
        if isinstance(entry, Offer):
            self.offer = entry
        elif isinstance(entry, Commit):
            self.commit = entry
        elif isinstance(entry, Close):
            self.close = entry

    def _signed(self, signed: note.Note) -> None:
        if self.key is not None:
            note.check_signed(signed, self.key)

    def _reveal(self, commit: Commit, close: Close) -> None:
        if close.hand != commit.hand:
            error = CheckError(f"the close is of hand {hand_text(close.hand)}, the commit of {hand_text(commit.hand)}")
            self._try("close", "", error)
        elif close.seed is not None and not close.test:
            made = protocol.seed_commitment(commit.hand, close.seed)
            wrong = None if made == commit.seed_commitment else CheckError("it does not match its commitment")
            self._try("seed", "matches its commitment", wrong)
            source = protocol.material(commit.hand, commit.entropy_digest, close.seed)
            deck = protocol.shuffle(protocol.DECKS[commit.deck], source)
            commitments = protocol.card_commitments(commit.hand, deck, protocol.salts(source, len(deck)))
            derived = protocol.deck_commitment(commit.hand, commitments)
            wrong = None if derived == commit.deck_commitment else CheckError("the seed gives another deck")
            self._try("deck", "the seed gives the committed deck", wrong)

    def _commitments(self) -> bytes:
        member = self.content.get("card_commitments")
        return b"" if member is None else base64_bytes(member, "card_commitments")

    def list_of_commitments(self) -> None:
        """The list against the deck commitment in the log."""
        commitments = self._commitments()
        if self.commit is not None and commitments:
            found = protocol.deck_commitment(self.commit.hand, commitments)
            wrong = None if found == self.commit.deck_commitment else CheckError("it does not give the deck commitment")
            self._try("list", "gives the deck commitment", wrong)

    def cards(self) -> None:
        """Each card of the answer against the list."""
        commitments = self._commitments()
        for card in list_of(self.content.get("cards", []), "cards"):
            if not isinstance(card, dict):
                raise FormatError("a card is not an object")
            position = integer(card.get("position"), "position")
            name = str(card.get("card"))
            step = f"card {position}"
            if not name and not card.get("salt"):
                continue  # not for this client
            if self.commit is None or not commitments:
                self.evidence.steps.append(Step(step, "missing", "there is no proven commit to check it against"))
                continue
            try:
                salt = hex_bytes(card.get("salt"), "salt", protocol.SALT_BYTES)
                if name not in protocol.DECKS[self.commit.deck]:
                    raise CheckError(f"{name!a} is no card of {self.commit.deck}")
                made = protocol.card_commitment(self.commit.hand, position, name, salt)
                due = commitments[protocol.HASH_BYTES * position : protocol.HASH_BYTES * (position + 1)]
                if made != due:
                    raise CheckError(f"{name}: expected {due.hex() or 'no such position'}, found {made.hex()}")
            except AuditError as error:
                self._try(step, "", error)
            else:
                self._try(step, f"{name} matches its commitment")

    def acknowledgements(self) -> None:
        """Each acknowledgement's signature, and whether the commit says that the value was withheld."""
        for text in list_of(self.content.get("acknowledgements", []), "acknowledgements"):
            try:
                signed = note.decode(str(text).encode())
                said = note.acknowledgement(signed)
                self._signed(signed)
                commit = self.commit
                if commit is not None and hand_text(commit.hand) == said.hand and said.contributor in commit.withheld:
                    raise CheckError(f"{said.contributor} gave its value in time and is listed as silent")
            except AuditError as error:
                self._try("acknowledgement", "", error)
            else:
                self._try("acknowledgement", f"the value of {said.contributor} was taken")

    def checkpoints(self) -> None:
        """Two signed trees: whether they can be of one log."""
        notes = list_of(self.content.get("checkpoints", []), "checkpoints")
        if len(notes) != 2:
            return
        trees = []
        for text in notes:
            signed = note.decode(str(text).encode())
            try:
                self._signed(signed)
            except CheckError as error:
                self._try("checkpoint", "", error)
                return
            trees.append(note.checkpoint(signed))
        old, new = trees
        self._try("checkpoint", f"trees of {old.size} and {new.size} entries")
        given = self.content.get("consistency")
        hashes = given.get("hashes") if isinstance(given, dict) else None
        if old.size == new.size and old.root != new.root:
            self._try("append-only", "", CheckError(f"two trees of {old.size} entries with two roots: a fork, proven"))
        elif hashes is None:
            detail = "the dealer gave no proof that one extends the other: hold both against the log with --since"
            self.evidence.steps.append(Step("append-only", "missing", detail))
        else:
            proof_hashes = [hex_bytes(each, "hashes", protocol.HASH_BYTES) for each in list_of(hashes, "hashes")]
            try:
                check_consistency(old.size, new.size, old.root, new.root, proof_hashes)
            except CheckError as error:
                self._try("append-only", "", error)
            else:
                self._try("append-only", "the newer tree extends the older")

    def answers(self) -> None:
        """Two answers to one request."""
        answers = [base64_bytes(each, "answers") for each in list_of(self.content.get("answers", []), "answers")]
        if answers:
            wrong = CheckError("one request was answered in two ways") if len(set(answers)) > 1 else None
            self._try("repeat", "the answers are the same", wrong)
