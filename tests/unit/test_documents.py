"""The check of the documents finds what it is for, and lets what is right pass."""

import pytest

from tests.citations import cited_places, comments, wrong_citations
from tests.documents import findings
from tests.pages import ROOT, Document

TARGETS = {"demo", "test"}


def wrong(text: str, name: str = "docs/page.md") -> list[str]:
    return [finding.partition(": ")[2] for finding in findings(Document(ROOT / name, text), TARGETS)]


@pytest.mark.parametrize(
    "text",
    [
        "[the protocol](protocol.md#9-the-log) and [a site](https://example.com/x) and [above](#here)\n\n# Here\n",
        "```sh\nmake demo test\ndealer init --data-dir D \\\n  --origin O && audit verify LOG --key K | head\n```\n",
        "```console\n$ .venv/bin/python -m benchmarks deck --json\ndealer is not a command here\n```\n",
        "```sh\nCUTCARD_DATA_DIR=D dealer key\ndealer key --help\ngrep --colour x y > z\n```\n",
        '```toml dealer serve\ndata-dir = "D"\n```\n',
        "```text\n[no link](nowhere.md)\n```\n",
        "`dealer/core/`, `dealer/cli.py` and `audit/commands/NAME.py`\n",
    ],
)
def test_what_is_right_passes(text: str) -> None:
    assert wrong(text) == []


@pytest.mark.parametrize(
    ("text", "finding"),
    [
        ("[a page](nowhere.md)", "nowhere.md is not there"),
        ("[a heading](protocol.md#nowhere)", "protocol.md#nowhere: no such heading"),
        ("[above](#nowhere)", "#nowhere: no such heading"),
        ("```sh\nmake nothing\n```\n", "make has no target nothing"),
        ("```sh\ndealer deal\n```\n", "dealer has no command deal"),
        ("```sh\ndealer key --data-dir D --loud\n```\n", "dealer key: No such option '--loud'"),
        ("```sh\ndealer key extra --data-dir D\n```\n", "dealer key: extra is one argument too many"),
        ("```sh\naudit hand LOG HAND --out FILE\n```\n", "audit hand: --key is missing"),
        ("```console\n$ true && audit verify LOG --kee K\n```\n", "audit verify: No such option '--kee'"),
        ('```toml dealer serve\ndata-folder = "D"\n```\n', "data-folder is no option of dealer serve"),
        ("`dealer/core/nowhere.py` and `dealer/core`", "dealer/core/nowhere.py is not there"),
        ("This is not done: TODO", "'TODO' does not belong in a document"),
        ("The deck is 100% fair", "'100% fair' does not belong in a document"),
        ("See /home/somebody/x", "'/home/' does not belong in a document"),
    ],
)
def test_what_is_wrong_is_found(text: str, finding: str) -> None:
    found = wrong(text)
    assert len(found) == 1
    assert found[0].startswith(finding)


def test_an_index_lists_every_page_of_its_folder() -> None:
    listed = "".join(f"[x]({page.name})" for page in (ROOT / "docs").glob("*.md") if page.name != "protocol.md")
    assert wrong(listed, "docs/README.md") == ["protocol.md is not listed"]


def wrongly_cited(text: str, name: str = "audit/module.py") -> list[str]:
    source = comments(text) if name.endswith(".py") else text
    return [finding.partition(": ")[2] for finding in wrong_citations(Document(ROOT / name, source))]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ('"""Deals (PROTOCOL.md, section 7; STUD.md sections 2, 3 and 7)."""\n', "audit/module.py"),
        ('"""Section 7 of PROTOCOL.md, and docs/table.md and SECURITY.md."""\n', "audit/module.py"),
        ("# The tags of section 1 (RFC 6962, section 77, and 2.1.3.2; Holm 1979, section 44).\n", "audit/module.py"),
        ('path = "docs/nowhere.md"  # STUD.md\nf("""NOWHERE.md section 99""")\n', "audit/module.py"),
        ("// By the rules of\n// STUD.md, section 3.\n", "proto/dealer/v1/x.proto"),
        ("## 44. Here\n\nSections 44 and `STUD.md`, section 6.\n", "docs/page.md"),
        ("By section 10.\n", "docs/page.md"),
    ],
)
def test_a_right_citation_passes(text: str, name: str) -> None:
    assert wrongly_cited(text, name) == []


@pytest.mark.parametrize(
    ("text", "name", "finding"),
    [
        ('"""Deals (NOWHERE.md)."""\n', "audit/module.py", "NOWHERE.md is cited, and docs/nowhere.md is not there"),
        ('X = 1\n"""See docs/nowhere.md."""\n', "audit/module.py", "docs/nowhere.md is cited, and docs/nowhere.md"),
        ("x = 1  # STUD.md, sections 2 and 88\n", "audit/module.py", "STUD.md is cited with section 88"),
        ("# By STUD.md,\n# section 88.\n", "audit/module.py", "STUD.md is cited with section 88"),
        ('def f():\n    """By section 99."""\n', "audit/module.py", "PROTOCOL.md is cited with section 99"),
        ('"""Section 99 of STUD.md."""\n', "audit/module.py", "STUD.md is cited with section 99"),
        ("// STUD.md section 99.\n", "proto/dealer/v1/x.proto", "STUD.md is cited with section 99"),
        ("## 44. Here\n\nSection 45.\n", "docs/page.md", "this page has no section 45"),
        ("By section 99.\n", "docs/page.md", "PROTOCOL.md is cited with section 99"),
    ],
)
def test_a_wrong_citation_is_found(text: str, name: str, finding: str) -> None:
    found = wrongly_cited(text, name)
    assert len(found) == 1
    assert found[0].startswith(finding)


def test_a_wrong_citation_is_told_with_its_line() -> None:
    text = 'x = """\n"""\n\ny = 1  # fine\n\n\ndef f():\n    """Does.\n\n    By STUD.md,\n    section 99.\n    """\n'
    (found,) = wrong_citations(Document(ROOT / "audit/module.py", comments(text)))
    assert found.startswith("audit/module.py:10: ")


def test_the_code_that_cites_is_looked_at() -> None:
    places = {place.path.relative_to(ROOT).parts[0]: place for place in cited_places()}
    assert {"audit", "dealer", "benchmarks", "tests", "examples", "proto"} <= places.keys()
