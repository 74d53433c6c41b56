"""All places of the source that ask for random bytes or numbers, held against the table in docs/randomness.md."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.pages import ROOT

PAGE = ROOT / "docs" / "randomness.md"
ASKS = re.compile(
    r"os\.(urandom|getrandom)|secrets\.\w+|random\.\w+|uuid\.uuid[1-8]|numpy\.random\.(?!Generator$|BitGenerator$)\w+"
    r"|cryptography\..*\.(generate|generate_key|generate_private_key)"
    r"|cryptography\.hazmat\.primitives\.hpke\.Suite\.encrypt"  # draws a key for each message
    r"|dealer\.core\.seed\.(draw|draw_seed)|dealer\.store\.slots\.drawn"  # from a source that was handed in
)
"""What asks, under its whole name."""
ROW = re.compile(r"^\| `(?P<path>[\w./]+)` \| `(?P<asks>[\w.]+)` \|", re.MULTILINE)


def asking_places(root: Path = ROOT) -> set[tuple[str, str]]:
    """The places: a file of `dealer` or `audit`, and the whole name of what it asks."""
    files = [path for package in ("dealer", "audit") for path in (root / package).rglob("*.py")]
    return {(str(path.relative_to(root)), name) for path in files for name in asked_in(path.read_text("utf-8"))}


def asked_in(text: str) -> set[str]:
    """The whole names of what a module asks for random bytes, whether it calls it or hands it on."""
    tree = ast.parse(text)
    names = dict(_imported(tree))
    for node in ast.walk(tree):  # an instance goes by its class
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and len(node.targets) == 1:
            target, made_by = node.targets[0], _whole_name(node.value.func, names)
            if isinstance(target, ast.Name) and made_by and made_by.startswith("cryptography."):
                names[target.id] = made_by
    asked = (_whole_name(node, names) for node in ast.walk(tree) if isinstance(node, ast.Attribute | ast.Name))
    return {name for name in asked if name and ASKS.fullmatch(name)}


def _imported(tree: ast.AST) -> Iterator[tuple[str, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for each in node.names:
                yield (
                    each.asname or each.name.partition(".")[0],
                    each.name if each.asname else each.name.partition(".")[0],
                )
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for each in node.names:
                yield each.asname or each.name, f"{node.module}.{each.name}"


def _whole_name(node: ast.expr, names: dict[str, str]) -> str | None:
    if isinstance(node, ast.Name):
        return names.get(node.id)
    if isinstance(node, ast.Attribute):
        before = _whole_name(node.value, names)
        return None if before is None else f"{before}.{node.attr}"
    return None


def unlisted_places() -> list[str]:
    """What is wrong between the source and the page; nothing if they agree."""
    listed = {(row["path"], row["asks"]) for row in ROW.finditer(PAGE.read_text("utf-8"))}
    asking = asking_places()
    page = PAGE.relative_to(ROOT)
    wrong = [f"{path} asks {name}: add a row to {page}, and say what for" for path, name in sorted(asking - listed)]
    return wrong + [f"{page} says that {path} asks {name}, and it does not" for path, name in sorted(listed - asking)]
