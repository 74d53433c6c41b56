"""Which of a room's several logs a table belongs to (docs/shards.md): one function for dealer and client."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

from dealer.core.ids import is_id
from dealer.core.seed import length_prefixed, tag
from dealer.errors import CutcardError


class ShardsError(CutcardError):
    """A list of shards that is none."""


def shard_of(table: str, shards: Iterable[str]) -> str:
    """Returns the shard that a table belongs to; the order of the shards does not matter.

    >>> shard_of("t1", ["a", "b"])
    'b'
    """
    end = length_prefixed(table.encode())

    def score(shard: str) -> bytes:
        return hashlib.sha256(tag("shard") + length_prefixed(shard.encode()) + end).digest()

    return max(shards, key=score)


@dataclass(frozen=True, slots=True)
class Shards:
    """A room's shards, and which of them this dealer's log is.

    Attributes:
        names: all of them.
        own: this one.
    """

    names: tuple[str, ...]
    own: str

    def __post_init__(self) -> None:
        check_shards(self.names)
        if self.own not in self.names:
            raise ShardsError(f"shard {self.own} is none of {', '.join(self.names)}")

    def home(self, table: str) -> str:
        """Returns the shard that a table belongs to."""
        return shard_of(table, self.names)

    def is_ours(self, table: str) -> bool:
        """Tells whether a table belongs to this shard."""
        return self.home(table) == self.own


def check_shards(names: tuple[str, ...]) -> None:
    """Refuses a list of shards that is none.

    Raises:
        ShardsError: it is empty, or its names are not distinct ids (PROTOCOL.md, section 1).
    """
    if not names:
        raise ShardsError("there is no shard in the list")
    for at, name in enumerate(names):
        if not is_id(name):
            raise ShardsError(f"{name!a} is no shard's name: 1 to 64 of A-Z a-z 0-9 . _ -")
        if name in names[:at]:
            raise ShardsError(f"shard {name} stands twice in the list")
