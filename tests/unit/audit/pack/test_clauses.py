"""The table of clauses: its page says the same, and nothing in it stands without evidence and tests that run."""

import re
import subprocess
import sys

import pytest

from audit.pack.clauses import CLAUSES, NAMES, chosen
from audit.pack.records import _KINDS
from tests.pages import ROOT

PAGE = (ROOT / "docs" / "clauses.md").read_text("utf-8")


def rows() -> list[tuple[str, ...]]:
    """The page's table, without its heading."""
    table = [line for line in PAGE.splitlines() if line.startswith("|")][2:]
    return [tuple(cell.strip() for cell in line.strip("|").split("|")) for line in table]


def test_the_page_and_the_code_have_the_same_clauses():
    assert rows() == [(each.clause, each.source, each.asks, each.evidence) for each in CLAUSES]
    assert len(CLAUSES) > 20


@pytest.mark.parametrize("clause", CLAUSES, ids=lambda each: each.clause)
def test_no_clause_is_without_status_evidence_test_and_record(clause):
    assert clause.status in ("fulfilled", "partly", "not", "not applicable")
    assert len(clause.reason) > 30
    assert clause.evidence
    assert clause.tests
    assert clause.records
    assert {name.partition(":")[0] for name in clause.records} <= set(_KINDS)
    assert clause.names
    assert set(clause.names) <= set(NAMES)
    parts = clause.source.split("; ")
    assert set(parts) <= {"text", "paraphrase"}
    # Where the words differ by source there is one for each source that the row names.
    assert len(parts) in (1, len(re.split("; ", clause.clause)))


def test_each_source_has_its_clauses_and_all_has_every_one():
    assert chosen(["all"]) == CLAUSES
    for name in NAMES:
        assert chosen([name])
        assert f"`{name}`" in PAGE
    assert chosen(["pa", "denmark"]) == tuple(each for each in CLAUSES if {"pa", "denmark"} & set(each.names))


def test_every_test_that_a_clause_names_is_there_and_runs(request):
    named = {test for clause in CLAUSES for test in clause.tests}
    # In a run of the whole suite they are all among its items. Alone, this test has to collect them.
    missing = sorted(test for test in named if not _among(test, {item.nodeid for item in request.session.items}))
    if missing:
        alone = ["-p", "no:randomly", "-p", "no:xdist"]
        words = [sys.executable, "-m", "pytest", "--collect-only", *alone, *missing]
        found = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
        assert found.returncode == 0, found.stdout + found.stderr
        ids = {line for line in found.stdout.splitlines() if "::" in line}
        assert [test for test in missing if not _among(test, ids)] == []


def _among(test: str, ids: set[str]) -> bool:
    """Whether a test, or one of a file, is among ids of items."""
    return any(each.partition("[")[0] == test or each.startswith(f"{test}::") for each in ids)
