"""The command `audit` as people call it: exit codes, JSON, text, keys."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from audit.cli import COMMANDS, cli
from tests.attacks.maker import Book, Draft, EscrowPair, Signer, contributors, honest, uuid7

SIGNER = Signer()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return honest().write(tmp_path_factory.mktemp("log"))


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("keys")
    (place / "vkey").write_text(f"{SIGNER.verifier}\n")
    (place / "escrow.key").write_text(f"{EscrowPair().private.hex()}\n")
    return place


def run(*args: object) -> Result:
    result = CliRunner().invoke(cli, [str(arg) for arg in args])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def verify(folder: object, keys: Path, *more: object) -> Result:
    return run("verify", folder, "--key", keys / "vkey", "--escrow-key", keys / "escrow.key", *more)


def test_a_valid_log(folder: Path, keys: Path) -> None:
    result = verify(folder, keys)
    assert result.exit_code == 0
    assert result.stdout.splitlines()[-1].startswith("VALID")
    assert "not made: no earlier checkpoint" in result.stdout
    assert result.stderr == ""


def test_the_key_as_text(folder: Path, keys: Path) -> None:
    assert run("verify", folder, "--key", SIGNER.verifier, "--escrow-key", keys / "escrow.key").exit_code == 0


def test_seats_that_brought_a_key_are_counted_once_for_each_hand(tmp_path: Path, keys: Path) -> None:
    values = contributors("offered", "a")
    book = Book().play(Draft("keyed", values=values, seat_keys=(1, 3)).deal())
    log = (
        book.play(Draft("also", number=2, seat_keys=(2,)).deal()).play(Draft("plain", number=3).deal()).write(tmp_path)
    )
    hands = json.loads(verify(log, keys, "--format", "json").stdout)["hands"]
    assert (hands["with_sealed_seats"], hands["sealed_seats"]) == (2, 3)
    assert "3 seats brought a key, in 2 hands" in verify(log, keys).stdout


def test_json_has_the_members_of_the_contract(folder: Path, keys: Path) -> None:
    value = json.loads(verify(folder, keys, "--format", "json").stdout)
    assert value["verdict"] == "valid"
    ended = {"total": 7, "completed": 5, "void": 2, "lost": 0, "open": 0, "without_contributions": 5}
    assert value["hands"] == {**ended, "with_sealed_seats": 0, "sealed_seats": 0}
    assert value["entries"] == 17
    assert [check["name"] for check in value["checks"]] == [
        "checkpoint",
        "append-only",
        "schema",
        "lifecycle",
        "seed",
        "entropy",
        "deck",
        "opening",
        "dealing",
        "reveal",
        "witness",
    ]
    assert all(set(check) == {"name", "made", "failed"} for check in value["checks"])
    assert (value["findings"], value["missing"]) == ([], [])
    assert value["tables"]["table-1"]["contributors"]["seat-2"] == {
        "invited": 1,
        "withheld": 1,
        "withheld_rate": 1.0,
    }


def _spoiled(tmp_path: Path) -> Path:
    book = honest()
    assert isinstance(book.entries[1], dict)
    book.entries[1]["seed"] = "0" * 128
    return book.write(tmp_path)


@pytest.mark.parametrize("form", ["text", "json"])
def test_the_exit_code_does_not_depend_on_the_format(form: str, folder: Path, keys: Path, tmp_path: Path) -> None:
    test_log = honest(test=True).write(tmp_path / "test")
    cases: list[tuple[list[object], int]] = [
        ([folder, "--key", keys / "vkey", "--escrow-key", keys / "escrow.key"], 0),
        ([_spoiled(tmp_path / "spoiled"), "--key", keys / "vkey"], 1),
        ([folder, "--key", keys / "vkey"], 3),
        ([folder], 3),
        ([tmp_path / "nowhere", "--key", keys / "vkey"], 4),
        ([test_log], 4),
        (
            [
                test_log,
                "--allow-test",
                "--escrow-key",
                keys / "escrow.key",
                "--key",
                Signer("test.invalid/double").verifier,
            ],
            0,
        ),
    ]
    for args, code in cases:
        result = run("verify", *args, "--format", form)
        assert result.exit_code == code, (args, result.output)
        if form == "json":
            json.loads(result.stdout)


def test_a_finding_names_hand_entry_and_both_values(keys: Path, tmp_path: Path) -> None:
    result = verify(_spoiled(tmp_path), keys)
    assert result.exit_code == 1
    assert f"seed  entry 1, hand {uuid7('board')}" in result.stdout
    assert "expected" in result.stdout


def test_wrong_usage(folder: Path, keys: Path, tmp_path: Path) -> None:
    (tmp_path / "bad").write_text("no key\n")
    (tmp_path / "zero").write_text("0" * 64)
    for args in (
        [],
        [folder, "--key", "nonsense"],
        [folder, "--key", tmp_path / "bad"],
        [folder, "--key", f"{SIGNER.verifier}x"],
        [folder, "--escrow-key", tmp_path / "bad"],
        [folder, "--escrow-key", tmp_path / "zero"],
        [folder, "--escrow-key", tmp_path / "absent"],
        [folder, "--since", tmp_path / "absent"],
        [folder, "--jobs", "0"],
        [folder, "--format", "xml"],
        ["ftp://example.org/log"],
        ["grpc://nowhere"],
    ):
        assert run("verify", *args).exit_code == 2, args
    assert "0000" not in run("verify", folder, "--escrow-key", tmp_path / "zero").output


def test_since_files(folder: Path, keys: Path, tmp_path: Path) -> None:
    raws = honest().raws()
    (tmp_path / "old").write_bytes(SIGNER.checkpoint(raws[:3]))
    (tmp_path / "receipt").write_bytes(SIGNER.receipt(raws[:9], 4))
    (tmp_path / "other").write_bytes(SIGNER.checkpoint([b"another"]))
    since = ["--since", tmp_path / "old", "--since", tmp_path / "receipt"]
    assert verify(folder, keys, *since).exit_code == 0
    assert verify(folder, keys, *since, "--since", tmp_path / "other").exit_code == 1
    (tmp_path / "other").write_bytes(b"hello")
    assert verify(folder, keys, "--since", tmp_path / "other").exit_code == 4


def test_verify_never_imports_numpy(folder: Path) -> None:
    code = "import sys; from audit.cli import cli; cli.main(sys.argv[1:], standalone_mode=False)"
    code += "; print('numpy' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code, "verify", str(folder)], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "False"


def test_every_command_loads_and_helps() -> None:
    for name in COMMANDS:
        result = run(name, "--help")
        assert result.exit_code == 0, name
        assert "Usage" in result.stdout


@pytest.mark.parametrize("args", [["verify"], ["verify", "--format", "json"], ["explain"]])
def test_a_reader_that_leaves_is_no_failed_check(args: list[str], folder: Path) -> None:
    where = {"verify": [folder], "explain": [folder, uuid7("board")]}[args[0]]
    command = [sys.executable, "-m", "audit.cli", args[0], *map(str, where), *args[1:]]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as audit:
        assert audit.stdout is not None
        assert audit.stderr is not None
        audit.stdout.close()
        assert audit.stderr.read() == b""
    assert audit.returncode == 141


def test_no_color_is_honoured(folder: Path) -> None:
    env = {"NO_COLOR": "1", "FORCE_COLOR": "1", "PATH": "/usr/bin:/bin", "TERM": "xterm-256color"}
    command = [sys.executable, "-m", "audit.cli", "verify", str(folder)]
    plain = subprocess.run(command, capture_output=True, text=True, env=env, check=False)
    assert plain.returncode == 3
    assert "\x1b[3" not in plain.stdout


@pytest.fixture
def evidence(tmp_path: Path) -> Path:
    raws = honest().raws()
    (tmp_path / "receipt").write_bytes(SIGNER.receipt(raws, 5))
    (tmp_path / "entry").write_bytes(raws[5])
    (tmp_path / "other-entry").write_bytes(raws[6])
    text = f"cutcard/v1/entropy\n{uuid7('offered')}\nseat-1\n{'ab' * 32}\n"
    (tmp_path / "acknowledgement").write_bytes(SIGNER.note(text))
    (tmp_path / "forged").write_bytes(SIGNER.note(text).replace(b"seat-1", b"seat-2"))
    (tmp_path / "junk").write_bytes(b"junk")
    return tmp_path


@pytest.mark.parametrize("form", ["text", "json"])
def test_receipt(form: str, evidence: Path, folder: Path, keys: Path) -> None:
    key = ["--key", keys / "vkey", "--format", form]
    for args, code in (
        (["receipt", "--entry", evidence / "entry", *key], 0),
        (["receipt", "--log", folder, *key], 0),
        (["receipt", "--entry", evidence / "other-entry", *key], 1),
        (["receipt", *key], 3),
        (["receipt", "--entry", evidence / "entry"], 3),
        (["receipt", "--entry", evidence / "entry", "--key", Signer(private=b"x" * 32).verifier], 1),
        (["receipt", "--entry", evidence / "entry", "--log", folder, *key], 2),
        (["acknowledgement", *key], 0),
        (["forged", *key], 1),
        (["junk", *key], 4),
        (["absent", *key], 2),
    ):
        assert run("receipt", evidence / str(args[0]), *args[1:]).exit_code == code, args


def test_tables_stand_in_natural_order_and_quiet_ones_are_counted(tmp_path: Path, keys: Path) -> None:
    drafts = [
        Draft(f"hand {name}", table=name, outcome="completed" if name == "t-1" else "void").deal()
        for name in ("t-10", "t-2", "t-1")
    ]
    folder = honest(hands=drafts).write(tmp_path / "log")
    text = verify(folder, keys).stdout
    assert re.findall(r"^  (t-\d+) ", text, re.MULTILINE) == ["t-2", "t-10"]
    assert "1 more table, 1 hand: all completed" in text
    assert re.findall(r"^  (t-\d+) ", verify(folder, keys, "--tables").stdout, re.MULTILINE) == ["t-1", "t-2", "t-10"]


def test_a_path_that_is_no_log_says_what_it_is(folder: Path, keys: Path, tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    (data / "public").symlink_to(folder)
    for path, what in (
        (data, f"is a data folder: its log is in {data / 'public'}"),
        (folder / "tile", f"it lies in the log {folder}"),
        (keys / "vkey", "is a file, and a log is a folder"),
        (tmp_path / "nowhere", "is not there"),
        (keys, "is no log's folder"),
    ):
        result = verify(path, keys)
        assert (result.exit_code, what in result.stdout) == (4, True), result.stdout
