"""The battery against the gallery, quickly: the crooked are caught within their goal, the fair are left in peace.

The whole table is docs/power.md.
"""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from audit.commands.power import power
from audit.stats.gallery import GALLERY, Shuffler
from audit.stats.judging.laboratory import SEVEN, distinct_null
from audit.stats.judging.power import Ending, Power, examine_by_battery, measure
from tests.unit.stats.decks import fair

ALPHA = 1e-6
QUICK = [name for name, shuffler in GALLERY.items() if shuffler.goal and shuffler.goal <= 10_000]


@pytest.mark.parametrize("name", QUICK)
def test_is_caught_within_its_goal(name):
    shuffler = GALLERY[name]
    found = measure(shuffler, examine_by_battery(ALPHA, 1), grid=[shuffler.goal])
    assert found.ending is Ending.CAUGHT, found.by


@pytest.mark.soak
@pytest.mark.parametrize("name", [name for name, shuffler in GALLERY.items() if (shuffler.goal or 0) > 10_000])
def test_is_caught_within_a_large_goal(name):
    shuffler = GALLERY[name]
    assert measure(shuffler, examine_by_battery(ALPHA, None), grid=[shuffler.goal]).ending is Ending.CAUGHT


@pytest.mark.parametrize("name", [name for name, shuffler in GALLERY.items() if not shuffler.goal])
def test_is_left_in_peace(name):
    assert measure(GALLERY[name], examine_by_battery(ALPHA, 1), grid=[100, 3_000]).ending is Ending.SILENT


def outcome(goal, decks, most):
    shuffler = Shuffler("some", "a story", make=lambda rng, count: None, goal=goal)
    return Power(shuffler, decks, most, "", 0.5).ending


def test_outcomes():
    assert outcome(300, 100, 100) is Ending.CAUGHT
    assert outcome(300, 1_000, 1_000) is Ending.MISSED
    assert outcome(300, None, 300) is Ending.MISSED
    assert outcome(300, None, 100) is Ending.OPEN
    assert outcome(None, None, 100) is Ending.SILENT
    assert outcome(None, 100, 100) is Ending.FALSE_ALARM


def run(*args):
    return CliRunner().invoke(power, args)


def test_the_table_for_people():
    result = run("riffle-5", "fair", "--most", "100")
    assert result.exit_code == 0
    head, caught, silent = result.stdout.splitlines()
    assert head.split()[:3] == ["shuffler", "goal", "needs"]
    assert caught.split()[:4] == ["riffle-5", "100", "100", "caught"]
    assert "no alarm, as it should be" in silent


def test_the_table_for_programs():
    members = json.loads(run("riffle-5", "--most", "100", "--format", "json").stdout)["shufflers"]
    assert members[0] | {"story": "", "p_adjusted": 0, "test": ""} == {
        "name": "riffle-5", "story": "", "goal": 100, "decks": 100, "tried": 100, "outcome": "caught", "test": "",
        "p_adjusted": 0,
    }  # fmt: skip


def test_the_table_for_the_documents():
    lines = run("riffle-5", "--most", "100", "--format", "markdown").stdout.splitlines()
    assert lines[0].startswith("# ")
    assert any(line.startswith("| riffle-5 | 100 | 100 | caught |") for line in lines)


def test_the_exit_code_tells_a_miss(monkeypatch):
    monkeypatch.setattr("audit.commands.power.measure", lambda shuffler, *_, **__: Power(shuffler, None, 300, "", 1.0))
    assert run("riffle-5").exit_code == 1


def test_stories_and_unknown_names():
    assert len(run("--list").stdout.splitlines()) == len(GALLERY)
    assert run("no-such-shuffler").exit_code == 2


def test_the_documents_table_is_of_this_gallery():
    page = (Path(__file__).resolve().parents[4] / "docs" / "power.md").read_text()
    rows = dict(re.findall(r"^\| (\S+) \| (.+) \|$", page, flags=re.MULTILINE))
    rows.pop("shuffler")
    assert list(rows) == list(GALLERY)
    for name, row in rows.items():
        goal, _, outcome, *_ = row.split(" | ")
        assert goal == (f"{GALLERY[name].goal:,}" if GALLERY[name].goal else "—")
        assert outcome == (Ending.CAUGHT if GALLERY[name].goal else Ending.SILENT)
        assert f"- **{name}**: {GALLERY[name].story}" in page


def test_theirs_against_ours_is_one_command():
    members = json.loads(
        run("swap-even-only", "overhand-10", "--laboratory", "--most", "300", "--format", "json").stdout
    )
    assert members["laboratory"]["level"] == 0.01
    assert list(members["laboratory"]["tests"]) == [test.name for test in SEVEN]
    even, overhand = members["shufflers"]
    assert (even["laboratory"]["decks"], even["laboratory"]["tried"], even["decks"]) == (None, 300, 100)
    assert overhand["laboratory"]["decks"] == 100  # what theirs can see they do see
    text = run("swap-even-only", "--laboratory", "--most", "300").stdout
    assert "not with 300" in text
    for test in SEVEN:
        assert test.read_as in text


@pytest.mark.parametrize("test", SEVEN, ids=lambda each: each.name)
def test_each_of_the_seven_is_fair_and_sees_its_fault(test):
    ps = np.array([test.p(fair(944, seed)) for seed in range(50)])
    assert np.count_nonzero(ps < 0.05) <= 9  # 2.5 expected; more than 9 once in 5,000
    decks = fair(944, 1)
    by_first = decks[np.argsort(decks[:, 0], kind="stable")]  # deals in order of their first card
    rolled = np.concatenate([np.roll(deck, shift)[None] for deck in fair(40, 2) for shift in range(52)])
    ends = decks[(decks[:, 0] >> 2) % 6 == (decks[:, -1] >> 2) % 6]  # the last card goes with the first
    assert min(test.p(faulty) for faulty in (by_first, rolled, ends)) < 1e-4


def test_windows_have_their_exact_null():
    null = distinct_null(3, 2)
    assert null.prob.tolist() == pytest.approx([0, 1 / 3, 2 / 3, 0])


def test_the_front_page_says_what_the_statistics_page_measured():
    root = Path(__file__).resolve().parents[4]
    measured = (root / "docs" / "statistics.md").read_text().partition("### Theirs against ours")[2]
    found = re.findall(r"^\| [a-z0-9-]+ \| ([^|]+) \| ([^|]+) \| [^|]+ \|$", measured, flags=re.MULTILINE)
    told = (root / "README.md").read_text().partition("let pass, by decks needed:")[2].partition("## ")[0]
    assert len(found) == 9  # the heading, what the front page tells, and two more
    assert re.findall(r"^\| [^|]+ \| ([^|]+) \| ([\d,]+) \|$", told, flags=re.MULTILINE) == found[1:7]
