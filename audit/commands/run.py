"""What is known of the command that runs: its words, and the digest of each input that it has read so far."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:  # the group imports this module, and nothing of a command before it is named
    from audit.report.subject import Input

_WORDS = "audit.words"
_INPUTS = "audit.inputs"


def keep_words(ctx: click.Context, words: Sequence[str]) -> None:
    """Keeps the words of the command line, for the report."""
    ctx.meta[_WORDS] = tuple(words)


def command_line() -> str:
    """Returns the command line, to be pasted into a shell."""
    return shlex.join(["audit", *click.get_current_context().meta.get(_WORDS, ())])


def note_input(read: Input) -> None:
    """Notes an input that was read."""
    ctx = click.get_current_context(silent=True)
    if ctx is not None:
        ctx.meta.setdefault(_INPUTS, []).append(read)


def inputs() -> tuple[Input, ...]:
    """Returns the inputs that were noted, in the order in which they were read."""
    return tuple(click.get_current_context().meta.get(_INPUTS, ()))
