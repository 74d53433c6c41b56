"""The audit of several logs as JSON with a stable schema (API.md, `verify --format json` with several LOGs)."""

from __future__ import annotations

import json
from typing import Any

from audit.report import subject, verify_json
from audit.report.subject import Subject
from audit.whole.several import SeveralReports


def as_json(several: SeveralReports, about: Subject, *, add_tables: bool = False) -> dict[str, Any]:
    """Returns the reports as a value of JSON types; a table is told by its log's origin and its id."""
    added = {"tables": [verify_json.summed(name, rates) for name, rates in several.tables_by_name()]}
    return {
        "verdict": several.verdict,
        "logs": [verify_json.report_members(report) for report in several.logs],
        "findings": [{"log": log, **verify_json.finding(found)} for log, found in several.findings],
        "shared": several.failed,
        **(added if add_tables else {}),
        "exit_code": several.exit_code,
        "of": subject.as_json(about),
    }


def render(several: SeveralReports, about: Subject, *, add_tables: bool = False) -> str:
    """Returns the reports as text of JSON."""
    return json.dumps(as_json(several, about, add_tables=add_tables), indent=2, ensure_ascii=True)
