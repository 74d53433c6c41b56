"""The battery's answer as JSON with the stable schema of API.md."""

from __future__ import annotations

import json
from dataclasses import asdict
from math import isfinite

from audit.report import subject
from audit.report.subject import Subject
from audit.stats.judging.holm import benjamini_hochberg
from audit.stats.results import BatteryResult, TestResult, ViewResult


def as_json(result: BatteryResult, about: Subject | None = None) -> str:
    """Returns one JSON object, indented; what is no number is null, and no number is rounded."""
    rates = iter(benjamini_hochberg([test.p for test in result.tests if isfinite(test.p)]).tolist())
    return json.dumps(
        {
            "verdict": result.verdict,
            "of": None if about is None else subject.as_json(about),
            "decks": result.decks,
            "cards": result.cards,
            "alpha": result.alpha,
            "looks": result.looks,
            "left_out": {kind: sum(getattr(log, kind) for log in result.logs) for kind in ("open", "lost", "failed")}
            if result.logs
            else None,
            "logs": [asdict(log) for log in result.logs],
            "findings": [
                {"check": each.check, "index": each.index, "hand": each.hand, "detail": each.detail}
                for each in result.findings
            ],
            "missing": list(result.missing),
            "sources": list(result.sources),
            "read_as": result.read_as or None,
            "notes": list(result.notes),
            "strata": {dimension: dict(labels) for dimension, labels in result.strata.items()},
            "sequential": result.sequential,
            "alarm": None
            if result.alarm is None
            else {
                "decks": result.alarm.decks,
                "name": result.alarm.name,
                "kind": result.alarm.kind,
                "value": _number(result.alarm.value),
            },
            "views": [_view(view) for view in result.views],
            "tests": [_test(test, next(rates) if isfinite(test.p) else None) for test in result.tests],
            "detectable": [
                {"name": each.name, "value": _number(each.value), "unit": each.unit, "sentence": each.sentence}
                for each in result.detectable
            ],
        },
        indent=2,
        ensure_ascii=False,
        allow_nan=False,
    )


def _test(test: TestResult, false_discovery_rate: float | None) -> dict[str, object]:
    return {
        "name": test.name,
        "statistic": _number(test.statistic),
        "p": _number(test.p),
        "p_adjusted": _number(test.p_adjusted),
        "decks_used": test.decks_used,
        "needs": test.needs,
        "verdict": test.verdict,
        "family": test.family,
        "sees": test.sees,
        "detail": test.detail,
        "dimension": test.dimension or None,
        "stratum": test.stratum or None,
        "false_discovery_rate": false_discovery_rate,
    }


def _view(view: ViewResult) -> dict[str, object]:
    return {
        "name": view.name,
        "title": view.title,
        "level": view.level,
        "collectively": view.collectively,
        "fair_rooms": view.fair_rooms,
        "tests": [{**asdict(row), "p": _number(row.p), "ours": list(row.ours)} for row in view.rows],
    }


def _number(value: float) -> float | None:
    return float(value) if isfinite(value) else None
