"""`audit receipt --log LOG --index N --out FILE`: the receipts of a log's entries, made from its static files."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from audit.cli import cli
from audit.evidence.make_receipt import make_receipt
from audit.logs.folder import FolderLog
from tests.attacks.cosigning import ONE
from tests.vectors.places import FOREIGN

RECEIPTS = json.loads((FOREIGN / "receipts.json").read_text())
LOG = FOREIGN / "golden-log-200"
KEY = FOREIGN / "golden-log-200.vkey"


def run(*args: object) -> Result:
    done = CliRunner().invoke(cli, ["receipt", *(str(arg) for arg in args)])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done


def test_made_receipts_are_those_of_the_vectors() -> None:
    whole = [case for case in RECEIPTS["receipts"] if case["size"] == 467]
    assert whole
    for case in whole:
        data, entry = make_receipt(FolderLog(LOG), case["index"])
        assert (data.decode(), entry.decode()) == (case["receipt"], case["entry"])


@pytest.mark.parametrize("index", [0, 255, 256, 466])
def test_a_made_receipt_is_checked_and_kept(index: int, tmp_path: Path) -> None:
    out = tmp_path / "receipt"
    done = run("--log", LOG, "--index", index, "--out", out, "--key", KEY)
    assert done.exit_code == 0, done.stdout
    assert run(out, "--log", LOG, "--key", KEY).exit_code == 0
    assert run("--log", LOG, "--index", index, "--out", out, "--key", KEY).exit_code == 2  # it is there already
    assert run("--log", LOG, "--index", index, "--out", tmp_path / "other").exit_code == 3  # nobody vouches


def test_cosignatures_come_along(tmp_path: Path) -> None:
    folder = tmp_path / "log"
    shutil.copytree(LOG, folder)
    (folder / "checkpoint").write_bytes(ONE.onto((LOG / "checkpoint").read_bytes()))
    assert run("--log", folder, "--index", 3, "--out", tmp_path / "receipt", "--key", KEY).exit_code == 0
    assert (tmp_path / "receipt").read_bytes().endswith((folder / "checkpoint").read_bytes())


def test_what_cannot_be_made(tmp_path: Path) -> None:
    out = tmp_path / "receipt"
    folder = tmp_path / "log"
    shutil.copytree(LOG, folder)
    for args, code in (
        (["--log", LOG, "--index", 467, "--out", out], 4),
        (["--log", tmp_path, "--index", 1, "--out", out], 4),
        (["--log", LOG, "--index", 1], 2),
        (["--log", LOG, "--out", out], 2),
        (["--index", 1, "--out", out], 2),
        ([LOG / "checkpoint", "--log", LOG, "--index", 1, "--out", out], 2),
        ([], 2),
    ):
        assert run(*args, "--key", KEY).exit_code == code, args
    tile = folder / "tile" / "0" / "000"
    tile.chmod(0o644)
    tile.write_bytes(bytes(32 * 256))
    assert run("--log", folder, "--index", 1, "--out", out, "--key", KEY).exit_code == 1
    tile.unlink()
    assert run("--log", folder, "--index", 1, "--out", out, "--key", KEY).exit_code == 4
    assert not out.exists()
