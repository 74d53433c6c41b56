"""One contributor's entropy: drawn, committed to, and let out only once the offer's receipt holds (section 3)."""

import hashlib
import os
from typing import Any

from dealer.client.errors import CheckError
from dealer.client.receipts import Proven
from dealer.core.seed import VALUE_BYTES, Entropy, contribution_commitment


class Contribution:
    """A value that is kept back until the dealer is bound to its seed, and let out for one offer only.

    A player's own device can use this without a `Client`: it gives `commitment` to the room, gets the offer with its
    receipt from it, and gives the value that `release` returns. Prints without the value.

    Attributes:
        table: the table that the value is for.
        number: the number of the hand that it is for, and of no other.
        contributor: id as invited.
    """

    def __init__(self, table: str, number: int, contributor: str, value: bytes) -> None:
        """Holds a value of 32 bytes that nobody else knows; `draw` is the usual way in."""
        self.table, self.number, self.contributor = table, number, contributor
        self._value = value
        self._offer: bytes | None = None

    def __repr__(self) -> str:
        return f"<Contribution of {self.contributor} to hand {self.number} of {self.table}>"

    @classmethod
    def draw(cls, table: str, number: int, contributor: str, entropy: Entropy = os.urandom) -> "Contribution":
        """Draws a value afresh for the table's hand of this number."""
        return cls(table, number, contributor, entropy(VALUE_BYTES))

    @property
    def commitment(self) -> bytes:
        """What the dealer may know before it has offered the hand, 32 bytes."""
        return contribution_commitment(self.table, self.number, self.contributor, self._value)

    def release(self, offer: Proven) -> bytes:
        """Returns the value, once a proven offer binds the dealer's seed to this very contribution.

        Raises:
            CheckError: the offer is for another hand, does not hold this commitment, or is not the one that the value
                was let out for before: a dealer that knows the value could have chosen its seed by it.
        """
        content = offer.content
        for member, mine in (("table", self.table), ("number", self.number)):
            found = content.get(member)
            if found != mine or type(found) is not type(mine):
                raise CheckError("entropy", f"the offer's {member}: expected {mine}, found {found}")
        invited: dict[str, Any] = {"contributor": self.contributor, "commitment": self.commitment.hex()}
        contributors = content.get("contributors")
        if not isinstance(contributors, list) or contributors.count(invited) != 1:
            raise CheckError("entropy", f"the offer does not hold the commitment of {self.contributor}")
        digest = hashlib.sha256(offer.entry).digest()
        if self._offer not in (None, digest):
            raise CheckError("entropy", f"the value of {self.contributor} was let out already, for another offer")
        self._offer = digest
        return self._value
