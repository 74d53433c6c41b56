"""What the statistics say, in words for a regulator and a player alike."""

from __future__ import annotations

from math import isnan, log10

from audit.stats.types import BatteryResult, TestResult

_SMALLEST = 1e-300


def verdict_sentence(result: BatteryResult) -> str:
    """The verdict in one sentence."""
    if not result.decks:
        return "There are no decks here, so nothing can be said of the shuffle."
    decks = "one deck" if result.decks == 1 else f"{result.decks:,} decks"
    if result.verdict == "fail":
        return (
            f"{decks[0].upper()}{decks[1:]} of cards did not come from a fair shuffle: "
            f"where every order is equally likely, at most {odds(result.alpha)} audits sounds this alarm."
        )
    if result.verdict == "insufficient":
        are = "is" if result.decks == 1 else "are"
        return f"{decks[0].upper()}{decks[1:]} of cards {are} too few to say whether the shuffle is fair."
    return f"Nothing in {decks} of cards speaks against a fair shuffle, in which every order is equally likely."


def odds(p: float) -> str:
    """A small chance as `one in a million`."""
    names = {3: "a thousand", 4: "ten thousand", 5: "a hundred thousand", 6: "a million", 9: "a billion"}
    power = -log10(p)
    whole = round(power)
    named = names.get(whole) if abs(power - whole) < 1e-9 else None
    return f"one in {named or f'{1 / p:,.0f}'}"


def p_text(p: float) -> str:
    """A p-value for people: three digits down to 0.001, then a power of ten."""
    if isnan(p):
        return "—"
    if p < _SMALLEST:
        return "below 10⁻³⁰⁰"
    if p >= 0.0995:
        return f"{p:.2f}"
    if p >= 0.000995:
        return f"{p:.2g}"
    mantissa, _, exponent = f"{p:.1e}".partition("e")
    return f"{mantissa}·10{superscript(int(exponent))}"


def superscript(number: int) -> str:
    """The digits of a number raised, as of an exponent."""
    return str(number).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))


def number_text(value: float) -> str:
    """A statistic: whole numbers whole, others with four digits."""
    if isnan(value):
        return "—"
    if value == int(value) and abs(value) < 1e12:
        return f"{int(value):,}"
    return f"{value:,.4g}" if abs(value) < 1e4 else f"{value:,.0f}"


def most_telling(tests: tuple[TestResult, ...], count: int) -> list[TestResult]:
    """The tests with the smallest adjusted p-values, most surprising first; those not made are left out."""
    made = [test for test in tests if not isnan(test.p)]
    return sorted(made, key=lambda test: (test.p_adjusted, test.p))[:count]
