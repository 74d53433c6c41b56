"""The command `dealer`, as an operator uses it and gets it wrong."""

import hashlib
import os
import socket
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from dealer.store.escrow import make_escrow_pair
from tests.integration.running import BIN, Running, run_tool, running


def init(data: Path) -> "subprocess.CompletedProcess[str]":
    return run_tool("dealer", "init", "--data-dir", data, "--origin", "cli.invalid/room")


def serve(*arguments: str | Path, env: dict[str, str] | None = None) -> "subprocess.CompletedProcess[str]":
    """Runs a server that is expected to refuse to start."""
    return run_tool("dealer", "serve", *arguments, env={**os.environ, **(env or {})})


def test_a_dealer_starts_without_what_it_does_not_use() -> None:
    """Each takes a tenth of a second to load: a standby that takes over, or a restart, would wait for it."""
    program = "import sys, dealer.cli, dealer.service.server; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    assert "dealer.service.server" in loaded
    assert {"aiohttp", "dealer.client", "dealer.play", "dealer.double", "psycopg", "numpy"}.isdisjoint(loaded)


def test_init_makes_keys_that_only_their_owner_reads(tmp_path: Path) -> None:
    done = init(tmp_path / "data")
    assert done.returncode == 0
    assert done.stdout == run_tool("dealer", "key", "--data-dir", tmp_path / "data").stdout
    assert done.stdout.startswith("cli.invalid/room+")
    assert stat.S_IMODE((tmp_path / "data" / "log.key").stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "data" / "at-rest").stat().st_mode) == 0o700
    again = init(tmp_path / "data")
    assert again.returncode == 1
    assert "not empty" in again.stderr


@pytest.mark.parametrize("origin", ["", "cutcard/x", "two words", "a+b", "new\nline", "bücher/x", "test.invalid/x"])
def test_init_refuses_an_origin_that_is_no_name(tmp_path: Path, origin: str) -> None:
    done = run_tool("dealer", "init", "--data-dir", tmp_path / "data", "--origin", origin)
    assert done.returncode != 0
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "data").exists()


def test_serve_refuses_a_missing_folder_and_says_what_to_run(tmp_path: Path) -> None:
    done = serve("--data-dir", tmp_path / "data")
    assert done.returncode == 1
    assert f"dealer init --data-dir {tmp_path / 'data'}" in done.stderr
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize("part", ["log.key", "db/cutcard.sqlite3", "at-rest"])
def test_serve_refuses_a_half_made_folder(tmp_path: Path, part: str) -> None:
    init(tmp_path / "data")
    (tmp_path / "data" / part).rename(tmp_path / "elsewhere")
    for options in ([], ["--dev"]):
        done = serve("--data-dir", tmp_path / "data", "--listen", "127.0.0.1:0", *options)
        assert done.returncode == 1
        assert "half made" in done.stderr
        assert "dealer init" in done.stderr


def test_keys_at_rest_serve_one_log_alone(tmp_path: Path) -> None:
    def init_at(data: str, *options: str | Path) -> "subprocess.CompletedProcess[str]":
        return run_tool("dealer", "init", "--data-dir", tmp_path / data, "--origin", f"cli.invalid/{data}", *options)

    keys = tmp_path / "keys"
    assert init_at("first", "--at-rest-dir", keys).returncode == 0
    refused = init_at("second", "--at-rest-dir", keys)
    assert (refused.returncode, "keys is not empty" in refused.stderr) == (1, True)
    assert not (tmp_path / "second").exists()
    assert init_at("second").returncode == 0
    refused = serve("--data-dir", tmp_path / "second", "--at-rest-dir", keys, "--listen", "127.0.0.1:0")
    assert (refused.returncode, "serve the log cli.invalid/first" in refused.stderr) == (1, True)
    with running(tmp_path / "first", "--at-rest-dir", str(keys)) as first:
        first.room().open()
        assert sorted(path.suffix or path.name for path in keys.iterdir()) == [".key", "owner", "seeds", "signed-last"]
    refused = serve("--data-dir", tmp_path / "first", "--listen", "127.0.0.1:0")
    assert (refused.returncode, "--at-rest-dir" in refused.stderr) == (1, True)


def test_files_where_folders_belong_are_named_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    init(tmp_path / "data")
    (tmp_path / "data" / "public").rmdir()
    (tmp_path / "data" / "public").write_text("")
    for data, named in (("file", "file"), ("data", "public")):
        done = serve("--data-dir", tmp_path / data, "--listen", "127.0.0.1:0")
        assert (done.returncode, done.stderr.count("\n")) == (1, 1)
        assert named in done.stderr


def test_one_folder_and_one_port_have_one_server(tmp_path: Path) -> None:
    with running(tmp_path / "first") as first:
        done = serve("--data-dir", first.data, "--listen", "127.0.0.1:0")
        assert (done.returncode, "another server runs" in done.stderr) == (1, True)
        done = serve("--data-dir", tmp_path / "second", "--dev", "--listen", first.address)
        assert (done.returncode, "cannot be listened on" in done.stderr) == (1, True)


@pytest.mark.parametrize("address", ["0.0.0.0:0", "192.0.2.1:5000", "[::]:0", "e.com:1", "127.0.0.1", ":1", "x:y"])
def test_serve_listens_on_the_loopback_only(tmp_path: Path, address: str) -> None:
    init(tmp_path / "data")
    assert serve("--data-dir", tmp_path / "data", "--listen", address).returncode == 1


@pytest.mark.parametrize("address", ["127.0.0.1", ":1", "x:y", "unix:/m", "192.0.2.1:5000"])
def test_metrics_are_served_on_a_port_of_this_machine(tmp_path: Path, address: str) -> None:
    init(tmp_path / "data")
    done = serve("--data-dir", tmp_path / "data", "--listen", "127.0.0.1:0", "--metrics-listen", address)
    assert (done.returncode, len(done.stderr.splitlines())) == (1, 1)


def test_every_option_is_a_variable_and_a_member_of_a_file(tmp_path: Path) -> None:
    init(tmp_path / "data")
    settings = tmp_path / "dealer.toml"
    settings.write_text(f'data-dir = "{tmp_path / "data"}"\nlisten = "0.0.0.0:1"\n')
    assert "'0.0.0.0:1'" in serve("--config", settings).stderr
    assert "'0.0.0.0:2'" in serve("--config", settings, env={"CUTCARD_LISTEN": "0.0.0.0:2"}).stderr
    both = serve("--config", settings, "--listen", "0.0.0.0:3", env={"CUTCARD_LISTEN": "0.0.0.0:2"})
    assert "'0.0.0.0:3'" in both.stderr
    settings.write_text("lisen = 1\n")
    assert "lisen is no option" in serve("--config", settings).stderr
    settings.write_text("= 1")
    assert serve("--config", settings).returncode == 2
    with running(tmp_path / "data", env={"CUTCARD_CONTRIBUTION_SECONDS": "5"}):
        pass


def test_a_signing_key_of_another_log_is_refused(tmp_path: Path) -> None:
    init(tmp_path / "a")
    run_tool("dealer", "init", "--data-dir", tmp_path / "b", "--origin", "other.invalid/room")
    (tmp_path / "b" / "log.key").replace(tmp_path / "a" / "log.key")
    done = serve("--data-dir", tmp_path / "a", "--listen", "127.0.0.1:0")
    assert (done.returncode, "other.invalid/room" in done.stderr) == (1, True)


def test_a_database_older_than_the_published_log_is_refused(tmp_path: Path) -> None:
    with running(tmp_path / "data") as dealer:
        room = dealer.room()
        room.play_out(room.open().hand_id)
        dealer.stop()
        backup = dealer.data / "db" / "cutcard.sqlite3"
        old = backup.read_bytes()
        dealer.start()
        room = dealer.room()
        room.play_out(room.open().hand_id)
        dealer.stop()
        for path in (dealer.data / "db").iterdir():
            path.unlink()
        backup.write_bytes(old)
        done = serve("--data-dir", dealer.data, "--listen", "127.0.0.1:0")
        assert (done.returncode, "Traceback" in done.stderr) == (1, False)


def test_export_of_a_running_dealer_is_brought_up_to_date(tmp_path: Path) -> None:
    with running(tmp_path / "data") as dealer:
        assert dealer.audit(tmp_path / "log").returncode == 3  # a log without a hand
        room = dealer.room()
        for expected in (2, 4):
            room.play_out(room.open().hand_id)
            done = run_tool("dealer", "export", tmp_path / "log", "--data-dir", dealer.data)
            assert done.stdout.startswith(f"{expected} entries")
            assert dealer.audit(tmp_path / "log").returncode == 0
    with running(tmp_path / "other") as other:
        refused = run_tool("dealer", "export", tmp_path / "log", "--data-dir", other.data)
        assert refused.returncode == 1
        assert "Traceback" not in refused.stderr


def test_the_auditor_s_pair_is_made_once(tmp_path: Path) -> None:
    assert run_tool("dealer", "escrow-keygen", tmp_path / "auditor").returncode == 0
    assert stat.S_IMODE((tmp_path / "auditor.key").stat().st_mode) == 0o600
    key = (tmp_path / "auditor.key").read_text()
    for half, text in (("private", key), ("public", (tmp_path / "auditor.pub").read_text())):
        label, _, value = text.partition(" ")
        assert (label, len(bytes.fromhex(value))) == (f"cutcard-escrow-{half}-v1", 32)
    assert run_tool("dealer", "escrow-keygen", tmp_path / "auditor").returncode == 1
    assert (tmp_path / "auditor.key").read_text() == key


@pytest.mark.parametrize(
    "content",
    [
        "",
        "zz",
        "00" * 31,
        "00" * 32,
        "01" + "00" * 31,
        "cutcard-escrow-public-v1",
        "cutcard-escrow-public-v1 zz",
        "aa bb",
    ],
)
def test_an_escrow_key_that_is_none_is_refused(tmp_path: Path, content: str) -> None:
    init(tmp_path / "data")
    (tmp_path / "bad.pub").write_text(content)
    done = serve("--data-dir", tmp_path / "data", "--escrow-public-key", tmp_path / "bad.pub")
    assert (done.returncode, "Traceback" in done.stderr) == (1, False)


BOM = b"\xef\xbb\xbf"


@pytest.mark.parametrize("bom", [b"", BOM], ids=["plain", "with a mark of byte order"])
def test_the_escrow_key_is_named_at_the_start_and_a_bare_one_is_warned_of(tmp_path: Path, bom: bytes) -> None:
    _, public = make_escrow_pair()
    fingerprint = hashlib.sha256(bytes.fromhex(public)).digest()[:8].hex()
    file = tmp_path / "auditor.pub"
    for content, warned in ((f"cutcard-escrow-public-v1 {public}\r\n", False), (public, True)):
        file.write_bytes(bom + content.encode())
        with running(tmp_path / f"data-{warned}", "--escrow-public-key", str(file)) as dealer:
            assert dealer.process is not None
            assert dealer.process.stdout is not None
            assert fingerprint in dealer.process.stdout.readline()
            assert ("nothing says which half" in dealer.log_lines()) is warned


@pytest.mark.parametrize("bom", [b"", BOM], ids=["plain", "with a mark of byte order"])
def test_a_private_key_where_the_public_one_belongs_is_refused_and_not_shown(tmp_path: Path, bom: bytes) -> None:
    private, _ = make_escrow_pair()
    (tmp_path / "auditor.key").write_bytes(bom + f"cutcard-escrow-private-v1 {private}\n".encode())
    for command in (["serve", "--dev", "--data-dir", tmp_path / "data"], ["double"]):
        done = run_tool("dealer", *command, "--escrow-public-key", tmp_path / "auditor.key")
        assert (done.returncode, "Traceback" in done.stderr) == (1, False)
        assert "private key" in done.stderr
        assert private not in done.stdout + done.stderr


def test_files_that_begin_with_a_mark_of_byte_order_are_read(tmp_path: Path) -> None:
    init(tmp_path / "data")
    key = run_tool("dealer", "key", "--data-dir", tmp_path / "data").stdout
    config = tmp_path / "dealer.toml"
    config.write_bytes(BOM + f'data-dir = "{tmp_path / "data"}"\n'.encode())
    for path in (tmp_path / "data" / "log.key", tmp_path / "data" / "at-rest" / "owner"):
        path.write_bytes(BOM + path.read_bytes())
    assert run_tool("dealer", "key", "--config", config).stdout == key
    with running(tmp_path / "data") as dealer:
        assert dealer.room().open().number == 1


def test_metrics_are_served_and_name_nobody(tmp_path: Path) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    import urllib.request

    with running(tmp_path / "data", "--metrics-listen", f"127.0.0.1:{port}") as dealer:
        hand = dealer.room().open("a-table").hand_id
        text = urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics").read().decode()
        assert 'cutcard_calls_total{code="OK",method="OpenHand"} 1.0' in text
        assert "cutcard_hands_in_play 1.0" in text
        assert hand not in text
        assert "a-table" not in text


def test_reflection_and_health_are_served(tmp_path: Path) -> None:
    from grpc_health.v1 import health_pb2, health_pb2_grpc
    from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

    def listed(dealer: Running) -> set[str]:
        stub = reflection_pb2_grpc.ServerReflectionStub(dealer.room().channel)
        request = reflection_pb2.ServerReflectionRequest(list_services="")
        return {s.name for a in stub.ServerReflectionInfo(iter([request])) for s in a.list_services_response.service}

    with running(tmp_path / "data") as dealer:
        assert {"dealer.v1.DealerService", "dealer.v1.LogService", "grpc.health.v1.Health"} <= listed(dealer)
        assert not any("Double" in name for name in listed(dealer))
        health = health_pb2_grpc.HealthStub(dealer.room().channel)
        for name in ("", "dealer.v1.DealerService", "dealer.v1.LogService"):
            status = health.Check(health_pb2.HealthCheckRequest(service=name)).status
            assert status == health_pb2.HealthCheckResponse.SERVING
    with running(tmp_path / "data", "--no-reflection") as dealer, pytest.raises(Exception, match="UNIMPLEMENTED"):
        listed(dealer)


def test_help_names_every_command() -> None:
    text = subprocess.run([BIN / "dealer", "--help"], capture_output=True, text=True, check=True).stdout
    for command in ("init", "serve", "key", "export", "escrow-keygen", "demo"):
        assert f"  {command}" in text


def test_entropy_writes_as_many_raw_bytes_as_are_asked_for() -> None:
    both = [subprocess.run([BIN / "dealer", "entropy", "--bytes", "70000"], capture_output=True) for _ in range(2)]
    assert [(done.returncode, len(done.stdout), done.stderr) for done in both] == [(0, 70_000, b"")] * 2
    assert both[0].stdout != both[1].stdout


def test_export_touches_no_folder_that_holds_something_else(tmp_path: Path) -> None:
    data, out = tmp_path / "data", tmp_path / "out"
    assert run_tool("dealer", "init", "--data-dir", data, "--origin", "dealer.example/room").returncode == 0
    out.mkdir()
    assert run_tool("dealer", "export", out, "--data-dir", data).returncode == 0
    assert run_tool("dealer", "export", out, "--data-dir", data).returncode == 0
    (out / "notes.txt").write_text("mine")
    before = sorted(out.rglob("*"))
    refused = run_tool("dealer", "export", out, "--data-dir", data)
    assert (refused.returncode, "notes.txt" in refused.stderr) == (1, True), refused.stderr
    assert sorted(out.rglob("*")) == before
