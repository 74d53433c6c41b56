"""The `audit` command: a group whose commands are loaded when they are called.

A command lives in `audit/commands/NAME.py` as a click command object. To add one, write the module and put one line
into `COMMANDS`: the command's name, the place of the object as `module:attribute`, and the line that `audit --help`
shows. Nothing of a command's module is imported before the command is named, so `audit verify` never pays for (or
needs) numpy, and a broken optional dependency breaks one command only.

Exit codes are the commands' own (PROTOCOL.md section 10, API.md). A command ends with `ctx.exit(code)` or
`sys.exit(code)`; an `audit.errors.InputError` that a command raises ends it with code 4, any other `AuditError` with
code 1, its message on standard error.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
from typing import Any, NamedTuple

import click

from audit.commands.run import keep_words
from audit.errors import AuditError, InputError


class Place(NamedTuple):
    """Where a command is and what it is for."""

    where: str
    help: str


COMMANDS: dict[str, Place] = {
    "verify": Place("audit.commands.verify:verify", "Check a whole log: every signature, hash, deck and deal."),
    "receipt": Place(
        "audit.commands.receipt:receipt", "Check one receipt, acknowledgement or client's evidence, offline."
    ),
    "explain": Place("audit.commands.explain:explain", "Show one hand with every hash input, to follow by hand."),
    "stats": Place("audit.commands.stats:stats", "Test decks for randomness."),
    "count": Place("audit.commands.count:count", "Count decks into a part that `merge` takes."),
    "merge": Place("audit.commands.merge:merge", "Judge parts that `count` made, as one corpus."),
    "bits": Place("audit.commands.bits:bits", "Extract uniform bits from decks for other batteries."),
    "power": Place("audit.commands.power:power", "Show what the battery catches, and with how many decks."),
}

EXIT_FAILED = 1
EXIT_UNREADABLE = 4
EXIT_INTERRUPTED = 130
EXIT_UNHEARD = 141
"""As a shell says of a command that SIGPIPE ended."""


class LazyGroup(click.Group):
    """A click group that lists its commands from `COMMANDS` and imports one only when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names, in the order of `COMMANDS`."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Imports the command's module; None where there is no such command."""
        place = COMMANDS.get(cmd_name)
        if place is None:
            return None
        module, _, attribute = place.where.partition(":")
        try:
            command = getattr(importlib.import_module(module), attribute)
        except ModuleNotFoundError as error:
            raise click.UsageError(
                f"`audit {cmd_name}` needs {error.name}, which is not installed: in a checkout of Cutcard, pip install "
                "'.[audit]'; of a wheel, pip install 'WHEEL[audit]', with the file's name for WHEEL"
            ) from None
        if not isinstance(command, click.Command):
            raise TypeError(f"{place.where} is not a click command")
        return command

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Keeps the words of the command line before they are taken apart."""
        keep_words(ctx, args)
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Runs a command; an error of the auditor's becomes a message and an exit code."""
        try:
            return super().invoke(ctx)
        except AuditError as error:
            click.echo(f"audit: {error}", err=True)
            ctx.exit(EXIT_UNREADABLE if isinstance(error, InputError) else EXIT_FAILED)
        except KeyboardInterrupt:
            # Not 1, which would say that a check failed.
            click.echo("audit: interrupted", err=True)
            ctx.exit(EXIT_INTERRUPTED)
        except BrokenPipeError:
            # Nor is it 1 where whoever reads the output (`| head`) has seen enough.
            with contextlib.suppress(OSError, ValueError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            ctx.exit(EXIT_UNHEARD)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes the list of commands without importing any of them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, place.help) for name, place in COMMANDS.items()])


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="cutcard", prog_name="audit")
def cli() -> None:
    """Audit a certified dealer: its log, its decks, and their randomness. Trusts nobody."""


def main() -> None:
    """Entry point."""
    cli.main(prog_name="audit")


if __name__ == "__main__":
    main()
