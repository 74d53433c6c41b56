"""The list of revoked certificates: what is no fingerprint and no serial number is refused, and revokes nothing."""

from pathlib import Path

import pytest

from dealer.service.rpc.certificates import CertificateError, read_revoked

FINGERPRINT = "ab" * 32


def test_fingerprints_and_serial_numbers_are_read_in_the_forms_that_tools_print(tmp_path: Path) -> None:
    listed = tmp_path / "revoked"
    serials = f"0A\n{'f' * 40}  # twenty bytes\n00{'e' * 40}\n"
    listed.write_text(f"# lost\r\n{':'.join(['AB'] * 32)}\r\n\n{serials}")
    found = read_revoked(listed)
    assert found.fingerprints == {FINGERPRINT}
    assert found.serials == {10, int("f" * 40, 16), int("e" * 40, 16)}


@pytest.mark.parametrize("line", [FINGERPRINT[:-1], FINGERPRINT + "0", "f" * 41, "0x1f", "-1", "ab cd", "serial=01"])
def test_a_fingerprint_cut_short_and_other_texts_are_refused_with_their_line(tmp_path: Path, line: str) -> None:
    listed = tmp_path / "revoked"
    listed.write_text(f"01\n{line}\n")
    with pytest.raises(CertificateError, match="line 2"):
        read_revoked(listed)
