"""`audit monitor`: what a log does over time, and what is said of it, once."""

from __future__ import annotations

import json
import os
import pickle
import re
import signal
import sqlite3
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from audit.cli import cli
from audit.errors import InputError
from audit.logs.log import Log
from audit.monitor import alarms
from audit.monitor import memory as remembered
from audit.monitor.follow import Follower, Looked, proven_root
from audit.monitor.memory import FILE, Memory
from audit.monitor.pickled import packed, unpacked
from audit.monitor.recent import Recent
from audit.tlog.checkpoint import check_checkpoint
from audit.tlog.keys import base64_encode
from audit.tlog.policy import Policy, parse
from audit.tlog.witnessed import Demand
from audit.whole import asking
from audit.whole import verify as whole
from audit.whole.verify import Options
from audit.witness.store import Store, create
from tests.attacks.cosigning import NOW, ONE, THREE, TWO, policy_text
from tests.attacks.judging import ESCROW, MemoryLog
from tests.attacks.maker import Book, Draft, EscrowPair, Signer, contributors, drawn, honest, log_files, write_log
from tests.integration.cosigning_room import make_log, make_witness, write_policy
from tests.integration.cosigning_room import witness as served_witness
from tests.integration.running import run_tool, running
from tests.integration.test_watched_by_operators import free_port
from tests.integration.witnessing import ask, inside, quick_folder, request

SIGNER = Signer()
RAWS = honest().raws()
KEYS = ",".join(each.hex() for each in ESCROW.by_id)
FORK = [*RAWS[:5], b"another", *RAWS[6:]]


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is waited for, and a stretch is one bundle."""
    monkeypatch.setattr(asking, "PUBLISH_SECONDS", 0.0)
    monkeypatch.setattr(whole, "BUNDLES", 1)
    monkeypatch.setattr(whole, "STRETCH", 256)


def small_hands(count: int) -> list[bytes]:
    """Many hands that were lost, two entries each: what is quick to check."""
    book = Book(SIGNER)
    for number in range(count):
        draft = Draft(f"{number}", number=number + 1, values=contributors(f"{number}", "a"))
        book.add(draft.lost(book.add(draft.offer())))
    return book.raws()


class Watched:
    """A log that changes, and its monitor, which is started anew for each look."""

    def __init__(self, folder: Path, policy: Policy | None = None, max_age: int | None = None) -> None:
        self.folder, self.max_age = folder, max_age
        self.files: dict[str, bytes] = {}
        self.options = Options(escrow=ESCROW)
        self.basis = "1"
        self.log = MemoryLog(self.files)
        if policy is not None:
            demand = Demand(policy, NOW, max_age)
            self.options = Options(escrow=ESCROW, witnesses=demand, ask_witnesses=True)

    def look(self, raws: list[bytes] | None = None, now: int = NOW) -> Looked:
        if raws is not None:
            self.files.update(log_files(SIGNER, raws))
        with closing(Memory(self.folder, SIGNER.verifier, now)) as memory:
            looked = Follower(self.log, SIGNER.verifier, self.options, memory, self.basis).look(now)
            alarms.take(looked, memory, now, self.max_age)
            return looked

    def done(self) -> int:
        """How far the course that is kept has come."""
        with closing(Memory(self.folder, SIGNER.verifier, NOW)) as memory, memory.course("1 " + KEYS) as course:
            return course.tree.done

    def said(self) -> list[str]:
        """What there is to say since it was asked last, in short."""
        with closing(Memory(self.folder, SIGNER.verifier, NOW)) as memory:
            news = memory.news()
            for each in news:
                memory.told(each.number)
        said = [each.said for each in news]
        return [" ".join(str(each[m]) for m in ("alarm", "kind", "check") if each[m] is not None) for each in said]


@pytest.mark.parametrize(
    ("first", "last"),
    [(0, 60), pytest.param(0, 100, marks=pytest.mark.soak), pytest.param(100, 200, marks=pytest.mark.soak)],
)
def test_a_monitor_finds_what_verify_finds_wherever_it_is_killed(first: int, last: int) -> None:
    """Histories: honest, forked, rolled back, mutated, damaged; with open hands, and seeds that come again."""
    with quick_folder() as base:
        command = [sys.executable, "-m", "tests.integration.monitor_histories", str(base)]
        done = subprocess.run([*command, str(first), str(last)], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()[-3000:]
    said = json.loads(done.stdout)
    happened = ("honest", "mutated", "forked", "rolled back", "damaged", "missing", "incomplete", "unreadable", "seed")
    assert min(said[each] for each in happened) > 0.08 * (last - first), said
    assert min(said["kills"], said["invalid"]) > 0.8 * (last - first), said


def test_a_log_that_is_read_through_shows_all_that_it_has() -> None:
    """What a `Log` comes to have, a monitor asks the log itself."""
    names = {name for name in vars(Log) if not name.startswith("_")}
    assert names - set(vars(Recent)) == {"elsewhere", "trust"}  # for a cluster, and done before there is a monitor


def test_what_a_log_says_of_its_end_is_checked(tmp_path: Path) -> None:
    watched = Watched(tmp_path / "m")
    watched.look(RAWS)
    watched.files["successor"] = b"<html>Not found</html>"
    assert [each[:24] for each in watched.look().report.missing] == ["successor cannot be read"]
    watched.files["successor"] = SIGNER.note(f"cutcard/v1/successor\n{SIGNER.verifier.name}\n1\nroot\nkey\n")
    assert [each.check for each in watched.look().report.findings] == ["checkpoint"]


class Listened(MemoryLog):
    """A log that keeps which files were read."""

    def __init__(self, files: dict[str, bytes]) -> None:
        super().__init__(files)
        self.read: list[str] = []

    def _read(self, where: str) -> bytes | None:
        self.read.append(where)
        return super()._read(where)


def test_only_what_is_new_is_read(tmp_path: Path) -> None:
    raws = small_hands(500)
    watched = Watched(tmp_path / "m")
    watched.log = log = Listened(watched.files)
    watched.look(raws[:600])
    assert "tile/entries/000" in log.read
    log.read.clear()
    assert watched.look(raws).report.entries == 1000
    entries = [where for where in log.read if "entries" in where]
    assert entries == ["tile/entries/002", "tile/entries/003.p/232"]


def test_a_log_that_does_not_move_adds_nothing(tmp_path: Path) -> None:
    watched = Watched(tmp_path / "m")
    for raws in (RAWS, small_hands(200)):
        for _ in range(3):
            watched.look(raws)
    with closing(sqlite3.connect(tmp_path / "m" / FILE)) as database:
        assert database.execute("SELECT size, is_left FROM checkpoints").fetchall() == [(17, 1), (400, 0)]


def test_what_is_kept_does_not_grow_with_the_log(tmp_path: Path) -> None:
    raws = small_hands(1100)
    watched = Watched(tmp_path / "m")
    weights = []
    for size in (600, 2200):
        watched.look(raws[:size])
        with closing(Memory(tmp_path / "m", SIGNER.verifier, NOW)) as memory, memory.course("1 " + KEYS) as course:
            assert course.tree.done == size - size % 256
            course.lifecycle.lost = type(course.lifecycle.lost)()  # lost hands are named, the first thousand of them
            weights.append(len(packed(course)))
    assert weights[1] < weights[0] + 500


def test_a_fork_is_proved_by_both_notes_and_the_branch_that_is_shown_is_followed(tmp_path: Path) -> None:
    watched = Watched(tmp_path / "m")
    assert watched.look(RAWS[:9]).report.exit_code == 0
    looked = watched.look(FORK[:12])
    (found,) = [each for each in looked.report.findings if each.check == "append-only"]
    assert found.whole == tuple(SIGNER.checkpoint(raws).decode() for raws in (RAWS[:9], FORK[:12]))
    assert watched.said() == ["begins finding append-only", "begins finding schema", "begins finding lifecycle"]
    watched.look(FORK)
    assert watched.said() == []  # said once, though the log has grown
    (again,) = [each for each in watched.look().report.findings if each.check == "append-only"]
    assert again.whole[0] == found.whole[0]


def test_a_log_that_goes_back_is_said_and_said_to_be_over(tmp_path: Path) -> None:
    watched = Watched(tmp_path / "m")
    watched.look(RAWS)
    looked = watched.look(RAWS[:8])
    (found,) = looked.report.findings
    assert found.detail == "the log shows 8 entries, the monitor's checkpoint 1 17: rolled back, or not yet published"
    assert looked.report.exit_code == 1
    watched.look(RAWS[:10])
    assert watched.said() == ["begins finding append-only"]
    assert watched.look(RAWS).report.exit_code == 0
    assert watched.said() == ["ends finding append-only"]


def test_what_nobody_signed_changes_nothing(tmp_path: Path) -> None:
    watched = Watched(tmp_path / "m")
    raws = small_hands(200)
    watched.look(raws)
    watched.files["checkpoint"] = Signer(private=drawn("x", 32)).checkpoint(FORK)
    assert watched.look().report.exit_code == 1
    assert set(watched.said()) == {"begins finding checkpoint", "begins finding append-only"}
    assert watched.done() == 256
    assert watched.look(raws).report.findings == ()
    assert set(watched.said()) == {"ends finding checkpoint", "ends finding append-only"}


def test_a_log_that_cannot_be_read_is_said_once(tmp_path: Path) -> None:
    watched = Watched(tmp_path / "m")
    watched.look(RAWS)
    checkpoint = watched.files.pop("checkpoint")
    for _ in range(2):
        assert watched.look().report.exit_code == 4
    watched.files["checkpoint"] = checkpoint
    bundle = watched.files.pop("tile/entries/000.p/17")
    assert watched.look().report.exit_code == 4
    assert watched.said() == ["begins unreadable"]
    watched.files["tile/entries/000.p/17"] = bundle
    assert watched.look().report.exit_code == 0
    assert watched.said() == ["ends unreadable"]


def test_what_cannot_be_read_is_not_over_because_something_is_wrong_as_well(tmp_path: Path) -> None:
    watched = Watched(tmp_path / "m")
    watched.look(RAWS)
    bundle = watched.files.pop("tile/entries/000.p/17")
    watched.look()
    assert watched.said() == ["begins unreadable"]
    other = Signer("other.example", drawn("x", 32)).verifier
    elsewhere = f"cutcard/v1/successor\n{SIGNER.origin}\n1\n{base64_encode(bytes(32))}\n{other}\n"
    watched.files["successor"] = SIGNER.note(elsewhere)
    assert watched.look().report.verdict == "invalid"
    assert watched.said() == ["begins finding checkpoint"]
    watched.files["tile/entries/000.p/17"] = bundle
    watched.look()
    assert watched.said() == ["ends unreadable"]


class Down(MemoryLog):
    """A log whose server goes away once its checkpoint is read."""

    def _read(self, where: str) -> bytes | None:
        if where != "checkpoint":
            raise InputError(f"{where} cannot be read: it is away")
        return super()._read(where)


def test_what_was_read_is_not_given_up_for_what_cannot_be_read(tmp_path: Path) -> None:
    watched = Watched(tmp_path / "m")
    raws = small_hands(500)
    watched.look(raws[:300])
    watched.files.update(log_files(SIGNER, raws))
    tiles = [name for name in watched.files if name.startswith("tile")]
    # A bundle and its hashes, where the tile above proves what was read before; the last bundle; everything.
    for gone in (["tile/entries/001", "tile/0/001"], ["tile/entries/003.p/232"], tiles):
        watched.log = Listened({name: data for name, data in watched.files.items() if name not in gone})
        assert watched.look().report.exit_code == 4
        assert "tile/entries/000" not in watched.log.read, gone
    watched.log = Down(watched.files)
    assert watched.look().report.exit_code == 4
    assert watched.done() >= 256
    watched.log = MemoryLog(watched.files)
    assert watched.look().whole
    assert watched.said() == ["begins unreadable", "ends unreadable"]


def test_what_came_damaged_is_read_again(tmp_path: Path) -> None:
    """By one process, which need not read what it has read a moment ago."""
    raws = small_hands(150)
    files = log_files(SIGNER, raws)
    good = files["tile/entries/001.p/44"]
    with closing(Memory(tmp_path / "m", SIGNER.verifier, NOW)) as memory:
        follower = Follower(MemoryLog(files), SIGNER.verifier, Options(escrow=ESCROW), memory, "1")
        files["tile/entries/001.p/44"] = good[:-1] + b"?"
        looked = follower.look(NOW)
        alarms.take(looked, memory, NOW, None)
        assert {each.check for each in looked.report.findings} == {"checkpoint", "schema"}
        files["tile/entries/001.p/44"] = good
        looked = follower.look(NOW)
        alarms.take(looked, memory, NOW, None)
        assert looked.report.findings == ()
        assert memory.standing() == {}  # what was damaged on its way was said by no entry of the log


def test_what_an_entry_said_stays_said(tmp_path: Path) -> None:
    watched = Watched(tmp_path / "m")
    watched.look(FORK)
    assert set(watched.said()) == {"begins finding schema", "begins finding lifecycle"}
    watched.look(RAWS[:5])
    assert watched.said() == ["begins finding append-only"]


def test_no_quorum_for_too_long(tmp_path: Path) -> None:
    policy = parse(policy_text([SIGNER.verifier]).encode())
    watched = Watched(tmp_path / "m", policy, max_age=3600)
    watched.options = Options(escrow=ESCROW, witnesses=watched.options.witnesses)
    watched.look(RAWS[:10])
    assert watched.said() == []  # there may be one yet
    watched.look(RAWS[:10], NOW + 3601)
    assert watched.said() == ["begins quorum"]
    watched.files.update(log_files(SIGNER, RAWS))
    watched.files["checkpoint"] = TWO.onto(ONE.onto(watched.files["checkpoint"], NOW + 4000), NOW + 4100)
    watched.look(None, NOW + 4200)
    assert watched.said() == ["ends quorum"]
    watched.files["checkpoint"] = THREE.onto(SIGNER.checkpoint(RAWS), NOW + 7500)
    watched.look(None, NOW + 7600)  # one of two, and the last quorum is of NOW + 4000
    assert watched.said() == []
    watched.look(None, NOW + 7601)
    assert watched.said() == ["begins quorum"]
    ahead = NOW + 10**6  # whose clock runs ahead says nothing of how fresh it is
    watched.files["checkpoint"] = TWO.onto(ONE.onto(SIGNER.checkpoint(RAWS), ahead), ahead)
    watched.look(None, NOW + 7700)
    assert watched.said() == []


@contextmanager
def witness(base: Path, raws: list[bytes]) -> Iterator[Policy]:
    """A policy with one real witness, which holds a tree."""
    key = create(base / "w", "witness.example/w")
    store = Store(base / "w")
    store.add_logs([SIGNER.verifier])
    store.close()
    with inside(base / "w", time.time) as port:
        assert ask(port, request(SIGNER, raws, 0)).status == 200
        yield parse(f"log {SIGNER.verifier}\nwitness w {key} http://127.0.0.1:{port}\nquorum none\n".encode())


def test_a_witness_that_is_behind_what_was_read_is_compared_with(tmp_path: Path) -> None:
    raws = small_hands(400)
    for name, held, count in (("honest", raws[:77], 0), ("forked", [*raws[:50], b"another", *raws[51:77]], 1)):
        (tmp_path / name).mkdir()
        Watched(tmp_path / name / "m").look(raws[:600])  # before there was a witness
        with witness(tmp_path / name, held) as policy:
            watched = Watched(tmp_path / name / "m", policy)
            for size in (700, 800):
                report = watched.look(raws[:size]).report
                assert [each.check for each in report.findings] == ["append-only"] * count, (name, report.findings)
                assert not [text for text in report.missing if "not known" in text]
            if count:
                assert report.findings[0].whole[0].startswith(SIGNER.checkpoint(held).decode())
                assert watched.said() == ["begins finding append-only"]


def test_a_root_of_old_is_taken_from_tiles_that_prove_it() -> None:
    raws = small_hands(300)
    log = MemoryLog(log_files(SIGNER, raws))
    now = check_checkpoint(log_files(SIGNER, raws)["checkpoint"], None)[0]
    assert now is not None
    for then in (1, 2, 3, 64, 255, 256, 257, 300, 511, 512, 513, 599, 600):
        earlier = check_checkpoint(SIGNER.checkpoint(raws[:then]), None)[0]
        assert earlier is not None
        assert proven_root(log, then, now) == earlier.root, then
    other = MemoryLog(log_files(SIGNER, [*raws[:20], b"another", *raws[21:]]))
    assert proven_root(other, 300, now) is None
    assert proven_root(MemoryLog({}), 300, now) is None


def test_another_auditor_reads_the_log_again_and_forgets_no_checkpoint(tmp_path: Path) -> None:
    watched = Watched(tmp_path / "m")
    raws = small_hands(200)
    watched.look(raws[:300])
    watched.basis = "2"
    assert watched.look(raws).report.findings == ()
    forged = [*raws[:8], b"another", *raws[9:]]
    watched.basis = "3"
    found = {each.check for each in watched.look(forged).report.findings}
    assert "append-only" in found


def test_a_course_that_is_damaged_on_the_disk_is_made_again(tmp_path: Path) -> None:
    watched = Watched(tmp_path / "m")
    raws = small_hands(200)
    watched.look(raws[:300])
    with closing(sqlite3.connect(tmp_path / "m" / FILE)) as database:
        (data,) = database.execute("SELECT data FROM course").fetchone()
        database.execute("UPDATE course SET data = ?", (data[:50] + b"?" + data[51:],))
        database.commit()
    assert watched.look(raws).report.entries == 400


def test_what_is_kept_may_name_nothing_but_a_course(tmp_path: Path) -> None:
    for harmful in (os.system, subprocess.Popen, Memory, CliRunner):
        with pytest.raises(pickle.UnpicklingError, match="which no course has"):
            unpacked(pickle.dumps(harmful), {})


def test_a_folder_that_is_another_s_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remembered, "_BUSY_SECONDS", 0.05)
    watched = Watched(tmp_path / "m")
    watched.look(RAWS)
    with pytest.raises(InputError, match="give each log a folder of its own"):
        Memory(tmp_path / "m", Signer("other.example").verifier, NOW)
    with (
        closing(Memory(tmp_path / "m", SIGNER.verifier, NOW)),
        pytest.raises(InputError, match="cannot be used: database is locked"),
    ):
        Memory(tmp_path / "m", SIGNER.verifier, NOW)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thing").touch()
    with pytest.raises(InputError, match="holds thing, and no monitor's memory"):
        Memory(tmp_path / "full", SIGNER.verifier, NOW)
    (tmp_path / "half").mkdir()
    (tmp_path / "half" / f"{FILE}.new").write_bytes(b"begun and never finished")
    Memory(tmp_path / "half", SIGNER.verifier, NOW).close()
    (tmp_path / "m" / FILE).write_bytes(b"nonsense" * 1000)
    with pytest.raises(InputError, match="not a database"):
        Memory(tmp_path / "m", SIGNER.verifier, NOW)


@pytest.fixture
def keys(tmp_path: Path) -> list[str]:
    (tmp_path / "vkey").write_text(f"{SIGNER.verifier}\n")
    (tmp_path / "escrow.key").write_text(EscrowPair().private.hex())
    return ["--key", str(tmp_path / "vkey"), "--escrow-key", str(tmp_path / "escrow.key")]


def run(*args: object) -> Result:
    return CliRunner().invoke(cli, [str(arg) for arg in args])


def test_once_prints_a_report_and_ends_as_verify_does(tmp_path: Path, keys: list[str]) -> None:
    log = tmp_path / "log"
    told = tmp_path / "told"
    teller = tmp_path / "teller"
    teller.write_text(f"#!/bin/sh\n[ -e '{tmp_path}/broken' ] && exit 7\ncat >> '{told}'\necho >> '{told}'\n")
    teller.chmod(0o755)
    once = ["monitor", log, *keys, "--state", tmp_path / "m", "--once", "--on-finding", f"'{teller}'"]
    assert run(*once).exit_code == 4  # there is none yet
    write_log(log, SIGNER, RAWS)
    done = run(*once)
    assert (done.exit_code, done.stdout.splitlines()[-1][22:]) == (0, "over  unreadable: " + f"{log} is not there")
    assert "VALID" in done.stdout
    write_log(log, SIGNER, FORK)
    (tmp_path / "broken").touch()
    done = run(*once, "--format", "json")
    report = json.loads(done.stdout)
    assert (done.exit_code, report["verdict"]) == (1, "invalid")
    assert "ended with 7" in done.stderr
    (tmp_path / "broken").unlink()
    done = run(*once)  # what nobody was told is told now
    assert "ALARM  finding append-only: the monitor's checkpoint 1" in done.stdout
    lines = [json.loads(line) for line in told.read_text().splitlines()]
    assert [(each["alarm"], each["kind"]) for each in lines[:2]] == [("begins", "unreadable"), ("ends", "unreadable")]
    assert {each["check"] for each in lines[2:]} >= {"append-only", "schema"}
    assert lines[2]["log"] == str(log)


def test_what_is_wrong_with_the_command_line(tmp_path: Path, keys: list[str]) -> None:
    log = honest().write(tmp_path / "log")
    state = ["--state", tmp_path / "m", "--once"]
    (tmp_path / "policy").write_text("quorum none\n")
    for args, words in (
        ([log, *state], "the log's key is needed"),
        ([log, *state, "--policy", tmp_path / "policy"], "the log's key is needed"),
        ([log, *keys, *state, "--max-age", 5], "--max-age needs --policy"),
        ([log, *keys, *state, "--every", 3], "3 is not in the range"),
        ([log, *keys, *state, "--metrics-listen", "nonsense"], "expected HOST:PORT"),
        ([log, *keys, *state, "--on-finding", "'open"], "No closing quotation"),
        ([log, *keys], "--state"),
    ):
        done = run("monitor", *args)
        assert (done.exit_code, words in done.stderr) == (2, True), (args, done.stderr)


def test_a_monitor_at_work(tmp_path: Path, keys: list[str]) -> None:
    """A process of its own: metrics, a kill, no alarm twice, an end that is asked for."""
    log = honest().write(tmp_path / "log")
    command = [sys.executable, "-m", "audit.cli", "monitor", str(log), *keys, "--state", str(tmp_path / "m")]
    more = ["--metrics-listen", "127.0.0.1:0", "--jobs", "1", "--on-finding", f"tee -a {tmp_path}/told"]

    def started() -> tuple[subprocess.Popen[str], int]:
        process = subprocess.Popen(
            [*command, *more], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env={**os.environ}
        )
        assert process.stderr is not None
        found = re.search(r"metrics are served on http://127.0.0.1:(\d+)/metrics", process.stderr.readline())
        assert found is not None
        threading.Thread(target=process.stderr.read, daemon=True).start()
        return process, int(found[1])

    def metrics(port: int) -> dict[str, float]:
        """Once the first look is over."""
        for _ in range(600):
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=30) as answer:
                lines = [line.rpartition(" ") for line in answer.read().decode().splitlines() if line[0] != "#"]
            found = {name: float(value) for name, _, value in lines}
            if found["cutcard_monitor_last_look_timestamp_seconds"]:
                return found
            time.sleep(0.05)
        raise TimeoutError

    process, port = started()
    found = metrics(port)
    assert found["cutcard_monitor_entries"] == 17
    assert found['cutcard_monitor_looks_total{verdict="valid"}'] == 1
    assert found['cutcard_monitor_alarms{kind="finding"}'] == 0
    process.kill()
    process.wait()
    write_log(log, SIGNER, FORK)
    told = []
    for _ in range(2):
        process, port = started()
        found = metrics(port)
        assert found['cutcard_monitor_findings{check="append-only"}'] == 1
        assert found['cutcard_monitor_alarms{kind="finding"}'] > 1
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
        told.append((tmp_path / "told").read_text().count('"check": "append-only"'))
    assert told == [1, 1]


def test_a_dealer_that_deals(tmp_path: Path) -> None:
    """Looked at now and then while it deals and is cosigned, it is judged as by `verify` in the end."""
    address = f"127.0.0.1:{free_port()}"
    key = make_log(tmp_path / "data")
    witness_key = make_witness(tmp_path / "w", "w", key)
    with served_witness(tmp_path / "w") as url:
        policy = write_policy(tmp_path / "policy", key, 1, (witness_key, url))
        serving = ("--log-listen", address, "--witness-policy", str(policy), "--witness-seconds", "1")
        with running(tmp_path / "data", *serving) as dealer:
            options = ("--policy", policy, "--format", "json")
            watching = {f"http://{address}": tmp_path / "http", f"grpc://{dealer.address}": tmp_path / "grpc"}
            room = dealer.room()
            followed: dict[str, Any] = {}
            for number in range(2):
                for table in "abc":
                    room.play_out(room.open(f"{table}{number}").hand_id)
                room.open(f"open{number}")
                wait_for_size(tmp_path / "data" / "public" / "checkpoint", 7 * (number + 1))
                for log, state in watching.items():
                    done = run_tool("audit", "monitor", log, *options, "--state", state, "--once", "--max-age", "60")
                    assert done.returncode == 3, done.stderr
                    followed[log] = json.loads(done.stdout)
            for log, found in followed.items():
                whole = json.loads(run_tool("audit", "verify", log, *options, "--ask-witnesses").stdout)
                assert found["entries"] == 14
                assert {name: found[name] == whole[name] for name in SAME} == dict.fromkeys(SAME, True), (found, whole)
    found = followed[f"http://{address}"]
    assert (found["findings"], found["witness"]["holds"], found["witness"]["witnesses"]) == ([], True, ["w1"])


SAME = ("hands", "missing", "findings", "witness", "lost", "tables")


def wait_for_size(checkpoint: Path, size: int) -> None:
    """Waits until the published checkpoint is of this size and cosigned."""
    deadline = time.monotonic() + 60
    while not (checkpoint.exists() and re.search(f"\n{size}\n(?s:.*)witness.invalid ", checkpoint.read_text())):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_the_one_log_of_a_policy_stands_in_for_the_key(tmp_path: Path) -> None:
    log = honest().write(tmp_path / "log")
    (tmp_path / "policy").write_text(f"log {SIGNER.verifier}\nquorum none\n")
    done = run("monitor", log, "--policy", tmp_path / "policy", "--state", tmp_path / "m", "--once")
    assert done.exit_code == 3  # sealed hands stay closed
