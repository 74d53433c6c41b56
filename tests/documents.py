"""Holds the documents against the project: links, cites, commands, options, settings: `python -m tests.documents`."""

import re
import shlex
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import click

from audit.cli import cli as audit
from benchmarks.__main__ import main as benchmarks
from dealer.cli import main as dealer
from tests.citations import cited_places, wrong_citations
from tests.pages import FENCE, HEADING, ROOT, Document
from tests.randomness import unlisted_places

PROGRAMS: dict[str, click.Command] = {"dealer": dealer, "audit": audit, "benchmarks": benchmarks}
LINK = re.compile(r"(?<!!)\[[^\]]*\]\((?P<target>[^)\s]+)\)")
UNFINISHED = re.compile(r"\b(TODO|FIXME|TBD|XXX)\b|lorem ipsum", re.IGNORECASE)
BOAST = re.compile(
    r"\b(unbreakable|unhackable|military[- ]grade|bulletproof|100 ?% (secure|safe|fair))\b", re.IGNORECASE
)
NAMED = re.compile(r"`(?P<path>(?:audit|benchmarks|dealer|docs|examples|proto|tests)/[\w./-]*\w/?)`")
SOMEBODYS_MACHINE = re.compile(r"(?<![\w.:/])/(home|root|work|Users)/")


def documents() -> list[Document]:
    """Every page for people: those at the top, all of docs/, and the tests' and the examples' own."""
    paths = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "tests").rglob("README.md")]
    paths += (ROOT / "examples").glob("*/README.md")
    return [Document(path, path.read_text("utf-8")) for path in sorted(paths)]


def anchors(document: Document) -> set[str]:
    """The fragments that a page's headings give, as GitHub makes them."""
    return {
        re.sub(r"[^\w\- ]", "", heading["text"].lower()).replace(" ", "-")
        for heading in HEADING.finditer(document.prose())
    }


def broken_links(document: Document) -> Iterator[str]:
    """Links to files that are not there and to headings that no page has."""
    for link in LINK.finditer(document.prose()):
        target, _, fragment = link["target"].partition("#")
        if re.match(r"[a-z]+:", target):
            continue
        path = (document.path.parent / target).resolve()
        if target and not path.exists():
            yield f"{document.line(link.start())}: {link['target']} is not there"
        elif fragment and fragment not in anchors(Document(path, path.read_text("utf-8")) if target else document):
            yield f"{document.line(link.start())}: {link['target']}: no such heading"


def missing_files(document: Document) -> Iterator[str]:
    """Files and folders of ours that a page names and that are not there; `NAME` and `…` stand for any."""
    for path in NAMED.finditer(document.prose()):
        if "NAME" not in path["path"] and not (ROOT / path["path"]).exists():
            yield f"{document.line(path.start())}: {path['path']} is not there"


def commands(document: Document) -> Iterator[tuple[str, list[str]]]:
    """The commands of the blocks marked `sh` (all lines) and `console` (lines after `$`), each with its place."""
    for fence in FENCE.finditer(document.text):
        language = (fence["info"].split() or [""])[0]
        if language not in ("sh", "console"):
            continue
        body = fence["body"].replace("\\\n", " ")
        for line in body.splitlines():
            if language == "console" and not line.startswith("$ "):
                continue
            lexer = shlex.shlex(line.removeprefix("$ "), posix=True, punctuation_chars=True)
            lexer.whitespace_split = True
            command: list[str] = []
            for token in [*lexer, ";"]:
                if token and set(token) <= set("|&;()<>"):
                    yield document.line(fence.start()), command
                    command = []
                else:
                    command.append(token)


def wrong_command(words: list[str], targets: set[str]) -> str | None:
    """What is wrong with a command of ours; None where it is right or somebody else's."""
    whole = True
    while words and re.match(r"[A-Z_]+=", words[0]):
        whole, words = whole and not words[0].startswith("CUTCARD_"), words[1:]  # an option, it may be
    if not words:
        return None
    program = Path(words[0]).name
    if program.startswith("python") and words[1:3] == ["-m", "benchmarks"]:
        program, words = "benchmarks", words[2:]
    if program == "make":
        unknown = [word for word in words[1:] if "=" not in word and not word.startswith("-") and word not in targets]
        return f"make has no target {unknown[0]}" if unknown else None
    if program not in PROGRAMS:
        return None
    return wrong_arguments(PROGRAMS[program], program, words[1:], whole=whole)


def wrong_arguments(command: click.Command, name: str, words: list[str], *, whole: bool = True) -> str | None:
    """Parses the words as the program would, without carrying anything out; `whole`: with all that it needs."""
    if {"-h", "--help", "--version"} & set(words):
        whole = False
        words = [word for word in words if word not in ("-h", "--help", "--version")]
    context = click.Context(command, info_name=name)
    try:
        given, rest, _ = command.make_parser(context).parse_args(list(words))
    except click.UsageError as error:
        return f"{name}: {error.format_message()}"
    missing = [each for each in command.params if each.required and given.get(each.name) is None]
    if missing and whole:
        return f"{name}: {missing[0].opts[0]} is missing"
    if not isinstance(command, click.Group):
        return f"{name}: {rest[0]} is one argument too many" if rest else None
    if not rest:
        return None
    try:
        inner = command.get_command(context, rest[0])
    except ImportError as error:
        return f"{name} {rest[0]} cannot be loaded: {error}"
    return (
        f"{name} has no command {rest[0]}"
        if inner is None
        else wrong_arguments(inner, f"{name} {rest[0]}", rest[1:], whole=whole)
    )


def wrong_settings(document: Document) -> Iterator[str]:
    """TOML blocks marked with a command (`toml dealer serve`) whose members are no options of it."""
    for fence in FENCE.finditer(document.text):
        language, *path = fence["info"].split() or [""]
        if language != "toml" or not path:
            continue
        command = PROGRAMS[path[0]]
        for name in path[1:]:
            assert isinstance(command, click.Group)
            inner = command.get_command(click.Context(command), name)
            assert inner is not None
            command = inner
        known = {parameter.name for parameter in command.params}
        for member in tomllib.loads(fence["body"]):
            if member.replace("-", "_") not in known:
                yield f"{document.line(fence.start())}: {member} is no option of {' '.join(path)}"


def unlisted(document: Document) -> Iterator[str]:
    """Pages that the index of their folder does not link to."""
    if document.path.name == "README.md" and document.path.is_relative_to(ROOT / "docs"):
        for page in sorted(document.path.parent.glob("*.md")):
            if page != document.path and f"({page.name})" not in document.text:
                yield f"{document.line(0)}: {page.name} is not listed"


def wrong_words(document: Document) -> Iterator[str]:
    """Unfinished business, boasts, and paths of somebody's machine."""
    for pattern in (UNFINISHED, BOAST, SOMEBODYS_MACHINE):
        for match in pattern.finditer(document.text):
            yield f"{document.line(match.start())}: {match[0]!r} does not belong in a document"


def findings(document: Document, targets: set[str]) -> Iterator[str]:
    """Everything that is wrong with one page."""
    yield from broken_links(document)
    yield from missing_files(document)
    for place, words in commands(document):
        if (wrong := wrong_command(words, targets)) is not None:
            yield f"{place}: {wrong}"
    yield from wrong_settings(document)
    yield from unlisted(document)
    yield from wrong_words(document)
    yield from wrong_citations(document)


def main() -> int:
    """Prints what is wrong with the documents, and returns 1 if anything is."""
    targets = set(re.findall(r"^([a-z][\w-]*):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    pages = documents()
    wrong = [finding for document in pages for finding in findings(document, targets)]
    wrong += [finding for place in cited_places() for finding in wrong_citations(place)]
    wrong += unlisted_places()
    for finding in wrong:
        print(finding, file=sys.stderr)
    if not any(True for document in pages for _ in commands(document)):
        print("no command was found in any document: nothing was checked", file=sys.stderr)
        return 1
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
