"""WITNESS.md section 8, row by row: what an operator can do to a real log, and where it is found and where it is not.

Two real dealers run on copies of one data folder, and so with one key: a fork, a rollback and a theft are all made so.
The witnesses are real too; whoever has a checkpoint may show it to them.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path

import pytest

from audit.logs.folder import FolderLog
from audit.logs.tile_reader import tile_reader
from audit.monitor.follow import Follower
from audit.monitor.memory import Memory
from audit.tlog import note
from audit.tlog.checkpoint import read_checkpoint
from audit.tlog.cosignature import WitnessKey
from audit.tlog.keys import VerifierKey, base64_encode
from audit.tlog.policy import parse
from audit.tlog.proving import consistency_proof
from audit.tlog.witnessed import Demand
from audit.whole import asking
from audit.whole.report import Report
from audit.whole.verify import Options, verify
from audit.witness.store import Store, create
from dealer.v1 import log_pb2
from tests.integration.running import Running, run_tool, running
from tests.integration.witnessing import Reply, ask, inside

NAMES = ("one", "two", "three", "four")


@dataclass
class Logs:
    """What the dealers left: the common beginning, and how two of them went on; data folders too."""

    begun_data: Path
    our_data: Path
    begun: Path
    ours: Path
    theirs: Path
    same_size: Path
    receipt: bytes
    entry: bytes
    key: VerifierKey


def play(dealer: Running, table: str, hands: int) -> None:
    room = dealer.room()
    for _ in range(hands):
        room.void(room.open(table).hand_id)


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Logs:
    base = tmp_path_factory.mktemp("dealers")
    with running(base / "one") as first:
        play(first, "t", 3)
        first.stop()
        for name in ("two", "begun-data"):
            shutil.copytree(base / "one", base / name)
        first.export(base / "begun")
        with running(base / "two") as second:
            first.start()
            play(first, "t", 2)
            play(second, "t", 2)
            same_size = second.export(base / "same-size")
            play(second, "u", 3)
            got = first.room().log.GetReceipt(log_pb2.GetReceiptRequest(index=8))
            ours, theirs = first.export(base / "ours"), second.export(base / "theirs")
            key = VerifierKey.parse(first.verifier_key())
            first.stop()
            data = base / "begun-data", base / "one"
            return Logs(*data, base / "begun", ours, theirs, same_size, got.receipt.encode(), got.entry, key)


@dataclass
class Witnesses:
    """Real witnesses, of which the policy asks for some; they know the log's key."""

    keys: dict[str, WitnessKey]
    ports: dict[str, int]
    log: VerifierKey
    now: list[float]

    def policy(self, needed: int, *names: str) -> bytes:
        lines = [f"witness {n} {self.keys[n]} http://127.0.0.1:{self.ports[n]}" for n in names]
        return "\n".join([f"log {self.log}", *lines, f"group g {needed} {' '.join(names)}", "quorum g", ""]).encode()

    def show(self, log: Path, *names: str) -> list[int]:
        """Shows a log's checkpoint to witnesses as a dealer does, and puts what they sign below it; their answers."""
        data = (log / "checkpoint").read_bytes()
        size = read_checkpoint(note.decode(data)).size
        answers = []
        for name in names:
            answer = ask(self.ports[name], self._request(log, data, size, 0))
            if answer.status == 409 and (held := int(answer.body or size + 1)) <= size:
                answer = ask(self.ports[name], self._request(log, data, size, held))
            answers.append(answer.status)
            self._add(log, answer)
        return answers

    def _request(self, log: Path, data: bytes, size: int, old: int) -> bytes:
        proof = consistency_proof(old, size, tile_reader(FolderLog(log))) if old else ()
        lines = [f"old {old}", *map(base64_encode, proof), "", ""]
        return "\n".join(lines).encode() + data

    @staticmethod
    def _add(log: Path, answer: Reply) -> None:
        if answer.status == 200:
            with (log / "checkpoint").open("a") as file:
                file.write(answer.body)


@pytest.fixture
def witnesses(logs: Logs, tmp_path: Path) -> Iterator[Witnesses]:
    made = Witnesses({}, {}, logs.key, [time.time()])
    with ExitStack() as stack:
        for name in NAMES:
            made.keys[name] = create(tmp_path / name, f"witness.example/{name}")
            store = Store(tmp_path / name)
            store.add_logs([logs.key])
            store.close()
            made.ports[name] = stack.enter_context(inside(tmp_path / name, lambda: made.now[0]))
        yield made


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking, "PUBLISH_SECONDS", 0.0)


def copied(log: Path, to: Path) -> Path:
    shutil.copytree(log, to)
    return to


def judged(
    log: Path, logs: Logs, policy: bytes | None = None, *, ask: bool = False, age: int | None = None, since: bytes = b""
) -> Report:
    demand = Demand(parse(policy), int(time.time()), age) if policy is not None else None
    earlier = (("since", since),) if since else ()
    return verify(FolderLog(log), Options(logs.key, since=earlier, witnesses=demand, ask_witnesses=ask))


def found(report: Report) -> list[str]:
    return [each.check for each in report.findings]


def test_two_trees_for_two_readers(logs: Logs, witnesses: Witnesses, tmp_path: Path) -> None:
    ours, theirs = copied(logs.ours, tmp_path / "ours"), copied(logs.theirs, tmp_path / "theirs")
    # Without witnesses: not found by either reader, and found once they compare; both notes prove it.
    assert [judged(log, logs).exit_code for log in (ours, theirs)] == [0, 0]
    compared = judged(theirs, logs, since=(ours / "checkpoint").read_bytes())
    assert (compared.exit_code, found(compared)) == (1, ["append-only"])
    assert compared.findings[0].whole == tuple((log / "checkpoint").read_text() for log in (ours, theirs))
    # With a quorum: the first cosigned tree wins, and the other one's reader misses the cosignatures.
    three = NAMES[:3]
    policy = witnesses.policy(2, *three)
    assert witnesses.show(ours, *three) == [200] * 3
    assert witnesses.show(theirs, *three) == [422] * 3
    assert judged(ours, logs, policy, ask=True).exit_code == 0
    alone = judged(theirs, logs, policy)
    assert (alone.exit_code, alone.missing) == (3, ("cosignatures: 0 of the 2 that the policy asks",))
    asked = judged(theirs, logs, policy, ask=True)
    assert (asked.exit_code, found(asked)) == (1, ["append-only"] * 3)
    # A fork of the same size is proof by itself, and every witness keeps it.
    assert witnesses.show(copied(logs.same_size, tmp_path / "same"), *three) == [422] * 3
    done = run_tool("audit", "witness", "conflicts", "--data-dir", tmp_path / "one")
    assert done.stdout.startswith("1 proof of a fork, 1 refused for other reasons")


def test_a_log_that_is_rolled_back(logs: Logs, witnesses: Witnesses, tmp_path: Path) -> None:
    ours, begun = copied(logs.ours, tmp_path / "ours"), copied(logs.begun, tmp_path / "begun")
    # Without witnesses: found by who kept a checkpoint, and by a monitor, which keeps all of them.
    assert judged(begun, logs).exit_code == 0
    kept = judged(begun, logs, since=(ours / "checkpoint").read_bytes())
    assert (kept.exit_code, found(kept)) == (1, ["append-only"])
    with closing(Memory(tmp_path / "monitor", logs.key, 1)) as memory:
        codes = []
        for log in (ours, begun, ours):
            codes.append(Follower(FolderLog(log), logs.key, Options(), memory, "").look(1).report.exit_code)
    assert codes == [0, 1, 0]
    # With a quorum: by everybody who asks the witnesses.
    policy = witnesses.policy(2, *NAMES[:3])
    assert witnesses.show(ours, *NAMES[:3]) == [200] * 3
    asked = judged(begun, logs, policy, ask=True)
    assert (asked.exit_code, found(asked)) == (1, ["append-only"] * 3)
    assert "it was rolled back, forked, or has not published in 60 seconds" in asked.findings[0].detail


@pytest.mark.parametrize("why", ["rolled back", "stolen key"])
def test_a_dealer_of_which_witnesses_have_seen_more_does_not_start(
    logs: Logs, witnesses: Witnesses, tmp_path: Path, why: str
) -> None:
    """With its whole data folder put back, what it remembers to have signed last too; or with a thief ahead of it."""
    seen, data = (logs.ours, logs.begun_data) if why == "rolled back" else (logs.theirs, logs.our_data)
    assert witnesses.show(copied(seen, tmp_path / "seen"), *NAMES[:3]) == [200] * 3
    (tmp_path / "policy").write_bytes(witnesses.policy(2, *NAMES[:3]))
    shutil.copytree(data, tmp_path / "data")
    command = ("dealer", "serve", "--data-dir", tmp_path / "data", "--listen", "127.0.0.1:0")
    done = run_tool(*command, "--witness-policy", tmp_path / "policy")
    assert (done.returncode, done.stdout) == (1, "")
    assert "rolled back" in done.stderr
    with running(tmp_path / "data") as dealer:  # who asks nobody is not stopped
        play(dealer, "t", 1)


def test_a_state_of_long_ago(logs: Logs, witnesses: Witnesses, tmp_path: Path) -> None:
    old = copied(logs.begun, tmp_path / "old")
    witnesses.now[0] -= 3 * 3600
    policy = witnesses.policy(2, *NAMES[:3])
    assert witnesses.show(old, *NAMES[:3]) == [200] * 3
    # Without witnesses, and with a quorum whose time nobody looks at: not found.
    assert judged(old, logs).exit_code == 0
    assert judged(old, logs, policy).exit_code == 0
    # With --max-age: its time stands still.
    aged = judged(old, logs, policy, age=3600)
    assert (aged.exit_code, aged.missing) == (3, ("a fresh state: cosigned 3 hours ago",))
    assert judged(old, logs, policy, age=4 * 3600).exit_code == 0


def test_hands_that_are_dealt_and_never_published(logs: Logs, witnesses: Witnesses, tmp_path: Path) -> None:
    shown = copied(logs.begun, tmp_path / "shown")
    three = NAMES[:3]
    policy = witnesses.policy(2, *three)
    assert witnesses.show(shown, *three) == [200] * 3
    # Who only reads the log finds nothing, with a quorum or without.
    assert judged(shown, logs).exit_code == judged(shown, logs, policy, ask=True).exit_code == 0
    # The holder of the receipt does, after the 60 seconds that the log has.
    held = judged(shown, logs, policy, since=logs.receipt)
    assert (held.exit_code, found(held)) == (1, ["append-only"])
    assert held.findings[0].detail == "the log shows 6 entries, since 10: rolled back, or not yet published"
    # And the receipt never gets its cosignatures.
    for name, data in (("receipt", logs.receipt), ("entry", logs.entry), ("policy", policy)):
        (tmp_path / name).write_bytes(data)
    command = ("audit", "receipt", tmp_path / "receipt", "--entry", tmp_path / "entry", "--policy", tmp_path / "policy")
    done = run_tool(*command)
    assert (done.returncode, "cosignatures: 0 of the 2" in done.stdout) == (3, True), done.stdout


@pytest.mark.parametrize("first", ["owner", "thief"])
def test_a_fork_with_a_stolen_key(logs: Logs, witnesses: Witnesses, tmp_path: Path, first: str) -> None:
    """The thief gets no quorum, or the owner is stopped: either way it shows."""
    owner, thief = copied(logs.ours, tmp_path / "ours"), copied(logs.theirs, tmp_path / "theirs")
    three = NAMES[:3]
    policy = witnesses.policy(2, *three)
    assert [judged(log, logs).exit_code for log in (owner, thief)] == [0, 0]  # nobody has compared
    for log, answer in ((owner, 200), (thief, 422)) if first == "owner" else ((thief, 200), (owner, 409)):
        assert witnesses.show(log, *three) == [answer] * 3
    winner, other = (owner, thief) if first == "owner" else (thief, owner)
    assert judged(winner, logs, policy, ask=True).exit_code == 0
    assert judged(other, logs, policy).exit_code == 3
    assert found(judged(other, logs, policy, ask=True)) == ["append-only"] * 3


def test_readers_that_are_split_between_two_halves_of_the_witnesses(
    logs: Logs, witnesses: Witnesses, tmp_path: Path
) -> None:
    ours, theirs = copied(logs.ours, tmp_path / "ours"), copied(logs.theirs, tmp_path / "theirs")
    assert witnesses.show(ours, *NAMES[:2]) == witnesses.show(theirs, *NAMES[2:]) == [200] * 2
    assert witnesses.show(ours, *NAMES[2:]) == [409] * 2
    assert witnesses.show(theirs, *NAMES[:2]) == [422] * 2
    # Two of four: both have a quorum, and their readers find nothing as long as they do not ask the others' half.
    half = witnesses.policy(2, *NAMES)
    assert [judged(log, logs, half).exit_code for log in (ours, theirs)] == [0, 0]
    assert found(judged(ours, logs, half, ask=True)) == ["append-only"] * 2
    # Three of four: any two quorums share a witness, so neither has one.
    more = witnesses.policy(3, *NAMES)
    for log in (ours, theirs):
        assert judged(log, logs, more).missing == ("cosignatures: 2 of the 3 that the policy asks",)
