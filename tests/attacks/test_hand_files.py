"""Hand files: valid ones, and every lie that one can hold found by a named step (API.md, `cutcard-hand/v1`)."""

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

from audit.cli import cli
from audit.errors import FormatError
from audit.evidence import hand_file
from audit.evidence.receipt import Evidence
from audit.hand import seat_hashes
from tests.attacks.judging import ESCROW
from tests.attacks.maker import Book, Draft, EscrowPair, Signer, canonical, contributors, drawn
from tests.attacks.sealing import sealed

SEAT = 2
PRIVATE = drawn("a seat's key", 32)
PUBLIC = X25519PrivateKey.from_private_bytes(PRIVATE).public_key().public_bytes_raw()


def draft(**fields: Any) -> Draft:
    offered = contributors("hand file", "amy", "zed")
    return Draft("hand file", number=3, values=offered, silent={"zed"}, **fields).deal(folds={"fifth": [3]})


def made(hand: Draft, edit: Callable[[dict], Any] | None = None, *, seat: bool = False) -> dict[str, Any]:
    """A hand file of a draft; `edit` changes its entries on the way, as a lying dealer would."""

    def keyed(entry: dict[str, Any]) -> None:
        if seat and "close" not in entry["schema"]:
            entry["seat_keys"] = [[SEAT, seat_hashes.seat_key_digest(hand.hand, SEAT, PUBLIC).hex()]]
        if edit is not None:
            edit(entry)

    book = Book().play(Draft("before").deal()).play(Draft("then", number=2).deal()).play(hand, keyed)
    raws = book.raws()
    at = {entry["schema"].rsplit("/", 1)[1]: n for n, entry in enumerate(book.entries) if entry["hand"] == hand.id}
    content: dict[str, Any] = {"format": "cutcard-hand/v1", "key": str(book.signer.verifier), "hand": hand.id}
    for name, index in at.items():
        receipt = book.signer.receipt(raws, index).decode()
        content[name] = {"entry": base64.b64encode(raws[index]).decode(), "receipt": receipt}
    rows = [row for event in hand.events for row in event.get("cards", []) if row[1] == SEAT]
    content["cards"] = [
        {"position": p, "seat": s, "face": face, "card": hand.dealt[p], "salt": hand.salts[32 * p : 32 * p + 32].hex()}
        for p, s, face in rows
        if not (seat and face == "down")
    ]
    taken = [(name, value) for name, value in hand.values.items() if name not in hand.silent]
    content["acknowledgements"] = [
        book.signer.note(f"cutcard/v1/entropy\n{hand.id}\n{name}\n{value.hex()}\n").decode() for name, value in taken
    ]
    if seat:
        secret = seat_hashes.seat_secret(hand.hand, SEAT, hand.seed)
        info = seat_hashes.seat_envelope_info(hand.hand, SEAT, PUBLIC)
        content |= {"seat": SEAT, "seat_key": PRIVATE.hex()}
        content["envelope"] = base64.b64encode(sealed(secret, PUBLIC, info, drawn("ephemeral", 32))).decode()
        content["sealed"] = [
            {"position": p, "sealed": sealed_card(hand, p, secret)} for p, _, face in rows if face == "down"
        ]
    return content


def sealed_card(hand: Draft, position: int, secret: bytes, at: int | None = None) -> str:
    at = position if at is None else at
    plain = hand.dealt[at].encode() + hand.salts[32 * at : 32 * at + 32]
    commitment = hand.commitments[32 * position : 32 * position + 32]
    key = seat_hashes.seat_card_key(hand.hand, position, secret)
    return base64.b64encode(ChaCha20Poly1305(key).encrypt(bytes(12), plain, commitment)).decode()


def judged(content: dict[str, Any], **options: Any) -> Evidence:
    options = {"key": Signer().verifier, "escrow": ESCROW, **options}
    again = hand_file.decode(json.dumps(content).encode())
    assert again is not None
    return hand_file.check(again, **options)


def failing(evidence: Evidence) -> list[str]:
    return [step.name for step in evidence.steps if step.state == "fail"]


@pytest.mark.parametrize("seat", [False, True])
@pytest.mark.parametrize("reveal", ["public", "sealed"])
def test_an_honest_hand_file_is_valid_whatever_its_number(reveal, seat):
    evidence = judged(made(draft(reveal=reveal), seat=seat))
    assert evidence.judge(False) == ("valid", 0)
    names = [step.name for step in evidence.steps if step.state == "ok"]
    assert {"offer", "commit", "close", "lifecycle", "entropy", "dealing", "reveal", "acknowledgement"} <= set(names)
    assert sum(name.startswith("card ") for name in names) == (4 if seat else 7)
    assert ("envelope" in names) == seat
    assert sum(name.startswith("sealed card ") for name in names) == (3 if seat else 0)
    assert [step.name for step in evidence.steps if step.state == "unmade"] == ["number"]


def test_without_a_key_with_another_or_without_the_close_it_is_incomplete():
    content = made(draft())
    assert judged(content, key=None).judge(False) == ("incomplete", 3)
    assert judged(content, key=Signer(private=drawn("other", 32)).verifier).judge(False) == ("incomplete", 3)
    del content["close"]
    assert judged(content).judge(False) == ("incomplete", 3)


def test_a_test_record_is_never_valid():
    hand = Draft("a test", test=True).deal()
    book = Book(Signer("test.invalid/double")).play(hand)
    content = {"format": "cutcard-hand/v1", "key": str(book.signer.verifier), "hand": hand.id, "cards": []}
    for name, index in (("commit", 0), ("close", 1)):
        raw, receipt = canonical(book.entries[index]), book.signer.receipt(book.raws(), index).decode()
        content[name] = {"entry": base64.b64encode(raw).decode(), "receipt": receipt}
    evidence = judged(content, key=book.signer.verifier)
    assert evidence.judge(False) == ("test-record", 4)
    assert evidence.judge(True) == ("test-record", 0)


def _other_card(content: dict, hand: Draft) -> None:
    content["cards"][0]["card"] = hand.dealt[51]


def _other_salt(content: dict, hand: Draft) -> None:
    content["cards"][0]["salt"] = bytes(32).hex()


def _other_place(content: dict, hand: Draft) -> None:
    content["cards"][0]["seat"] = 1


def _other_face(content: dict, hand: Draft) -> None:
    card = next(card for card in content["cards"] if card["face"] == "up")
    card["face"] = "down"


def _never_dealt(content: dict, hand: Draft) -> None:
    content["cards"].append(
        {"position": 51, "seat": SEAT, "face": "down", "card": hand.dealt[51], "salt": hand.salts[-32:].hex()}
    )


def _other_hand(content: dict, hand: Draft) -> None:
    content["hand"] = Draft("another").id


def _silenced(content: dict, hand: Draft) -> None:
    text = f"cutcard/v1/entropy\n{hand.id}\nzed\n{hand.values['zed'].hex()}\n"
    content["acknowledgements"].append(Signer().note(text).decode())


def _broken_receipt(content: dict, hand: Draft) -> None:
    content["close"]["receipt"] = content["commit"]["receipt"]


@pytest.mark.parametrize(
    ("lie", "step"),
    [
        (_other_card, "card 1"),
        (_other_salt, "card 1"),
        (_other_place, "card 1"),
        (_other_face, "card 7"),
        (_never_dealt, "card 51"),
        (_other_hand, "lifecycle"),
        (_silenced, "acknowledgement"),
        (_broken_receipt, "close"),
    ],
)
@pytest.mark.parametrize("reveal", ["public", "sealed"])
def test_each_lie_in_a_file_fails_by_its_step(lie, step, reveal):
    hand = draft(reveal=reveal)
    content = made(hand)
    lie(content, hand)
    evidence = judged(content)
    assert evidence.judge(False) == ("invalid", 1)
    assert step in failing(evidence)


def _swapped_key(entry: dict) -> None:
    for row in entry.get("seat_keys", []):
        row[1] = drawn("the room's own", 32).hex()


def _dropped_key(entry: dict) -> None:
    entry.pop("seat_keys", None)


@pytest.mark.parametrize("edit", [_swapped_key, _dropped_key])
def test_a_room_that_swaps_or_drops_the_key_is_found(edit):
    evidence = judged(made(draft(), edit, seat=True))
    assert failing(evidence) == ["seat key"]


def test_a_key_dropped_after_the_offer_fails_lifecycle_as_well():
    def edit(entry: dict) -> None:
        if entry["schema"].endswith("commit"):
            del entry["seat_keys"]

    assert failing(judged(made(draft(), edit, seat=True))) == ["lifecycle", "seat key"]


def _other_envelope(content: dict, hand: Draft, secret: bytes) -> None:
    info = seat_hashes.seat_envelope_info(Draft("another").hand, SEAT, PUBLIC)
    content["envelope"] = base64.b64encode(sealed(secret, PUBLIC, info, drawn("e", 32))).decode()


def _other_secret(content: dict, hand: Draft, secret: bytes) -> None:
    info = seat_hashes.seat_envelope_info(hand.hand, SEAT, PUBLIC)
    content["envelope"] = base64.b64encode(sealed(bytes(31) + b"1", PUBLIC, info, drawn("e", 32))).decode()


def _other_position(content: dict, hand: Draft, secret: bytes) -> None:
    content["sealed"][0]["sealed"] = sealed_card(hand, content["sealed"][1]["position"], secret)


def _card_of_another_position(content: dict, hand: Draft, secret: bytes) -> None:
    content["sealed"][0]["sealed"] = sealed_card(hand, content["sealed"][0]["position"], secret, at=40)


def _cut(content: dict, hand: Draft, secret: bytes) -> None:
    content["sealed"][0]["sealed"] = base64.b64encode(bytes(7)).decode()


@pytest.mark.parametrize(
    ("lie", "step"),
    [
        (_other_envelope, "envelope"),
        (_other_secret, "envelope"),
        (_other_position, "sealed card 1"),
        (_card_of_another_position, "sealed card 1"),
        (_cut, "sealed card 1"),
    ],
)
def test_what_does_not_open_or_holds_another_card_is_found(lie, step):
    hand = draft()
    content = made(hand, seat=True)
    lie(content, hand, seat_hashes.seat_secret(hand.hand, SEAT, hand.seed))
    assert step in failing(judged(content))


def _bad_forms() -> list[tuple[str, Callable[[dict], Any]]]:
    return [
        ("unknown", lambda c: c.update(more=1)),
        ("no key", lambda c: c.pop("key")),
        ("no hand", lambda c: c.pop("hand")),
        ("no commit", lambda c: c.pop("commit")),
        ("entry more", lambda c: c["commit"].update(more=1)),
        ("card more", lambda c: c["cards"][0].update(more=1)),
        ("card less", lambda c: c["cards"][0].pop("salt")),
        ("position", lambda c: c["cards"][0].update(position=64)),
        ("boolean", lambda c: c["cards"][0].update(position=True)),
        ("cards", lambda c: c.update(cards={})),
        ("base64", lambda c: c["close"].update(entry="!")),
        ("seat alone", lambda c: c.update(seat=1)),
        ("envelope alone", lambda c: c.update(envelope="AA==")),
        ("key form", lambda c: c.update(seat=1, seat_key="AB" * 32)),
        ("zero key", lambda c: c.update(seat=2, seat_key="00" * 32)),
    ]


@pytest.mark.parametrize(("name", "edit"), _bad_forms(), ids=[name for name, _ in _bad_forms()])
def test_a_file_out_of_form_is_unreadable(name, edit):
    content = made(draft(), seat=name == "zero key")
    edit(content)
    with pytest.raises(FormatError):
        judged(content)


def test_a_member_that_stands_twice_and_a_file_too_long_are_refused():
    text = json.dumps(made(draft()))
    with pytest.raises(FormatError, match="twice"):
        hand_file.decode(text.replace('"format":', '"format": "cutcard-hand/v1", "format":', 1).encode())
    with pytest.raises(FormatError, match="longer"):
        hand_file.decode(text.encode() + b" " * hand_file.MOST_BYTES)


def test_audit_hand_writes_what_audit_receipt_reads(tmp_path: Path):
    book = Book().play(Draft("one").deal()).play(Draft("two", number=2, reveal="sealed").deal().show(0, 3))
    book.add(Draft("three", number=3).commit())
    log, key = book.write(tmp_path / "log"), str(book.signer.verifier)
    (tmp_path / "escrow").write_text(EscrowPair().private.hex())
    escrow = ["--escrow-key", str(tmp_path / "escrow")]
    for label, code in (("one", 0), ("two", 0), ("three", 3)):
        out = tmp_path / f"{label}.json"
        done = CliRunner().invoke(cli, ["hand", str(log), Draft(label).id, "--key", key, "--out", str(out), *escrow])
        assert done.exit_code == code, done.output
        assert CliRunner().invoke(cli, ["receipt", str(out), "--key", key, *escrow]).exit_code == code
        again = CliRunner().invoke(cli, ["hand", str(log), Draft(label).id, "--key", key, "--out", str(out)])
        assert again.exit_code == 2
    assert CliRunner().invoke(cli, ["receipt", str(tmp_path / "two.json"), "--key", key]).exit_code == 3
    none = CliRunner().invoke(cli, ["hand", str(log), Draft("four").id, "--key", key, "--out", str(tmp_path / "four")])
    assert none.exit_code == 4
    assert not (tmp_path / "four").exists()


def test_explain_names_the_seat_of_a_key_and_opens_its_cards_with_the_hand_file(tmp_path: Path):
    hand = draft(reveal="sealed")
    content = made(hand, seat=True)

    def keyed(entry: dict[str, Any]) -> None:
        if "close" not in entry["schema"]:
            entry["seat_keys"] = [[SEAT, seat_hashes.seat_key_digest(hand.hand, SEAT, PUBLIC).hex()]]

    log = (
        Book().play(Draft("before").deal()).play(Draft("then", number=2).deal()).play(hand, keyed).write(tmp_path / "l")
    )
    (tmp_path / "hand.json").write_text(json.dumps(content))
    (tmp_path / "seat").write_text(PRIVATE.hex() + "\n")
    (tmp_path / "other").write_text(drawn("another seat's key", 32).hex())
    words = ["explain", str(log), hand.id, "--format", "json"]
    keys = ["--seat-key", str(tmp_path / "seat"), "--seat-key", str(tmp_path / "other")]
    told = json.loads(CliRunner().invoke(cli, [*words, *keys]).output)
    digest = next(step for step in told["steps"] if step["title"] == f"Digest of seat {SEAT}'s key")
    assert digest["holds"]
    assert any("is no seat's of this hand" in each for each in told["notes"])
    assert not any("Card commitment 1:" in step["title"] for step in told["steps"])
    told = json.loads(CliRunner().invoke(cli, [*words, "--hand-file", str(tmp_path / "hand.json")]).output)
    opened = [step for step in told["steps"] if step["title"].startswith("Card commitment 1:")]
    assert [(step["title"], step["holds"]) for step in opened] == [(f"Card commitment 1: {hand.dealt[1]}", True)]
    assert PRIVATE.hex() not in json.dumps(told)
    wrong = CliRunner().invoke(
        cli, ["explain", str(log), Draft("before").id, "--hand-file", str(tmp_path / "hand.json")]
    )
    assert wrong.exit_code == 2
