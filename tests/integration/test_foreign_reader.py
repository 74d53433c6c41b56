"""A dealer's log, cosigned by our witnesses, is read by others' code: golang.org/x/mod's `note` and `tlog`."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from audit.tlog.keys import VerifierKey
from audit.witness.store import Store, create
from tests.integration.running import run_tool, running
from tests.integration.witnessing import ask, inside

SOURCE = Path(__file__).parent / "xmod" / "main.go"
PACKAGES = Path("/usr/share/gocode")
"""Where Debian's packages of Go libraries are (golang-golang-x-mod-dev)."""

pytestmark = [
    pytest.mark.skipif(shutil.which("go") is None, reason="no Go toolchain: apt-get install golang-go"),
    pytest.mark.skipif(
        not (PACKAGES / "src/golang.org/x/mod/sumdb/tlog").is_dir(),
        reason="golang.org/x/mod is missing: apt-get install golang-golang-x-mod-dev",
    ),
]


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("go")
    env = {"GO111MODULE": "off", "GOPATH": str(PACKAGES), "CGO_ENABLED": "0", "GOCACHE": str(folder / "cache")}
    command = ["go", "build", "-o", str(folder / "xmod"), str(SOURCE)]
    done = subprocess.run(command, env={**os.environ, **env}, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder / "xmod"


def test_x_mod_reads_log_cosignatures_and_receipts(program: Path, tmp_path: Path) -> None:
    log, older = tmp_path / "log", tmp_path / "older"
    with running(tmp_path / "data") as dealer:
        room = dealer.room()
        for number in range(150):  # two bundles, the second one partial
            room.void(room.open(f"t{number % 5}").hand_id)
            if number == 40:
                shutil.copyfile(dealer.export(tmp_path / "then") / "checkpoint", older)
        key = dealer.verifier_key()
        dealer.export(log)
    receipt = tmp_path / "receipt"
    assert run_tool("audit", "receipt", "--log", log, "--index", "257", "--out", receipt, "--key", key).returncode == 0
    witnesses = []
    note = (log / "checkpoint").read_bytes()
    for name in ("one", "two"):
        witnesses.append(str(create(tmp_path / name, f"witness.example/{name}")))
        store = Store(tmp_path / name)
        store.add_logs([VerifierKey.parse(key)])
        store.close()
        with inside(tmp_path / name, time.time) as port:
            answer = ask(port, b"old 0\n\n" + note)
        assert answer.status == 200
        with (log / "checkpoint").open("a") as file:
            file.write(answer.body)

    def read(*keys: str) -> subprocess.CompletedProcess[str]:
        command = [str(program), str(log), key, str(receipt), str(older), *keys]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    assert read(*witnesses).stdout == "300 entries, 3 signatures, extends 82, receipt of 257\n", read(*witnesses).stderr
    assert read(witnesses[1]).stdout.startswith("300 entries, 2 signatures,")  # the other is by an unknown key

    checkpoint = (log / "checkpoint").read_text()
    lines = checkpoint.splitlines(keepends=True)
    swapped = lines[-1][:-10] + ("A" if lines[-1][-10] != "A" else "B") + lines[-1][-9:]
    (log / "checkpoint").write_text("".join([*lines[:-1], swapped]))
    assert "invalid signature for key witness.example/two" in read(*witnesses).stderr
    (log / "checkpoint").write_text(checkpoint)
    bundle = next((log / "tile/entries").rglob("000"))
    data = bytearray(bundle.read_bytes())
    data[100] ^= 1
    bundle.write_bytes(data)
    assert read(*witnesses).returncode == 1
