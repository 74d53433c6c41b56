"""What the statistics say, in words for a regulator and a player alike."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import isnan, log10

from audit.plural import counted, raised
from audit.stats.results import BatteryResult, LogSample, ViewResult

ASK_VERIFY = (
    "Whoever makes a log would choose the sample, so decks of a log that does not verify are not tested. `audit "
    "verify` names every finding; `--only-hands-that-pass` tests the hands that no finding names, and says how many "
    "are left out."
)

_SMALLEST = 1e-300


def verdict_sentence(result: BatteryResult) -> str:
    """Returns the verdict in one sentence; after it, what of a log that does not verify was passed over, and why."""
    return " ".join([_shuffle_sentence(result), *_caveats(result.logs)])


def _shuffle_sentence(result: BatteryResult) -> str:
    if result.verdict == "unreadable":
        names = [f"{log.name} ({_failed(log)})" for log in result.logs if log.checks]
        why = f"a log does not verify: {', '.join(names)}" if names else "; ".join(result.missing)
        return f"Nothing was tested: {why}."
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


def _caveats(logs: Sequence[LogSample]) -> Iterator[str]:
    """Yields what a reader must know of the sample before anything else, if decks of a log were tested."""
    for log in logs:
        if log.counted and log.checks:
            hands = counted(log.failed, "hand was", "hands were")
            yield f"{hands} left out of {log.name}, which does not verify: {_failed(log)}."
        if log.counted and log.unsigned:
            yield f"Who signed {log.name} was not checked, as no verifier key was given."


def _failed(log: LogSample) -> str:
    return ", ".join(f"{name} failed {counted(times, 'time')}" for name, times in log.checks.items())


def what_is_left_out(log: LogSample) -> str:
    """Lists the hands of a log that are not among the decks, by kind; nothing if all are."""
    kinds = (
        (log.failed, "hand that a finding names", "hands that a finding names"),
        (log.open, "open hand", "open hands"),
        (log.lost, "lost hand", "lost hands"),
        (log.unknown, "closed hand whose deck is sealed", "closed hands whose decks are sealed"),
        (log.of_other_decks, "hand with another deck kind", "hands with another deck kind"),
    )
    parts = [counted(number, one, many) for number, one, many in kinds if number]
    return f"Not among the decks, of {log.name}: {', '.join(parts)}." if parts else ""


def odds(p: float) -> str:
    """Returns a small chance as `one in a million`."""
    names = {3: "a thousand", 4: "ten thousand", 5: "a hundred thousand", 6: "a million", 9: "a billion"}
    power = -log10(p)
    whole = round(power)
    named = names.get(whole) if abs(power - whole) < 1e-9 else None
    return f"one in {named or f'{1 / p:,.0f}'}"


def view_sentence(view: ViewResult) -> str:
    """Says what a laboratory would say, and how often it would say so of a fair room."""
    made = [row for row in view.rows if row.verdict != "insufficient"]
    failed = [row.name for row in made if row.verdict == "fail"]
    level = f"{100 * (1 - view.level):g} % {'collectively' if view.collectively else 'each'}"
    said = f"{len(failed)} of {len(made)} fail: {', '.join(failed)}" if failed else f"none of {len(made)} fails"
    return (
        f"{view.title}, at {level}: {said}. Of fair rooms {100 * view.fair_rooms:.2g} % fail at least one, "
        "so this decides nothing here"
    )


def p_text(p: float) -> str:
    """Formats a p-value for people: three digits down to 0.001, then a power of ten."""
    if isnan(p):
        return "—"
    if p < _SMALLEST:
        return "below 10⁻³⁰⁰"
    if p >= 0.0995:
        return f"{p:.2f}"
    if p >= 0.000995:
        return f"{p:.2g}"
    mantissa, _, exponent = f"{p:.1e}".partition("e")
    return f"{mantissa}·10{raised(str(int(exponent)))}"


def number_text(value: float) -> str:
    """Formats a statistic: whole numbers whole, others with four digits."""
    if isnan(value):
        return "—"
    if value == int(value) and abs(value) < 1e12:
        return f"{int(value):,}"
    return f"{value:,.4g}" if abs(value) < 1e4 else f"{value:,.0f}"
