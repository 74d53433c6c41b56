"""The report's pictures: SVG by matplotlib, made to sit in a page that is light or dark.

Every colour is one of `INKS`; in the finished SVG each is replaced by a variable of the page's style sheet, so that one
picture serves both schemes and paper.
"""

from __future__ import annotations

import base64
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.image import imsave
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullLocator
from numpy.typing import NDArray
from scipy.stats import beta

from audit.outside import shown
from audit.plural import raised
from audit.stats.cards.names import card_name, rank_name
from audit.stats.results import Bars, TestResult

INKS = {"#010101": "ink", "#020202": "faint", "#030303": "good", "#040404": "bad", "#050505": "few", "#060606": "many"}
"""Stand-in colours, and the style sheet's variables that take their place."""
INK, FAINT, GOOD, BAD, FEW, MANY = INKS

_FEW_RGB, _MANY_RGB = (46, 125, 209), (216, 84, 47)
"""Cells with too few and too many cards; transparent where all is as expected, which suits any background."""

REMS_AN_INCH = 6.4
"""How large an inch of a drawing is on the page."""

DEEPEST = 30.0
"""P-values below 10^-30 are drawn there."""

Floats = NDArray[np.float64]


_ALL_MARKS = 250
_POSITION = "position in the deck (0 is the top, dealt first)"


@dataclass(frozen=True)
class Point:
    """One test in the p-value plot: -log10 of its p-value, where a uniform one of its rank lies, its verdict."""

    rank: int
    expected: float
    found: float
    fails: bool


def depth(p: float, deepest: float = DEEPEST) -> float:
    """Returns -log10 of a p-value, at most `deepest`."""
    return deepest if p <= 10**-deepest else -float(np.log10(p))


def limit_of(z: Floats) -> float:
    """Returns the standard deviation at which a heat map's colour is full: 4 to 8, by what there is to show."""
    return float(np.clip(np.ceil(np.abs(z).max(initial=0.0)), 4, 8))


def _pixels(z: Floats, limit: float) -> NDArray[np.uint8]:
    strength = np.clip(np.abs(z) / limit, 0, 1) ** 1.2
    pixels = np.empty((*z.shape, 4), dtype=np.uint8)
    pixels[..., :3] = np.where(z[..., None] < 0, _FEW_RGB, _MANY_RGB)
    pixels[..., 3] = np.rint(255 * strength)
    return pixels


def picture_address(z: Floats, limit: float) -> str:
    """Returns a matrix of standard deviations as a tiny PNG, one pixel a cell, in a `data:` address."""
    stream = io.BytesIO()
    imsave(stream, _pixels(z, limit), format="png", metadata={"Software": ""})
    return "data:image/png;base64," + base64.b64encode(stream.getvalue()).decode()


def _figure(width: float, height: float) -> tuple[Figure, Axes]:
    figure = Figure(figsize=(width, height), layout="constrained")
    figure.patch.set_alpha(0)
    axes = figure.add_subplot()
    axes.patch.set_alpha(0)
    axes.tick_params(colors=INK, labelsize=8, length=3)
    for side in axes.spines.values():
        side.set_color(FAINT)
    axes.xaxis.label.set_color(INK)
    axes.yaxis.label.set_color(INK)
    return figure, axes


def _svg(figure: Figure, title: str) -> str:
    """Returns the figure as an `<svg>` element with the page's colours and fonts, named for those who cannot see it."""
    stream = io.StringIO()
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": title, "svg.image_inline": True}):
        FigureCanvasSVG(figure).print_svg(  # type: ignore[no-untyped-call]
            stream, metadata={"Date": None, "Creator": None}
        )
    text = stream.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    for stand_in, name in INKS.items():
        text = text.replace(stand_in, f"var(--{name})")
    text = re.sub(r"font: ([0-9.]+px) [^;\"]*", r"font-size: \1", text)
    # Text comes out in one size if each picture is as wide on the page as it was drawn.
    width = f'style="max-width: {figure.get_figwidth() * REMS_AN_INCH:.1f}rem"'
    text = re.sub(r' (?:width|height)="[0-9.]+pt"', "", text, count=2)
    text = text.replace(' xmlns:xlink="http://www.w3.org/1999/xlink"', "").replace("xlink:href", "href")
    text = re.sub(r' xmlns="[^"]*"| version="1.1"', "", text, count=2)
    return text.replace("<svg", f'<svg {width} role="img" aria-label="{escape(title)}"', 1)


def heat_map(z: Floats, limit: float, what: str = "card") -> str:
    """Draws cards or ranks (rows) by positions (columns) in standard deviations.

    Args:
        z: shape (n, n) for cards, (n / 4, n) for ranks.
        limit: the standard deviation at which colour is full.
        what: `card` or `rank`.
    """
    rows, n = z.shape
    ranks = rows < n
    figure, axes = _figure(7.4, 2.6 if ranks else 7.0)
    axes.imshow(_pixels(z, limit), interpolation="none", aspect="auto", extent=(-0.5, n - 0.5, rows - 0.5, -0.5))
    axes.xaxis.set_major_locator(FixedLocator([*range(0, n, 5)]))
    axes.set_xlabel(_POSITION)
    step = 1 if ranks else 4 if n % 4 == 0 else 5
    name = rank_name if ranks else card_name
    axes.yaxis.set_major_locator(FixedLocator([*range(0, rows, step)]))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: name(int(value), n)))
    if not ranks:
        for row in range(step, rows, step):
            axes.axhline(row - 0.5, color=FAINT, linewidth=0.4)
    return _svg(figure, f"Heat map: how often each {what} lay at each position, in standard deviations")


def scale_bar(limit: float) -> str:
    """Draws the heat maps' scale."""
    figure, axes = _figure(4.2, 0.62)
    ramp = np.linspace(-limit, limit, 256)[None, :]
    axes.imshow(_pixels(ramp, limit), interpolation="none", aspect="auto", extent=(-limit, limit, 0, 1))
    axes.yaxis.set_major_locator(NullLocator())
    axes.xaxis.set_major_locator(FixedLocator([-limit, -limit / 2, 0, limit / 2, limit]))
    axes.set_xlabel("standard deviations: too rarely … too often", fontsize=8)
    return _svg(figure, "Scale of the heat map")


def p_points(tests: Sequence[TestResult]) -> list[Point]:
    """Returns the tests made, most surprising first, each with its place if all p-values were uniform.

    Of very many the least surprising are thinned out: their marks would lie on each other.
    """
    made = sorted((test for test in tests if not np.isnan(test.p)), key=lambda test: test.p)
    ranks = np.arange(min(len(made), _ALL_MARKS))
    if len(made) > _ALL_MARKS:
        rest = np.geomspace(_ALL_MARKS, len(made) - 1, _ALL_MARKS)
        ranks = np.unique(np.concatenate([ranks, np.rint(rest).astype(int)]))
    return [
        Point(int(rank), -float(np.log10((rank + 0.5) / len(made))), depth(made[rank].p), made[rank].verdict == "fail")
        for rank in ranks.tolist()
    ]


def p_plot(tests: Sequence[TestResult], alpha: float) -> str:
    """Draws p-values against uniform ones, as -log10, with the band that holds 99 % of uniform ones at each rank."""
    points = p_points(tests)
    count = sum(not np.isnan(test.p) for test in tests)
    figure, axes = _figure(6.2, 4.0)
    ranks = np.array([point.rank + 1 for point in points])
    expected = [point.expected for point in points]
    low, high = (-np.log10(beta.ppf(q, ranks, count + 1 - ranks)) for q in (0.995, 0.005))
    axes.fill_between(expected, low, high, color=FAINT, alpha=0.35, linewidth=0)
    axes.plot([0, expected[0]], [0, expected[0]], color=FAINT, linewidth=1)
    bound = -np.log10(alpha / count)
    deepest = max(point.found for point in points)
    if bound < 2.5 * max(deepest, 3):
        axes.axhline(bound, color=BAD, linewidth=1, linestyle=(0, (4, 3)))
        axes.annotate("alarm, about", (0, bound), (2, 3), textcoords="offset points", color=BAD, fontsize=8)
    for fails, colour, mark in ((False, GOOD, "o"), (True, BAD, "D")):
        chosen = [point for point in points if point.fails == fails]
        axes.plot(
            [point.expected for point in chosen],
            [point.found for point in chosen],
            mark,
            color=colour,
            markersize=4 if fails else 3,
            markeredgewidth=0,
        )
    axes.set_xlim(-0.02 * expected[0], expected[0] * 1.04)
    axes.set_ylim(bottom=-0.02 * deepest)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(MaxNLocator(integer=True, nbins=7))
        axis.set_major_formatter(FuncFormatter(_one_in))
    axes.set_xlabel("a fair shuffle's test of this rank: one in …")
    axes.set_ylabel("this test: one in …")
    return _svg(figure, "P-values of all tests against those of a fair shuffle")


def _one_in(decades: float, _: int) -> str:
    """Returns 10^decades as a person writes it, for a tick."""
    if decades < 0 or decades != int(decades):
        return ""
    return f"{10 ** int(decades):,}" if decades < 4 else f"10{raised(str(int(decades)))}"


def bars(tests: Sequence[TestResult], alpha: float) -> str:
    """Draws how surprising the worst tests are, adjusted for all looks: a bar each, and where the alarm is.

    Args:
        tests: the tests, most surprising first.
        alpha: an adjusted p-value below this is an alarm.
    """
    figure, axes = _figure(7.4, 0.5 + 0.28 * len(tests))
    for row, test in enumerate(tests):
        axes.barh(
            row, max(depth(test.p_adjusted, 300), 0.03), height=0.62, color=BAD if test.verdict == "fail" else GOOD
        )
    axes.yaxis.set_major_locator(FixedLocator([*range(len(tests))]))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: _shortened(tests[int(value)].name)))
    alarm = -float(np.log10(alpha))
    axes.axvline(alarm, color=BAD, linewidth=1, linestyle=(0, (4, 3)))
    axes.annotate("alarm", (alarm, -0.5), (0, 3), textcoords="offset points", color=BAD, fontsize=8, ha="center")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=7))
    axes.xaxis.set_major_formatter(FuncFormatter(_one_in))
    axes.set_xlim(0, 1.15 * max(alarm, *(depth(test.p_adjusted, 300) for test in tests)))
    axes.set_ylim(len(tests) - 0.5, -0.5)
    axes.set_xlabel("a fair shuffle does this once in … (all looks paid)")
    return _svg(figure, "How surprising the worst tests are")


def _shortened(name: str, length: int = 62) -> str:
    """Shortens a test's name to a label; escapes dollars, as text between two of them would be a formula."""
    name = shown(name)
    name = name if len(name) <= length else name[: length - 1] + "…"
    return name.replace("$", r"\$")


def profile(z: Floats, card: int) -> str:
    """Draws one card's way through the positions of the deck, in standard deviations.

    Args:
        z: cards by positions.
        card: which of them.
    """
    n = len(z)
    return _deviations(z[card], _POSITION, None, 0, f"Where {card_name(card, n)} lies too often and too rarely")


def comparison(bars: Bars) -> str:
    """Draws what a test compared: counts beside the expected ones, or deviations if all are expected alike."""
    title = f"{bars.axis}: found and expected"
    if np.ndim(bars.chance) == 0:
        mean = bars.draws * float(bars.chance)
        z = (bars.found - mean) / np.sqrt(mean * (1 - float(bars.chance)))
        return _deviations(z, bars.axis, bars.labels, bars.lowest, title)
    expected = bars.draws * np.asarray(bars.chance, dtype=np.float64)
    drawn = np.flatnonzero((expected >= _WORTH_SHOWING) | (bars.found > 0))
    first, last = int(drawn[0]), int(drawn[-1]) + 1
    values = np.arange(first, last) + bars.lowest
    figure, axes = _figure(6.2, 2.2)
    axes.bar(values, bars.found[first:last], width=0.8, color=FEW)
    spread = 3 * np.sqrt(expected * (1 - bars.chance))[first:last]
    low = np.minimum(spread, expected[first:last])
    axes.errorbar(values, expected[first:last], yerr=(low, spread), fmt="_", color=INK, markersize=8, linewidth=0.8)
    _name_values(axes, bars.labels, bars.lowest, values)
    axes.set_xlabel(bars.axis)
    axes.set_ylabel("decks", fontsize=8)
    return _svg(figure, title)


_WORTH_SHOWING = 0.05
"""Values that are expected less often than this and never came are cut off at the ends."""


def _deviations(z: Floats, axis: str, labels: Sequence[str] | None, lowest: int, title: str) -> str:
    figure, axes = _figure(6.2, 2.2)
    values = np.arange(len(z)) + lowest
    axes.axhspan(-3, 3, color=FAINT, alpha=0.25, linewidth=0)
    axes.bar(values, z, color=[MANY if value > 0 else FEW for value in z], width=0.8)
    axes.axhline(0, color=INK, linewidth=0.6)
    axes.set_xlim(lowest - 0.8, lowest + len(z) - 0.2)
    _name_values(axes, labels, lowest, values)
    axes.set_xlabel(axis)
    axes.set_ylabel("standard deviations", fontsize=8)
    return _svg(figure, title)


def _name_values(axes: Axes, labels: Sequence[str] | None, lowest: int, values: NDArray[np.int64]) -> None:
    """Labels the ticks: the values' names, slanted if they are long, or whole numbers."""
    if labels is None:
        axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=14))
        return
    names = labels
    axes.xaxis.set_major_locator(FixedLocator([*values.tolist()]))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: names[int(value) - lowest]))
    if max(map(len, names)) * len(values) > 60:
        axes.tick_params(axis="x", labelrotation=35)
        for label in axes.get_xticklabels():
            label.set_horizontalalignment("right")
