"""Tests under laboratories' names: all that is named is there, at its level, and decides nothing."""

import json
from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner

from audit.cli import cli
from audit.stats.families.coupon_collector import collector_null
from audit.stats.families.gap import gap_null
from audit.stats.judging.views import VIEWS, view_of
from audit.stats.nulls.pvalue import sidak
from tests.unit.stats.decks import fair, judged

TESTS = judged(fair(2_000, 6)).tests


@pytest.mark.parametrize(("name", "count"), [("547.14", 10), ("gli-19", 7), ("pa", 15)])
def test_every_name_of_a_view_is_read_as_tests_that_the_battery_makes(name, count):
    view = VIEWS[name]
    rows = view_of(view, TESTS).rows
    assert len(rows) == count == len({row.name for row in rows})
    named = {test.name for test in TESTS}
    for test, row in zip(view.tests, rows, strict=True):
        for own in test.ours:
            assert any(replace(test, ours=(own,)).takes(each) for each in named), own
        assert set(row.ours) <= named
        assert row.p == sidak(min(each.p for each in TESTS if each.name in row.ours), len(row.ours))
        assert row.read_as
        assert row.blind


def test_levels_are_of_each_test_or_of_all_together():
    each, together = view_of(VIEWS["547.14"], TESTS), view_of(VIEWS["gli-19"], TESTS)
    assert {row.level for row in each.rows} == {0.01}
    assert each.fair_rooms == pytest.approx(0.0956, abs=1e-4)
    assert sum(row.level for row in together.rows) == pytest.approx(0.01)
    assert together.fair_rooms == 0.01


def test_a_row_fails_below_its_level_and_not_at_it():
    (chosen,) = VIEWS["gli-19"].tests[0].ours
    for p, verdict in ((0.01 / 7, "pass"), (0.01 / 7 * 0.999, "fail")):
        tests = [replace(test, p=p) if test.name == chosen else test for test in TESTS]
        assert view_of(VIEWS["gli-19"], tests).rows[0].verdict == verdict


def test_too_few_decks_are_no_pass():
    assert {row.verdict for row in view_of(VIEWS["pa"], judged(fair(50, 1)).tests).rows} == {"insufficient"}


def test_two_sided_rows_see_what_is_too_good():
    decks = fair(40, 2)
    for view in VIEWS.values():
        assert [row.two_sided for row in view.tests].count(False) == (view.name == "547.14")
    # Each card at each position nearly equally often: far nearer than chance would have it.
    cyclic = np.concatenate([np.roll(deck, shift)[None] for deck in decks for shift in range(52)])
    row = view_of(VIEWS["gli-19"], judged(cyclic).tests).rows[0]
    assert row.verdict == "fail"


def test_a_view_decides_no_exit_code(tmp_path):
    # The alarm of one in a million does not ring; a laboratory at 99 % would say that this fair room fails.
    runner = CliRunner()
    for seed in range(60):
        if any(row.verdict == "fail" for row in view_of(VIEWS["pa"], judged(fair(300, seed)).tests).rows):
            break
    np.save(tmp_path / "decks.npy", fair(300, seed))
    words = ["stats", str(tmp_path / "decks.npy"), "--jobs", "1"]
    shown = runner.invoke(cli, [*words, "--view", "pa", "--view", "gli-19", "--report", str(tmp_path / "report.html")])
    assert shown.exit_code == 0
    assert "58 Pa. Code 810a.5(c), at 95 % each" in shown.stdout
    assert "this decides nothing here" in " ".join(shown.stdout.split())
    page = (tmp_path / "report.html").read_text()
    assert "As 58 Pa. Code 810a.5(c) names the tests" in page
    assert "Kolmogorov-Smirnov" in page
    (view,) = json.loads(runner.invoke(cli, [*words, "--view", "pa", "--json"]).stdout)["views"]
    assert [row["name"] for row in view["tests"]] == [test.name for test in VIEWS["pa"].tests]
    assert any(row["verdict"] == "fail" for row in view["tests"])
    assert runner.invoke(cli, [*words, "--view", "pa", "--sequential"]).exit_code == 2


@pytest.mark.parametrize("n", [36, 52])
def test_nulls_without_replacement_have_their_known_means(n):
    for size in (4, n // 4):
        gap = gap_null(n, size)
        assert gap.support @ gap.prob == pytest.approx((n + 1) / (size + 1))
        assert gap.prob.sum() == pytest.approx(1)
    suits = collector_null(4, n // 4)
    assert suits.support[0] == 4
    assert suits.prob[0] == pytest.approx((n // 4) ** 4 * 24 / (n * (n - 1) * (n - 2) * (n - 3)))
