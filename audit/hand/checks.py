"""The checks that look at one hand: `seed`, `entropy`, `deck`, `opening`, `dealing`, `reveal` (PROTOCOL.md section 10).

Each check is one function that returns what is wrong, or None. A check that cannot be made because another one failed
before it (a deck from a seed that is not the committed one) is not made; it does not fail by consequence.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from audit import protocol
from audit.errors import CheckError
from audit.findings import Finding
from audit.hand.escrow import EscrowKeys
from audit.hand.replay import Replay, may_complete, replay
from audit.record.entries import Close, Commit, Escrow, Offer, Openings
from audit.record.fields import hand_text


class Case(NamedTuple):
    """All entries of one hand, with their log indexes. `offer` is None without one, `close` while the hand is open.

    Where `without_offer`, the offer that the commit names is not to be had here, and is not asked after.
    """

    commit: Commit
    commit_index: int
    offer: Offer | None = None
    close: Close | None = None
    close_index: int = -1
    without_offer: bool = False


@dataclass(slots=True, repr=False)
class HandResult:
    """The result of checking one hand.

    Attributes:
        hand: the hand's 16 bytes.
        made: how often each check was made.
        findings: what is wrong, in the order found.
        seed: the revealed or escrowed seed, None where it is not known.
        deck: the derived deck (or a test record's own), None where it is not known.
        replayed: the events played again, None while the hand is open.
        needs_key: the hand is sealed and no escrow key was given.
        escrow_key: the key (8 bytes) that a sealed hand names, None where none was given to hold it against.
    """

    hand: bytes
    made: list[str] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    seed: bytes | None = None
    deck: Sequence[str] | None = None
    replayed: Replay | None = None
    needs_key: bool = False
    escrow_key: bytes | None = None

    def note(
        self, check: str, index: int, wrong: str | None, missing_offer: bool = False, other_key: bool = False
    ) -> None:
        """Notes that a check failed at the log's entry `index`, where something is wrong."""
        if wrong is not None:
            self.findings.append(Finding(check, index, hand_text(self.hand), wrong, missing_offer, other_key))

    def note_escrow_key(self, index: int, escrow: Escrow, keys: EscrowKeys) -> None:
        """Checks whose key the escrow is for, as far as the auditor has named any."""
        self.needs_key = not keys
        if keys:
            self.made.append("reveal")
            self.note("reveal", index, check_escrow_key(escrow, keys), other_key=True)
            self.escrow_key = escrow.key


def check_repeat(offer: Offer, commit: Commit) -> str | None:
    """Checks `lifecycle`: the commit repeats the offer's members unchanged (section 6)."""
    if offer.test != commit.test:
        return "the offer is of another kind of record than its commit"
    for member in ("table", "number", "game", "deck", "seats", "reveal", "seed_commitment", "escrow", "seat_keys"):
        offered, committed = getattr(offer, member), getattr(commit, member)
        if offered != committed:
            return f"`{member}` is not what was offered: expected {_shown(offered)}, found {_shown(committed)}"
    return None


def _shown(value: object) -> str:
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, tuple):
        return "[" + ", ".join(_shown(item) for item in value) + "]"
    return "none" if value is None else str(value)


def check_kind(opening: Offer | Commit, close: Close) -> str | None:
    """Checks `lifecycle`: a hand is closed by an entry of its own kind (section 11)."""
    if close.test == opening.test:
        return None
    return f"the close is of another kind of record than its {type(opening).__name__.lower()}"


def check_completion(commit: Commit, close: Close) -> str | None:
    """Checks `lifecycle`: a hand is `completed` rightly (section 7)."""
    if close.outcome == "completed" and not may_complete(commit.game, commit.seats, close.events):
        return "completed with more than one seat left and seventh street not dealt"
    return None


def check_entropy(offer: Offer | None, commit: Commit, digest: bytes) -> tuple[str | None, str | None]:
    """Checks `entropy`: contributions and the silent are the offer's, in its order, and match; the digest is right.

    Args:
        offer: the hand's offer, None where there is none.
        commit: its commit.
        digest: the entropy digest that the commit's contributions give.

    Returns:
        What is wrong with an offer that is not there, and what else is wrong.
    """
    names = [name for name, _ in commit.contributions]
    absent = None
    wrong = None
    if offer is not None:
        wrong = _against_offer(offer, commit, names)
    elif commit.contributions or commit.withheld or commit.offer is not None:
        absent = f"contributors {_shown((*names, *commit.withheld))}, but no offer that invited them"
    if wrong is None and digest != commit.entropy_digest:
        wrong = f"entropy digest: expected {digest.hex()}, found {commit.entropy_digest.hex()}"
    return absent, wrong


def _against_offer(offer: Offer, commit: Commit, names: list[str]) -> str | None:
    taken, silent = set(names), set(commit.withheld)
    invited = [name for name, _ in offer.contributors]
    if names != [name for name in invited if name in taken] or list(commit.withheld) != [
        name for name in invited if name in silent
    ]:
        return (
            f"contributions {_shown(tuple(names))} and withheld {_shown(commit.withheld)} do not stand in the offer's "
            f"order {_shown(tuple(invited))}"
        )
    if taken & silent or taken | silent != set(invited):
        odd = sorted(taken & silent) or sorted(set(invited) - taken - silent)
        return f"contributor {odd[0]} must be either in contributions or in withheld, once"
    for name, value in commit.contributions:
        wrong = check_invited(offer, name, value)
        if wrong is not None:
            return wrong
    return None


@dataclass(frozen=True, slots=True, repr=False)
class SeedResult:
    """The result of `seed`: the seed if it is known, whether it is the committed one, and what is wrong."""

    made: bool = False
    seed: bytes | None = None
    committed: bool = False
    wrong: str | None = None


def check_seed(commit: Commit, close: Close, keys: EscrowKeys) -> SeedResult:
    """Checks `seed`: the revealed or escrowed seed matches its commitment, the escrow opens and matches its digest."""
    wrong = None
    seed = close.seed
    if commit.escrow is not None:
        if close.escrow is None:
            return SeedResult()
        digest = protocol.escrow_digest(commit.hand, close.escrow)
        if digest != commit.escrow.digest:
            wrong = f"escrow digest: expected {commit.escrow.digest.hex()}, found {digest.hex()}"
        seed = None
        if commit.escrow.key in keys.by_id:
            try:
                seed = keys.open(commit.escrow.key, commit.hand, commit.seed_commitment, close.escrow)
            except CheckError as error:
                wrong = wrong or str(error)
    if seed is None:
        return SeedResult(made=commit.escrow is not None, wrong=wrong)
    found = protocol.seed_commitment(commit.hand, seed)
    committed = found == commit.seed_commitment
    if not committed and wrong is None:
        # The seed itself stays out of the message: a wrong one may be another hand's.
        wrong = f"seed commitment: expected {commit.seed_commitment.hex()}, the seed gives {found.hex()}"
    return SeedResult(made=True, seed=seed, committed=committed, wrong=wrong)


def check_deck(
    commit: Commit, close: Close, seed: bytes | None, digest: bytes
) -> tuple[Sequence[str] | None, str | None]:
    """`deck`: the deck that the seed gives (a test record's own instead) is a permutation with the deck commitment.

    Args:
        commit: the hand's commit.
        close: its close.
        seed: the seed that matched its commitment, None where there is none.
        digest: the entropy digest that the commit's contributions give.

    Returns:
        The deck as far as it is known, and what is wrong.
    """
    reference = protocol.DECKS[commit.deck]
    chosen = None
    if close.deck is not None:
        chosen = close.deck.split(" ")
        if len(chosen) != len(reference) or set(chosen) != set(reference):
            return None, f"the record's own deck is no permutation of {commit.deck}"
    if seed is None:
        return chosen, None
    found = b""
    first: Sequence[str] | None = None
    # A wrong digest belongs to `entropy`: here the deck may have been made with the right one or with the one stated.
    for candidate in (digest, commit.entropy_digest) if digest != commit.entropy_digest else (digest,):
        source = protocol.material(commit.hand, candidate, seed)
        deck = chosen or protocol.shuffle(reference, source)
        commitments = protocol.card_commitments(commit.hand, deck, protocol.salts(source, len(deck)))
        given = protocol.deck_commitment(commit.hand, commitments)
        if given == commit.deck_commitment:
            return deck, None
        found, first = found or given, first or deck
    return first, f"deck commitment: expected {commit.deck_commitment.hex()}, the deck gives {found.hex()}"


def check_opening(commit: Commit, close: Close, deck: Sequence[str] | None) -> str | None:
    """`opening`: opened cards are distinct, match their commitments, and agree with the deck where it is known."""
    listed = close.card_commitments
    wrong = check_list(commit, listed) if listed is not None else None
    if wrong is not None or close.openings is None:
        return wrong
    return _check_opened(commit, close.openings, listed, deck)


def check_list(commit: Commit, listed: bytes) -> str | None:
    """`opening`: the card commitments, joined, are as many as the deck has cards and give the deck commitment."""
    size = len(protocol.DECKS[commit.deck])
    if len(listed) != size * protocol.HASH_BYTES:
        return f"expected {size} card commitments, found {len(listed) // protocol.HASH_BYTES}"
    found = protocol.deck_commitment(commit.hand, listed)
    if found != commit.deck_commitment:
        return f"card commitments: expected deck commitment {commit.deck_commitment.hex()}, found {found.hex()}"
    return None


def check_card(commit: Commit, position: int, card: str, salt: bytes, listed: bytes | None) -> str | None:
    """Checks `opening`: one opened card is of the deck kind and matches its commitment, as far as a list was given."""
    kind = protocol.DECKS[commit.deck]
    if position >= len(kind):
        return f"position {position} is opened in a deck of {len(kind)}"
    if card not in kind:
        return f"position {position}: {card!a} is no card of {commit.deck}"
    if listed is not None:
        expected = listed[32 * position : 32 * position + 32]
        found = protocol.card_commitment(commit.hand, position, card, salt)
        if found != expected:
            return f"position {position}: expected card commitment {expected.hex()}, {card} gives {found.hex()}"
    return None


def check_invited(offer: Offer, contributor: str, value: bytes) -> str | None:
    """Checks `entropy`: a value matches the commitment that its contributor gave before the hand (section 3)."""
    commitments = dict(offer.contributors)
    if contributor not in commitments:
        return f"{contributor} was not invited"
    found = protocol.sha256(protocol.contribution_preimage(offer.table, offer.number, contributor, value))
    if found == commitments[contributor]:
        return None
    return f"contribution of {contributor}: expected commitment {commitments[contributor].hex()}, found {found.hex()}"


def _check_opened(commit: Commit, openings: Openings, listed: bytes | None, deck: Sequence[str] | None) -> str | None:
    last = -1
    for position, card, salt in zip(openings.positions, openings.cards, openings.salts, strict=True):
        if position <= last:
            return f"opened positions do not ascend: {position} after {last}"
        last = position
        wrong = check_card(commit, position, card, salt, listed)
        if wrong is not None:
            return wrong
    if len(set(openings.cards)) != len(openings.cards):
        twice = next(card for card, count in Counter(openings.cards).items() if count > 1)
        return f"{twice} is opened at more than one position"
    if deck is not None:
        for position, card in zip(openings.positions, openings.cards, strict=True):
            if deck[position] != card:
                return f"position {position}: {card} is opened, and another card lies there in the derived deck"
    return None


def check_reveal(commit: Commit, close: Close, replayed: Replay) -> str | None:
    """Checks `reveal`: what is revealed is what the policy asks, no less and no more (section 8)."""
    sealed = commit.reveal == "sealed"
    for member in ("seed", "card_commitments", "openings", "escrow"):
        wanted = sealed != (member == "seed")
        if (getattr(close, member) is not None) != wanted:
            return f"`{member}` must be {'present' if wanted else 'absent'} where the policy is {commit.reveal}"
    if close.openings is None or replayed.fault is not None:
        # Without knowing what the table saw there is nothing to compare the openings with.
        return None
    opened, seen = set(close.openings.positions), set(replayed.seen())
    if unseen := sorted(opened - seen):
        return f"position {unseen[0]} is opened and the table never saw it"
    if unopened := sorted(seen - opened):
        return f"position {unopened[0]} was seen by the table and is not opened"
    return None


def check_lost_reveal(close: Close) -> str | None:
    """Checks `reveal`: a lost hand reveals nothing (section 6)."""
    for member in ("seed", "card_commitments", "openings", "escrow", "history"):
        if getattr(close, member) is not None:
            return f"`{member}` must be absent in the close of a lost hand"
    return None


def check_escrow_key(escrow: Escrow, keys: EscrowKeys) -> str | None:
    """Checks `reveal`: the escrow is for a key that the auditor named."""
    if escrow.key in keys.by_id:
        return None
    named = ", ".join(sorted(key.hex() for key in keys.by_id))
    return f"escrow key: expected {named}, found {escrow.key.hex()}"


def check_offered(
    offer: Offer, index: int, keys: EscrowKeys, close: Close | None = None, close_index: int = -1
) -> HandResult:
    """Makes what checks there are of a hand that has no commit: it is open, or was lost.

    Args:
        offer: its offer, the log's entry `index`.
        index: see above.
        keys: the auditor's escrow keys.
        close: the close of a lost hand, the log's entry `close_index`.
        close_index: see above.
    """
    outcome = HandResult(offer.hand)
    if offer.escrow is not None:
        outcome.note_escrow_key(index, offer.escrow, keys)
    if close is not None:
        _check_lost(outcome, offer, close, close_index)
        wrong = "events, and the hand has no commit: no card leaves the dealer before it" if close.events else None
        outcome.made.append("dealing")
        outcome.note("dealing", close_index, wrong)
    return outcome


def _check_lost(outcome: HandResult, opening: Offer | Commit, close: Close, at: int) -> None:
    """Checks the close of a lost hand but for its events: its seed is gone, so there is no more to hold against it."""
    outcome.needs_key = False
    outcome.note("lifecycle", at, check_kind(opening, close))
    if "reveal" not in outcome.made:
        outcome.made.append("reveal")
    outcome.note("reveal", at, check_lost_reveal(close))


def check_hand(case: Case, keys: EscrowKeys) -> HandResult:
    """Makes every check that looks at one hand alone.

    Args:
        case: its entries; an open hand is checked as far as it goes.
        keys: the auditor's escrow keys.
    """
    commit, close = case.commit, case.close
    outcome = HandResult(commit.hand)
    note = outcome.note
    if case.offer is not None:
        note("lifecycle", case.commit_index, check_repeat(case.offer, commit))
    digest = protocol.entropy_digest(commit.hand, commit.contributions)
    outcome.made.append("entropy")
    absent, wrong = check_entropy(case.offer, commit, digest)
    note("entropy", case.commit_index, None if case.without_offer else absent, missing_offer=True)
    note("entropy", case.commit_index, wrong)
    if commit.escrow is not None:
        outcome.note_escrow_key(case.commit_index, commit.escrow, keys)
    if close is None:
        return outcome

    at = case.close_index
    if close.outcome == "lost":
        _check_lost(outcome, commit, close, at)
        _check_dealing(outcome, commit, close, at)
        return outcome
    note("lifecycle", at, check_kind(commit, close) or check_completion(commit, close))
    seed = check_seed(commit, close, keys)
    if seed.made:
        outcome.made.append("seed")
    note("seed", at, seed.wrong)
    outcome.seed = seed.seed
    committed = seed.seed if seed.committed else None
    outcome.deck, wrong = check_deck(commit, close, committed, digest)
    if committed is not None or wrong is not None:
        outcome.made.append("deck")
        note("deck", at, wrong)
    replayed = _check_dealing(outcome, commit, close, at)
    if "reveal" not in outcome.made:
        outcome.made.append("reveal")
    note("reveal", at, check_reveal(commit, close, replayed))
    if commit.reveal == "sealed" and (close.card_commitments is not None or close.openings is not None):
        outcome.made.append("opening")
        note("opening", at, check_opening(commit, close, outcome.deck))
    return outcome


def _check_dealing(outcome: HandResult, commit: Commit, close: Close, at: int) -> Replay:
    outcome.replayed = replay(commit.game, len(protocol.DECKS[commit.deck]), commit.seats, close.events)
    outcome.made.append("dealing")
    outcome.note("dealing", at, outcome.replayed.fault)
    return outcome.replayed
