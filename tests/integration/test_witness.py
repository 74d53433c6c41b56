"""The witness as people run it: its commands, its memory over restarts, its limits on what strangers can make it do."""

from __future__ import annotations

import contextlib
import re
import shutil
import socket
import sqlite3
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from audit.cli import cli
from audit.tlog.cosignature import WitnessKey
from audit.tlog.keys import VerifierKey, base64_encode, derive_key_id
from audit.witness import server as served
from audit.witness import store as stored
from audit.witness.store import FILE, Store, create, origin_hash
from tests.attacks.maker import Signer, drawn
from tests.console import ROOT, filled
from tests.integration.witnessing import ask, inside, quick_folder, request, serving

SIGNER = Signer()
RAWS = [b"entry %d" % number for number in range(40)]
FORK = [*RAWS[:7], b"another", *RAWS[8:]]


def run(*args: object) -> Result:
    done = CliRunner().invoke(cli, ["witness", *(str(arg) for arg in args)])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    create(tmp_path / "w", "witness.example/w")
    store = Store(tmp_path / "w")
    store.add_logs([SIGNER.verifier])
    store.close()
    return tmp_path / "w"


@pytest.fixture
def port(folder: Path) -> Iterator[int]:
    with inside(folder, time.time) as number:
        yield number


def test_a_witness_from_its_start_to_a_proof_of_a_fork(tmp_path: Path) -> None:
    folder = tmp_path / "w"
    made = run("init", "--data-dir", folder, "--name", "witness.example/w")
    assert made.exit_code == 0
    assert WitnessKey.parse(made.stdout.strip()).name == "witness.example/w"
    with serving(folder) as (port, _):
        assert ask(port, request(SIGNER, RAWS[:10], 0)).status == 404
        added = run("add-log", SIGNER.verifier, "--data-dir", folder)  # while it serves
        assert (added.exit_code, added.stdout) == (0, "1 log added, 0 were on the list already\n")
        assert ask(port, request(SIGNER, RAWS[:10], 0)).status == 200
    with serving(folder) as (port, _):  # and remembers
        assert ask(port, request(SIGNER, RAWS, 0)).body == "10\n"
        assert ask(port, request(SIGNER, RAWS, 10)).status == 200
        assert ask(port, request(SIGNER, FORK, 40)).status == 422
        listed = run("list", "--data-dir", folder).stdout
        assert listed.startswith(f"witness {made.stdout}log {SIGNER.verifier}\n    40 entries, cosigned 20")
        shown = run("conflicts", "--data-dir", folder).stdout
        assert shown.startswith("1 proof of a fork, 0 refused for other reasons\n\nFORK  dealer.example/attacks, ")
        for raws in (RAWS, FORK):
            assert all(f"  | {line}\n" in shown for line in SIGNER.checkpoint(raws).decode().splitlines())


def test_what_was_seen_of_a_log_outlasts_its_place_on_the_list(folder: Path) -> None:
    with inside(folder, time.time) as port:
        assert ask(port, request(SIGNER, RAWS[:10], 0)).status == 200
        assert run("remove-log", SIGNER.origin, "--data-dir", folder).exit_code == 0
        assert run("remove-log", SIGNER.origin, "--data-dir", folder).exit_code == 4
        assert ask(port, request(SIGNER, RAWS, 10)).status == 404
        assert ask(port, b"", f"/{origin_hash(SIGNER.origin)}/checkpoint", "GET").status == 200
        other = Signer(private=drawn("another key", 32))
        refused = run("add-log", other.verifier, "--data-dir", folder)
        assert (refused.exit_code, "a log has one key for good" in refused.stderr) == (1, True)
        assert run("add-log", SIGNER.verifier, "--data-dir", folder).exit_code == 0
        assert ask(port, request(SIGNER, RAWS, 0)).body == "10\n"


def test_a_list_is_taken_whole_or_not_at_all(folder: Path, tmp_path: Path) -> None:
    rooms = [Signer(f"room-{number}.example", drawn(f"room {number}", 32)).verifier for number in range(3)]
    (tmp_path / "list").write_text("# rooms\n" + "".join(f"{room}\n" for room in rooms) + f"\n{SIGNER.verifier}\n")
    added = run("add-log", "--from", tmp_path / "list", "--data-dir", folder)
    assert added.stdout == "3 logs added, 1 was on the list already\n"
    own = WitnessKey.parse(run("list", "--data-dir", folder).stdout.split()[1])
    store = Store(folder)
    with pytest.raises(stored.CheckError, match="the witness's own key"):
        store.add_logs([Signer("new.example").verifier, VerifierKey("x", derive_key_id("x", own.public), own.public)])
    assert len(store.logs()) == 4
    store.close()
    (tmp_path / "list").write_text(f"{rooms[0]}\nnonsense\n")
    refused = run("add-log", "--from", tmp_path / "list", "--data-dir", folder)
    assert (refused.exit_code, "line 2" in refused.stderr) == (4, True)
    assert run("add-log", "--data-dir", folder).exit_code == 2


def test_a_witness_is_never_made_anew(folder: Path, tmp_path: Path) -> None:
    before = (folder / FILE).read_bytes()
    assert run("init", "--data-dir", folder, "--name", "w.example").exit_code == 4
    assert (folder / FILE).read_bytes() == before
    half = tmp_path / "half"
    half.mkdir()
    (half / f"{FILE}.new").write_bytes(before)
    (tmp_path / "damaged").mkdir()
    (tmp_path / "damaged" / FILE).write_bytes(before[:5000])
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / FILE).touch()
    for where, words in (
        (tmp_path / "nowhere", "is not there"),
        (half, "was never finished"),
        (tmp_path / "damaged", "no witness's file"),
        (tmp_path / "empty", "version 0"),
    ):
        for command in (["serve"], ["list"], ["conflicts"], ["add-log", SIGNER.verifier]):
            done = run(*command, "--data-dir", where)
            assert (done.exit_code, words in done.stderr) == (4, True), (command, done.stderr)
    assert not (tmp_path / "nowhere").exists()
    assert run("init", "--data-dir", half, "--name", "w.example").exit_code == 4
    for name in ("", "a b", "a+b", "a\x1b"):
        assert run("init", "--data-dir", tmp_path / "new", "--name", name).exit_code == 2
    assert run("serve", "--data-dir", folder, "--listen", "nonsense").exit_code == 2
    assert (folder / FILE).stat().st_mode & 0o077 == 0


def test_other_paths_methods_and_bodies(port: int) -> None:
    good = request(SIGNER, RAWS[:3], 0)
    held = f"/{origin_hash(SIGNER.origin)}/checkpoint"
    for method, path, status in (
        ("GET", "/", 404),
        ("POST", "/checkpoint", 404),
        ("GET", "/add-checkpoint", 405),
        ("PUT", "/add-checkpoint", 405),
        ("BREW", "/add-checkpoint", 405),
        ("POST", held, 405),
        ("DELETE", held, 405),
        ("GET", held, 404),
        ("GET", held.upper(), 404),
        ("GET", f"{held}/", 404),
        ("GET", f"/{'0' * 64}/checkpoint", 404),
    ):
        assert ask(port, good, path, method).status == status, (method, path)
    for body, status in (
        (b"", 400),
        (b"\xff\xfe\n\n", 400),
        (good.replace(b"old 0", b"old 9223372036854775808"), 400),
        (good.replace(b"\n3\n", b"\n9999999999999999999\n"), 400),
        (good.replace(b"old 0\n", b"old 0\r\n"), 400),
        (good.replace(b"old 0\n", b"old 0\n" + base64_encode(bytes(31)).encode() + b"\n"), 400),
        (good + b" " * 20_000, 413),
        (good + b" " * 300_000, 413),
        (good, 200),
    ):
        assert ask(port, body).status == status, body[:80]


def test_extension_lines_of_other_logs_are_cosigned_and_empty_lines_are_not(folder: Path, port: int) -> None:
    text = f"{SIGNER.origin}\n0\n{base64_encode(stored.EMPTY_ROOT)}\n"
    assert ask(port, b"old 0\n\n" + SIGNER.note(f"{text}an extension\n")).status == 200
    assert ask(port, b"old 0\n\n" + SIGNER.note(f"{text}\nan extension\n")).status == 400


def raw(port: int, *pieces: bytes) -> bytes:
    """Everything that comes back for bytes sent as they are."""
    with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
        got = b""
        with contextlib.suppress(ConnectionError):
            for piece in pieces:
                connection.sendall(piece)
            while part := connection.recv(65536):
                got += part
        return got


def test_bodies_without_one_length_are_refused_and_end_the_connection(port: int) -> None:
    inner = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"
    head = b"POST /add-checkpoint HTTP/1.1\r\nHost: a\r\n"
    for headers, status in (
        (b"", b"411"),
        (b"Transfer-Encoding: chunked\r\n", b"411"),
        (b"Content-Length: 5\r\nContent-Length: 6\r\n", b"411"),
        (b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", b"411"),
        (b"Content-Length: +5\r\n", b"400"),
        (b"Content-Length: 99999999999999999999\r\n", b"400"),
    ):
        got = raw(port, head + headers + b"Connection: close\r\n\r\n")
        assert got.startswith(b"HTTP/1.1 " + status), got
        if headers:  # nothing of a body is taken for another request
            assert raw(port, head + headers + b"\r\n" + inner).count(b"HTTP/1.1") == 1, headers
    smuggled = b"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n" % len(inner)
    assert raw(port, smuggled + inner).count(b"HTTP/1.1") == 1


def test_slow_clients_are_cut_off_and_hold_up_nobody(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(served, "REQUEST_SECONDS", 0.5)
    heads = [
        b"",
        b"POST /add-checkpoint HTTP/1.1\r\n",
        b"POST /add-checkpoint HTTP/1.1\r\nContent-Length: 9999\r\n\r\nold",
    ]
    ended: list[bytes] = []

    def trickle(port: int, head: bytes) -> None:
        with socket.create_connection(("127.0.0.1", port), timeout=30) as connection, contextlib.suppress(OSError):
            connection.sendall(head)
            for _ in range(200):  # never silent, and never done
                connection.sendall(b"x")
                time.sleep(0.05)
            return
        ended.append(head)

    with inside(folder, time.time) as port:
        threads = [threading.Thread(target=trickle, args=(port, head)) for head in heads * 5]
        for thread in threads:
            thread.start()
        assert ask(port, request(SIGNER, RAWS, 0)).status == 200
        for thread in threads:
            thread.join()
    assert sorted(ended) == sorted(heads * 5)


def test_a_connection_too_many_is_told_so(folder: Path) -> None:
    with inside(folder, time.time) as port, contextlib.ExitStack() as stack:
        for _ in range(served.CONNECTIONS):
            stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=30))
        deadline = time.monotonic() + 9
        while time.monotonic() < deadline:
            got = raw(port, b"GET / HTTP/1.1\r\nConnection: close\r\n\r\n")
            if got.startswith(b"HTTP/1.1 503"):
                break
        assert got.startswith(b"HTTP/1.1 503")
        stack.close()
        while time.monotonic() < deadline + 9 and not got.startswith(b"HTTP/1.1 404"):
            got = raw(port, b"GET / HTTP/1.1\r\nConnection: close\r\n\r\n")
        assert got.startswith(b"HTTP/1.1 404")


def test_the_rate_of_an_origin_is_not_used_up_by_strangers(folder: Path) -> None:
    now = [1_800_000_000.0]
    other = Signer("other.example", drawn("other", 32))
    run("add-log", other.verifier, "--data-dir", folder)
    with inside(folder, lambda: now[0], rate=2.0) as port:
        assert ask(port, request(SIGNER, RAWS[:10], 0)).status == 200
        replay = request(SIGNER, RAWS[:10], 10)
        statuses = [ask(port, replay).status for _ in range(8)]
        assert statuses == [200] * 4 + [429] * 4
        wrong = [b"old 10\n\n" + SIGNER.checkpoint([*RAWS[:20], b"%d" % number]) for number in range(6)]
        assert [ask(port, body).status for body in wrong] == [422] * 4 + [429] * 2
        assert [ask(port, wrong[0]).status for _ in range(6)] == [422] * 6  # kept already
        for forged in (b"old 10\n\n" + Signer(private=drawn("x", 32)).checkpoint(RAWS), b"junk"):
            assert {ask(port, forged).status for _ in range(8)} <= {400, 403}
        assert ask(port, request(SIGNER, FORK[:10], 10)).status == 422  # a proof is kept all the same
        assert [ask(port, request(SIGNER, RAWS[:size], size - 1)).status for size in range(11, 17)] == [200] * 3 + [
            429,
            409,
            409,
        ]
        assert ask(port, request(other, RAWS, 0)).status == 200
        now[0] += 1
        assert ask(port, request(SIGNER, RAWS, 13)).status == 200
    assert "1 proof of a fork, 4 refused" in run("conflicts", "--data-dir", folder).stdout


def test_of_what_proves_nothing_the_newest_hundred_are_kept(folder: Path, port: int) -> None:
    assert ask(port, request(SIGNER, RAWS[:8], 0)).status == 200
    assert ask(port, request(SIGNER, FORK[:8], 8)).status == 422
    for number in range(110):
        raws = [*RAWS[:8], b"%d" % number]
        assert ask(port, b"old 8\n\n" + SIGNER.checkpoint(raws)).status == 422
    store = Store(folder)
    kept = store.conflicts()
    store.close()
    assert [conflict.proves for conflict in kept] == [True] + [False] * 100
    newest = SIGNER.checkpoint([*RAWS[:8], b"109"]).decode()
    assert kept[-1].refused == newest


def test_without_a_place_to_write_no_cosignature_leaves(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored, "_BUSY_SECONDS", 0.1)
    with inside(folder, time.time) as port:
        assert ask(port, request(SIGNER, RAWS[:3], 0)).status == 200
        with contextlib.closing(sqlite3.connect(folder / FILE, isolation_level=None)) as another:
            another.execute("BEGIN IMMEDIATE")
            refused = ask(port, request(SIGNER, RAWS[:8], 3))
            assert (refused.status, refused.body) == (503, "")
            assert ask(port, b"", f"/{origin_hash(SIGNER.origin)}/checkpoint", "GET").body.splitlines()[1] == "3"
            another.execute("ROLLBACK")
        assert ask(port, request(SIGNER, RAWS[:8], 3)).status == 200


def test_ten_thousand_logs_in_one_witness() -> None:
    rooms = [Signer(f"room-{number}.example") for number in range(10_000)]
    public = SIGNER.verifier.public
    chosen = rooms[::200]
    done: list[int] = []

    def grow(rooms: list[Signer], port: int) -> None:
        for room in rooms:
            done.append(ask(port, request(room, RAWS[:5], 0)).status)
            done.append(ask(port, request(room, RAWS, 5)).status)
            done.append(ask(port, request(room, FORK, 40)).status)

    with quick_folder() as base:
        create(base / "w", "witness.example/w")
        store = Store(base / "w")
        store.add_logs(VerifierKey(room.origin, derive_key_id(room.origin, public), public) for room in rooms)
        store.close()
        with serving(base / "w", "--rate", "1000") as (port, process):
            threads = [threading.Thread(target=grow, args=(chosen[start::4], port)) for start in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            process.kill()
            process.wait()
        assert sorted(done) == [200] * 2 * len(chosen) + [422] * len(chosen)
        with serving(base / "w", "--rate", "1000") as (port, _):  # what it signed, it remembers
            for room in chosen:
                assert ask(port, request(room, FORK[:39], 5)).status == 409
                assert ask(port, request(room, FORK, 40)).status == 422
                assert ask(port, request(room, RAWS, 40)).status == 200
            assert ask(port, request(rooms[1], FORK[:39], 0)).status == 200
        store = Store(base / "w")
        held = {log.held.origin: log.held.size for log in store.logs()}
        store.close()
    assert len(held) == 10_000
    assert {origin for origin, size in held.items() if size == 40} == {room.origin for room in chosen}


PAGE = ROOT / "docs" / "witnesses.md"
CHANGING = re.compile(
    r"(?<=witness\.example/ours\+)[0-9a-f]{8}\+[\w+/]{44}|(?<=— witness\.example/ours )[\w+/=]{104}"
    r"|20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ|(?<=written     )\S+"
)


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is missing")
def test_the_page_shows_real_output() -> None:
    page = PAGE.read_text("utf-8")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    made = filled(page.replace(":8360", f":{port}")).replace(f":{port}", ":8360")
    assert CHANGING.sub("...", made) == CHANGING.sub("...", page)
    assert len(CHANGING.findall(page)) == 8
