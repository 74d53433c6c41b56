"""A player's own program: `player.py ADDRESS KEY TABLE PORT SEAT HAND_FILE [--fold STREET] [--open]`.

It draws a key for the hand, checks everything against the log under the pinned KEY, and opens its cards. ADDRESS is
where it reads the log, which is not the room's. With `--open` it brings no key and believes the room, as players do who
have nothing else; HAND_FILE has its down cards then, for the insider to look for.
"""

import asyncio
import base64
import json
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

from dealer.client import Client, HandSeat, SeatKey
from dealer.v1 import dealer_pb2, types_pb2


async def main(address: str, key: str, table: str, port: str, seat: str, file: str, *options: str) -> None:
    fold = options[options.index("--fold") + 1] if "--fold" in options else ""
    reader, writer = await asyncio.open_connection("127.0.0.1", int(port))

    def tell(**message: Any) -> None:
        writer.write((json.dumps(message) + "\n").encode())

    async def told() -> AsyncIterator[dict[str, Any]]:
        while line := await reader.readline():
            yield json.loads(line)

    if "--open" in options:
        tell(seat=int(seat), key="")
        await believe(told(), tell, int(seat), fold, Path(file))
        return
    mine = SeatKey.draw()
    tell(seat=int(seat), key=mine.public.hex())
    async with Client(address, key) as client:
        hand = client.hand_seat(int(seat), mine, table=table)
        await check(told(), tell, hand, fold)
        hand.save(file)
    tell(answer="bye")


async def check(told: AsyncIterator[dict[str, Any]], tell: Callable[..., None], hand: HandSeat, fold: str) -> None:
    """Plays a sealed seat: whatever the room passes on is checked before anything is said."""
    async for message in told:
        if "view" in message:
            await hand.take(base64.b64decode(message["view"]))
        elif message.get("ask") == "showdown":
            tell(answer=(await hand.consent_to_showdown()).hex())
        elif "ask" in message:
            await hand.require_in_play()
            if hand.street == fold:
                hand.folds()
            tell(answer="fold" if hand.street == fold else "stay")
        elif "closing" in message:
            close = await hand.finish(base64.b64decode(message["closing"]))
            held = " ".join(str(card) for card in hand.cards_of(hand.seat))
            print(f"seat {hand.seat} held {held}; closed as entry {close.index}, everything checked")
            return


async def believe(
    told: AsyncIterator[dict[str, Any]], tell: Callable[..., None], seat: int, fold: str, file: Path
) -> None:
    """Plays an open seat, as the room tells it."""
    held: dict[int, dict[str, Any]] = {}
    street = 0
    async for message in told:
        if "view" in message:
            view = dealer_pb2.GetHandResponse.FromString(base64.b64decode(message["view"]))
            street = view.hand.street
            for card in view.cards:
                if card.seat == seat and card.card and card.face == types_pb2.FACE_DOWN:
                    held[card.position] = {"seat": seat, "face": "down", "card": card.card, "salt": card.salt.hex()}
        elif "ask" in message:
            tell(answer="fold" if types_pb2.Street.Name(street) == f"STREET_{fold.upper()}" else "stay")
        elif "closing" in message:
            print(f"seat {seat} was given {' '.join(card['card'] for card in held.values())} down, and believed it")
            await asyncio.to_thread(file.write_text, json.dumps({"cards": list(held.values())}))
            tell(answer="bye")
            return


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
