"""The HTML report: the verdict first, everything in one file, nothing cut short in silence."""

import re
from html.parser import HTMLParser
from math import nan

import numpy as np
import pytest

from audit.findings import Finding
from audit.report import stats_words
from audit.report.plots import bars, p_points
from audit.report.stats_html import MULTIPLES, STRATA_ROWS, render, write
from audit.stats.gallery import GALLERY
from audit.stats.judging.battery import unreadable
from audit.stats.judging.power import examine
from audit.stats.results import Bars, BatteryResult, Detectable, LogSample, Pictures, TestResult


def a_test(name="card x position", p=0.3, p_adjusted=1.0, verdict="pass", **more):
    fields = {"statistic": 2601.5, "decks_used": 500, "needs": 100, "family": "positions"}
    fields |= {"sees": "A card that sticks.", "detail": ""}
    return TestResult(name=name, p=p, p_adjusted=p_adjusted, verdict=verdict, **fields | more)


def not_made(name="duplicates"):
    return a_test(name, p=nan, p_adjusted=nan, verdict="insufficient", statistic=nan, needs=10_000)


def pictures(n=52, strata=()):
    rng = np.random.default_rng(4)
    z = rng.normal(size=(n, n))
    z[n - 1, n // 3] = 6.5
    return Pictures(np.full((n, n), 10), z, {key: rng.normal(size=(13, n)) for key in strata})


def a_result(verdict="pass", tests=None, **more):
    tests = tests or (a_test(), a_test("descents", p=0.02), not_made())
    fields = {"decks": 500, "cards": 52, "alpha": 1e-6, "looks": 4321, "pictures": pictures()}
    return BatteryResult(verdict=verdict, tests=tuple(tests), **fields | more)


def failing(**more):
    worst = a_test("descents", p=1e-320, p_adjusted=0.0, verdict="fail", detail="25.1 against 25.5")
    return a_result("fail", (a_test(), worst), **more)


class Page(HTMLParser):
    """Text, tags and every attribute of a page; an element that is not closed is an error."""

    EMPTY = frozenset({"meta", "img", "br"})

    def __init__(self, html):
        super().__init__()
        self.text, self.open, self.attributes = [], [], []
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.attributes += [(tag, *pair) for pair in attrs]
        if tag not in self.EMPTY:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.attributes += [(tag, *pair) for pair in attrs]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] not in ("style", "title"):
            self.text.append(data)

    def words(self):
        return " ".join(" ".join(self.text).split())


STRATA = tuple(f"day=2026-03-{day:02d}" for day in range(1, 31))
CASES = {
    "pass": a_result(),
    "fail": failing(),
    "insufficient": a_result("insufficient", (not_made(),)),
    "no decks": a_result("insufficient", (not_made(),), decks=0, cards=0, pictures=None),
    "strata": a_result(
        tests=(
            a_test(),
            *(a_test(f"{key}: descents", p=0.1, dimension="day", stratum=key[4:]) for key in STRATA),
        ),
        pictures=pictures(strata=STRATA),
        strata={"day": {key[4:]: 16 for key in STRATA}},
    ),
    "a deck without ranks": a_result(cards=10, pictures=pictures(10)),
}


@pytest.mark.parametrize("case", CASES)
def test_is_one_whole_file_that_needs_nothing_else(case):
    html = render(CASES[case])
    page = Page(html)
    assert page.words()
    for tag, name, value in page.attributes:
        if name in ("src", "href", "srcset", "action", "data"):
            assert value.startswith(("#", "data:image/png;base64,")), (tag, name)
        assert not name.startswith("on")
    assert not re.search(r"url\((?!#)|@import|https?:", html)
    assert "default-src 'none'" in html


@pytest.mark.parametrize("case", CASES)
def test_never_says_the_word(case):
    assert "random" not in render(CASES[case]).lower()


@pytest.mark.parametrize(
    ("case", "sentence"),
    [
        (
            "pass",
            "Nothing in 500 decks of cards speaks against a fair shuffle, in which every order is equally likely.",
        ),
        (
            "fail",
            "500 decks of cards did not come from a fair shuffle: where every order is equally likely, "
            "at most one in a million audits sounds this alarm.",
        ),
        ("insufficient", "500 decks of cards are too few to say whether the shuffle is fair."),
        ("no decks", "There are no decks here, so nothing can be said of the shuffle."),
    ],
)
def test_the_verdict_comes_first(case, sentence):
    assert stats_words.verdict_sentence(CASES[case]) == sentence
    text = Page(render(CASES[case])).words()
    assert text.index(sentence) < 100


def test_says_what_rang_and_how_rarely_it_should():
    text = Page(render(failing())).words()
    assert "1 of 2 tests raised the alarm. The most telling: descents (25.1 against 25.5)" in text
    assert "below 10⁻³⁰⁰" in text


def test_says_what_was_paid_and_what_could_not_be_seen():
    fault = Detectable("ace", 0.02, "share of hands", "An ace forced on a seat in 2 % of its hands.")
    text = Page(
        render(a_result(detectable=(fault,), notes=("b.txt: counted once",), sources=("a.txt", "b.txt")))
    ).words()
    assert "4,321 of them" in text
    assert fault.sentence in text
    assert "2⁴⁸ possible seeds" in text
    assert "Read: a.txt, b.txt." in text
    assert "b.txt: counted once" in text


def test_a_test_that_was_not_made_says_what_it_needs():
    assert "needs 10,000 decks, has 500 not made" in Page(render(a_result())).words()


def test_each_stratum_has_its_picture_and_a_bad_one_comes_first():
    tests = [a_test()]
    tests += [a_test(f"{key}: descents", dimension="day", stratum=key[4:]) for key in STRATA]
    tests[18] = a_test("day=2026-03-18: descents", 1e-12, 1e-9, "fail", dimension="day", stratum="2026-03-18")
    html = render(a_result("fail", tests, pictures=pictures(strata=STRATA), strata={"day": {"2026-03-18": 77}}))
    multiples = html[html.index('<div class="multiples">') :]
    assert multiples.count("<img") == 30
    assert multiples.index("day 2026-03-18") < multiples.index("day 2026-03-01")
    assert "77 decks, least p 1.0·10⁻⁹, <b>alarm</b>" in multiples


def test_strata_without_an_alarm_stand_in_the_order_of_their_p_values():
    days = {f"2026-03-0{day}": p for day, p in ((1, 0.4), (2, 0.003), (3, 0.05))}
    tests = [a_test(f"day={day}: x", p=p, dimension="day", stratum=day) for day, p in days.items()]
    pictured = pictures(strata=[f"day={day}" for day in days])
    page = render(a_result(tests=tests, pictures=pictured, strata={"day": dict.fromkeys(days, 500)}))
    assert re.findall(r"ranks by positions of day (\S+)\"", page) == sorted(days, key=days.__getitem__)


def test_bars_are_as_long_as_they_are_surprising_against_the_alarm():
    drawn = bars([a_test(p_adjusted=1e-12, verdict="fail"), a_test(p_adjusted=1.0)], 1e-6)
    lengths = {}
    for points, ink in re.findall(r'<path d="([^"]*)"[^>]*style="fill: var\(--(good|bad)\)', drawn):
        along = [float(x) for x in re.findall(r"[ML] ([0-9.]+)", points)]
        lengths[ink] = max(along) - min(along)
    assert lengths["good"] < 0.01 * lengths["bad"]
    assert ">alarm</text>" in drawn


def test_says_how_many_strata_it_leaves_out():
    keys = [f"table=t{number}" for number in range(MULTIPLES + 7)]
    tests = [a_test(f"{key}: {n}", dimension="table", stratum=key[6:]) for key in keys for n in range(9)]
    text = Page(render(a_result(tests=tests, pictures=pictures(strata=keys), strata={"table": {"t1": 9}}))).words()
    assert "7 more strata" in text
    assert f"The {STRATA_ROWS} most surprising of {len(tests)} tests" in text


def test_what_a_test_compared_is_drawn_once():
    wins = Bars("seat that wins", np.array([90, 110, 100]), 300, 1 / 3, lowest=1)
    runs = Bars("runs", np.array([0, 40, 60, 0]), 100, np.array([0.1, 0.5, 0.4, 0]), ["none", "one", "two", "three"])
    tests = (a_test("wins", bars=wins), a_test("runs", bars=runs), a_test("runs, one value", bars=runs), a_test())
    html = render(a_result(tests=tests))
    assert html.count('aria-label="seat that wins: found and expected"') == 1
    assert html.count('aria-label="runs: found and expected"') == 1


def test_the_stratum_that_rang_is_drawn_large():
    bad = a_test("day=2026-03-18: descents", 1e-12, 1e-9, "fail", dimension="day", stratum="2026-03-18")
    html = render(
        a_result("fail", (a_test(), bad), pictures=pictures(strata=STRATA), strata={"day": {"2026-03-18": 7}})
    )
    assert "day 2026-03-18, where the alarm was clearest" in html
    assert "how often each rank lay at each position" in html
    assert "where the alarm was clearest" not in render(CASES["strata"])


def test_thousands_of_p_values_do_not_make_a_large_file():
    rng = np.random.default_rng(1)
    tests = [a_test(f"table=t1: {n}", p=p, dimension="table", stratum="t1") for n, p in enumerate(rng.random(20_000))]
    points = p_points(tests)
    assert len(points) < 600
    assert points[0].found == pytest.approx(-np.log10(min(test.p for test in tests)))
    assert points[0].expected > points[-1].expected >= 0


def test_names_cannot_break_the_page():
    bad = '"><script>alert(1)</script>'
    html = render(a_result(tests=(a_test(bad * 20),), sources=(bad,)))
    assert "<script" not in html
    assert Page(html).words().count("<script>alert(1)</script>") > 20


def test_colours_follow_the_page_and_not_the_picture():
    html = render(failing())
    pictures_alone = "".join(re.findall(r"<svg.*?</svg>", html, flags=re.DOTALL))
    assert "var(--ink)" in pictures_alone
    assert not re.search(r"#0[1-9]0[1-9]0[1-9]", pictures_alone)
    assert "prefers-color-scheme: dark" in html
    assert "@media print" in html


def test_the_same_result_gives_the_same_bytes(tmp_path):
    write(CASES["pass"], tmp_path / "report.html")
    assert (tmp_path / "report.html").read_text(encoding="utf-8") == render(CASES["pass"])


@pytest.mark.parametrize(
    ("p", "text"),
    [
        (1.0, "1.00"), (0.25, "0.25"), (0.0321, "0.032"), (0.001, "0.001"), (0.00099, "9.9·10⁻⁴"), (1e-6, "1.0·10⁻⁶"),
        (3.21e-200, "3.2·10⁻²⁰⁰"), (0.0, "below 10⁻³⁰⁰"), (nan, "—"),
    ],
)  # fmt: skip
def test_p_values_for_people(p, text):
    assert stats_words.p_text(p) == text


@pytest.mark.parametrize(
    ("p", "text"),
    [(1e-6, "one in a million"), (1e-3, "one in a thousand"), (0.05, "one in 20"), (2e-6, "one in 500,000")],
)
def test_odds_for_people(p, text):
    assert stats_words.odds(p) == text


@pytest.mark.parametrize(
    ("name", "decks", "verdict"),
    [
        ("fair", 150, "pass"),
        ("riffle-7", 150, "fail"),
        pytest.param("day-swap-any", 6_000, "fail", marks=pytest.mark.soak),
    ],
)
def test_the_batterys_own_words_fit_in(name, decks, verdict):
    result = examine(GALLERY[name], decks, 1e-6, np.random.default_rng(3), processes=1)
    html = render(result)
    assert result.verdict == verdict
    assert "random" not in html.lower()
    assert result.detectable[0].sentence in Page(html).words()
    assert ("Apart by day" in html) == (name == "day-swap-any")
    assert ("where the alarm was clearest" in html) == (name == "day-swap-any")


def test_families_fold_and_one_with_an_alarm_is_open():
    html = render(failing())
    assert "<details open>" in html
    assert "<details open>" not in render(CASES["pass"])
    assert html.count("<details") == len({test.family for test in failing().tests})


def test_pictures_are_spoken_of_only_where_there_are_some():
    assert "pictures below" not in Page(render(CASES["pass"])).words()
    drawn = a_test("wins", p=1e-3, bars=Bars("seat", np.array([90, 110]), 200, 0.5))
    assert "pictures below" in Page(render(a_result(tests=(drawn,)))).words()
    without = Page(render(a_result(pictures=None))).words()
    assert "Where the cards lay" not in without


def test_a_log_that_does_not_verify_is_red_and_names_the_check():
    sample = LogSample("LOG", 0, open=2, failed=1, checks={"seed": 1})
    found = Finding("seed", 7, None, "expected <aa>, found bb")
    result = unreadable(1e-6, ["LOG"], why="LOG does not verify", findings=[found], logs=[sample])
    html = render(result)
    assert '<header class="verdict unreadable">' in html
    text = Page(html).words()
    assert "Nothing was tested: a log does not verify: LOG (seed failed 1 time)." in text
    assert "entry 7: expected <aa>, found bb" in text
    assert "2 open hands" in text
    assert "All tests" not in text


def test_no_text_from_outside_stands_raw_in_the_page() -> None:
    acts = "\x1b\x9b\u202e\n"
    text = render(BatteryResult("insufficient", 0, 0, 1e-6, (), 0, sources=(f"a{acts}b",), notes=(f"c{acts}d",)))
    assert not {*"\x1b\x9b\u202e"} & {*text}
    assert r"c\x1b\x9b\u202e\nd" in text
