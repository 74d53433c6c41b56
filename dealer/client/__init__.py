"""A typed client that checks every card and receipt that it is given (PROTOCOL.md, section 10).

`Client` is for asyncio, `SyncClient` for everybody else; both deal hands and raise `CheckError`, with the evidence in a
file, as soon as anything does not hold. `Contribution` is for a player's own device.
"""

from dealer.client.calls import Retry
from dealer.client.client import Client
from dealer.client.contribution import Contribution
from dealer.client.errors import CallError, CheckError, ClientError, LostError, UsageError
from dealer.client.hand import Hand
from dealer.client.hand_seat import HandSeat
from dealer.client.receipts import Proven, prove
from dealer.client.sealed import SeatKey
from dealer.client.seat import Seat, Through
from dealer.client.shards import Shard, ShardedClient
from dealer.client.sync import SyncClient, SyncHand, SyncHandSeat, SyncSeat, SyncTable
from dealer.client.table import Table
from dealer.client.tls import tls_credentials
from dealer.client.values import Card, HandInPlay, Opener
from dealer.client.watched import Seen
from dealer.table.stakes import Stakes

__all__ = [
    "CallError",
    "Card",
    "CheckError",
    "Client",
    "ClientError",
    "Contribution",
    "Hand",
    "HandInPlay",
    "HandSeat",
    "LostError",
    "Opener",
    "Proven",
    "Retry",
    "Seat",
    "SeatKey",
    "Seen",
    "Shard",
    "ShardedClient",
    "Stakes",
    "SyncClient",
    "SyncHand",
    "SyncHandSeat",
    "SyncSeat",
    "SyncTable",
    "Table",
    "Through",
    "UsageError",
    "prove",
    "tls_credentials",
]
