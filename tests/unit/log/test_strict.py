"""A hash in base64 decodes from exactly one text."""

import string

import pytest

from dealer.log.strict import decode_base64, decode_hash, encode_base64

ALPHABET = string.ascii_letters + string.digits + "+/"


def test_of_the_last_characters_that_base64_knows_only_those_without_stray_bits_are_taken():
    taken = []
    for last in ALPHABET:
        text = "A" * 42 + last + "="
        try:
            assert encode_base64(decode_hash(text)) == text
            taken.append(last)
        except ValueError:
            with pytest.raises(ValueError, match="not canonical base64"):
                decode_base64(text)
    assert len(taken) == 16


@pytest.mark.parametrize(
    "text", ["", "A" * 43, "A" * 44, "A" * 43 + "==", "A" * 43 + "=\n", "é" + "A" * 42 + "=", "-" * 43 + "="]
)
def test_anything_else_is_no_hash(text):
    with pytest.raises(ValueError, match=r"base64|bytes where a hash has 32"):
        decode_hash(text)
