"""The result of checking a piece of evidence, as text or as JSON with a stable schema."""

from __future__ import annotations

import json

from rich.console import Console
from rich.text import Text

from audit.evidence.receipt import Evidence

_COLOURS = {"valid": "green", "invalid": "red"}
_MARKS = {"ok": ("ok    ", "green"), "fail": ("FAIL  ", "bold red")}


def print_evidence(evidence: Evidence, verdict: str, out: Console) -> None:
    """Prints the verdict, what the evidence says, and each step."""
    colour = _COLOURS.get(verdict, "yellow")
    out.print(Text.assemble((verdict.upper().replace("-", " "), f"bold {colour}"), f"  {evidence.kind}"))
    out.print()
    for name, value in evidence.facts.items():
        out.print(Text(f"  {name:<12}{value}"))
    out.print()
    for step in evidence.steps:
        mark = _MARKS.get(step.state, ("-     ", "yellow"))
        out.print(Text.assemble("  ", mark, f"{step.name:<15}  {step.detail}"))


def render(evidence: Evidence, verdict: str) -> str:
    """Returns verdict, facts and steps as text of JSON."""
    steps = [{"name": step.name, "state": step.state, "detail": step.detail} for step in evidence.steps]
    return json.dumps({"verdict": verdict, "kind": evidence.kind, "facts": evidence.facts, "steps": steps}, indent=2)
