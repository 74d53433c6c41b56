"""The auditor on a Dask cluster of other processes: the same verdict to the last digit, whoever dies on the way."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import audit
from audit.cluster import Cluster, ClusterError
from audit.logs.folder import FolderLog
from audit.report.stats_json import as_json
from audit.stats.counting import on_cluster
from audit.stats.counting.corpus import Corpus
from audit.stats.counting.count import count_source
from audit.stats.judging.battery import judge
from audit.stats.sources import open_source
from audit.whole.verify import Options, verify
from tests.attacks.maker import many

pytest.importorskip("distributed")
AUDIT = Path(sys.executable).with_name("audit")
DASK = Path(sys.executable).with_name("dask")
SECONDS = 60


class Processes(NamedTuple):
    """A scheduler, and what starts a worker of it."""

    address: str
    start: Callable[..., subprocess.Popen[str]]


def started(log: Path, word: str, *command: object, env: dict[str, str] | None = None) -> subprocess.Popen[str]:
    """Starts a process and waits until it has said a word."""
    with log.open("w") as out:
        process = subprocess.Popen([str(each) for each in command], stdout=out, stderr=out, text=True, env=env)
    with log.open() as said:
        text = ""
        while word not in text:
            text += said.read() or ""
            assert process.poll() is None, text
    return process


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Processes]:
    folder = tmp_path_factory.mktemp("dask")
    where = folder / "scheduler.json"
    first = started(folder / "scheduler", "Scheduler at", DASK, "scheduler", "--port", 0, "--no-dashboard",
                    "--scheduler-file", where)  # fmt: skip
    processes = [first]

    def start(name: str, path: Path | None = None) -> subprocess.Popen[str]:
        env = os.environ | ({"PYTHONPATH": str(path)} if path is not None else {})
        worker = started(folder / name, "Registered to", DASK, "worker", "--scheduler-file", where, "--no-nanny",
                         "--nthreads", 1, "--no-dashboard", "--local-directory", folder, env=env)  # fmt: skip
        processes.append(worker)
        return worker

    while not where.exists() or not where.read_text():
        assert first.poll() is None
    yield Processes(json.loads(where.read_text())["address"], start)
    for process in processes:
        process.kill()
        process.wait()


@pytest.fixture
def workers(cluster: Processes) -> Iterator[list[subprocess.Popen[str]]]:
    two = [cluster.start("one"), cluster.start("two")]
    yield two
    for worker in two:
        worker.kill()
        worker.wait()


def run(*words: object) -> tuple[int, dict]:
    command = [str(AUDIT), *map(str, words), "--format", "json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout)


def same(*words: object, dask: str) -> dict:
    code, here = run(*words, "--jobs", 1)
    there_code, there = run(*words, "--dask", dask)
    for each in (here, there):
        del each["of"]
    assert (there_code, there) == (code, here)
    return there


def test_verify_and_stats_say_the_same_as_in_one_process(cluster, workers, tmp_path):
    book = many(2_000)
    log, key = book.write(tmp_path / "log"), str(book.signer.verifier)
    assert same("verify", log, "--key", key, dask=cluster.address)["verdict"] == "valid"
    assert same("stats", log, "--key", key, "--by", "table", dask=cluster.address)["decks"] == 2_000


def test_decks_in_many_tasks_are_counted_to_the_last_digit(cluster, workers, tmp_path, monkeypatch):
    monkeypatch.setattr(on_cluster, "TASK_DECKS", 900)
    decks = np.random.default_rng(1).permuted(np.tile(np.arange(52, dtype=np.uint8), (4_000, 1)), axis=1)
    decks[1500:1520] = decks[:20]
    np.save(tmp_path / "decks.npy", decks)

    def counted(**where: Any) -> Corpus:
        corpus = count_source(open_source([str(tmp_path / "decks.npy")]), piece=400, **where)
        assert corpus is not None
        return corpus

    connected = Cluster.connect(cluster.address, 2)
    try:
        there = judge(counted(cluster=connected), 1e-6)
    finally:
        connected.close()
    assert as_json(there) == as_json(judge(counted(processes=1), 1e-6))
    assert there.verdict == "fail"


def test_a_mutant_log_has_the_same_findings(cluster, workers, tmp_path):
    book = many(1_500)
    book.entries[2_501]["events"][0]["cards"][0][2] = "up"
    log = book.write(tmp_path / "log")
    found = same("verify", log, "--key", book.signer.verifier, dask=cluster.address)
    assert [each["check"] for each in found["findings"]] == ["dealing"]


def test_a_worker_that_is_killed_costs_its_tasks_and_no_more(cluster, workers, tmp_path):
    book = many(8_000)
    log, key = book.write(tmp_path / "log"), book.signer.verifier
    alone = verify(FolderLog(log), Options(key))
    told = []

    def progress(done: int, total: int) -> None:
        told.append((done, total))
        if len(told) == 1:
            workers[0].send_signal(signal.SIGKILL)

    connected = Cluster.connect(cluster.address, 2)
    try:
        report = verify(FolderLog(log), Options(key, cluster=connected), progress=progress)
    finally:
        connected.close()
    assert report == replace(alone, address=report.address)
    assert report.verdict == "valid"
    assert told[-1] == (16_000, 16_000)
    assert workers[0].wait(SECONDS) == -signal.SIGKILL


def test_a_cluster_started_here_needs_no_scheduler(tmp_path):
    book = many(300)
    log = book.write(tmp_path / "log")
    code, report = run("verify", log, "--key", book.signer.verifier, "--dask", "local", "--jobs", 2)
    assert (code, report["verdict"]) == (0, "valid")


def test_a_worker_with_other_code_is_refused(cluster, workers, tmp_path):
    shutil.copytree(Path(audit.__file__).parent, tmp_path / "audit", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "audit" / "mercy.py").write_text("FORGIVES = True\n")
    other = cluster.start("other", tmp_path)
    try:
        command = [str(AUDIT), "verify", str(tmp_path), "--dask", cluster.address]
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    finally:
        other.kill()
        other.wait()
    assert done.returncode == 4
    assert "runs other code" in done.stderr


def test_what_is_no_scheduler_is_said_in_one_line(tmp_path):
    with pytest.raises(ClusterError, match="no Dask scheduler at nonsense"):
        Cluster.connect("nonsense://x", 1)
