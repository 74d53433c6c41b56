"""What a client kept when a check failed (docs/client.md): everything in it is checked anew, offline.

Here the evidence is taken apart and its entries are proven; what they say is judged by the checks of one hand that
`verify` makes too. What is under the log's signature convicts the log's key. The cards of an answer are not signed:
that the dealer gave them is the client's word, that they do not fit the commitments is arithmetic. Where nothing is
signed by the pinned key, there is no verdict.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from audit import protocol
from audit.errors import AuditError, CheckError, FormatError, InputError
from audit.evidence.forms import check_forms
from audit.evidence.receipt import Evidence, Step
from audit.findings import Finding
from audit.hand.checks import (
    Case,
    HandResult,
    check_card,
    check_hand,
    check_invited,
    check_list,
    check_offered,
)
from audit.hand.escrow import EscrowKeys
from audit.hand.kept import check_acknowledged, derived_list
from audit.record.acknowledgement import Acknowledgement, read_acknowledgement
from audit.record.entries import Close, Commit, Offer, Unknown
from audit.record.fields import SchemaError, base64_bytes, hand_text, hex_bytes
from audit.record.reading import parse
from audit.tlog import note, receipt
from audit.tlog.checkpoint import Checkpoint, check_origin, is_test_name, read_checkpoint
from audit.tlog.keys import VerifierKey
from audit.tlog.merkle import leaf_hash
from audit.tlog.proofs import check_consistency, check_inclusion
from audit.tlog.witnessed import Demand, check_witnessed
from audit.whole.lifecycle import follow_alone

FORMAT = "cutcard-evidence/v1"
_ENTRIES = ("offer", "commit", "close")
_HOLDS = {
    "lifecycle": "the entries are one hand's, in their order",
    "entropy": "contributions, and their digest, are as they must be",
    "seed": "matches its commitment",
    "deck": "the seed gives the committed deck",
    "dealing": "the events obey the rules",
    "reveal": "what is revealed is what the policy asks",
    "opening": "the opened cards match their commitments",
}


def decode(data: bytes) -> dict[str, Any] | None:
    """Returns the members of a client's evidence; None where the bytes are something else.

    Raises:
        FormatError: a member's text is no text that UTF-8 can say.
    """
    if not data.lstrip().startswith(b"{"):
        return None
    try:
        content = json.loads(data)
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            return None
        json.dumps(content, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:
        raise FormatError("a text in it holds half a character (a lone surrogate)") from None
    except (ValueError, RecursionError):
        return None
    return content


def check(
    content: dict[str, Any],
    key: VerifierKey | None,
    escrow: EscrowKeys | None = None,
    witnesses: Demand | None = None,
) -> Evidence:
    """Checks a client's evidence.

    Args:
        content: what `decode` gave.
        key: the verifier key that is pinned; the one that the file names is only shown.
        escrow: the auditor's escrow keys.
        witnesses: what cosignatures must show, None for nothing.

    Raises:
        FormatError: a member is malformed.
        InputError: a note in it is longer than what is read.
    """
    check_forms(content)
    evidence = Evidence("client's evidence", is_test=is_test_name(key, None), proven=False)
    for name in ("check", "detail", "hand", "key"):
        evidence.facts[name] = str(content.get(name, "-"))
    reader = Reader(content, key, escrow or EscrowKeys(), evidence)
    reader.entries()
    reader.hand()
    reader.list_of_commitments()
    reader.cards()
    reader.acknowledgements()
    reader.checkpoints()
    reader.cosigned(witnesses)
    reader.answers()
    reader.signature("the client's word")
    return evidence


@dataclass(slots=True)
class Reader:
    """Goes through the members of evidence or of a hand file, each check a step; what was proven is kept for the next.

    Attributes:
        content: the members, each in its form.
        key: the verifier key that is pinned.
        escrow: the auditor's escrow keys.
        evidence: takes what was checked.
        number: the state of what the log alone can show: `missing` where that is a shortcoming.
        offer, commit, close: the entries that are proven, each with its index.
        outcome: the result of the checks of one hand.
        other_key: the hand is sealed for an escrow key that was not given.
        roots: of the signed trees, by their sizes.
    """

    content: dict[str, Any]
    key: VerifierKey | None
    escrow: EscrowKeys
    evidence: Evidence
    number: str = "missing"
    offer: tuple[int, Offer] | None = None
    commit: tuple[int, Commit] | None = None
    close: tuple[int, Close] | None = None
    outcome: HandResult | None = None
    other_key: bool = False
    roots: dict[int, bytes] = field(default_factory=dict)

    def attempt(self, name: str, ok: str, wrong: AuditError | str | None = None) -> None:
        """Notes a step that holds, or what is wrong."""
        self.evidence.add(name, CheckError(wrong) if isinstance(wrong, str) else wrong, ok)

    def missing(self, name: str, detail: str) -> None:
        """Notes a step that could not be made."""
        self.evidence.steps.append(Step(name, "missing", detail))

    def signature(self, whose: str) -> None:
        """Says first of all that nothing is signed by the pinned key, where that is so."""
        if not self.evidence.proven:
            why = f"nothing here is signed by {self.key.name}" if self.key else "no verifier key was given (--key)"
            self.evidence.steps.insert(0, Step("signature", "missing", f"{why}: all of this is {whose}"))

    def entries(self) -> None:
        """Proves each entry by its receipt."""
        for name in _ENTRIES:
            member = self.content.get(name)
            if member is not None:
                self._entry(name, base64_bytes(member["entry"], f"{name}.entry"), member["receipt"].encode())

    def _entry(self, name: str, raw: bytes, text: bytes) -> None:
        try:
            decoded = receipt.decode(text)
            self._tree(decoded.note, decoded.checkpoint)
            tree = decoded.checkpoint
            check_inclusion(decoded.index, tree.size, leaf_hash(raw), decoded.proof, tree.root)
            entry = parse(raw)
        except SchemaError as error:
            self.evidence.is_test = self.evidence.is_test or error.test
            self.attempt(name, "", f"proven, and malformed: {error}")
            return
        except InputError:
            raise
        except AuditError as error:
            self.attempt(name, "", error)
            return
        self.evidence.is_test = self.evidence.is_test or entry.test
        if isinstance(entry, Unknown):
            self.evidence.steps.append(Step(name, "unknown", f"schema {entry.schema[:80]!a} is not known"))
            return
        kind = type(entry).__name__.lower()
        self.attempt(name, f"entry {decoded.index} of the log", None if kind == name else f"the entry is the {kind}")
        if isinstance(entry, Offer):
            self.offer = decoded.index, entry
        elif isinstance(entry, Commit):
            self.commit = decoded.index, entry
        else:
            self.close = decoded.index, entry

    def _signed(self, signed: note.Note) -> None:
        if self.key is not None:
            note.check_signed(signed, self.key)
            self.evidence.proven = True

    def _tree(self, signed: note.Note, tree: Checkpoint) -> None:
        """Takes a signed tree: it is this log's, and no other than one of its size that was signed too."""
        self._signed(signed)
        for wrong in check_origin(tree.origin, self.key):
            raise CheckError(wrong)
        if self.roots.setdefault(tree.size, tree.root) != tree.root:
            raise CheckError(f"two trees of {tree.size} entries with two roots: a fork, proven")

    def hand(self) -> None:
        """Checks the proven entries by the checks of one hand."""
        proven = [each for each in (self.offer, self.commit, self.close) if each is not None]
        if not proven:
            return
        hands = dict.fromkeys([hand_text(entry.hand) for _, entry in proven])
        said = self.content.get("hand")
        if said is not None:
            hands[str(said)] = None
        if len(hands) > 1:
            self.attempt("lifecycle", "", f"what should be one hand's is of several: {', '.join(hands)}")
            return
        findings = follow_alone(self._linked())
        if self.commit is not None:
            self.outcome = self._check_committed(*self.commit)
        elif self.offer is not None:
            index, offer = self.offer
            close_index, close = self.close or (-1, None)
            lost = close if close is not None and close.outcome == "lost" else None
            self.outcome = check_offered(offer, index, self.escrow, lost, close_index)
        if self.outcome is not None:
            # One hand does not tell whether its escrow is for a wrong key, or the auditor's own key is the wrong one.
            mine = [found for found in self.outcome.findings if not found.other_key]
            self.other_key = len(mine) < len(self.outcome.findings)
            self._report(self.outcome, [*findings, *mine])
        self._name_missing()

    def _linked(self) -> Iterator[tuple[int, Offer | Commit | Close]]:
        """Yields the entries for `lifecycle`: what is not in the evidence is not asked after."""
        if self.offer is not None:
            yield self.offer
        if self.commit is not None:
            index, commit = self.commit
            yield index, commit if self.offer is not None else commit._replace(offer=None)
        if self.close is not None and (self.commit is not None or (self.offer is not None and self.close[1].offer)):
            yield self.close

    def _check_committed(self, index: int, commit: Commit) -> HandResult:
        close_index, close = self.close or (-1, None)
        offer = self.offer[1] if self.offer is not None else None
        # An offer that the commit names may be there, only not in this evidence.
        elsewhere = offer is None and commit.offer is not None
        return check_hand(Case(commit, index, offer, close, close_index, elsewhere), self.escrow)

    def _report(self, outcome: HandResult, findings: list[Finding]) -> None:
        made = outcome.made
        if self.other_key and self.close is None:
            made = [check for check in made if check != "reveal"]  # Nothing but the key was looked at.
        for check in dict.fromkeys(["lifecycle", *made, *[found.check for found in findings]]):
            wrong = [found.detail for found in findings if found.check == check]
            self.attempt(check, _HOLDS[check], "; ".join(wrong) or None)

    def _name_missing(self) -> None:
        """Names what the hand's entries would show together with others."""
        opening = self.commit or self.offer
        if opening is None:
            self.missing("commit", "neither offer nor commit is here: there is nothing to hold the close against")
        elif opening[1].number > 1:
            detail = f"that number {opening[1].number} is the next at its table, the log alone can show"
            self.evidence.steps.append(Step("number", self.number, detail))
        if self.commit is not None and self.commit[1].offer is not None and self.offer is None:
            self.missing("offer", f"the offer, entry {self.commit[1].offer}, is not here")
        if self.close is None:
            self.missing("close", "the hand's close is not here: its seed, deck and cards were not checked")
        elif self.close[1].outcome == "lost":
            self.missing("close", "the hand was lost: the dealer says that it can no longer read the seed")
        elif self.offer is not None and self.commit is None:
            self.missing("commit", "the commit is not here")
        if self.outcome is not None and self.outcome.needs_key:
            self.missing("escrow", "the hand is sealed and stays closed: no escrow key was given (--escrow-key)")
        if self.other_key and self.outcome is not None and self.outcome.escrow_key is not None:
            named = self.outcome.escrow_key.hex()
            self.missing("escrow", f"the hand is sealed for key {named}, which was not given: is yours the right one?")

    def commitments(self) -> bytes:
        """Returns the card commitments, joined: the file's, the close's, or the revealed deck's; else nothing."""
        if (member := self.content.get("card_commitments")) is not None:
            return base64_bytes(member, "card_commitments")
        if self.commit is None or self.outcome is None:
            return b""
        commit = self.commit[1]
        listed = self.close[1].card_commitments if self.close is not None else None
        if listed is not None:
            return listed if check_list(commit, listed) is None else b""
        return derived_list(commit, self.outcome) or b""

    def list_of_commitments(self) -> None:
        """Checks the list against the deck commitment in the log."""
        commitments = self.commitments()
        if self.commit is not None and commitments:
            wrong = "it does not give the deck commitment" if check_list(self.commit[1], commitments) else None
            self.attempt("list", "gives the deck commitment", wrong)

    def cards(self) -> None:
        """Checks each card of the answer against the list."""
        commitments = self.commitments()
        for card in self.content.get("cards", []):
            position, name = card["position"], card["card"]
            step = f"card {position}"
            if not name and not card["salt"]:
                continue  # not for this client
            if self.commit is None or not commitments:
                self.missing(step, "there is no proven commit to check it against")
                continue
            try:
                salt = hex_bytes(card["salt"], "salt", protocol.SALT_BYTES)
            except FormatError as error:
                self.attempt(step, "", error)
                continue
            wrong = check_card(self.commit[1], position, name, salt, commitments)
            deck = self.outcome.deck if self.outcome is not None else None
            if wrong is None and deck is not None and deck[position] != name:
                wrong = f"{name}, and another card lies there in the derived deck"
            self.attempt(step, f"{name} matches its commitment", wrong)

    def acknowledgements(self) -> None:
        """Checks each acknowledgement's signature, and whether its value is the one in offer and commit."""
        taken: dict[str, bytes] = {}
        for text in self.content.get("acknowledgements", []):
            try:
                signed = note.decode(text.encode())
                said = read_acknowledgement(signed)
                self._signed(signed)
            except InputError:
                raise
            except AuditError as error:
                self.attempt("acknowledgement", "", error)
                continue
            wrong = self._acknowledged(said)
            if wrong is None and taken.setdefault(said.contributor, said.value) != said.value:
                wrong = f"two values of {said.contributor} were acknowledged"
            self.attempt("acknowledgement", f"the value of {said.contributor} was taken", wrong)

    def _acknowledged(self, said: Acknowledgement) -> str | None:
        for opening in (self.offer, self.commit):
            if opening is not None and hand_text(opening[1].hand) != said.hand:
                return f"it is for hand {said.hand}"
        wrong = check_acknowledged(self.commit[1], said.contributor, said.value) if self.commit is not None else None
        if wrong is None and self.offer is not None:
            wrong = check_invited(self.offer[1], said.contributor, said.value)
        return wrong

    def checkpoints(self) -> None:
        """Checks two signed trees: whether they can be of one log."""
        if "checkpoints" not in self.content:
            return
        trees = []
        for text in self.content["checkpoints"]:
            signed = note.decode(text.encode())
            tree = read_checkpoint(signed)
            try:
                self._signed(signed)
                for wrong in check_origin(tree.origin, self.key):
                    raise CheckError(wrong)
            except CheckError as error:
                self.attempt("checkpoint", "", error)
                return
            trees.append(tree)
        old, new = trees
        self.attempt("checkpoint", f"trees of {old.size} and {new.size} entries")
        hashes = self.content["consistency"]["hashes"] if "consistency" in self.content else None
        if old.size == new.size and old.root != new.root:
            self.attempt("append-only", "", f"two trees of {old.size} entries with two roots: a fork, proven")
        elif hashes is None:
            detail = "the dealer gave no proof that one extends the other: hold both against the log with --since"
            self.missing("append-only", detail)
        else:
            proof_hashes = [hex_bytes(each, "hashes", protocol.HASH_BYTES) for each in hashes]
            try:
                check_consistency(old.size, new.size, old.root, new.root, proof_hashes)
            except CheckError as error:
                self.attempt("append-only", "", error)
            else:
                self.attempt("append-only", "the newer tree extends the older")

    def cosigned(self, witnesses: Demand | None) -> None:
        """Checks the cosignatures of a note."""
        if "cosigned" not in self.content:
            return
        signed = note.decode(self.content["cosigned"].encode())
        try:
            self._signed(signed)
        except CheckError as error:
            self.attempt("checkpoint", "", error)
            return
        if witnesses is None or not witnesses.asks:
            self.missing("witness", "no policy that asks for witnesses was given (--policy)")
            return
        found = check_witnessed(signed, witnesses)
        if found.missing is not None:
            self.missing("witness", found.missing)
        else:
            self.attempt("witness", str(found), "; ".join(each.detail for each in found.findings) or None)

    def answers(self) -> None:
        """Checks two answers to one request."""
        answers = [base64_bytes(each, "answers") for each in self.content.get("answers", [])]
        if answers:
            wrong = "one request was answered in two ways" if len(set(answers)) > 1 else None
            self.attempt("repeat", "the answers are the same", wrong)
