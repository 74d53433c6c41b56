"""The members of answers that a client reads nothing from, each with its reason: a test holds everything else."""

from collections.abc import Mapping
from types import MappingProxyType

_PROVEN = "the client has proven the first answer's, and keeps to that"
_NO_OFFER = "nobody was invited: there is no offer that it could belong to"
_NOT_YET = "an offered hand has no commit; the lock's answer brings it"

UNREAD: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        # What opens a hand without contributors, and what offers one to them.
        "OpenHand": {"offer_receipt": _NO_OFFER, "offer_entry": _NO_OFFER},
        "OpenHand with contributors": {"card_commitments": _NOT_YET, "receipt": _NOT_YET, "commit_entry": _NOT_YET},
        "LockDeck": {"offer_receipt": _PROVEN, "offer_entry": _PROVEN},
        # Every later answer; API.md allows them to be left out there.
        "later": {
            "card_commitments": _PROVEN,
            "receipt": _PROVEN,
            "offer_receipt": _PROVEN,
            "commit_entry": _PROVEN,
            "offer_entry": _PROVEN,
        },
    }
)
"""Fields of `Hand` by the answer that they stand in. Of `Card` and `Opener` everything is read."""
