"""`audit explain`: every hash of one hand, from its cards to the signed root, and nothing that is sealed unasked."""

from __future__ import annotations

import json
import subprocess
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from audit.cli import cli
from tests.attacks.maker import Book, Draft, EscrowPair, Signer, contributors, honest, many, uuid7

SIGNER = Signer()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return honest().write(tmp_path_factory.mktemp("log"))


@pytest.fixture(scope="module")
def escrow(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("keys") / "escrow.key"
    file.write_text(f"{EscrowPair().private.hex()}\n")
    return file


def explain(*args: object) -> Result:
    result = CliRunner().invoke(cli, ["explain", *map(str, args)])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def explained(*args: object, code: int = 0) -> dict[str, Any]:
    result = explain(*args, "--format", "json")
    assert result.exit_code == code, result.output
    value: dict[str, Any] = json.loads(result.stdout)
    assert value["exit_code"] == code
    return value


def test_explained_hashes_are_what_sha256sum_and_openssl_say(folder: Path) -> None:
    steps = explained(folder, uuid7("offered"), "--key", SIGNER.verifier)["steps"]
    assert all(step["holds"] for step in steps)
    assert {
        "Deck commitment",
        "Seed commitment",
        "Entropy digest",
        "Salts",
        "Words of the shuffle",
        "Root above entry 5",
    } <= {step["title"] for step in steps}
    for step in steps:
        assert step["input"] == "".join(part["hex"] for part in step["parts"])
    chosen = [
        step for step in steps if step["title"] in ("Deck commitment", "Seed commitment", "Salts", "Root above entry 5")
    ]
    for step in chosen:
        length = len(step["output"]) // 2
        tool = (
            ["sha256sum"] if step["function"] == "sha256" else ["openssl", "dgst", "-shake256", "-xoflen", str(length)]
        )
        done = subprocess.run(tool, input=bytes.fromhex(step["input"]), capture_output=True, check=True)
        assert step["output"] in done.stdout.decode().replace("\n", "")


def test_what_is_sealed_stays_closed_unless_asked_for(folder: Path, escrow: Path) -> None:
    draft = Draft("sealed", game="seven-card-stud-hi-lo", reveal="sealed", seats=[2, 5, 8, 9])
    seed, salt = draft.seed.hex(), draft.salts[32:64].hex()  # position 1 was never seen
    for args in ([], ["--escrow-key", escrow]):
        output = explain(folder, draft.id, *args).output + explain(folder, draft.id, *args, "--format", "json").output
        assert "sealed" in output
        assert seed not in output
        assert salt not in output
    asked = explain(folder, draft.id, "--escrow-key", escrow, "--show-sealed")
    assert asked.exit_code == 0
    assert seed in asked.output
    assert salt in asked.output
    assert explain(folder, draft.id, "--show-sealed").exit_code == 2


def test_explain_refuses_what_it_cannot_find(folder: Path) -> None:
    assert explain(folder, uuid7("nobody")).exit_code == 4
    assert explain(folder, "no uuid").exit_code == 2


@pytest.mark.parametrize("hand", ["many 0", "many 127", "many 128", "many 149"])
def test_a_key_leads_from_each_entry_to_the_signed_root(hand: str, tmp_path: Path) -> None:
    book = many(150)
    book.write(tmp_path)
    value = explained(tmp_path, uuid7(hand), "--key", SIGNER.verifier)
    assert (value["verdict"], value["checkpoint"]["size"], value["checks"][0]) == ("holds", 300, "checkpoint")
    for entry in value["entries"]:
        steps = [step for step in value["steps"] if f"entry {entry['index']}" in step["title"]]
        for below, above in pairwise(steps):
            assert below["output"] in {part["hex"] for part in above["parts"]}
        assert (steps[-1]["stated"], steps[-1]["holds"]) == (value["checkpoint"]["root"], True)


@pytest.mark.parametrize("size", [0, 1, 255, 256, 257, 300])
def test_an_earlier_state_must_be_a_prefix(size: int, tmp_path: Path) -> None:
    book = many(150)
    book.write(tmp_path)
    raws = book.raws()
    old, fork = tmp_path / "old", tmp_path / "fork"
    old.write_bytes(SIGNER.receipt(raws[:size], size // 2) if size else SIGNER.checkpoint([]))
    fork.write_bytes(SIGNER.checkpoint([*raws[:size], b"another", *raws[size + 1 :]]))
    hand, key = uuid7("many 5"), ["--key", SIGNER.verifier]
    assert "append-only" in explained(tmp_path, hand, *key, "--since", old)["checks"]
    found = explained(tmp_path, hand, *key, "--since", old, "--since", fork, code=1)["findings"]
    assert [each["check"] for each in found] == ["append-only"]
    assert any("was not compared" in text for text in explained(tmp_path, hand, "--since", fork)["notes"])
    fork.write_bytes(Signer(private=b"x" * 32).checkpoint(raws))
    assert explained(tmp_path, hand, *key, "--since", fork, code=4)["verdict"] == "unreadable"


def test_without_a_key_it_says_that_nobody_was_held_to_it(folder: Path) -> None:
    value = explained(folder, uuid7("board"))
    assert value["verdict"] == "holds"
    assert "checkpoint" not in value["checks"]
    assert any("no verifier key was given" in text for text in value["notes"])
    assert not any("Root" in step["title"] for step in value["steps"])
    assert "no verifier key was given" in explain(folder, uuid7("board")).stdout


def test_a_log_of_another_key_fails(folder: Path) -> None:
    stranger = Signer(private=b"x" * 32).verifier
    value = explained(folder, uuid7("board"), "--key", stranger, code=1)
    assert (value["verdict"], [found["check"] for found in value["findings"]]) == ("invalid", ["checkpoint"])
    assert "FAIL  checkpoint" in explain(folder, uuid7("board"), "--key", stranger).stdout


def test_an_entry_that_the_root_is_not_of_fails(tmp_path: Path) -> None:
    honest().write(tmp_path)
    bundle = tmp_path / "tile/entries/000.p/17"
    bundle.write_bytes(bundle.read_bytes().replace(b"12:01:00.000Z", b"12:01:00.001Z", 1))
    value = explained(tmp_path, uuid7("board"), "--key", SIGNER.verifier, code=1)
    assert [found["check"] for found in value["findings"]] == ["checkpoint"]
    assert [step["title"] for step in value["steps"] if not step["holds"]] == [
        "Root above entry 0",
        "Root above entry 1",
    ]
    assert explained(tmp_path, uuid7("board"))["verdict"] == "holds"


def test_a_log_of_one_entry_has_it_for_its_root(tmp_path: Path) -> None:
    book = Book()
    book.add(Draft("x").commit())
    value = explained(book.write(tmp_path), uuid7("x"), "--key", SIGNER.verifier)
    assert value["steps"][0]["stated"] == value["checkpoint"]["root"]
    assert value["steps"][0]["holds"]


def test_a_hand_that_has_only_its_offer(tmp_path: Path) -> None:
    draft = Draft("x", values=contributors("x", "amy"))
    book = Book()
    book.add(draft.offer())
    value = explained(book.write(tmp_path), draft.id, "--key", SIGNER.verifier)
    assert [entry["kind"] for entry in value["entries"]] == ["offer"]
    assert any("only its offer" in text for text in value["notes"])
    assert any("amy is invited" in text for text in value["notes"])
    text = explain(tmp_path, draft.id).stdout
    assert "only its offer" in text
    assert draft.values["amy"].hex() not in text


def test_a_malformed_entry_of_the_hand_fails(tmp_path: Path) -> None:
    draft = Draft("x").deal()
    book = Book()
    book.add({**draft.close(book.add(draft.commit())), "seed": "no hex"})
    value = explained(book.write(tmp_path), draft.id, code=1)
    assert [(found["check"], found["index"]) for found in value["findings"]] == [("schema", 1)]


def test_a_test_record_says_so(tmp_path: Path) -> None:
    honest(test=True).write(tmp_path)
    hand = uuid7("board")
    assert explained(tmp_path, hand, code=4)["verdict"] == "test-record"
    assert explained(tmp_path, hand, "--allow-test")["verdict"] == "test-record"
    assert "a test record" in explain(tmp_path, hand, "--allow-test").stdout


@pytest.mark.parametrize("missing", ["checkpoint", "tile/entries/000.p/17"])
def test_a_log_that_cannot_be_read_is_said_in_either_form(missing: str, tmp_path: Path) -> None:
    honest().write(tmp_path)
    (tmp_path / missing).unlink()
    value = explained(tmp_path, uuid7("board"), code=4)
    assert (value["verdict"], value["hand"], value["entries"]) == ("unreadable", uuid7("board"), [])
    assert value["missing"]
    plain = explain(tmp_path, uuid7("board"))
    assert (plain.exit_code, plain.stdout) == (4, "")
    assert value["missing"][0] in plain.stderr


def test_a_lost_hand_is_explained_as_incomplete(tmp_path: Path) -> None:
    lost = Draft("lost", outcome="lost").deal("third")
    offered = Draft("offered", number=2, values=contributors("offered", "a"))
    book = Book().play(lost)
    book.add(offered.lost(book.add(offered.offer())))
    book.write(tmp_path)
    for draft in (lost, offered):
        told = explained(tmp_path, draft.id, "--key", SIGNER.verifier, code=3)
        assert (told["verdict"], told["findings"]) == ("incomplete", [])
        assert any("was lost" in text for text in told["notes"])
        assert "lost" in explain(tmp_path, draft.id, "--key", SIGNER.verifier).output


def _twice(draft: Draft, kind: str) -> Book:
    book = Book()
    offer = book.add(draft.offer())
    commit = book.add(draft.commit(offer))
    book.add(draft.close(commit))
    for _ in range(300):  # far behind the first close, in another bundle
        book.add(b'{"schema":"cutcard/v9/other"}')
    book.add({"offer": draft.offer(), "commit": draft.commit(offer), "close": draft.close(commit)}[kind])
    return book


@pytest.mark.parametrize("kind", ["offer", "commit", "close"])
@pytest.mark.parametrize("keyed", [True, False], ids=["with a key", "without"])
def test_an_entry_after_the_hand_s_close_is_a_finding(kind: str, keyed: bool, tmp_path: Path) -> None:
    draft = Draft("twice", values=contributors("twice", "a")).deal()
    _twice(draft, kind).write(tmp_path)
    options = ("--key", SIGNER.verifier) if keyed else ()
    told = explained(tmp_path, draft.id, *options, code=1)
    assert {found["check"] for found in told["findings"]} == {"lifecycle"}
    assert {found["index"] for found in told["findings"]} == {303}


def test_a_close_that_names_another_commit_is_a_finding(tmp_path: Path) -> None:
    draft, other = Draft("one").deal(), Draft("two", table="table-2").deal()
    book = Book().play(other)
    book.add(draft.commit())
    book.add(draft.close(0))
    book.write(tmp_path)
    told = explained(tmp_path, draft.id, "--key", SIGNER.verifier, code=1)
    assert {found["check"] for found in told["findings"]} == {"lifecycle"}
