"""A room's backend that deals hands whose down cards it cannot read: `backend.py ADDRESS KEY TABLE SEATS MEMORY`.

Players connect to it by TCP, a line of JSON for each message. What has passed through it when the showdown comes it
writes into the file MEMORY, and all that ever passed into MEMORY.end, as an insider would: `insider.py` looks in there.
"""

import asyncio
import base64
import json
import sys
from pathlib import Path
from typing import Any

from dealer.client import Client, Hand

STREETS = ("third", "fourth", "fifth", "sixth", "seventh")


class Player:
    """A player's connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, memory: list[str]) -> None:
        self._reader, self._writer, self._memory = reader, writer, memory

    async def hear(self) -> dict[str, Any]:
        line = (await self._reader.readline()).decode()
        self._memory.append(line)
        message: dict[str, Any] = json.loads(line)
        return message

    def tell(self, **message: Any) -> None:
        line = json.dumps(message) + "\n"
        self._memory.append(line)
        self._writer.write(line.encode())


class Backend:
    """One table. It knows who sits where, who is in, and where every card lies; of down cards it knows no more."""

    def __init__(self, client: Client, table: str, seats: int, file: Path) -> None:
        self.client, self.table, self.wanted, self.file = client, table, seats, file
        self.memory: list[str] = []
        self.players: dict[int, Player] = {}
        self.keys: dict[int, bytes] = {}
        self.full = asyncio.Event()

    async def sit(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        player = Player(reader, writer, self.memory)
        hello = await player.hear()
        self.players[hello["seat"]] = player
        if hello["key"]:  # the public half of a key that the player drew for this hand alone
            self.keys[hello["seat"]] = bytes.fromhex(hello["key"])
        if len(self.players) == self.wanted:
            self.full.set()

    async def deal(self) -> Hand:
        await self.full.wait()
        seats = sorted(self.players)
        hand = await self.client.open_hand(self.table, seats, reveal="sealed", seat_keys=self.keys)
        for street in STREETS:
            if len(hand.seats) > 1:
                await hand.deal_street(street)
                await self.ask(hand)
        down = [card.position for card in hand.cards.values() if card.seat in hand.seats and card.face == "down"]
        consents = await self.consents(hand)
        self.memory.append(f"{hand!r} {list(hand.cards.values())!r}")  # and what it holds of the hand itself
        self.write(self.file)
        if len(hand.seats) > 1:
            await hand.show(down, consents)
        self.pass_on(hand)
        await hand.close()
        for player in self.players.values():
            player.tell(closing=base64.b64encode(hand.closing()).decode())
        self.write(self.file.with_name(self.file.name + ".end"))
        return hand

    def write(self, file: Path) -> None:
        file.write_text("\n".join(self.memory))

    def pass_on(self, hand: Hand) -> None:
        """Gives each player the hand as its seat may see it."""
        for seat, player in self.players.items():
            player.tell(view=base64.b64encode(hand.view(seat)).decode())

    async def ask(self, hand: Hand) -> None:
        """Asks everybody who is in whether they stay."""
        self.pass_on(hand)
        for seat in hand.seats:
            self.players[seat].tell(ask="stay or fold")
            if (await self.players[seat].hear())["answer"] == "fold" and len(hand.seats) > 1:
                await hand.fold(seat)
                self.pass_on(hand)

    async def consents(self, hand: Hand) -> list[bytes]:
        """Asks everybody who is in for its consent to the showdown."""
        given = []
        for seat in hand.seats if len(hand.seats) > 1 else ():
            if seat not in self.keys:
                continue
            self.players[seat].tell(ask="showdown")
            given.append(bytes.fromhex((await self.players[seat].hear())["answer"]))
        return given


async def main(address: str, key: str, table: str, seats: str, memory: str) -> None:
    async with Client(address, key) as client:
        backend = Backend(client, table, int(seats), Path(memory))
        server = await asyncio.start_server(backend.sit, "127.0.0.1", 0)
        print(server.sockets[0].getsockname()[1], flush=True)
        async with server:
            await backend.deal()
            for player in backend.players.values():
                await player.hear()  # it says good-bye


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
