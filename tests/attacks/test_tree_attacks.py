"""Lies about the log itself: `checkpoint` and `append-only`, and what is missing rather than wrong."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from audit.tlog.keys import VerifierKey, base64_encode, derive_key_id
from tests.attacks.judging import assert_fails, audit, audit_folder
from tests.attacks.maker import Book, Draft, Signer, canonical, drawn, honest, many, root, write_log

SIGNER = Signer()
STRANGER = Signer(private=drawn("a stranger", 32))


@pytest.fixture(scope="module")
def long_book() -> Book:
    return many(150)


def _text(raws: list[bytes], origin: str = SIGNER.origin, size: str | None = None, top: bytes | None = None) -> str:
    return f"{origin}\n{len(raws) if size is None else size}\n{base64_encode(top or root(raws))}\n"


def _resigned(change: Callable[[list[bytes]], str]) -> Callable[[list[bytes]], bytes]:
    return lambda raws: SIGNER.note(change(raws))


CHECKPOINTS: dict[str, Callable[[list[bytes]], bytes]] = {
    "signed by nobody": lambda raws: (_text(raws) + "\n").encode(),
    "signed by a stranger of the same name": lambda raws: STRANGER.checkpoint(raws),
    "signature of another text": lambda raws: SIGNER.checkpoint(raws).replace(
        _text(raws).encode(), _text(raws[:2]).encode()
    ),
    "spoiled by a wrong signature beside the right one": lambda raws: (
        SIGNER.checkpoint(raws) + SIGNER.line("something else").encode()
    ),
    "another origin": _resigned(lambda raws: _text(raws, origin="another.example/log")),
    "another root": _resigned(lambda raws: _text(raws, top=drawn("root", 32))),
    "extension line": _resigned(lambda raws: _text(raws) + "an extension\n"),
    "empty extension line": _resigned(lambda raws: _text(raws) + "\n"),
    "size with a leading zero": _resigned(lambda raws: _text(raws, size=f"0{len(raws)}")),
    "size with a sign": _resigned(lambda raws: _text(raws, size=f"+{len(raws)}")),
    "size in other digits": _resigned(lambda raws: _text(raws, size="١٨")),
    "root of 31 bytes": _resigned(lambda raws: _text(raws, top=drawn("root", 31))),
    "root with a space": _resigned(lambda raws: _text(raws).replace("=\n", "= \n")),
    "no root": _resigned(lambda raws: f"{SIGNER.origin}\n{len(raws)}\n"),
    "carriage returns": lambda raws: SIGNER.checkpoint(raws).replace(b"\n", b"\r\n"),
    "hyphen for the dash": lambda raws: SIGNER.checkpoint(raws).replace("\u2014".encode(), b"-"),
    "no newline at the end": lambda raws: SIGNER.checkpoint(raws)[:-1],
    "not UTF-8": lambda raws: SIGNER.checkpoint(raws) + b"\xff\n",
    "empty": lambda raws: b"",
    "trailing junk": lambda raws: SIGNER.checkpoint(raws) + b"junk\n",
}


@pytest.mark.parametrize("name", CHECKPOINTS)
def test_a_false_checkpoint_fails_checkpoint(name: str, tmp_path: Path) -> None:
    book = honest()
    book.write(tmp_path)
    (tmp_path / "checkpoint").write_bytes(CHECKPOINTS[name](book.raws()))
    assert_fails(audit_folder(tmp_path, key=SIGNER.verifier), "checkpoint")


def test_other_signers_are_passed_over(tmp_path: Path) -> None:
    book = honest()
    book.write(tmp_path)
    text = _text(book.raws())
    witness = Signer("witness.example/w", drawn("witness", 32))
    both = SIGNER.checkpoint(book.raws()) + witness.line(text).encode() + STRANGER.line("another text").encode()
    (tmp_path / "checkpoint").write_bytes(both)
    assert audit_folder(tmp_path, key=SIGNER.verifier).verdict == "valid"


def test_an_origin_that_could_be_taken_for_an_entry(tmp_path: Path) -> None:
    book = Book(Signer("cutcard.example/log")).play(Draft("x").deal())
    assert_fails(audit(book, tmp_path), "checkpoint")


def test_a_signature_with_a_large_s_fails(tmp_path: Path) -> None:
    book = honest()
    book.write(tmp_path)
    order = 2**252 + 27742317777372353535851937790883648493
    head, _, line = SIGNER.checkpoint(book.raws()).decode().rpartition(" ")
    import base64

    raw = base64.b64decode(line)
    large = (int.from_bytes(raw[36:], "little") + order).to_bytes(32, "little")
    (tmp_path / "checkpoint").write_text(f"{head} {base64_encode(raw[:36] + large)}\n")
    report = audit_folder(tmp_path, key=SIGNER.verifier)
    assert_fails(report, "checkpoint")
    assert "group order" in report.findings[0].detail


def _flip(file: Path, at: int = -1) -> None:
    data = bytearray(file.read_bytes())
    data[at] ^= 1
    file.write_bytes(bytes(data))


def test_an_entry_changed_behind_the_checkpoint_names_the_hand(long_book: Book, tmp_path: Path) -> None:
    long_book.write(tmp_path)
    bundle = tmp_path / "tile/entries/000"
    data = bundle.read_bytes()
    at = data.index(b'"seat') if b'"seat' in data else 0
    assert at
    bundle.write_bytes(data.replace(b"12:00:00.000Z", b"12:00:01.000Z", 1))
    report = audit_folder(tmp_path, key=SIGNER.verifier)
    assert_fails(report, "checkpoint")
    leaf = next(found for found in report.findings if found.index is not None)
    assert leaf.index == 0
    assert leaf.hand is not None


@pytest.mark.parametrize("tile", ["0/000", "0/001.p/44", "1/000.p/1"])
def test_a_tile_that_disagrees(tile: str, long_book: Book, tmp_path: Path) -> None:
    long_book.write(tmp_path)
    _flip(tmp_path / "tile" / tile)
    assert_fails(audit_folder(tmp_path, key=SIGNER.verifier), "checkpoint")


@pytest.mark.parametrize("tile", ["0/000", "0/001.p/44", "1/000.p/1", "entries/001.p/44"])
@pytest.mark.parametrize("change", [lambda data: data[:-1], lambda data: data + b"\0", lambda data: b""])
def test_a_tile_or_bundle_that_does_not_decode(
    tile: str, change: Callable[[bytes], bytes], long_book: Book, tmp_path: Path
) -> None:
    long_book.write(tmp_path)
    file = tmp_path / "tile" / tile
    file.write_bytes(change(file.read_bytes()))
    assert_fails(audit_folder(tmp_path, key=SIGNER.verifier), "checkpoint")


@pytest.mark.parametrize("tile", ["0/000", "0/001.p/44", "1/000.p/1"])
def test_a_hash_tile_that_is_not_there_is_incomplete(tile: str, long_book: Book, tmp_path: Path) -> None:
    long_book.write(tmp_path)
    (tmp_path / "tile" / tile).unlink()
    report = audit_folder(tmp_path, key=SIGNER.verifier)
    assert (report.verdict, report.exit_code) == ("incomplete", 3)
    assert tile in report.missing[0]


@pytest.mark.parametrize("bundle", ["entries/000", "entries/001.p/44"])
def test_a_bundle_that_is_not_there_is_unreadable(bundle: str, long_book: Book, tmp_path: Path) -> None:
    long_book.write(tmp_path)
    (tmp_path / "tile" / bundle).unlink()
    report = audit_folder(tmp_path, key=SIGNER.verifier)
    assert (report.verdict, report.exit_code, report.findings) == ("unreadable", 4, ())
    assert bundle in report.missing[0]


def test_a_full_tile_stands_in_for_a_partial_one(tmp_path: Path) -> None:
    longer = many(140)
    at = next(i for i in (200, 202, 204) if longer.raws()[i - 1].find(b"/close") > 0)
    longer.write(tmp_path)
    (tmp_path / "checkpoint").write_bytes(SIGNER.checkpoint(longer.raws()[:at]))
    assert audit_folder(tmp_path, key=SIGNER.verifier).verdict == "valid"


@pytest.mark.parametrize("tile", ["entries/000", "0/000"])
@pytest.mark.parametrize(
    "change", [lambda data: data[:-1], lambda data: data + b"\0", lambda data: data[: len(data) // 2]]
)
def test_what_stands_in_for_a_partial_tile_must_be_whole(
    tile: str, change: Callable[[bytes], bytes], tmp_path: Path
) -> None:
    longer = many(128)
    longer.write(tmp_path)
    (tmp_path / "checkpoint").write_bytes(SIGNER.checkpoint(longer.raws()[:20]))
    file = tmp_path / "tile" / tile
    file.write_bytes(change(file.read_bytes()))
    assert_fails(audit_folder(tmp_path, key=SIGNER.verifier), "checkpoint")


def test_a_missing_checkpoint_is_unreadable(tmp_path: Path) -> None:
    honest().write(tmp_path)
    (tmp_path / "checkpoint").unlink()
    report = audit_folder(tmp_path, key=SIGNER.verifier)
    assert (report.verdict, report.exit_code) == ("unreadable", 4)
    assert not any(check.made for check in report.checks)


def test_nothing_at_all_is_no_success(tmp_path: Path) -> None:
    assert audit_folder(tmp_path / "nowhere", key=SIGNER.verifier).exit_code == 4
    assert audit(Book(), tmp_path / "empty").exit_code == 3


def test_an_empty_log_must_have_the_empty_root(tmp_path: Path) -> None:
    tmp_path.joinpath("checkpoint").write_bytes(SIGNER.note(_text([], top=drawn("root", 32))))
    assert_fails(audit_folder(tmp_path, key=SIGNER.verifier), "checkpoint")


def test_a_size_that_no_log_has_ends_soon(tmp_path: Path) -> None:
    tmp_path.joinpath("checkpoint").write_bytes(SIGNER.note(_text([], size=str(2**60), top=drawn("root", 32))))
    assert audit_folder(tmp_path, key=SIGNER.verifier).exit_code == 4


def test_without_a_key_it_is_incomplete(tmp_path: Path) -> None:
    honest().write(tmp_path)
    report = audit_folder(tmp_path)
    assert (report.verdict, report.exit_code) == ("incomplete", 3)


SIZES = [0, 1, 2, 100, 255, 256, 257, 299, 300]


@pytest.mark.parametrize("size", SIZES)
def test_an_earlier_checkpoint_is_a_prefix(size: int, long_book: Book, tmp_path: Path) -> None:
    earlier = SIGNER.checkpoint(long_book.raws()[:size])
    report = audit(long_book, tmp_path, since=(("old", earlier),))
    assert report.verdict == "valid"
    assert next(check for check in report.checks if check.name == "append-only").made == 1


@pytest.mark.parametrize("size", [1, 100, 256, 257, 300])
def test_an_earlier_checkpoint_of_a_fork(size: int, long_book: Book, tmp_path: Path) -> None:
    fork = [canonical({**long_book.entries[0], "time": "2026-11-29T11:59:59.999Z"}), *long_book.raws()[1:]]  # type: ignore[dict-item]
    report = audit(long_book, tmp_path, since=(("old", SIGNER.checkpoint(fork[:size])),))
    assert_fails(report, "append-only")


def test_a_log_rolled_back(long_book: Book, tmp_path: Path) -> None:
    newer = SIGNER.checkpoint([*long_book.raws(), b"{}"])
    assert_fails(audit(long_book, tmp_path, since=(("new", newer),)), "append-only")


@pytest.mark.parametrize(("size", "index"), [(1, 0), (2, 0), (100, 37), (256, 255), (257, 256), (300, 299)])
def test_an_earlier_receipt(size: int, index: int, long_book: Book, tmp_path: Path) -> None:
    raws = long_book.raws()[:size]
    assert audit(long_book, tmp_path / "a", since=(("r", SIGNER.receipt(raws, index)),)).verdict == "valid"
    if size > 1:
        lines = SIGNER.receipt(raws, index).split(b"\n")
        lines[2] = base64_encode(drawn("sibling", 32)).encode()
        report = audit(long_book, tmp_path / "b", since=(("r", b"\n".join(lines)),))
        assert_fails(report, "append-only")
        assert report.findings[0].index == index


UNREADABLE = {
    "signed by a stranger": STRANGER.checkpoint([b"x"]),
    "not a note": b"hello\n",
    "an acknowledgement": SIGNER.note("cutcard/v1/entropy\nx\ny\nz\n"),
    "a receipt with no proof": b"c2sp.org/tlog-proof@v1\nindex 0\n",
    "a receipt by a stranger": STRANGER.receipt([b"x", b"y"], 1),
    "a receipt with an extra line": SIGNER.receipt([b"x", b"y"], 1).replace(b"index", b"extra AAAA\nindex"),
    "a checkpoint of another origin": SIGNER.note(_text([], origin="another.example/log")),
}


@pytest.mark.parametrize("name", UNREADABLE)
def test_an_earlier_state_that_is_none_is_unreadable(name: str, tmp_path: Path) -> None:
    report = audit(honest(), tmp_path, since=((name, UNREADABLE[name]),))
    assert (report.verdict, report.exit_code) == ("unreadable", 4)


def test_key_ids_and_names_are_checked() -> None:
    text = str(SIGNER.verifier)
    assert VerifierKey.parse(text) == SIGNER.verifier
    name, key_id, encoded = text.split("+", 2)
    from audit.errors import FormatError

    flipped = f"{int(key_id[0], 16) ^ 1:x}{key_id[1:]}"
    small = bytes(32)
    for bad in (
        f"{name}+{flipped}+{encoded}",
        f"{name}+{key_id.upper()}+{encoded}" if key_id.upper() != key_id else f"{name}++{encoded}",
        f"{name} x+{key_id}+{encoded}",
        f"+{key_id}+{encoded}",
        f"{name}+{key_id}",
        f"{name}+{key_id}+{encoded}=",
        f"{name}+{derive_key_id(name, small).hex()}+{base64_encode(bytes([1]) + small)}",
        f"{name}+{key_id}+{base64_encode(bytes([2]) + SIGNER.verifier.public)}",
    ):
        with pytest.raises(FormatError):
            VerifierKey.parse(bad)


def test_a_log_behind_an_earlier_state_is_told_from_a_fork(tmp_path: Path) -> None:
    signer, raws = Signer(), many(20).raws()
    other = [*raws[:3], raws[4], *raws[4:]]
    newer, forked = signer.checkpoint(raws[:30]), signer.checkpoint(other[:20])
    write_log(tmp_path, signer, raws[:20])
    for data, says, whole in (
        (newer, "the log shows 20 entries, FILE 30: rolled back, or not yet published", False),
        (signer.receipt(raws[:30], 2), "the log shows 20 entries, FILE 30: rolled back, or not yet published", False),
        (signer.receipt(other[:30], 3), "FILE 30, and entry 3 is not the receipt's: a fork", True),
        (forked, "a fork, both notes stand below", True),
    ):
        report = audit_folder(tmp_path, key=signer.verifier, since=(("FILE", data),))
        assert_fails(report, "append-only")
        (found,) = report.findings
        assert says in found.detail
        notes = (data.decode().split("\n\n", 1)[1] if data.startswith(b"c2sp") else data.decode(),)
        assert found.whole == ((*notes, (tmp_path / "checkpoint").read_text()) if whole else ())


def test_a_key_of_another_origin_may_be_the_wrong_one(tmp_path: Path) -> None:
    report = audit(honest(), tmp_path, key=Signer("elsewhere.example/room").verifier)
    assert_fails(report, "checkpoint")
    (found,) = report.findings
    assert found.detail.startswith("this may be the wrong key: it is that of elsewhere.example/room")
    assert "no signature by elsewhere.example/room" in found.detail
