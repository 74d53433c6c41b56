"""Cosignatures that lie: changed anywhere, of another tree, another witness, another time; and lines of strangers."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from audit.cli import cli
from audit.commands import options
from audit.tlog import note
from audit.tlog.cosignature import CosignatureError, cosigned_at
from audit.tlog.policy import parse
from audit.tlog.witnessed import Demand, check_witnessed
from tests.attacks.cosigning import NOW, ONE, THREE, TWO, Cosigner, policy_text
from tests.attacks.maker import EscrowPair, Signer, drawn, honest

SIGNER = Signer()
RAWS = honest().raws()
NOTE = SIGNER.checkpoint(RAWS)
DEMAND = Demand(parse(policy_text([SIGNER.verifier]).encode()), NOW)


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(options.time, "time", lambda: NOW + 60.5)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return honest().write(tmp_path / "log")


def run(*args: object) -> Result:
    done = CliRunner().invoke(cli, [str(arg) for arg in args])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done


def files(tmp_path: Path, policy: str = policy_text([SIGNER.verifier])) -> list[object]:
    (tmp_path / "policy").write_text(policy)
    (tmp_path / "escrow").write_text(EscrowPair().private.hex())
    return ["--policy", tmp_path / "policy", "--escrow-key", tmp_path / "escrow"]


def test_every_bit_of_a_cosignature_counts() -> None:
    line = ONE.line(NOTE.decode().partition("\n\n")[0] + "\n")
    data = base64.b64decode(line.split()[2])
    for bit in [*range(0, 8 * len(data), 5), *range(32, 96)]:
        changed = bytearray(data)
        changed[bit // 8] ^= 1 << bit % 8
        mutated = note.decode(NOTE + f"\u2014 {ONE.key.name} {base64.b64encode(changed).decode()}\n".encode())
        if bit < 32:
            assert cosigned_at(mutated, ONE.key) is None  # another key's line: a stranger's
        else:
            with pytest.raises(CosignatureError):
                cosigned_at(mutated, ONE.key)


def test_a_replay_onto_another_tree_is_wrong(folder: Path, tmp_path: Path) -> None:
    shorter = ONE.onto(TWO.onto(SIGNER.checkpoint(RAWS[:-1])))
    lines = b"".join(line + b"\n" for line in shorter.splitlines()[-2:])
    (folder / "checkpoint").write_bytes(NOTE + lines)
    done = run("verify", folder, *files(tmp_path))
    assert done.exit_code == 1
    assert "the cosignature of one is wrong" in done.stdout
    assert "FAIL  witness" in done.stdout


def test_what_holds_and_what_is_missing(folder: Path, tmp_path: Path) -> None:
    with_policy = files(tmp_path)
    for lines, more, code, words in (
        ([(ONE, NOW), (THREE, NOW + 9)], [], 0, "2 of 3 (one, three), since 2027-01-15T08:00:00Z"),
        ([(ONE, NOW)], [], 3, "cosignatures: 1 of the 2 that the policy asks"),
        ([(ONE, NOW), (ONE, NOW + 1)], [], 3, "cosignatures: 1 of the 2 that the policy asks"),
        ([(ONE, NOW), (TWO, NOW)], ["--max-age", 60], 0, "2 of 3 (one, two)"),
        ([(ONE, NOW - 11_000), (TWO, NOW)], ["--max-age", 60], 3, "a fresh state: cosigned 3 hours ago"),
        ([(ONE, NOW - 11_000), (TWO, NOW)], [], 0, "since 2027-01-15T04:56:40Z"),
        ([(ONE, NOW + 360), (TWO, NOW + 361)], [], 0, "since 2027-01-15T08:06:00Z"),
        ([(ONE, NOW + 361), (TWO, 2**63 - 1)], [], 3, "a time that can be: cosigned in the future"),
        ([(ONE, 2**63 - 1), (TWO, 2**63 - 1)], [], 3, "a time that can be: cosigned in the future"),
    ):
        signed = NOTE
        for witness, time in lines:
            signed = witness.onto(signed, time)
        (folder / "checkpoint").write_bytes(signed)
        done = run("verify", folder, *with_policy, *more)
        assert (done.exit_code, words in done.stdout) == (code, True), done.stdout
        said = json.loads(run("verify", folder, *with_policy, *more, "--format", "json").stdout)
        assert said["witness"]["holds"] == (code == 0)
        assert said["checks"][-1] == {"name": "witness", "made": 1, "failed": 0}


def test_without_a_policy_or_with_one_that_asks_nothing_it_is_not_made(folder: Path, tmp_path: Path) -> None:
    for policy in (policy_text([SIGNER.verifier]).replace("quorum g", "quorum none"), None):
        given = files(tmp_path, policy) if policy else [*files(tmp_path)[2:], "--key", SIGNER.verifier]
        done = run("verify", folder, *given)
        assert done.exit_code == 0
        assert "witness      not made: no policy that asks for witnesses" in done.stdout
        assert json.loads(run("verify", folder, *given, "--format", "json").stdout)["witness"] is None


def test_the_logs_own_signature_is_needed_whatever_witnesses_say(folder: Path, tmp_path: Path) -> None:
    other = Signer(private=drawn("another", 32))
    (folder / "checkpoint").write_bytes(ONE.onto(TWO.onto(other.checkpoint(RAWS))))
    done = run("verify", folder, *files(tmp_path))
    assert done.exit_code == 1
    assert "FAIL  checkpoint" in done.stdout
    assert "ok    witness" in done.stdout


def test_strangers_lines_change_nothing(folder: Path, tmp_path: Path) -> None:
    strangers = [Cosigner(f"stranger-{number}") for number in range(15)]
    for signed in (NOTE, ONE.onto(NOTE), ONE.onto(TWO.onto(NOTE))):
        before = check_witnessed(note.decode(signed), DEMAND)
        for stranger in strangers:
            signed = stranger.onto(signed, 5)
        big = base64.b64encode(drawn("ml-dsa", 2428)).decode()
        # A stranger's name with a witness's id, a witness's name with a stranger's id, and a signature of another kind.
        signed += f"\u2014 someone {base64.b64encode(ONE.key.key_id + bytes(72)).decode()}\n".encode()
        signed += f"\u2014 {TWO.key.name} {base64.b64encode(b'????' + bytes(72)).decode()}\n".encode()
        signed += f"\u2014 {TWO.key.name} {big}\n".encode() * 30
        assert check_witnessed(note.decode(signed), DEMAND) == before
        assert len(signed) > 100_000


def test_a_policy_of_several_logs_takes_the_one_that_signed(folder: Path, tmp_path: Path) -> None:
    others = [Signer(f"room-{number}.example", drawn(f"room {number}", 32)).verifier for number in range(3)]
    (folder / "checkpoint").write_bytes(ONE.onto(TWO.onto(NOTE)))
    assert run("verify", folder, *files(tmp_path, policy_text([*others, SIGNER.verifier]))).exit_code == 0
    assert run("verify", folder, *files(tmp_path, policy_text(others))).exit_code == 1
    assert run("verify", folder, *files(tmp_path, policy_text([]))).exit_code == 3
    assert run("verify", folder, "--key", SIGNER.verifier, *files(tmp_path, policy_text([]))).exit_code == 0


def test_wrong_usage(folder: Path, tmp_path: Path) -> None:
    policy = files(tmp_path)
    (tmp_path / "any-log").write_text(policy_text([]))
    other = Signer(private=drawn("another", 32)).verifier
    for args in (
        ["--max-age", 5],
        ["--ask-witnesses"],
        [*policy, "--key", other],
        [*policy, "--max-age", 0],
        ["--policy", tmp_path / "absent"],
        ["--policy", tmp_path / "any-log", "--ask-witnesses"],
    ):
        assert run("verify", folder, *args).exit_code == 2, args
    done = run("verify", folder, *files(tmp_path, f"log {SIGNER.verifier}\nwitness none x\n"))
    assert done.exit_code == 2
    assert "line 2 of the policy: `none` is no name" in done.stderr


def test_receipts_with_cosignatures(tmp_path: Path) -> None:
    (tmp_path / "entry").write_bytes(RAWS[5])
    plain = SIGNER.receipt(RAWS, 5)
    for signed, code, words in (
        (ONE.onto(TWO.onto(plain)), 0, "2 of 3 (one, two), since"),
        (ONE.onto(plain), 3, "cosignatures: 1 of the 2"),
        (ONE.onto(TWO.onto(plain)).replace(b"example/one", b"example/two"), 3, "1 of the 2"),
        (plain + ONE.line("another text\n").encode(), 1, "the cosignature of one is wrong"),
    ):
        (tmp_path / "receipt").write_bytes(signed)
        done = run("receipt", tmp_path / "receipt", "--entry", tmp_path / "entry", *files(tmp_path))
        assert (done.exit_code, words in done.stdout) == (code, True), done.stdout
    assert run("receipt", tmp_path / "receipt", "--entry", tmp_path / "entry", "--key", SIGNER.verifier).exit_code == 0
