"""Public keys and signatures that a strict reader of RFC 8032 refuses, beside those that it takes."""

from __future__ import annotations

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from audit.commands.options import key_text
from audit.errors import CheckError, FormatError
from audit.hand.escrow_keys import read_keys
from audit.tlog.ed25519 import check_point, check_signature
from tests.attacks.maker import EscrowPair, drawn

FIELD = 2**255 - 19
ORDER = 2**252 + 27742317777372353535851937790883648493

# The eight points whose order divides 8: y is 1, -1, 0 (twice), or one of two of order 8 (each with both signs).
EIGHTH = 0x7A03AC9277FDC74EC6CC392CFA53202A0F67100D760B3CBA4FD84D3D706A17C7
SMALL = [
    value.to_bytes(32, "little")
    for value in (1, FIELD - 1, 0, 1 << 255, EIGHTH, EIGHTH | 1 << 255, FIELD - EIGHTH, FIELD - EIGHTH | 1 << 255)
]


@pytest.mark.parametrize("point", SMALL, ids=bytes.hex)
def test_small_order_is_refused(point: bytes) -> None:
    with pytest.raises(FormatError, match="small order"):
        check_point(point)


@pytest.mark.parametrize("value", [FIELD, FIELD + 1, FIELD + 3, 2**255 - 1, 1 | 1 << 255, 2])
def test_what_is_no_canonical_point_is_refused(value: int) -> None:
    with pytest.raises(FormatError, match="no canonical point"):
        check_point(value.to_bytes(32, "little"))


@pytest.mark.parametrize("number", range(20))
def test_real_keys_and_signatures_are_taken(number: int) -> None:
    private = Ed25519PrivateKey.from_private_bytes(drawn(f"key {number}", 32))
    public = private.public_key().public_bytes_raw()
    check_point(public)
    check_signature(public, private.sign(b"text"), b"text")
    with pytest.raises(CheckError, match="does not verify"):
        check_signature(public, private.sign(b"text"), b"another text")


def test_a_signature_has_one_form() -> None:
    private = Ed25519PrivateKey.from_private_bytes(drawn("key", 32))
    public, signature = private.public_key().public_bytes_raw(), private.sign(b"text")
    scalar = int.from_bytes(signature[32:], "little")
    with pytest.raises(CheckError, match="group order"):
        check_signature(public, signature[:32] + (scalar + ORDER).to_bytes(32, "little"), b"text")
    with pytest.raises(CheckError, match="no proper point"):
        check_signature(public, SMALL[0] + signature[32:], b"text")
    with pytest.raises(CheckError, match="63 bytes"):
        check_signature(public, signature[:-1], b"text")


@pytest.mark.parametrize(
    "text", ["", "0" * 64, "1" * 63, "1" * 66, "A" * 64, "g" * 64, " " + "1" * 64, "1" * 64 + "\n\n", "0x" + "1" * 62]
)
def test_escrow_keys_have_one_form(text: str) -> None:
    with pytest.raises(FormatError) as caught:
        read_keys([text])
    assert text not in str(caught.value) or not text


def test_an_escrow_key_is_never_printed() -> None:
    keys = read_keys([EscrowPair().private.hex() + "\n"])
    assert EscrowPair().private.hex() not in repr(keys)
    assert repr(EscrowPair().private) not in repr(keys)


def test_an_escrow_key_says_what_it_is() -> None:
    private = EscrowPair().private.hex()
    assert read_keys([f"cutcard-escrow-private-v1 {private}\n"]).by_id == read_keys([private]).by_id
    with pytest.raises(FormatError, match="public half") as caught:
        read_keys([f"cutcard-escrow-public-v1 {EscrowPair().public.hex()}\n"])
    assert EscrowPair().public.hex() not in str(caught.value)


def test_a_key_file_may_begin_with_a_byte_order_mark() -> None:
    assert key_text(b"\xef\xbb\xbfkey\n") == "key\n"
    with pytest.raises(FormatError, match="UTF-8"):
        key_text("key".encode("utf-16"))
