"""One contributor's entropy: drawn, committed to, and let out only once the offer's receipt holds (section 3)."""

import os
from dataclasses import dataclass, field
from typing import Any

from dealer.client.errors import CheckError
from dealer.client.receipts import Proven
from dealer.core.seed import VALUE_BYTES, Entropy, contribution_commitment


@dataclass(frozen=True, slots=True)
class Contribution:
    """A value that is kept back until the dealer is bound to its seed. Prints without the value.

    A player's own device can use this without a `Client`: it gives `commitment` to the room, gets the offer with its
    receipt from it, and gives the value that `release` returns.

    Attributes:
        table, number: the hand that the value is for, and for no other.
        contributor: id as invited.
        commitment: 32 bytes, to be given before the hand is opened.
    """

    table: str
    number: int
    contributor: str
    _value: bytes = field(repr=False)

    @classmethod
    def draw(cls, table: str, number: int, contributor: str, entropy: Entropy = os.urandom) -> "Contribution":
        """Draws a value afresh for the table's hand of this number."""
        return cls(table, number, contributor, entropy(VALUE_BYTES))

    @property
    def commitment(self) -> bytes:
        """What the dealer may know before it has offered the hand."""
        return contribution_commitment(self.table, self.number, self.contributor, self._value)

    def release(self, offer: Proven) -> bytes:
        """Returns the value, once a proven offer binds the dealer's seed to this very contribution.

        Raises:
            CheckError: the offer is for another hand, or does not hold this commitment.
        """
        content = offer.content
        if (content.get("table"), content.get("number")) != (self.table, self.number):
            raise CheckError(
                "entropy",
                f"the offer is for hand {content.get('number')} of table {content.get('table')}, "
                f"not for hand {self.number} of table {self.table}",
            )
        mine: dict[str, Any] = {"contributor": self.contributor, "commitment": self.commitment.hex()}
        contributors = content.get("contributors")
        if not isinstance(contributors, list) or contributors.count(mine) != 1:
            raise CheckError("entropy", f"the offer does not hold the commitment of {self.contributor}")
        return self._value
