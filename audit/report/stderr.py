"""What is said on standard error: one line at a time, through the gate, and never in the way of an exit code."""

from __future__ import annotations

import contextlib

import click
from click.exceptions import NoArgsIsHelpError

from audit.outside import shown


def say(line: str) -> None:
    """Says one line; if it cannot be written it is lost, for the exit code says what counts."""
    with contextlib.suppress(OSError, ValueError):
        click.echo(shown(line), err=True)


def say_usage(error: click.ClickException) -> None:
    """Says what is wrong with a command line, and how the command is used."""
    ctx = error.ctx if isinstance(error, click.UsageError) else None
    if isinstance(error, NoArgsIsHelpError):
        for line in error.format_message().splitlines():
            say(line)
        return
    if ctx is not None:
        for line in ctx.get_usage().splitlines():
            say(line)
        say(f"Try '{ctx.command_path} --help' for help.")
        say("")
    say(f"Error: {error.format_message()}")
