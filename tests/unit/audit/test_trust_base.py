"""docs/trust-base.md: the modules that judge import nothing else of the auditor, and are as short as the page says."""

import ast
import io
import re
import tokenize
from pathlib import Path

import grimp

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "trust-base.md"
_IGNORED = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}


def rows(before: str = "") -> list[tuple[list[str], int]]:
    """The page's rows: modules, and the most lines that they have together; `before` is what the cells before match."""
    found = re.findall(rf"^{before}\| (`[^|]+`) \| (\d+) \|", PAGE.read_text("utf-8"), re.MULTILINE)
    return [([f"audit.{name}" for name in re.findall(r"`([\w.]+)`", names)], int(most)) for names, most in found]


def code_lines(module: str) -> int:
    """Lines of a module that hold code: neither empty, nor comments, nor docstrings."""
    text = (ROOT / f"{module.replace('.', '/')}.py").read_text("utf-8")
    said: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        for inner in getattr(node, "body", []) if not isinstance(node, ast.Lambda | ast.IfExp) else []:
            if isinstance(inner, ast.Expr) and isinstance(inner.value, ast.Constant) and inner.value.kind is None:
                said.update(range(inner.lineno, (inner.end_lineno or inner.lineno) + 1))
    used: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in _IGNORED:
            used.update(range(token.start[0], token.end[0] + 1))
    return len(used - said)


def test_what_judges_imports_nothing_else_of_the_auditor() -> None:
    base = {module for modules, _ in rows() for module in modules}
    graph = grimp.build_graph("audit")
    assert len(base) > 20
    for module in base:
        others = {each for each in graph.find_modules_directly_imported_by(module) if each.startswith("audit")}
        assert others <= base, (module, others - base)


def test_it_is_as_short_as_the_page_says() -> None:
    options = rows(before=r"\| [^|]+ ")
    assert len(options) > 2
    for modules, most in rows() + options:
        assert sum(map(code_lines, modules)) <= most, modules
    total = re.search(r"this is ([\d,]+) at the most", PAGE.read_text("utf-8"))
    assert total is not None
    assert sum(most for _, most in rows()) <= int(total[1].replace(",", ""))
