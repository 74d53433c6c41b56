"""`audit verify --ask-witnesses`: a log held against what real witnesses have seen of it."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from audit.hand.escrow_keys import read_keys
from audit.logs.folder import FolderLog
from audit.tlog.policy import Policy, parse
from audit.tlog.witnessed import Demand
from audit.whole import asking
from audit.whole.verify import Options, Report, verify
from audit.witness.store import Store, create
from tests.attacks.maker import Book, EscrowPair, Signer, honest
from tests.integration.witnessing import ask, inside, request

SIGNER = Signer()
RAWS = honest().raws()
ESCROW = read_keys([EscrowPair().private.hex()])


@contextmanager
def witnesses(base: Path, *trees: list[bytes]) -> Iterator[Policy]:
    """Witnesses that hold one tree each (none where it is empty), and the policy that names them and asks for one."""
    lines = [f"log {SIGNER.verifier}"]
    with ExitStack() as stack:
        for number, raws in enumerate(trees, 1):
            folder = base / f"w{number}"
            key = create(folder, f"witness.example/w{number}")
            store = Store(folder)
            store.add_logs([SIGNER.verifier])
            store.close()
            port = stack.enter_context(inside(folder, time.time))
            if raws:
                assert ask(port, request(SIGNER, raws, 0)).status == 200
            lines.append(f"witness w{number} {key} http://127.0.0.1:{port}/")
        yield parse("\n".join([*lines, "quorum none"]).encode())


def judged(folder: Path, policy: Policy) -> Report:
    demand = Demand(policy, int(time.time()))
    return verify(FolderLog(folder), Options(escrow=ESCROW, witnesses=demand, ask_witnesses=True))


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return honest().write(tmp_path / "log")


def made(report: Report) -> int:
    return next(check.made for check in report.checks if check.name == "append-only")


def test_a_log_that_extends_what_all_have_seen(log: Path, tmp_path: Path) -> None:
    with witnesses(tmp_path, RAWS, RAWS[:3], RAWS[:1]) as policy:
        report = judged(log, policy)
    assert (report.exit_code, made(report)) == (0, 3)


def test_a_fork_is_proved_by_both_notes(log: Path, tmp_path: Path) -> None:
    fork = [*RAWS[:5], b"another", *RAWS[6:9]]
    with witnesses(tmp_path, RAWS, fork) as policy:
        report = judged(log, policy)
    assert report.exit_code == 1
    (found,) = report.findings
    assert (found.check, "w2: root of the first 9 entries" in found.detail) == ("append-only", True)
    assert found.whole[0].startswith(SIGNER.checkpoint(fork).decode())
    assert "witness.example/w2" in found.whole[0]
    assert found.whole[1] == (log / "checkpoint").read_text()


def test_a_log_that_was_rolled_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking, "PUBLISH_SECONDS", 0.3)
    monkeypatch.setattr(asking, "LOOK_SECONDS", 0.05)
    book = Book(honest().signer)
    book.entries.extend(honest().entries[:15])
    log = book.write(tmp_path / "log")
    with witnesses(tmp_path, RAWS) as policy:
        before = time.monotonic()
        report = judged(log, policy)
        assert time.monotonic() - before >= 0.3
    (found,) = [found for found in report.findings if found.check == "append-only"]
    assert found.detail.startswith("the log shows 15 entries; w1 cosigned 17 at 20")
    assert found.detail.endswith("Z: it was rolled back, forked, or has not published in 60 seconds")
    assert report.exit_code == 1


def test_what_is_published_within_the_time_is_no_finding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking, "LOOK_SECONDS", 0.05)
    log = honest().write(tmp_path / "log")
    newest = (log / "checkpoint").read_bytes()
    (log / "checkpoint").write_bytes(SIGNER.checkpoint(RAWS[:15]))
    with witnesses(tmp_path, RAWS) as policy:
        publish = threading.Timer(0.5, lambda: (log / "checkpoint").write_bytes(newest))
        publish.start()
        report = judged(log, policy)
        publish.join()
    assert (report.exit_code, report.entries) == (0, 17)


def test_witnesses_that_cannot_be_compared_with(log: Path, tmp_path: Path) -> None:
    with witnesses(tmp_path, RAWS, []) as policy:
        report = judged(log, policy)
        assert report.exit_code == 3
        assert report.missing == ("the log was not compared with w2: it has no checkpoint of this log, or shows none",)
        one, two = (each.key for each in policy.witnesses.values())
        address = policy.witnesses["w1"].url
    gone = f"log {SIGNER.verifier}\nwitness w1 {one} {address}\nwitness w2 {two}\nquorum none"
    report = judged(log, parse(gone.encode()))
    assert (report.exit_code, len(report.missing)) == (3, 2)
    assert "cannot be read" in report.missing[0]
    assert "does not say where it is" in report.missing[1]


def test_an_answer_that_another_signed_is_unreadable(log: Path, tmp_path: Path) -> None:
    with witnesses(tmp_path, RAWS, RAWS) as policy:
        first, second = policy.witnesses.values()
        crossed = f"log {SIGNER.verifier}\nwitness w1 {first.key} {second.url}\nquorum none"
        report = judged(log, parse(crossed.encode()))
    assert report.exit_code == 4
    assert "what w1 holds cannot be read: it is not cosigned by the witness itself" in report.missing[0]
