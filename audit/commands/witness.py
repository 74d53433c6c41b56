"""`audit witness`: run a witness of one's own (WITNESS.md section 6)."""

from __future__ import annotations

import signal
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
from rich.text import Text

from audit.commands.options import VerifierKeyType, host_and_port, read_file
from audit.errors import FormatError, InputError
from audit.plural import counted
from audit.report.console import console
from audit.report.stderr import say
from audit.tlog.keys import VerifierKey, is_name
from audit.tlog.witnessed import time_text
from audit.witness import store as stored
from audit.witness.keeper import RATE, Keeper
from audit.witness.server import WitnessServer
from audit.witness.store import Store

LISTEN = "127.0.0.1:8360"

data_dir_option = click.option(
    "--data-dir", type=click.Path(path_type=Path), required=True, help="The witness's folder: its key and its memory."
)


@click.group()
def witness() -> None:
    """Run a witness: it remembers the greatest tree of each log, and cosigns only what extends it."""


@contextmanager
def _opened(folder: Path) -> Iterator[Store]:
    store = Store(folder)
    try:
        yield store
    except sqlite3.Error as error:
        raise InputError(f"{folder}: the witness's memory cannot be used: {error}") from None
    finally:
        store.close()


@witness.command()
@data_dir_option
@click.option("--name", required=True, help="The witness's name: an address of yours without a scheme is a good one.")
def init(data_dir: Path, name: str) -> None:
    """Make a witness with a new key in a new folder, and print its verifier key."""
    if not is_name(name) or not name.isprintable():
        raise click.BadParameter(
            f"{name!a}: a name is not empty and has no space and no plus sign", param_hint="--name"
        )
    click.echo(str(stored.create(data_dir, name)))


@witness.command("add-log")
@click.argument("keys", metavar="[KEY]...", type=VerifierKeyType(), nargs=-1)
@click.option("--from", "lists", type=click.Path(), multiple=True, help="A file of verifier keys, one a line.")
@data_dir_option
def add_log(keys: tuple[VerifierKey, ...], lists: tuple[str, ...], data_dir: Path) -> None:
    """Witness more logs, each by its verifier KEY; an origin's key is never replaced.

    The server need not be stopped.
    """
    wanted = [*keys, *(key for path in lists for key in _listed_keys(path))]
    if not wanted:
        raise click.UsageError("give a KEY, or --from FILE")
    with _opened(data_dir) as store:
        added = store.add_logs(wanted)
    console().print(
        Text(f"{counted(added, 'log')} added, {counted(len(wanted) - added, 'was', 'were')} on the list already")
    )


def _listed_keys(path: str) -> Iterator[VerifierKey]:
    try:
        lines = read_file(path).decode("utf-8").splitlines()
    except UnicodeDecodeError:
        raise InputError(f"{path} is not text in UTF-8") from None
    for number, line in enumerate(lines, 1):
        if line.strip() and not line.startswith("#"):
            try:
                yield VerifierKey.parse(line.strip())
            except FormatError as error:
                raise InputError(f"{path}, line {number}: {error}") from None


@witness.command("remove-log")
@click.argument("origin")
@data_dir_option
def remove_log(origin: str, data_dir: Path) -> None:
    """Witness the log ORIGIN no longer. What was seen of it stays: it can come back, and not as another."""
    with _opened(data_dir) as store:
        if not store.remove_log(origin):
            raise InputError(f"{origin} is not on the list")
    console().print(Text(f"{origin} is off the list, and remembered"))


@witness.command("list")
@data_dir_option
def list_logs(data_dir: Path) -> None:
    """Print the witness's verifier key, and each log with the greatest tree seen of it."""
    out = console()
    with _opened(data_dir) as store:
        logs = store.logs()
        out.print(Text(f"witness {store.key}"))
    for log in logs:
        seen = f"cosigned {time_text(log.held.time)}" if log.held.time else "nothing seen yet"
        off = "" if log.listed else ", off the list"
        out.print(Text(f"log {log.key}"))
        out.print(Text(f"    {counted(log.held.size, 'entry', 'entries')}, {seen}{off}"))


@witness.command()
@data_dir_option
def conflicts(data_dir: Path) -> None:
    """Print what was refused though its log signed it: proofs of forks, and what may lead to one."""
    with _opened(data_dir) as store:
        found = store.conflicts()
    out = console()
    proofs = sum(each.proves for each in found)
    out.print(
        Text(
            f"{counted(proofs, 'proof of a fork', 'proofs of forks')}, {len(found) - proofs} refused for other reasons"
        )
    )
    for each in found:
        kind = ("FORK", "bold red") if each.proves else ("refused", "yellow")
        out.print()
        out.print(Text.assemble(kind, f"  {each.origin}, {time_text(each.time)}: {each.why}"))
        for title, note in (("refused", each.refused), ("held", each.held)):
            out.print(Text(f"  {title}:"))
            for line in note.splitlines():
                out.print(Text(f"  | {line}"))


@witness.command()
@data_dir_option
@click.option("--listen", metavar="HOST:PORT", default=LISTEN, show_default=True, help="Where to listen; port 0: any.")
@click.option(
    "--rate",
    type=click.FloatRange(min=0, min_open=True),
    default=RATE,
    show_default=True,
    help="Requests a second, of each log.",
)
def serve(data_dir: Path, listen: str, rate: float) -> None:
    """Answer `add-checkpoint` over HTTP, behind a web server with TLS, until SIGTERM or Ctrl-C."""
    place = host_and_port(listen, "--listen")
    with _opened(data_dir) as store:
        keeper = Keeper(store, rate=rate)
        try:
            _serve(*place, keeper)
        finally:
            keeper.close()


def _serve(host: str, port: int, keeper: Keeper) -> None:
    try:
        server = WitnessServer(host, port, keeper, say)
    except OSError as error:
        raise InputError(f"{host}:{port} cannot be listened on: {error.strerror or error}") from None
    with server:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: threading.Thread(target=server.shutdown).start())
        address: Any = server.server_address
        shown = f"[{address[0]}]" if ":" in address[0] else address[0]
        click.echo(f"witness listens on http://{shown}:{address[1]}")
        server.serve_forever(poll_interval=0.2)
