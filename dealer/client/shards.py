"""A client of a room that runs several logs: each table's hands go to the shard that it belongs to."""

from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

from dealer.client.client import Client
from dealer.client.errors import UsageError
from dealer.client.hand import Hand
from dealer.core.shards import ShardsError, check_shards, shard_of


class Shard(NamedTuple):
    """One log of a room: the address of its dealer, and its verifier key."""

    address: str
    key: str


class ShardedClient:
    """`Client` for a room with several logs (docs/shards.md).

    ```python
    shards = {"a": Shard("10.0.0.1:50051", key_a), "b": Shard("10.0.0.2:50051", key_b)}
    async with ShardedClient(shards, folder="room") as client:
        hand = await client.open_hand("table-1", seats=[1, 2, 3])
    ```
    """

    def __init__(self, shards: Mapping[str, Shard], *, folder: Path | str | None = None, **options: Any) -> None:
        """Makes a client for each shard, which connects when it is first needed.

        Args:
            shards: all logs of the room by their names, as the dealers have them in `--shards`.
            folder: where each client remembers, in a folder of the shard's name; None: nothing is kept.
            options: those of `Client`, the same for each.

        Raises:
            UsageError: the names are not distinct ids.
            NoteError: a key does not decode.
            FolderError: a folder cannot be read, or remembers another key.
        """
        self._names = tuple(shards)
        try:
            check_shards(self._names)
        except ShardsError as error:
            raise UsageError(str(error)) from None
        self._clients = {
            name: Client(shard.address, shard.key, folder=None if folder is None else Path(folder) / name, **options)
            for name, shard in shards.items()
        }

    async def __aenter__(self) -> "ShardedClient":
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Lets go of the connections. Hands in play stay in play."""
        for client in self._clients.values():
            await client.aclose()

    def of(self, table: str) -> Client:
        """Returns the client of the shard that a table belongs to."""
        return self._clients[shard_of(table, self._names)]

    async def open_hand(self, table: str, *arguments: Any, **options: Any) -> Hand:
        """Opens a table's next hand at its shard; see `Client.open_hand`.

        Raises:
            CallError: among others with the reason `OTHER_SHARD`: the dealers have another list of shards than this
                client, and `metadata["shard"]` is where the table is by theirs.
        """
        return await self.of(table).open_hand(table, *arguments, **options)
