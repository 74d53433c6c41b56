"""An audit's report as JSON with a stable schema (API.md, `verify --format json`)."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from audit.findings import Finding
from audit.report import subject
from audit.report.subject import Subject
from audit.tlog.ends import End
from audit.tlog.witnessed import Witnessed, time_text
from audit.whole.rates import SeatVoids, TableRates
from audit.whole.report import Report
from audit.whole.several import TableSums


def as_json(report: Report, about: Subject) -> dict[str, Any]:
    """Returns the report as a value of JSON types."""
    return {**report_members(report), "of": subject.as_json(about)}


def finding(found: Finding) -> dict[str, Any]:
    """Returns one finding as a value of JSON types."""
    members = {"check": found.check, "index": found.index, "hand": found.hand, "detail": found.detail}
    return {**members, "whole": list(found.whole)} if found.whole else members


def report_members(report: Report) -> dict[str, Any]:
    """Returns a report without what the whole is about."""
    return {
        "verdict": report.verdict,
        "hands": asdict(report.hands),
        "entries": report.entries,
        "checks": [asdict(check) for check in report.checks],
        "findings": [finding(found) for found in report.findings],
        "missing": list(report.missing),
        "tables": {name: _table(rates) for name, rates in report.tables.items()},
        "lost": [asdict(hand) for hand in report.lost],
        "log": report.address,
        "checkpoint": None
        if report.checkpoint is None
        else {
            "origin": report.checkpoint.origin,
            "size": report.checkpoint.size,
            "root": report.checkpoint.root.hex(),
        },
        "witness": None if report.witnessed is None else _witness(report.witnessed),
        "ends": [_end(end) for end in report.ends],
        "exit_code": report.exit_code,
    }


def _end(end: End) -> dict[str, Any]:
    return {"kind": end.kind, "key": str(end.other), "size": end.final.size, "root": end.final.root.hex()}


def _witness(witnessed: Witnessed) -> dict[str, Any]:
    return {
        "holds": witnessed.holds,
        "witnesses": list(witnessed.names),
        "of": witnessed.of,
        "since": None if witnessed.since is None else time_text(witnessed.since),
        "time": witnessed.since,
    }


def _table(rates: TableRates) -> dict[str, Any]:
    life = rates.life
    return {
        "hands": life.hands,
        "completed": life.completed,
        "void": rates.void,
        "lost": life.lost,
        "open": rates.open,
        "void_rate": round(rates.void_rate, 6),
        "void_reasons": dict(sorted(life.void.items())),
        "without_contributions": life.without_contributions,
        "contributors": {
            name: {"invited": invited, "withheld": withheld, "withheld_rate": round(withheld / invited, 6)}
            for name, (invited, withheld) in rates.contributors.items()
        },
        "voids_and_deck": [_seat(row) for row in rates.voids],
    }


def summed(name: str, sums: TableSums) -> dict[str, Any]:
    """Returns the sums over the tables of one name as a value of JSON types."""
    return {"table": name, **asdict(sums), "void_rate": round(sums.void_rate, 6)}


def _seat(row: SeatVoids) -> dict[str, Any]:
    return {
        "seat": row.seat,
        "void_hands": row.hands,
        "best": row.best,
        "best_expected": round(row.expected, 3),
        "statistic": row.statistic,
        "p": row.p,
        "p_adjusted": row.p_adjusted,
        "notable": row.notable,
    }


def render(report: Report, about: Subject) -> str:
    """Returns the report as text of JSON."""
    return json.dumps(as_json(report, about), indent=2, ensure_ascii=True)
