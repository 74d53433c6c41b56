"""The command `dealer play`: serves a dealer of its own, or joins one, and asks the person at the keyboard."""

import asyncio
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click
from rich.console import Console

from dealer.client import Client
from dealer.config import option
from dealer.ending import orderly_end, own_dealer
from dealer.errors import CutcardError
from dealer.files import read_text
from dealer.games.plans import SEVEN_CARD_STUD, SEVEN_CARD_STUD_HI_LO
from dealer.play.game import BUY_IN, PERSON, Session
from dealer.play.kept import Kept
from dealer.play.keyboard import HELP, LEAVE, aside, line
from dealer.play.screen import Screen, help_text, side_by_side
from dealer.play.table import TableSeen, words
from dealer.v1 import table_pb2 as pb

_GAMES = {"stud": SEVEN_CARD_STUD, "hi-lo": SEVEN_CARD_STUD_HI_LO}
_PASSIVE = (pb.ACTION_CHECK, pb.ACTION_CALL, pb.ACTION_BRING_IN)


@click.command()
@click.option("--game", type=click.Choice(list(_GAMES)), default="stud", show_default=True, help="What is played.")
@click.option("--seats", type=click.IntRange(2, 8), default=4, show_default=True, help="Seats, yours among them.")
@click.option("--hands", type=click.IntRange(1), default=None, help="Stop after so many hands.  [default: when you do]")
@click.option("--auto", is_flag=True, help="Have your seat check and call by itself, to look on.")
@option("--connect", default=None, help="HOST:PORT of a dealer that runs.  [default: one of its own]")
@option("--key", default=None, help="That dealer's verifier key, or a file with it; not from the dealer itself.")
@click.option(
    "--save",
    type=click.Path(path_type=Path, file_okay=False),
    default=None,
    help="Keep the log's key, each hand's entries and receipts, and its hand file in this folder.",
)
def play(
    game: str, seats: int, hands: int | None, auto: bool, connect: str | None, key: str | None, save: Path | None
) -> None:
    """Play stud against simple seats over the real service; every card of yours is checked as it comes."""
    if (connect is None) != (key is None):
        raise click.UsageError("--connect and --key belong together: a dealer is believed nothing without its key")
    console = Console(highlight=False)
    with orderly_end(), _joined(connect, key) as (address, verifier):
        stacks = dict.fromkeys(range(1, seats + 1), BUY_IN)
        ask = _by_itself if auto else lambda seen: _ask(console, seen)
        screen = Screen(console, PERSON)
        session = Session(_GAMES[game], stacks, screen, ask, Kept(save, verifier))
        asyncio.run(_sit(console, session, (address, verifier), hands, auto=auto))


async def _sit(console: Console, session: Session, dealer: tuple[str, str], hands: int | None, *, auto: bool) -> None:
    address, verifier = dealer
    async with Client(address, verifier, folder=session.kept.path) as client:
        await _play_on(console, session, client, hands, auto=auto)


async def _play_on(console: Console, session: Session, client: Client, hands: int | None, *, auto: bool) -> None:
    while not session.left:
        await session.hand(client)
        if session.number == hands:
            return
        if auto or session.left:
            continue
        if await aside(lambda: _next(console, hi_lo=session.game is SEVEN_CARD_STUD_HI_LO)) == LEAVE:
            return


def _next(console: Console, *, hi_lo: bool) -> str:
    while (answer := line(console, f"Enter for the next hand, {LEAVE} to stop, {HELP} for help")) == HELP:
        console.print(help_text(hi_lo=hi_lo))
    return answer


def _by_itself(seen: TableSeen) -> pb.ActionOption:
    return next(option for option in seen.options if option.action in _PASSIVE)


def _ask(console: Console, seen: TableSeen) -> pb.ActionOption | None:
    """Asks until the answer is one of the options by its number, or the wish to leave."""
    choices = [(str(number), words(each.action, each.amount)) for number, each in enumerate(seen.options, 1)]
    console.print(side_by_side([*choices, (LEAVE, "leave"), (HELP, "help")], console.width))
    while True:
        answer = line(console, "Your turn")
        if answer == LEAVE:
            return None
        if answer == HELP:
            console.print(help_text(hi_lo=seen.hi_lo))
        elif answer.isascii() and answer.isdigit() and 1 <= int(answer) <= len(seen.options):
            return seen.options[int(answer) - 1]
        else:
            console.print(f"  a number from 1 to {len(seen.options)}, {LEAVE} or {HELP}", style="yellow")


@contextmanager
def _joined(connect: str | None, key: str | None) -> Iterator[tuple[str, str]]:
    """Yields address and verifier key of the dealer to play at, and stops the one that was started for it."""
    if connect is not None and key is not None:
        path = Path(key)
        yield connect, read_text(path).strip() if path.is_file() else key
        return
    with tempfile.TemporaryDirectory(prefix="cutcard-play-") as folder:
        tool, data = str(Path(sys.executable).parent / "dealer"), Path(folder) / "data"
        made = subprocess.run(
            [tool, "init", "--data-dir", str(data), "--origin", "play.invalid/table"], capture_output=True, text=True
        )
        if made.returncode:
            raise CutcardError(f"no dealer could be made: {made.stderr.strip()}")
        with own_dealer(data) as address:
            yield address, made.stdout.strip()
