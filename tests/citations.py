"""Holds what code and documents cite against the pages: a cited page or section has to be there.

The specification's pages are cited in capitals, `STUD.md` for docs/stud.md, and so are the pages at the top, such as
`SECURITY.md`; any other page by its path, `docs/table.md`. A section follows its page ("STUD.md, sections 2 and 3") or
comes before it ("Section 7 of PROTOCOL.md"). A section without a page is one of the page that says so, where that page
has numbered sections, and the protocol's everywhere else. Sections of RFCs are no business of ours.
"""

import functools
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

from tests.pages import HEADING, ROOT, Document, blank

NUMBERS = r"(?P<numbers>\d+(?:(?:,| and| to| or)(?: and)? \d+)*)(?![\d]|\.\d)"
PAGE = r"(?P<page>(?<![\w/.-])(?:[A-Z][A-Z-]*|(?:docs|tests|examples)/[\w./-]+)\.md)\b"
PAGE_FIRST = re.compile(PAGE + r"(?:`?,? sections? " + NUMBERS + ")?")
SECTION_FIRST = re.compile(r"\b[Ss]ections? " + NUMBERS + r"(?: of (?:the )?`?" + PAGE + ")?")
FOREIGN = re.compile(r"(?:RFC|[A-Z][a-z]+) \d{4},? $")
CODE = ("audit", "dealer", "benchmarks", "tests", "examples")


def cited_places() -> Iterator[Document]:
    """All code that may cite a page: comments and docstrings of Python, whole protos, the examples in JavaScript."""
    paths = [path for folder in CODE for path in (ROOT / folder).rglob("*.py")]
    for path in sorted(path for path in paths if not path.is_relative_to(ROOT / "dealer" / "v1")):
        yield Document(path, comments(path.read_text("utf-8")))
    for path in sorted([*(ROOT / "proto").rglob("*.proto"), *(ROOT / "examples").glob("*/*.js")]):
        yield Document(path, path.read_text("utf-8").replace("//", "  "))


def comments(source: str) -> str:
    """The comments and docstrings of Python code, all else blanked out, offsets kept."""
    lines = source.splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    kept, end, begins = [], 0, True
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type in (tokenize.NL, tokenize.COMMENT) or (token.type == tokenize.STRING and begins):
            first, last = (starts[row - 1] + column for row, column in (token.start, token.end))
            kept += [blank(source[end:first]), token.string.replace("#", " ")]
            end = last
        if token.type not in (tokenize.NL, tokenize.COMMENT):
            begins = token.type in (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)
    return "".join([*kept, blank(source[end:])])


def page_path(name: str) -> Path:
    """The file that a page's name in a citation stands for; it need not be there."""
    if "/" in name:
        return ROOT / name
    return ROOT / name if (ROOT / name).exists() else ROOT / "docs" / name.lower()


def sections(document: Document) -> frozenset[int]:
    """The numbers of a page's numbered sections."""
    numbers = (re.match(r"(\d+)\. ", heading["text"]) for heading in HEADING.finditer(document.prose()))
    return frozenset(int(number[1]) for number in numbers if number)


@functools.cache
def sections_of(path: Path) -> frozenset[int]:
    """The numbers of the numbered sections of a page of the repository."""
    return sections(Document(path, path.read_text("utf-8")))


def wrong_citations(document: Document) -> Iterator[str]:
    """Cited pages that are not there, and cited sections that their page does not have."""
    # A cite may go over the end of a line: any space, with what begins a comment's next line, counts as one.
    squeezed = re.sub(r"\s+", " ", document.text)
    offsets = [match.start() for match in re.finditer(r"\s+|\S", document.text)]
    claimed: set[int] = set()
    for cite in PAGE_FIRST.finditer(squeezed):
        claimed.update(range(*cite.span()))
        yield from _wrong(document.line(offsets[cite.start()]), cite["page"], cite["numbers"])
    own = sections(document) if document.path.suffix == ".md" else frozenset()
    for cite in SECTION_FIRST.finditer(squeezed):
        if cite.start() in claimed or FOREIGN.search(squeezed[max(0, cite.start() - 20) : cite.start()]):
            continue
        place = document.line(offsets[cite.start()])
        if cite["page"] or not own:
            yield from _wrong(place, cite["page"] or "PROTOCOL.md", cite["numbers"])
        else:
            yield from (f"{place}: this page has no section {n}" for n in _numbers(cite["numbers"]) if n not in own)


def _wrong(place: str, page: str, numbers: str | None) -> Iterator[str]:
    path = page_path(page)
    if not path.exists():
        yield f"{place}: {page} is cited, and {path.relative_to(ROOT)} is not there"
    else:
        for number in _numbers(numbers or ""):
            if number not in sections_of(path):
                yield f"{place}: {page} is cited with section {number}, which {path.relative_to(ROOT)} does not have"


def _numbers(text: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", text)]
