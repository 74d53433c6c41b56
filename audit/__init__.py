"""Audits a certified dealer: its log, its decks, and their randomness. Trusts nobody.

`open_log`, `verify`, `Options` and `Report` are what other programs may build on; everything below is free to move:

    report = audit.verify(audit.open_log("https://log.example.com"), audit.Options(key))
    report.verdict, report.findings
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from audit.logs import open_log
    from audit.tlog.keys import VerifierKey
    from audit.whole.report import Report
    from audit.whole.verify import Options, verify

__all__ = ["Options", "Report", "VerifierKey", "open_log", "verify"]

_PLACES = {
    "Options": "audit.whole.verify",
    "Report": "audit.whole.report",
    "VerifierKey": "audit.tlog.keys",
    "open_log": "audit.logs",
    "verify": "audit.whole.verify",
}


def __getattr__(name: str) -> object:
    """Imports a name of the public face when it is asked for: `audit --help` has no need of all that lies below."""
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_PLACES[name]), name)
