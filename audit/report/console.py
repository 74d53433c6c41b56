"""Where text for people goes: a terminal with its colours, a file or a pipe without them.

Everything that a report prints goes through this one gate. Much of it comes from outside (a server's words, origins,
labels, file names), and none of that may act on a terminal: a lying server could clear the screen and write a verdict
of its own.
"""

from __future__ import annotations

import dataclasses
import re
from typing import Any

import click
from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from audit.outside import plain, shown

PLAIN_WIDTH = 160


class ReportConsole(Console):
    """Standard output. That its reader has gone is for the command to tell, in `audit.cli`."""

    def on_broken_pipe(self) -> None:
        """Passes the error on; the library would end with 1, which says that a check failed."""
        raise BrokenPipeError

    def print(self, *objects: Any, **options: Any) -> None:
        """Prints markup, `Text` or a `Table`, one line each (a table's rows one each); see the library's `print`."""
        super().print(*(self._gated(each) for each in objects), **options)

    def _gated(self, value: Any) -> Text | Table:
        if isinstance(value, str | Text):
            return _gated_text(_as_text(value), self)
        if isinstance(value, Table):
            value.title = None if value.title is None else _gated_text(_as_text(value.title), self)
            value.columns = [self._gated_column(column) for column in value.columns]
            return value
        raise TypeError(f"{type(value).__name__} has no gate")

    def _gated_column(self, column: Column) -> Column:
        return dataclasses.replace(
            column, header=self._gated(column.header), _cells=[self._gated(cell) for cell in column.cells]
        )


def _as_text(value: str | Text) -> Text:
    return Text.from_markup(value) if isinstance(value, str) else value


def _gated_text(text: Text, console: Console) -> Text:
    pieces = [(shown(piece.text), piece.style or "") for piece in text.render(console, end="")]
    return Text.assemble(*pieces, style=text.style, justify=text.justify, overflow=text.overflow)


def console() -> Console:
    """Returns standard output: colours only on a terminal and without `NO_COLOR`, and no line broken in a pipe."""
    out = ReportConsole(highlight=False, soft_wrap=True)
    return out if out.is_terminal else ReportConsole(highlight=False, soft_wrap=True, width=PLAIN_WIDTH)


def print_json(text: str) -> None:
    """Prints text of JSON: what acts on a terminal stands in it as an escape, which means the same to every reader."""
    click.echo(_UNSAFE.sub(lambda found: _json_escape(found[0]), text))


_UNSAFE = re.compile(r"[^\n\x20-\x7e]")


def _json_escape(character: str) -> str:
    if plain(character) == character:
        return character
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[i : i + 2].hex()}" for i in range(0, len(units), 2))
