"""The check of the documents finds what it is for, and lets what is right pass."""

import pytest

from tests.documents import ROOT, Document, findings

TARGETS = {"demo", "test"}


def wrong(text: str, name: str = "docs/page.md") -> list[str]:
    return [finding.partition(": ")[2] for finding in findings(Document(ROOT / name, text), TARGETS)]


@pytest.mark.parametrize(
    "text",
    [
        "[the protocol](protocol.md#9-the-log) and [a site](https://example.com/x) and [above](#here)\n\n# Here\n",
        "```sh\nmake demo test\ndealer init --data-dir D \\\n  --origin O && audit verify LOG --key K | head\n```\n",
        "```console\n$ .venv/bin/python -m benchmarks deck --json\ndealer is not a command here\n```\n",
        "```sh\nCUTCARD_DATA_DIR=D dealer key --help\ngrep --colour x y > z\n```\n",
        '```toml dealer serve\ndata-dir = "D"\n```\n',
        "```text\n[no link](nowhere.md)\n```\n",
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
        ("```console\n$ true && audit verify LOG --kee K\n```\n", "audit verify: No such option '--kee'"),
        ('```toml dealer serve\ndata-folder = "D"\n```\n', "data-folder is no option of dealer serve"),
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
