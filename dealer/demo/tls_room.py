"""A room of the demonstration over TLS: a process on its own host, with its own certificate.

`deal ADDRESS CA CERTIFICATE KEY LOG_KEY` deals a hand and leaves it alone; `look … HAND` asks for another room's.
"""

import asyncio
import sys
import uuid
from pathlib import Path

import grpc

from dealer.client import Client, tls_credentials
from dealer.client.channel import OPTIONS
from dealer.v1 import dealer_pb2 as pb
from dealer.v1 import dealer_pb2_grpc


async def _deal(address: str, credentials: grpc.ChannelCredentials, key: str) -> None:
    async with Client(address, key, credentials=credentials) as client:
        hand = await client.open_hand("table-1", [1, 2, 3])
        for street in ("third", "fourth"):
            cards = await hand.deal_street(street)
            shown = "  ".join(f"{card.seat}: {card.name if card.face.value == 'up' else '(down)'}" for card in cards)
            print(f"{street:<8}{shown}")  # noqa: T201
        print("every card checked against the commitment in the log; then the room is silent")  # noqa: T201
        print(hand.hand_id)  # noqa: T201


async def _look(address: str, credentials: grpc.ChannelCredentials, hand: str) -> bool:
    """Tells whether a hand of another room's is answered like one that never was."""
    async with grpc.aio.secure_channel(address, credentials, options=OPTIONS) as channel:
        stub = dealer_pb2_grpc.DealerServiceStub(channel)
        told = []
        for asked in (hand, str(uuid.uuid4())):
            try:
                await stub.GetHand(pb.GetHandRequest(hand_id=asked))
            except grpc.aio.AioRpcError as error:
                told.append(f"{error.code().name}: {error.details()}")
    print(f"room A's hand        {told[0]}\nno hand of anybody's {told[-1]}")  # noqa: T201
    return len(told) == 2 and told[0] == told[1] and told[0].startswith("NOT_FOUND")


def main() -> None:
    """Runs what the words say."""
    what, address, ca, certificate, own, key, *hand = sys.argv[1:]
    credentials = tls_credentials(ca, certificate, own)
    if what == "deal":
        asyncio.run(_deal(address, credentials, Path(key).read_text().strip()))
    elif not asyncio.run(_look(address, credentials, hand[0])):
        sys.exit(1)


if __name__ == "__main__":
    main()
