"""Logs that are each right and may not stand side by side: a seed, a hand's id or a deck that two of them share."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from audit.cli import cli
from tests.attacks.maker import Book, Draft, EscrowPair, Signer, drawn

OURS = Signer("a.example/room", drawn("key a", 32))
THEIRS = Signer("b.example/room", drawn("key b", 32))
THIRD = Signer("c.example/room", drawn("key c", 32))


def book(signer: Signer, *drafts: Draft) -> Book:
    whole = Book(signer)
    for draft in drafts:
        whole.play(draft.deal())
    return whole


def written(tmp_path: Path, *books: Book) -> list[str]:
    return [str(each.write(tmp_path / f"log-{at}")) for at, each in enumerate(books)]


def run(*words: object) -> Result:
    return CliRunner().invoke(cli, [str(word) for word in words])


def keys(*signers: Signer) -> list[str]:
    return [word for signer in signers for word in ("--key", str(signer.verifier))]


def report(*words: object) -> dict:
    done = run("verify", *words, "--format", "json", "--jobs", 1)
    value = json.loads(done.output)
    assert value["exit_code"] == done.exit_code
    return value


def test_two_honest_logs_are_valid_each_by_its_own_key_in_any_order(tmp_path):
    logs = written(tmp_path, book(OURS, Draft("one")), book(THEIRS, Draft("two"), Draft("three", number=2)))
    found = report(*logs, *keys(THEIRS, OURS))
    assert found["verdict"] == "valid"
    assert [log["verdict"] for log in found["logs"]] == ["valid", "valid"]
    assert [log["hands"]["total"] for log in found["logs"]] == [1, 2]
    assert [log["log"] for log in found["logs"]] == logs
    assert found["findings"] == []
    assert [log["origin"] for log in found["of"]["logs"]] == [OURS.origin, THEIRS.origin]


@pytest.mark.parametrize("processes", [1, 2])
def test_a_seed_that_two_logs_share_is_a_finding_of_the_later_one(tmp_path, processes):
    ours, theirs = Draft("one"), Draft("two", number=2, seed=drawn("seed one", 64))
    logs = written(tmp_path, book(OURS, ours), book(THEIRS, Draft("before"), theirs))
    done = run("verify", *logs, *keys(OURS, THEIRS), "--format", "json", "--jobs", processes)
    found = json.loads(done.output)
    assert (done.exit_code, found["verdict"]) == (1, "invalid")
    assert [log["verdict"] for log in found["logs"]] == ["valid", "valid"]
    (finding,) = found["findings"]
    assert (finding["log"], finding["check"], finding["index"], finding["hand"]) == (logs[1], "seed", 3, theirs.id)
    assert ours.id in finding["detail"]
    assert logs[0] in finding["detail"]


def test_an_id_that_two_logs_share_is_a_finding_though_one_hand_is_open(tmp_path):
    open_book = Book(THEIRS)
    open_book.add(Draft("one", seed=drawn("another", 64)).commit())
    found = report(*written(tmp_path, book(OURS, Draft("one")), open_book), *keys(OURS, THEIRS))
    assert found["verdict"] == "invalid"
    assert [(each["check"], each["index"]) for each in found["findings"]] == [("seed", 0)]
    assert "this id" in found["findings"][0]["detail"]


def test_a_hand_that_two_logs_share_shares_id_seed_and_deck(tmp_path):
    logs = written(tmp_path, book(OURS, Draft("one")), book(THEIRS, Draft("one")))
    found = report(*logs, *keys(OURS, THEIRS))
    assert sorted(each["detail"].split()[1] for each in found["findings"]) == ["deck", "id", "seed"]


def test_a_sealed_seed_is_found_with_the_escrow_key(tmp_path):
    seed = drawn("seed one", 64)
    logs = written(tmp_path, book(OURS, Draft("one")), book(THEIRS, Draft("two", reveal="sealed", seed=seed)))
    (tmp_path / "escrow").write_text(EscrowPair().private.hex())
    found = report(*logs, *keys(OURS, THEIRS), "--escrow-key", tmp_path / "escrow")
    assert [each["check"] for each in found["findings"]] == ["seed"]
    assert report(*logs, *keys(OURS, THEIRS))["verdict"] == "incomplete"


def test_three_logs_share_one_seed_and_each_later_one_says_so(tmp_path):
    seed = drawn("seed", 64)
    books = [book(signer, Draft(name, seed=seed)) for signer, name in ((OURS, "a"), (THEIRS, "b"), (THIRD, "c"))]
    logs = written(tmp_path, *books)
    found = report(*logs, *keys(OURS, THEIRS, THIRD))
    assert [(each["log"], each["check"]) for each in found["findings"]] == [(logs[1], "seed"), (logs[2], "seed")]


@pytest.mark.parametrize(
    ("second", "code", "verdict"),
    [("lie", 1, "invalid"), ("unsigned", 3, "incomplete"), ("none", 4, "unreadable"), ("test", 4, "test-record")],
)
def test_the_verdict_of_all_is_the_one_that_comes_first(tmp_path, second, code, verdict):
    lie = Draft("two").deal()
    lie.events[0]["cards"][0][2] = "up"
    theirs = {"lie": Book(THEIRS).play(lie), "test": book(Signer("test.invalid/double"), Draft("two", test=True))}
    logs = written(tmp_path, book(OURS, Draft("one")), theirs.get(second, book(THEIRS, Draft("two"))))
    if second == "none":
        (tmp_path / "log-1" / "checkpoint").unlink()
    found = report(*logs, *keys(OURS), *(keys(THEIRS) if second in ("lie", "none") else ()))
    assert (found["verdict"], found["exit_code"], found["logs"][0]["verdict"]) == (verdict, code, "valid")


@pytest.mark.parametrize(
    ("signers", "says"),
    [((OURS, OURS), "two keys of"), ((OURS, THIRD), "none of the logs is"), ((THIRD,), "none of the logs is")],
)
def test_keys_that_do_not_fit_the_logs_are_wrong_usage(tmp_path, signers, says):
    logs = written(tmp_path, book(OURS, Draft("one")), book(THEIRS, Draft("two")))
    done = run("verify", *logs, *keys(*signers))
    assert done.exit_code == 2
    assert says in done.output


def test_two_states_of_one_log_are_wrong_usage_that_names_since(tmp_path):
    logs = written(tmp_path, book(OURS, Draft("one")), book(OURS, Draft("one"), Draft("two", number=2)))
    done = run("verify", *logs, *keys(OURS))
    assert done.exit_code == 2
    assert "--since" in done.output


def test_an_earlier_state_goes_to_the_log_of_its_origin(tmp_path):
    older = book(THEIRS, Draft("two"))
    (tmp_path / "earlier").write_bytes(THEIRS.checkpoint(older.raws()))
    (tmp_path / "fork").write_bytes(THEIRS.checkpoint(book(THEIRS, Draft("x")).raws()))
    logs = written(tmp_path, book(OURS, Draft("one")), older.play(Draft("three", number=2).deal()))
    good = report(*logs, *keys(OURS, THEIRS), "--since", tmp_path / "earlier")
    assert good["verdict"] == "valid"
    made = [next(c["made"] for c in log["checks"] if c["name"] == "append-only") for log in good["logs"]]
    assert made == [0, 1]
    assert report(*logs, *keys(OURS, THEIRS), "--since", tmp_path / "fork")["verdict"] == "invalid"
    (tmp_path / "other").write_bytes(THIRD.checkpoint(older.raws()))
    assert run("verify", *logs, *keys(OURS, THEIRS), "--since", tmp_path / "other").exit_code == 2


def test_the_text_tells_tables_by_log_and_adds_them_when_asked(tmp_path):
    logs = written(tmp_path, book(OURS, Draft("one")), book(THEIRS, Draft("two"), Draft("three", number=2)))
    plain = run("verify", *logs, *keys(OURS, THEIRS))
    assert plain.exit_code == 0
    assert "Tables by name" not in plain.output
    assert plain.output.rstrip().splitlines()[-1].startswith("VALID  2 logs.")
    added = run("verify", *logs, *keys(OURS, THEIRS), "--add-tables")
    assert ["table-1", "2", "3", "3", "0", "0", "0", "0.0", "%"] in [line.split() for line in added.output.splitlines()]
    (row,) = report(*logs, *keys(OURS, THEIRS), "--add-tables")["tables"]
    assert (row["table"], row["logs"], row["hands"], row["void_rate"]) == ("table-1", 2, 3, 0.0)
    assert run("verify", logs[0], "--add-tables").exit_code == 2


def test_statistics_take_a_key_for_each_log_and_refuse_a_shared_seed(tmp_path):
    ours = book(OURS, *(Draft(f"a{n}", number=n) for n in range(1, 13)))
    theirs = book(THEIRS, *(Draft(f"b{n}", number=n) for n in range(1, 12)))
    logs = written(tmp_path, ours, theirs)
    good = run("stats", *logs, *keys(THEIRS, OURS), "--jobs", 1, "--tests", "card x position", "--format", "json")
    assert json.loads(good.output)["decks"] == 23
    assert not any(log["unsigned"] for log in json.loads(good.output)["logs"])
    crooked = written(tmp_path / "x", ours, theirs.play(Draft("b12", number=12, seed=drawn("seed a5", 64)).deal()))
    bad = run("stats", *crooked, *keys(OURS, THEIRS), "--jobs", 1, "--format", "json")
    assert bad.exit_code == 4
    found = json.loads(bad.output)
    assert [each["check"] for each in found["findings"]] == ["seed"]
    rest = run("stats", *crooked, *keys(OURS, THEIRS), "--jobs", 1, "--only-hands-that-pass", "--format", "json")
    assert json.loads(rest.output)["decks"] == 23
    assert json.loads(rest.output)["left_out"]["failed"] == 1
