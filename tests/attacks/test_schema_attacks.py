"""Entries out of form fail `schema`: one member, one byte, one encoding at a time."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from audit.record.entries import Offer, Unknown
from audit.record.fields import SchemaError
from audit.record.reading import parse
from tests.attacks.judging import audit, failed
from tests.attacks.maker import Book, Draft, Entry, canonical, contributors, honest


def _entries() -> dict[str, Entry]:
    draft = Draft("x", values=contributors("x", "a", "b"), silent={"b"}).deal(folds={"third": [2]}).show(0)
    sealed = Draft("s", reveal="sealed", values=contributors("s", "a")).deal(folds={"third": [2]}).show(0)
    void = Draft("v", outcome="void")
    return {
        "offer": draft.offer(),
        "commit": draft.commit(0),
        "close": draft.close(1),
        "sealed offer": sealed.offer(),
        "sealed commit": sealed.commit(0),
        "sealed close": sealed.close(1),
        "void": void.close(1),
    }


ENTRIES = _entries()
HEX = "0" * 64
BAD_MEMBERS: dict[str, dict[str, list[Any]]] = {
    "offer": {
        "hand": [
            1,
            None,
            "",
            ENTRIES["offer"]["hand"].upper(),
            ENTRIES["offer"]["hand"].replace("-", ""),
            "018f0000-0000-4000-8000-000000000000",
            "018f0000-0000-7000-c000-000000000000",
            "018f0000-0000-7000-8000-00000000000g",
            "{" + ENTRIES["offer"]["hand"] + "}",
        ],
        "table": ["", "a" * 65, "a b", "a/b", "tisch-ä", 1, None, "a\n"],
        "number": [0, -1, "1", True, 2**53, None, [1]],
        "game": ["", "razz", "Seven-card-stud", None, 1],
        "deck": ["short36", "standard53", None],
        "seats": [[], [1], list(range(1, 10)), [1, 1], [0, 1], [1, 256], [1, True], ["1", "2"], "12", None, {}],
        "reveal": ["Public", "secret", None, "sealed"],
        "seed_commitment": ["", "0" * 63, "0" * 66, "A" * 64, "g" * 64, " " * 64, 0, None],
        "contributors": [
            [],
            [{"contributor": f"c{i}", "commitment": HEX} for i in range(65)],
            [{"contributor": "a", "commitment": HEX}] * 2,
            [{"contributor": "operator.night", "commitment": HEX}],
            [{"contributor": "a"}],
            [{"contributor": "a", "commitment": HEX, "name": "x"}],
            [["a", HEX]],
            None,
        ],
        "time": [
            "2026-11-29T12:00:00Z",
            "2026-11-29T12:00:00.0000Z",
            "2026-11-29T12:00:00.000+00:00",
            "2026-11-29 12:00:00.000Z",
            "2026-02-29T12:00:00.000Z",
            "2026-13-01T12:00:00.000Z",
            "2026-11-31T12:00:00.000Z",
            "2026-11-29T24:00:00.000Z",
            "2026-11-29T12:60:00.000Z",
            "2026-11-29T12:00:60.000Z",
            "0000-11-29T12:00:00.000Z",
            "2026-11-29T12:00:00.000z",
            "2026-11-29T12:00:00,000Z",
            1764417600000,
        ],
        "escrow": [{"key": "0" * 16, "digest": HEX}],
    },
    "sealed offer": {
        "escrow": [None, {}, {"key": "0" * 16}, {"key": "0" * 14, "digest": HEX}, {"key": "0" * 16, "digest": "0"}, []]
    },
    "commit": {
        "offer": [-1, "0", None, True, 2**53],
        "contributions": [None, {}, [{"contributor": "a", "value": "00"}], [{"contributor": "", "value": HEX}], [[]]],
        "withheld": [None, "b", [1], [""], ["operator.x"]],
        "entropy_digest": ["", "0" * 62, None],
        "deck_commitment": ["", "0" * 62, None],
    },
    "close": {
        "commit": [-1, "1", None, False, 2**53],
        "outcome": ["", "finished", None, "void"],
        "reason": ["operator", None],
        "seed": ["", "0" * 126, "A" * 128, None, 0],
        "events": [
            None,
            {},
            [{}],
            ["fold"],
            [{"fold": "1"}],
            [{"fold": True}],
            [{"fold": -1}],
            [{"fold": 1, "seat": 1}],
            [{"deal": "eighth", "cards": []}],
            [{"deal": "third"}],
            [{"cards": [], "deal": 3}],
            [{"deal": "third", "cards": [[0, 1]]}],
            [{"deal": "third", "cards": [[0, 1, "sideways"]]}],
            [{"deal": "third", "cards": [[0, 1, "down", 1]]}],
            [{"deal": "third", "cards": [[True, 1, "down"]]}],
            [{"deal": "third", "cards": ["0d1"]}],
            [{"deal": "third", "cards": [[0, 1, ["down"]]]}],
            [{"draw": None}],
            [{"show": 1}],
            [{"show": ["1"]}],
            [{"show": [-1]}],
            [{"show": [2**53]}],
        ],
        "history": ["", "0" * 62, None],
        "deck": ["2c 3c"],
    },
    "void": {"reason": ["", "boredom", None]},
    "sealed close": {
        "card_commitments": ["", "A", "AA==", "AAA", "AAA=", None, "A" * 43 + "\n", " " + "A" * 43 + "="],
        "escrow": ["", "AAAA", None, {}],
        "openings": [
            None,
            {},
            [[0, "As"]],
            [[0, "10h", HEX]],
            [[0, "As", "0" * 62]],
            [[0, "As", "A" * 64]],
            [["0", "As", HEX]],
            [[True, "As", HEX]],
            [[0, 1, HEX]],
            [[0, "As", None]],
        ],
    },
}

CASES = [
    pytest.param(which, {**ENTRIES[which], member: value}, id=f"{which}-{member}-{n}")
    for which, members in BAD_MEMBERS.items()
    for member, values in members.items()
    for n, value in enumerate(values)
]


@pytest.mark.parametrize(("which", "entry"), CASES)
def test_member_out_of_form(which: str, entry: Entry) -> None:
    parse(canonical(ENTRIES[which]))
    with pytest.raises(SchemaError):
        parse(canonical(entry))


@pytest.mark.parametrize("which", ENTRIES)
def test_every_member_is_known_and_needed(which: str) -> None:
    entry = ENTRIES[which]
    with pytest.raises(SchemaError, match="no member of"):
        parse(canonical({**entry, "note": "x"}))
    # What a close reveals is for `reveal` to judge; everything else that is missing is out of form.
    judged_elsewhere = {"seed", "card_commitments", "openings"} | ({"escrow"} if "close" in which else set())
    for member in entry.keys() - judged_elsewhere - {"offer"}:
        with pytest.raises(SchemaError):
            parse(canonical({name: value for name, value in entry.items() if name != member}))


def _other_encodings(raw: bytes) -> dict[str, bytes]:
    text = raw.decode()
    entry = json.loads(text)
    return {
        "spaces": json.dumps(entry, sort_keys=True).encode(),
        "out of order": json.dumps(dict(reversed(entry.items())), separators=(",", ":")).encode(),
        "newline at the end": raw + b"\n",
        "byte order mark": b"\xef\xbb\xbf" + raw,
        "utf-16": text.encode("utf-16"),
        "escaped letter": text.replace('"offer"', '"\\u006fffer"').replace("cutcard", "\\u0063utcard").encode(),
        "escaped slash": text.replace("/", "\\/").encode(),
        "member twice": text.replace('"number":1', '"number":1,"number":1').encode(),
        "member twice, one hidden": text.replace('"number":1', '"number":2,"number":1').encode(),
        "number with a fraction": text.replace('"number":1', '"number":1.0').encode(),
        "number with an exponent": text.replace('"number":1', '"number":1e0').encode(),
        "leading zero": text.replace('"number":1', '"number":01').encode(),
        "minus zero": text.replace('"number":1', '"number":-0').encode(),
        "NaN": text.replace('"number":1', '"number":NaN').encode(),
        "Infinity": text.replace('"number":1', '"number":Infinity').encode(),
        "huge number": text.replace('"number":1', f'"number":{"9" * 5000}').encode(),
        "lone surrogate": text.replace("table-1", "\\ud800").encode(),
        "broken UTF-8": raw.replace(b"table-1", b"table-\xff"),
        "overlong UTF-8": raw.replace(b"table-1", b"table-\xc0\xb1"),
        "cut off": raw[:-1],
        "comment": raw + b"//",
        "two values": raw + raw,
        "nothing": b"",
        "null": b"null",
        "list": b"[]",
        "text": b'"cutcard/v1/offer"',
        "number": b"1",
        "no schema": b"{}",
        "schema no text": b'{"schema":1}',
        "schema a list": b'{"schema":[]}',
        "deep": b'{"a":' * 5000 + b"1" + b"}" * 5000,
        "deep list": b"[" * 30000 + b"]" * 30000,
        "too long": canonical({**entry, "schema": "cutcard/v9/x", "x": "a" * 65536}),
    }


ENCODINGS = _other_encodings(canonical(ENTRIES["offer"]))


@pytest.mark.parametrize("name", ENCODINGS)
def test_any_other_encoding_is_refused(name: str) -> None:
    assert isinstance(parse(canonical(ENTRIES["offer"])), Offer)
    assert ENCODINGS[name] != canonical(ENTRIES["offer"])
    with pytest.raises(SchemaError):
        parse(ENCODINGS[name])


UNKNOWN = {
    "another version": b'{"schema":"cutcard/v2/commit"}',
    "text of any kind": '{"schema":"x","\u00e4":"\u2028\U0001f0a1"}'.encode(),
    "members in UTF-16 order": '{"schema":"x","\U0001f0a1":1,"\ufb33":2}'.encode(),
    "numbers of any kind": b'{"a":1.5,"b":1e+30,"c":-3,"d":null,"e":true,"schema":"x"}',
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_unknown_schemas_may_hold_anything_canonical(name: str) -> None:
    assert isinstance(parse(UNKNOWN[name]), Unknown)


@pytest.mark.parametrize("raw", [b'{"a":1.50,"schema":"x"}', b'{"schema":"x","a":1}', b'{"a":1,"a":1,"schema":"x"}'])
def test_unknown_schemas_must_be_canonical(raw: bytes) -> None:
    with pytest.raises(SchemaError, match="not canonical"):
        parse(raw)


def _at_the_end(entry: bytes) -> Callable[[Book], None]:
    return lambda book: book.entries.append(entry)


@pytest.mark.parametrize("name", ["spaces", "member twice", "broken UTF-8", "deep", "list", "nothing"])
def test_an_entry_out_of_form_fails_schema_alone(name: str, tmp_path: Path) -> None:
    book = honest()
    _at_the_end(ENCODINGS[name])(book)
    report = audit(book, tmp_path)
    assert failed(report) == {"schema"}
    assert report.exit_code == 1
    assert report.findings[0].index == len(book.entries) - 1


def test_an_entry_out_of_form_takes_no_part(tmp_path: Path) -> None:
    book = honest(hands=[Draft("a").deal()])
    book.entries[1] = {**book.entries[1], "seed": "A" * 128}  # type: ignore[dict-item]
    report = audit(book, tmp_path)
    assert failed(report) == {"schema"}
    assert report.hands.open == 1
    assert not any(check.made for check in report.checks if check.name in ("seed", "deck", "dealing"))
