"""Where text for people goes: a terminal with its colours, a file or a pipe without them."""

from __future__ import annotations

from rich.console import Console

PLAIN_WIDTH = 160


class ReportConsole(Console):
    """Standard output. That whoever reads it has gone is for the command to tell, in `audit.cli`."""

    def on_broken_pipe(self) -> None:
        """Passes the error on; the library would end with 1, which says that a check failed."""
        raise BrokenPipeError


def console() -> Console:
    """Standard output: colours only on a terminal and without `NO_COLOR`, and no line broken in a pipe."""
    out = ReportConsole(highlight=False, soft_wrap=True)
    return out if out.is_terminal else ReportConsole(highlight=False, soft_wrap=True, width=PLAIN_WIDTH)
