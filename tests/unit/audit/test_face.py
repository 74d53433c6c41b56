"""What other programs may build on: `import audit`, and no module below it."""

from __future__ import annotations

from pathlib import Path

import pytest

import audit
from tests.attacks.maker import Signer, honest


def test_a_log_is_verified_by_the_public_face_alone(tmp_path: Path) -> None:
    key = audit.VerifierKey.parse(str(Signer().verifier))
    report = audit.verify(audit.open_log(str(honest().write(tmp_path))), audit.Options(key))
    assert isinstance(report, audit.Report)
    assert (report.verdict, report.findings) == ("incomplete", ())
    assert "no escrow key was given" in report.missing[0]


def test_every_name_of_the_face_is_there_and_no_other() -> None:
    assert all(getattr(audit, name) is not None for name in audit.__all__)
    with pytest.raises(AttributeError, match="nothing"):
        audit.nothing  # noqa: B018
