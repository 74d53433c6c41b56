"""The `audit` command: a group whose commands are loaded when they are called.

A command lives in `audit/commands/NAME.py` as a click command object. To add one, write the module and put one line
into `COMMANDS`: the command's name, the place of the object as `module:attribute`, and the line that `audit --help`
shows. Nothing of a command's module is imported before the command is named, so `audit verify` never pays for (or
needs) numpy, and a broken optional dependency breaks one command only.

Exit codes are the commands' own (PROTOCOL.md section 10, API.md). A command ends with `ctx.exit(code)` or
`sys.exit(code)`; an `audit.errors.InputError` that a command raises ends it with code 4, any other `AuditError` with
code 1, its message on standard error. What nobody foresaw ends with 70 and one line, whatever the streams are.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
import traceback
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TextIO

import click

from audit.commands.run import keep_words
from audit.errors import AuditError, InputError
from audit.report.stderr import say, say_usage


class Place(NamedTuple):
    """Where a command is and what it is for."""

    where: str
    help: str


COMMANDS: dict[str, Place] = {
    "verify": Place("audit.commands.verify:verify", "Check a whole log: every signature, hash, deck and deal."),
    "receipt": Place(
        "audit.commands.receipt:receipt", "Check one receipt, acknowledgement, evidence or hand file, offline."
    ),
    "hand": Place("audit.commands.hand:hand", "Write one hand of a log as a hand file, to be checked offline."),
    "page": Place("audit.commands.page:page", "Write the page on which a player checks a hand, offline."),
    "witness": Place(
        "audit.commands.witness:witness", "Run a witness: cosign what logs show, if it extends what was seen."
    ),
    "monitor": Place("audit.commands.monitor:monitor", "Follow a log for years, and say what is wrong once it is."),
    "explain": Place("audit.commands.explain:explain", "Show one hand with every hash input, to follow by hand."),
    "stats": Place("audit.commands.stats:stats", "Test decks for randomness."),
    "count": Place("audit.commands.count:count", "Count decks into a part that `merge` takes."),
    "merge": Place("audit.commands.merge:merge", "Judge parts that `count` made, as one corpus."),
    "pack": Place("audit.commands.pack:pack", "Write a pack for laboratories: each clause with tests and record."),
    "histories": Place("audit.commands.histories:histories", "Test any room's dealing by hand histories of stud."),
    "bits": Place("audit.commands.bits:bits", "Extract uniform bits from decks for other batteries."),
    "gallery": Place(
        "audit.commands.gallery:gallery", "List crooked shufflers, and make decks of one to try tools on."
    ),
    "power": Place("audit.commands.power:power", "Show what the battery catches, and with how many decks."),
}

EXIT_FAILED = 1
EXIT_UNREADABLE = 4
EXIT_UNFORESEEN = 70
"""EX_SOFTWARE of sysexits.h: the auditor's own fault, and no word about the dealer."""
EXIT_INTERRUPTED = 130
EXIT_UNHEARD = 141
"""As a shell says of a command that SIGPIPE ended."""


class _UnheardError(Exception):
    """The reader of the output has gone. The library would end with 1 for a `BrokenPipeError`."""


@contextlib.contextmanager
def _told_apart() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        raise _UnheardError from None


class LazyGroup(click.Group):
    """A click group that lists its commands from `COMMANDS` and imports one only when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Returns the names, in the order of `COMMANDS`."""
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

    def make_context(self, *names: Any, **extra: Any) -> click.Context:
        """Reads the command line, and may print help."""
        with _told_apart():
            return super().make_context(*names, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        """Runs the command."""
        with _told_apart():
            return super().invoke(ctx)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Keeps the words of the command line before they are taken apart."""
        keep_words(ctx, args)
        return super().parse_args(ctx, args)

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        **extra: Any,
    ) -> Any:
        """Runs a command line to its end; every way in which it can end has its own exit code."""
        if not standalone_mode:
            return super().main(args, prog_name, complete_var, standalone_mode=False, **extra)
        try:
            code = self._run(args, prog_name, complete_var, **extra)
            _finish(sys.stdout)
        except (BrokenPipeError, _UnheardError):
            # Not 1, which would say that a check failed, if the reader of the output (`| head`) has seen enough.
            code = EXIT_UNHEARD
        except Exception as error:  # whatever it is, it must not end with 1
            code = EXIT_UNFORESEEN
            say(f"audit: {_what_happened(error)}")
        for stream in (sys.stdout, sys.stderr):
            _let_go(stream)
        sys.exit(code)

    def _run(self, args: Sequence[str] | None, prog_name: str | None, complete_var: str | None, **extra: Any) -> int:
        try:
            code = super().main(args, prog_name, complete_var, standalone_mode=False, **extra)
        except AuditError as error:
            say(f"audit: {error}")
            return EXIT_UNREADABLE if isinstance(error, InputError) else EXIT_FAILED
        except click.ClickException as error:
            say_usage(error)
            return error.exit_code
        except (KeyboardInterrupt, click.Abort):
            say("audit: interrupted")
            return EXIT_INTERRUPTED
        except SystemExit as end:
            code = end.code
        return code if isinstance(code, int) else 0

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes the list of commands without importing any of them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, place.help) for name, place in COMMANDS.items()])


def _what_happened(error: Exception) -> str:
    """Describes an unforeseen error on one line, with the place in the auditor's own code."""
    if isinstance(error, OSError) and error.strerror and not error.filename:
        return f"the output cannot be written: {error.strerror}"
    package = str(Path(__file__).parent)
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename.startswith(package)]
    place = f" at {Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    text = str(error).strip().rpartition("\n")[2]
    what = f"{type(error).__name__}{f': {text}' if text else ''}{place}"
    return f"an error of the auditor itself, which says nothing of what it read; please report it: {what}"


def _finish(stream: TextIO | None) -> None:
    """Writes out what is held back: what fails at the interpreter's end would have an exit code of its own."""
    if stream is not None and not stream.closed:
        stream.flush()


def _let_go(stream: TextIO | None) -> None:
    """Turns a stream that cannot be written to away, so that its last flush does not change the exit code."""
    try:
        _finish(stream)
    except (OSError, ValueError):
        with contextlib.suppress(OSError, ValueError, AttributeError):
            assert stream is not None
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="cutcard", prog_name="audit")
def cli() -> None:
    """Audit a certified dealer: its log, its decks, and their randomness. Trusts nobody."""


def main() -> None:
    """Entry point."""
    cli.main(prog_name="audit")


if __name__ == "__main__":
    main()
