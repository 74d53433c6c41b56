"""One hand explained, as JSON with a stable schema."""

from __future__ import annotations

import json
from typing import Any

from audit.explain.steps import Explanation
from audit.verdict import EXIT_CODES


def render(told: Explanation, allow_test: bool) -> str:
    """Returns the explanation as text of JSON."""
    replayed, tree = told.outcome.replayed, told.found.checkpoint
    verdict, code = told.judge(allow_test)
    value = {
        **_empty(verdict, told.hand, code),
        "checkpoint": {"origin": tree.origin, "size": tree.size, "root": tree.root.hex()},
        "entries": [
            {"index": index, "kind": kind, "entry": raw.decode("ascii")} for index, kind, raw in told.found.entries
        ],
        "seen_positions": list(replayed.seen()) if replayed is not None else [],
        "notes": told.notes,
        "steps": [
            {
                "title": step.title,
                "function": step.function,
                "parts": [{"label": part.label, "hex": part.data.hex()} for part in step.parts],
                "input": step.preimage.hex(),
                "output": step.output.hex(),
                "stated": None if step.stated is None else step.stated.hex(),
                "holds": step.holds,
            }
            for step in told.steps
        ],
        "checks": told.made,
        "findings": [
            {"check": f.check, "index": f.index, "detail": f.detail, "whole": list(f.whole)} for f in told.findings
        ],
    }
    return json.dumps(value, indent=2)


def render_unreadable(hand: str, why: str) -> str:
    """Returns JSON with an explanation's members for a hand that cannot be explained."""
    return json.dumps({**_empty("unreadable", hand, EXIT_CODES["unreadable"]), "missing": [why]}, indent=2)


def _empty(verdict: str, hand: str, code: int) -> dict[str, Any]:
    lists = ("entries", "seen_positions", "notes", "steps", "checks", "findings", "missing")
    return {"verdict": verdict, "hand": hand, "checkpoint": None, **{name: [] for name in lists}, "exit_code": code}
