"""A room that finds its hand again, makes one call more, and is killed: `python mortal_room.py ADDRESS KEY FOLDER`."""

import asyncio
import os
import signal
import sys
from pathlib import Path

from dealer.client import Client, Hand
from dealer.core.hand import Status

STREETS = ("third", "fourth", "fifth", "sixth", "seventh")
FOLDS = {"third": 2, "fifth": 4}


async def live(address: str, key: str, folder: str) -> None:
    async with Client(address, key, folder=folder) as client:
        hand = await client.resume(table="t")
        number = await client.next_number("t")
        if hand is None and number > 1:
            print(f"over, next {number}", flush=True)
            return
        if hand is None:
            await client.open_hand("t", [1, 2, 3, 4], number=1, invited={"silent": bytes(32)})
            die("open")
        else:
            die(await one_call(hand))


async def one_call(hand: Hand) -> str:
    """Makes the next call of a hand that is played in one way, by nothing but what the hand itself tells."""
    if hand.status is Status.OFFERED:
        await hand.lock()
        return "lock"
    folds = FOLDS.get(hand.street or "")
    if folds in hand.seats:
        await hand.fold(folds)
        return f"fold {folds}"
    at = STREETS.index(hand.street) + 1 if hand.street else 0
    if at < len(STREETS):
        await hand.deal_street(STREETS[at])
        return STREETS[at]
    down = [card.position for card in hand.cards_of(1) if card.face == "down"]
    if down:
        await hand.show(down)
        return "show"
    await hand.close()
    return "close"


def die(after: str) -> None:
    print(after, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    address, key, folder = sys.argv[1:]
    asyncio.run(live(address, key, str(Path(folder))))
