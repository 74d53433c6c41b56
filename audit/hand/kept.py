"""What somebody who sat at a hand has kept, held against it: a value that was acknowledged, cards with their salts."""

from __future__ import annotations

from audit import protocol
from audit.hand.checks import HandResult
from audit.record.entries import Commit


def derived_list(commit: Commit, outcome: HandResult) -> bytes | None:
    """Returns the card commitments that seed and deck give, joined; None where these are unknown or of another deck."""
    if outcome.seed is None or outcome.deck is None:
        return None
    for digest in (protocol.entropy_digest(commit.hand, commit.contributions), commit.entropy_digest):
        salts = protocol.salts(protocol.material(commit.hand, digest, outcome.seed), len(outcome.deck))
        listed = protocol.card_commitments(commit.hand, outcome.deck, salts)
        if protocol.deck_commitment(commit.hand, listed) == commit.deck_commitment:
            return listed
    return None


def check_acknowledged(commit: Commit, contributor: str, value: bytes) -> str | None:
    """Checks `entropy`: a value that the dealer has acknowledged is the one that went into the deck (section 3)."""
    if contributor in commit.withheld:
        return f"{contributor} gave its value in time and is listed as silent"
    values = dict(commit.contributions)
    if contributor not in values:
        return f"the value of {contributor} was acknowledged, and the commit names it nowhere"
    if values[contributor] != value:
        return f"{contributor}: expected the acknowledged value {value.hex()}, found {values[contributor].hex()}"
    return None
