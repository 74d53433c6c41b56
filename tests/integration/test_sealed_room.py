"""The room's side sees no down card of a sealed seat: all that passes through it, at both services, is searched."""

import asyncio
import importlib.util
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from dealer.client import Card, Client, Hand, HandSeat, Seat, SeatKey, Stakes, Table, Through
from dealer.service.writer.sources import Sources
from dealer.store.escrow import read_escrow_public, write_escrow_pair
from tests.integration.inside import dealer_inside
from tests.integration.running import running
from tests.integration.tapping import Passed, Tap, tapped

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "sealed_room"
STREETS = ("third", "fourth", "fifth", "sixth", "seventh")
STAKES = Stakes(ante=25, bring_in=50, small_bet=100, big_bet=200)
HANDS = [20, pytest.param(200, marks=pytest.mark.soak)]
Held = dict[int, dict[int, Card]]
"""Of each seat its down cards as its player knows them, by position."""


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"sealed_room_{name}", EXAMPLE / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


insider: Any = load("insider")
one_hand: Any = load("hand")


def seen(passed: list[Passed], cards: dict[int, Card]) -> list[list[str]]:
    """Returns of each card the ways in which the insider reads it in what passed."""
    names = insider.named([text for each in passed if each.message for text in insider.texts(each.message)])
    names |= insider.named([each.data.decode() for each in passed if each.message is None])
    return [insider.found(data(passed), names, card.name, card.salt) for card in cards.values()]


def data(passed: list[Passed]) -> bytes:
    return b"\n".join(each.data for each in passed)


def hidden(passed: list[Passed], cards: dict[int, Card]) -> bool:
    return len(cards) >= 2 and not any(seen(passed, cards))


def plain(passed: list[Passed], cards: dict[int, Card]) -> bool:
    return len(cards) >= 2 and all({"raw", "text"} <= set(ways) for ways in seen(passed, cards))


def note(held: Held, seat: Seat | HandSeat | Hand, number: int) -> None:
    down = {card.position: card for card in seat.cards_of(number) if card.face == "down"}
    held.setdefault(number, {}).update(down)


@asynccontextmanager
async def table(folder: Path) -> AsyncIterator[tuple[Tap, Client, Client]]:
    """A dealer, a tap on its room's way to it, the room, and the players, who read the log for themselves."""
    escrow = read_escrow_public(write_escrow_pair(folder / "auditor")[1])
    async with dealer_inside(folder / "data", Sources(escrow=escrow)) as (dealer, _), tapped(dealer.address) as tap:
        key = dealer.engine.state.signer.verifier_key
        async with Client(tap.address, key) as room, Client(dealer.address, key, folder=folder / "player") as player:
            yield tap, room, player


@pytest.mark.parametrize("hands", HANDS)
async def test_nothing_passes_at_dealer_service(tmp_path: Path, hands: int) -> None:
    """Three seats, of which the third is open, so that each hand shows that the search would find."""
    async with table(tmp_path) as (tap, room, player):
        for number in range(1, hands + 1):
            tap.passed.clear()
            keys = {seat: SeatKey.draw() for seat in (1, 2)}
            public = {seat: key.public for seat, key in keys.items()}
            hand = await room.open_hand("t", [1, 2, 3], reveal="sealed", seat_keys=public)
            seats = {seat: player.hand_seat(seat, key, table="t", number=number) for seat, key in keys.items()}
            held: Held = {}
            for street in STREETS:
                await hand.deal_street(street)
                for at, seat in seats.items():
                    view = hand.view(at)
                    tap.passed.append(Passed("view", False, view, insider.MESSAGES["view"].FromString(view)))
                    await seat.take(view)
                    note(held, seat, at)
                note(held, hand, 3)
                if street == "fifth" and number % 2:
                    seats[2].folds()
                    await hand.fold(2)
            assert (hidden(tap.passed, held[1]), hidden(tap.passed, held[2])) == (True, True)
            assert plain(tap.passed, held[3])
            consents = [await seats[at].consent_to_showdown() for at in seats if at in hand.seats]
            if number % 4 < 2:  # in the others nobody shows
                await hand.show([at for seat in hand.seats for at in held[seat]], consents)
            await hand.close()
            assert hidden(tap.passed, held[2]) == (2 not in hand.seats or number % 4 >= 2), "for ever, if not shown"
            assert plain(tap.passed, held[1]) == (number % 4 < 2)


@pytest.mark.parametrize("hands", HANDS)
async def test_nothing_passes_at_the_referees_table(tmp_path: Path, hands: int) -> None:
    """The players have no way to the dealer but the room's, which passes their requests and events on."""
    async with table(tmp_path) as (tap, room, player):
        for number in range(1, hands + 1):
            tap.passed.clear()
            reveal = "sealed" if number % 2 else "public"
            keys = {seat: SeatKey.draw() for seat in (1, 2)}
            public = {seat: key.public for seat, key in keys.items()}
            played = await room.start_hand("t", {1: 1000, 2: 1000, 3: 1000}, STAKES, reveal=reveal, seat_keys=public)
            held: Held = {}
            await asyncio.gather(
                *[played.finish() for _ in range(number % 4 == 0)],  # the rail's stream as well, now and then
                play(played.seat(3), held),
                *[
                    play(at_table(player, played, at, key, reveal), held, fold=at == 2 and number % 4 < 2)
                    for at, key in keys.items()
                ],
            )
            last = max(at for at, each in enumerate(tap.passed) if each.method == "Act" and each.asked)
            before = tap.passed[: last + 1]
            assert (hidden(before, held[1]), hidden(before, held[2])) == (True, True)
            assert plain(before, held[3])
            if reveal == "sealed" and number % 4 < 2:
                assert hidden(tap.passed, held[2]), "it folded, and stays sealed for ever"


def at_table(player: Client, played: Table, at: int, key: SeatKey, reveal: str) -> Seat:
    way = Through(played.pass_on, played.relay)
    return player.sealed_seat(played.hand_id, at, key, table="t", reveal=reveal, through=way)


async def play(seat: Seat, held: Held, *, fold: bool = False) -> None:
    async for _ in seat.events():
        note(held, seat, seat.seat)
        quiet = [each.action for each in seat.options if each.action in ("bring-in", "check", "call")]
        if quiet:
            folds = fold and len(held[seat.seat]) == 2 and any(each.action == "fold" for each in seat.options)
            await seat.act("fold" if folds else quiet[0])


def test_the_search_finds_a_card_in_every_form() -> None:
    salt = bytes(range(64, 96))
    for way, text in {
        "raw": b"..." + salt,
        "hex": salt.hex().upper().encode(),
        "base64": insider.base64.urlsafe_b64encode(b"x" + salt + b"y"),
    }.items():
        assert insider.found(text, set(), "As", salt) == [way]
    assert insider.found(b"", insider.named(["{'card': 'As'}"]), "As", salt) == ["text"]
    assert insider.named(["d dh p1 7hAsKd # x", "2c:3d"]) == {"7h", "As", "Kd", "2c", "3d"}
    assert insider.named(["xAs Asx 2cab"]) == set()


async def test_the_example_s_backend_sees_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Four processes, with the room's way to the dealer tapped; and what docs/sealed-seats.md shows of it, by lines."""
    page = (ROOT / "docs" / "sealed-seats.md").read_text()
    shown = re.findall(r"^\$ python examples/sealed_room/hand\.py ?(.*)\n((?:.+\n)+?)```", page, re.MULTILINE)
    assert [options for options, _ in shown] == ["--open", ""]
    excerpt = re.search(r"<!-- examples/sealed_room/backend\.py -->\n```python\n(.*?)```", page, re.DOTALL)
    assert excerpt is not None
    assert excerpt[1] in (EXAMPLE / "backend.py").read_text()
    with running(tmp_path / "data") as dealer:
        key = dealer.verifier_key()
        for options, lines in shown:
            folder = tmp_path / f"hand{options}"
            folder.mkdir()
            async with tapped(dealer.address) as tap:
                words = (folder, dealer.address, key, *options.split())
                said, files = await asyncio.to_thread(one_hand.play, *words, way=tap.address, table=f"t{options}")
            hits = insider.main(str(folder / "memory"), *files)
            assert shape(said + capsys.readouterr().out) == shape(lines)
            cut = next(at for at, each in enumerate(tap.passed) if each.method == "ShowCards")
            ends = insider.read((folder / "memory.end").read_text())
            for seat, file in enumerate(files, 1):
                cards = insider.down_cards(Path(file))
                ways = [insider.found(data(tap.passed[:cut]), set(), card, salt) for _, card, salt in cards]
                assert ways == [["raw"] if options else []] * len(cards)
                if seat == 2:  # it folds
                    assert any(insider.found(ends[0], insider.named(ends[1]), *card[1:]) for card in cards) == bool(
                        options
                    )
            assert hits == (8 if options else 0)


def shape(lines: str) -> list[str]:
    """Lines of output without what is another thing each time."""
    return [
        re.sub(r"[\d,]+ bytes|entry \d+", "N", re.sub(r"\b[2-9TJQKA][cdhs]\b", "card", line))
        for line in lines.splitlines()
    ]
