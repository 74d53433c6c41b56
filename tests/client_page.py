"""Makes docs/client-api.md of the client's docstrings: `python -m tests.client_page [--write]`."""

import inspect
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dealer.client

PAGE = Path(__file__).resolve().parent.parent / "docs" / "client-api.md"
ORDER = (
    "Client",
    "Hand",
    "SyncClient",
    "SyncHand",
    "Table",
    "Seat",
    "HandSeat",
    "SeatKey",
    "Through",
    "SyncTable",
    "SyncSeat",
    "SyncHandSeat",
    "Seen",
    "Stakes",
    "ShardedClient",
    "Shard",
    "Retry",
    "Card",
    "Opener",
    "HandInPlay",
    "Proven",
    "Contribution",
    "prove",
    "tls_credentials",
)
HEAD = """# The client's names

Everything that `dealer.client` gives out, made from its docstrings by `make generate`; [the client](client.md) tells
how it is used. `await` stands before the methods marked `async`. A `UsageError` sends nothing, a `CallError` is the
dealer's refusal or silence, a `CheckError` means: do not play on.
"""


def members(kind: type) -> Iterator[tuple[str, Any]]:
    """The public methods and properties of a class, as they stand in its source."""
    for name, member in vars(kind).items():
        if (not name.startswith("_") and isinstance(member, property | classmethod | staticmethod)) or (
            not name.startswith("_") and inspect.isfunction(member)
        ):
            yield name, member


def signature(function: Any, name: str) -> str:
    """A call as it is written, defaults included, without types: what they mean stands below it."""
    shown = []
    star = False
    for each in inspect.signature(function).parameters.values():
        if each.name in ("self", "cls"):
            continue
        if each.kind is each.KEYWORD_ONLY and not star:
            shown.append("*")
            star = True
        shown.append(each.name if each.default is each.empty else f"{each.name}={default(each.default)}")
    prefix = "async " if inspect.iscoroutinefunction(function) else ""
    line = f"{prefix}{name}({', '.join(shown)})"
    return line if len(line) <= 110 else f"{prefix}{name}(\n    " + ",\n    ".join(shown) + ",\n)"


def default(value: Any) -> str:
    """A default as a reader would write it."""
    if callable(value):
        return f"{value.__module__.partition('.')[0].replace('posix', 'os')}.{value.__name__}"
    if hasattr(value, "items"):
        return "{}"
    return f'"{value}"' if isinstance(value, str) else repr(value)


def prose(docstring: str | None) -> str:
    """A Google docstring as Markdown: its sections become lists."""
    out: list[str] = []
    section = False
    for line in inspect.cleandoc(docstring or "").splitlines():
        if line in ("Args:", "Returns:", "Raises:", "Attributes:"):
            out += [f"{line[:-1]}:", ""]
            section = True
        elif not line.strip():
            out.append("")
            section = False
        elif section and line.startswith("    ") and not line.startswith("     "):
            name, colon, rest = line.strip().partition(": ")
            known = colon and all(part.isidentifier() for part in name.split(", "))
            out.append(f"- `{name}`: {rest}" if known else f"- {line.strip()}")
        elif section:
            out.append(f"  {line.strip()}")
        else:
            out.append(line)
    return "\n".join(out)


def of_function(function: Any, name: str, level: str) -> str:
    """A function's part of the page."""
    call = f"```text\n{signature(function, name)}\n```"
    return f"{level} {name.rpartition('.')[2]}\n\n{call}\n\n{prose(function.__doc__)}\n"


def of_class(kind: type) -> Iterator[str]:
    """A class's parts of the page."""
    yield f"## {kind.__name__}\n\n{prose(kind.__doc__)}\n"
    made = vars(kind).get("__init__")
    if (made is not None and made.__doc__) or kind.__name__ == "Retry":
        text = prose(made.__doc__) if made.__doc__ else ""
        yield f"```text\n{signature(made, kind.__name__)}\n```\n" + (f"\n{text}\n" if text else "")
    found = dict(members(kind))
    properties = {name: each for name, each in found.items() if isinstance(each, property)}
    if properties:
        lines = [
            f"- `{name}`: {inspect.cleandoc(each.__doc__ or '').splitlines()[0]}" for name, each in properties.items()
        ]
        yield "Properties:\n\n" + "\n".join(lines) + "\n"
    for name, each in found.items():
        if name not in properties:
            function = getattr(kind, name)
            yield of_function(function, f"{kind.__name__}.{name}" if isinstance(each, classmethod) else name, "###")


def page() -> str:
    """The whole page."""
    errors = [name for name in dealer.client.__all__ if name.endswith("Error")]
    parts = [HEAD]
    for name in [*ORDER, *errors]:
        each = getattr(dealer.client, name)
        parts += of_class(each) if inspect.isclass(each) else [of_function(each, name, "##")]
    return "\n".join(part.rstrip() + "\n" for part in parts)


def main() -> int:
    """Writes the page with `--write`; otherwise says whether it is stale."""
    if "--write" in sys.argv:
        PAGE.write_text(page(), "utf-8")
        return 0
    if not PAGE.exists() or PAGE.read_text("utf-8") != page():
        print("docs/client-api.md is not what dealer/client says: run `make generate`", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
