"""A report says of what it is: API.md, `of` and "Code digest"."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path

from click.testing import CliRunner

import audit
from audit.cli import cli
from audit.outside import without_password
from audit.report.code_digest import code_digest, folder_digest
from audit.report.subject import LogSubject, Subject, as_json
from tests.attacks.maker import Signer, honest

SIGNER = Signer()


def test_the_code_digest_is_what_the_page_says(tmp_path: Path) -> None:
    files = {b"a-b": b"1", b"a/b": b"2", b"a.py": b"", "ä".encode(): b"3"}
    for name, data in files.items():
        path = tmp_path / name.decode()
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(data)
    expected = hashlib.sha256()
    for name in (b"a-b", b"a.py", b"a/b", "ä".encode()):
        expected.update(len(name).to_bytes(2, "big") + name + hashlib.sha256(files[name]).digest())
    assert folder_digest(tmp_path) == expected.hexdigest()
    (tmp_path / "a" / "__pycache__").mkdir()
    (tmp_path / "a" / "__pycache__" / "b.pyc").write_bytes(b"4")
    assert folder_digest(tmp_path) == expected.hexdigest()
    (tmp_path / "a.py").write_bytes(b" ")
    assert folder_digest(tmp_path) != expected.hexdigest()


def test_the_code_digest_is_of_the_installed_package(tmp_path: Path) -> None:
    shutil.copytree(Path(audit.__file__).parent, tmp_path / "audit", ignore=shutil.ignore_patterns("__pycache__"))
    assert code_digest() == folder_digest(tmp_path / "audit")


def test_verify_says_of_what_it_is(tmp_path: Path) -> None:
    log = honest().write(tmp_path / "log")
    key = tmp_path / "vkey"
    key.write_text(f"{SIGNER.verifier}\n")
    words = ["verify", str(log), "--key", str(key)]
    of = json.loads(CliRunner().invoke(cli, [*words, "--format", "json"]).stdout)["of"]
    assert (of["origin"], of["size"], of["key_id"]) == (SIGNER.verifier.name, 17, SIGNER.verifier.key_id.hex())
    times = [entry["time"] for entry in honest().entries if isinstance(entry, dict)]
    assert (of["from"], of["to"], of["tables"], of["hands"], of["alpha"]) == (min(times), max(times), 2, 7, None)
    assert of["command"] == f"audit verify {log} --key {key} --format json"
    assert of["code_digest"] == code_digest()
    assert of["inputs"] == [
        {"name": str(each), "sha256": hashlib.sha256(data.read_bytes()).hexdigest()}
        for each, data in ((log, log / "checkpoint"), (key, key))
    ]
    printed = CliRunner().invoke(cli, words).stdout
    for value in (
        of["root"],
        of["key_id"],
        of["from"],
        of["to"],
        of["code_digest"],
        *(i["sha256"] for i in of["inputs"]),
    ):
        assert value in printed


def test_several_logs_are_told_apart() -> None:
    logs = tuple(LogSubject(name, name, 1, "00", None, None, None, 1, 1) for name in ("one", "two"))
    of = as_json(Subject(logs, 1e-6, "audit stats one two", "1", "00", "2026-01-01T00:00:00Z", ()))
    assert (of["origin"], [log["origin"] for log in of["logs"]]) == (None, ["one", "two"])


def test_no_address_says_its_password() -> None:
    for address, shown in (
        ("https://me:secret@host:80/log", "https://…@host:80/log"),
        ("cannot read https://me:se@cret@host/ now", "cannot read https://…@host/ now"),
        ("https://me:sec/ret@host/", "https://…@host/"),
        ("https://host:8080/a@b", "https://host:8080/a@b"),
        ("https://host/a:b@c", "https://host/a:b@c"),
    ):
        assert without_password(address) == shown
