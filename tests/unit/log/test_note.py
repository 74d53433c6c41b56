"""Signed notes: what is signed verifies, and nothing else does."""

import base64
from hashlib import sha256

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given, settings
from hypothesis import strategies as st

from dealer.log.errors import NoteError
from dealer.log.note import NoteSigner, NoteVerifier, is_key_name

KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
SIGNER = NoteSigner("log.example/room", KEY)
VERIFIER = NoteVerifier.parse(SIGNER.verifier_key)
OTHER = NoteSigner("witness.example", Ed25519PrivateKey.from_private_bytes(bytes(32)))
TEXT = "first line\n\nafter an empty line\n"
NOTE = SIGNER.sign(TEXT)


def signature_line(note: str) -> str:
    return note.rpartition("\n\n")[2]


def resigned(data: bytes, name: str = SIGNER.name) -> str:
    return f"{TEXT}\n\u2014 {name} {base64.b64encode(data).decode()}\n"


def test_a_note_is_the_text_an_empty_line_and_a_signature_line() -> None:
    public_key = KEY.public_key().public_bytes_raw()
    key_id = sha256(b"log.example/room\n\x01" + public_key).digest()[:4]
    signature = base64.b64encode(key_id + KEY.sign(TEXT.encode())).decode()
    assert SIGNER.sign(TEXT) == f"{TEXT}\n\u2014 log.example/room {signature}\n"
    assert SIGNER.key_id == VERIFIER.key_id == key_id
    encoded = base64.b64encode(b"\x01" + public_key).decode()
    assert SIGNER.verifier_key == f"log.example/room+{key_id.hex()}+{encoded}"


def test_verify_gives_the_text_split_at_the_last_empty_line() -> None:
    assert VERIFIER.verify(NOTE) == TEXT


def test_signatures_by_unknown_keys_are_passed_over() -> None:
    witnessed = OTHER.sign(TEXT)
    namesake = NoteSigner(SIGNER.name, Ed25519PrivateKey.generate()).sign(TEXT)
    for other in (witnessed, namesake):
        assert VERIFIER.verify(NOTE + signature_line(other)) == TEXT
        assert VERIFIER.verify(other + signature_line(NOTE)) == TEXT
        with pytest.raises(NoteError, match=r"not signed by log\.example/room"):
            VERIFIER.verify(other)


def test_a_wrong_signature_of_this_key_spoils_the_note_even_beside_a_right_one() -> None:
    wrong = resigned(SIGNER.key_id + KEY.sign(b"another text\n"))
    for note in (wrong, NOTE + signature_line(wrong), wrong + signature_line(NOTE)):
        with pytest.raises(NoteError, match=r"signature by .* is wrong"):
            VERIFIER.verify(note)


@settings(deadline=None)
@given(st.data())
def test_no_changed_character_of_a_note_is_taken(data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(NOTE) - 1))
    letter = data.draw(st.characters(codec="utf-8").filter(lambda other: other != NOTE[place]))
    with pytest.raises(NoteError):
        VERIFIER.verify(NOTE[:place] + letter + NOTE[place + 1 :])


@pytest.mark.parametrize(
    "note",
    [
        "",
        "\n",
        TEXT,
        NOTE[:-1],
        NOTE + "\n",
        NOTE.replace("\n\u2014", "\u2014"),
        NOTE.replace("\u2014", "-"),
        NOTE.replace("\u2014 ", "\u2014  "),
        NOTE + "\u2014 name\n",
        NOTE + "\u2014 na+me AAAAAAAA\n",
        NOTE + "\u2014 name AAAA\n",
        NOTE + "\u2014 name AAAAAAB=\n",
        NOTE + "\u2014 name AAAAAAA\n",
        NOTE + "a line that is no signature\n",
        NOTE.replace("first", "fi\trst"),
        NOTE.replace("first", "fi\udcffrst"),
        NOTE.replace("\n", "\r\n"),
    ],
)
def test_what_is_no_signed_note_is_refused(note: str) -> None:
    with pytest.raises(NoteError):
        VERIFIER.verify(note)


@pytest.mark.parametrize("text", ["", "no newline", "tab\t\n", "return\r\n", "lone \ud800\n", "nul\0\n"])
def test_only_a_text_that_a_note_can_hold_is_signed(text: str) -> None:
    with pytest.raises(NoteError, match="text of a signed note"):
        SIGNER.sign(text)


@settings(deadline=None)
@given(st.text(st.characters(codec="utf-8", exclude_categories=["Cc"]) | st.just("\n")))
def test_every_other_text_comes_back_whole(text: str) -> None:
    assert VERIFIER.verify(SIGNER.sign(text + "\n")) == text + "\n"


@pytest.mark.parametrize("name", ["", "a b", "a+b", "a\nb", "a\u00a0b", "a\u2003b", "a\tb", "a\x01b", "a\ud800"])
def test_a_key_name_has_no_space_plus_or_control(name: str) -> None:
    assert not is_key_name(name)
    with pytest.raises(NoteError, match="no key name"):
        NoteSigner(name, KEY)
    with pytest.raises(NoteError, match="no key name"):
        NoteVerifier(name, KEY.public_key())


def test_a_key_name_may_be_any_other_text() -> None:
    assert all(is_key_name(name) for name in ("room", "golden.example/room", "s\u00e4le.example/\u5ba4", "a-b_c:1"))


def altered_keys() -> dict[str, str]:
    name, key_id, encoded = SIGNER.verifier_key.split("+", 2)
    data = base64.b64decode(encoded)

    def text(key: bytes, *, algorithm: bytes = b"\x01") -> str:
        stated = sha256(name.encode() + b"\n" + algorithm + key).digest()[:4].hex()
        return f"{name}+{stated}+{base64.b64encode(algorithm + key).decode()}"

    return {
        "another id": f"{name}+{'0' * 8}+{encoded}",
        "an upper-case id": f"{name}+{key_id.upper()}+{encoded}",
        "a short id": f"{name}+{key_id[:-1]}+{encoded}",
        "another name": f"x{SIGNER.verifier_key}",
        "no name": f"+{key_id}+{encoded}",
        "no key": f"{name}+{key_id}",
        "stray padding": f"{name}+{key_id}+{encoded}====",
        "a cut key": f"{name}+{key_id}+{encoded[:-1]}",
        "a space within": f"{name}+{key_id}+{encoded[:20]} {encoded[20:]}",
        "a newline": SIGNER.verifier_key + "\n",
        "a short key": text(data[1:-1]),
        "a long key": text(data[1:] + b"\x00"),
        "another algorithm": text(data[1:], algorithm=b"\x02"),
        "an all-zero key": text(bytes(32)),
        "the identity": text(b"\x01" + bytes(31)),
        "a key off the curve": text(b"\x02" + bytes(31)),
        "a key not reduced": text(b"\xf0" + b"\xff" * 30 + b"\x7f"),
        "nothing": "",
    }


@pytest.mark.parametrize("what", altered_keys())
def test_a_verifier_key_is_taken_in_its_one_form_alone(what: str) -> None:
    with pytest.raises(NoteError, match="verifier key"):
        NoteVerifier.parse(altered_keys()[what])


def test_a_small_order_key_is_refused_before_any_signature_is_looked_at() -> None:
    with pytest.raises(NoteError, match="small order"):
        NoteVerifier.parse(altered_keys()["the identity"])


def test_neither_repr_shows_the_private_key() -> None:
    assert repr(SIGNER) == f"NoteSigner({SIGNER.verifier_key!r})"
    assert KEY.private_bytes_raw().hex() not in repr(SIGNER) + repr(VERIFIER)
    assert repr(VERIFIER) == f"NoteVerifier('log.example/room', {SIGNER.key_id.hex()})"


def test_a_note_ends_in_a_newline_and_a_signature_of_one_byte_is_one_that_nobody_knows() -> None:
    with pytest.raises(NoteError, match="signature lines that end in newlines"):
        VERIFIER.verify(NOTE[:-1])
    short = base64.b64encode(b"abcd" + b"s").decode()
    assert VERIFIER.verify(f"{NOTE}\u2014 somebody.example {short}\n") == TEXT
    with pytest.raises(NoteError, match=r"signature by somebody\.example is too short"):
        VERIFIER.verify(f"{NOTE}\u2014 somebody.example {base64.b64encode(b'abcd').decode()}\n")
    with pytest.raises(NoteError, match=r"signature by somebody\.example does not decode"):
        VERIFIER.verify(f"{NOTE}\u2014 somebody.example ====\n")
