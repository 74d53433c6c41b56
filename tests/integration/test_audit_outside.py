"""What comes from outside into an audit: text that would act on a terminal, and files that would make it wait."""

from __future__ import annotations

import contextlib
import json
import os
import signal
from base64 import b64encode
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

import grpc
import pytest
import rfc8785
from click.testing import CliRunner

from audit.cli import cli
from audit.evidence.client import FORMAT
from audit.stats.sources import STANDARD52
from tests.attacks.maker import Book, Draft, EscrowPair, Signer, honest, uuid7
from tests.integration.test_audit_servers import ACTS, Quiet, Service, dealing, serving, verify

SIGNER = Signer()
KEY = ("--key", str(SIGNER.verifier))


def run(*words: object, code: int, **options: Any) -> str:
    """Runs a command; holds its exit code, and that none of its output acts on a terminal."""
    done = CliRunner().invoke(cli, [str(word) for word in words], **options)
    assert done.exit_code == code, done.output
    assert acting(done.output) == set(), done.output
    assert "\nVALID" not in done.output
    return done.output


def acting(text: str) -> set[str]:
    return {*"\x1b\x9b\u202e\u2028"} & {*text}


def decks(count: int) -> str:
    """Decks that nobody shuffled."""
    return (" ".join(STANDARD52.cards) + "\n") * count


@pytest.mark.parametrize("form", ["text", "json"])
@pytest.mark.parametrize("code", [grpc.StatusCode.INTERNAL, grpc.StatusCode.PERMISSION_DENIED])
def test_the_details_of_a_grpc_refusal(form: str, code: grpc.StatusCode) -> None:
    class Refuses(Service):
        def GetCheckpoint(self, request: Any, context: Any) -> Any:
            context.abort(code, f"{ACTS}\nVALID")

        def ListEntries(self, request: Any, context: Any) -> Iterator[Any]:
            context.abort(code, f"{ACTS}\nVALID")

    with dealing(Refuses(honest())) as address:
        for words in (("verify", address), ("explain", address, Draft("x").id), ("stats", address)):
            assert "2J" in run(*words, *KEY, "--format", form, code=4)


@pytest.mark.parametrize("form", ["text", "json"])
@pytest.mark.parametrize("member", ["check", "detail", "hand", "key"])
def test_the_members_of_evidence(form: str, member: str, tmp_path: Path) -> None:
    content = {"format": FORMAT, "check": "x", "detail": "y", "hand": Draft("x").id, "key": "k"}
    (tmp_path / "file").write_text(json.dumps(content | {member: f"{ACTS}\nVALID"}))
    assert "2J" in run("receipt", tmp_path / "file", *KEY, "--format", form, code=3)


@pytest.mark.parametrize("member", ["commit", "cards", "acknowledgements", "checkpoints", "answers"])
def test_members_of_evidence_that_are_out_of_form(member: str, tmp_path: Path) -> None:
    shapes: list[Any] = [
        ACTS,
        [ACTS, ACTS],
        {"entry": "AA==", "receipt": ACTS},
        [{"position": 0, "card": ACTS, "salt": ACTS}],
    ]
    for shape in shapes:
        (tmp_path / "file").write_text(json.dumps({"format": FORMAT, "check": "x", "detail": "y", member: shape}))
        done = CliRunner().invoke(cli, ["receipt", str(tmp_path / "file"), *KEY])
        assert done.exit_code in (3, 4)
        assert acting(done.output) == set()


@pytest.mark.parametrize("form", ["text", "json"])
@pytest.mark.parametrize("place", ["schema", "member", "value"])
def test_findings_details(form: str, place: str, tmp_path: Path) -> None:
    hand = Draft("hand").deal()
    entry: dict[str, Any] = dict(hand.commit())
    if place == "schema":
        entry["schema"] = f"x{ACTS}\nVALID"
    else:
        entry["table" if place == "value" else f"{ACTS}\nVALID"] = f"{ACTS}\nVALID"
    log = Book(entries=[rfc8785.dumps(entry), hand.close(0)]).write(tmp_path)
    run("verify", log, *KEY, "--format", form, code=4 if place == "schema" else 1)
    run("stats", log, *KEY, "--format", form, code=4)


def test_labels_of_strata(tmp_path: Path) -> None:
    (tmp_path / "decks.txt").write_text(decks(300))
    labels = [f"{ACTS.replace(chr(0x2028), '')} $\\frac$", "\u202e<b>"]
    (tmp_path / "labels.txt").write_text("".join(f"{labels[deck % 2]}\n" for deck in range(300)))
    counted = ("--strata", f"day={tmp_path / 'labels.txt'}", "--tests", "precedence", "--jobs", "1")
    run("count", tmp_path / "decks.txt", *counted, "-o", tmp_path / "part", code=0)
    run("merge", tmp_path / "part", code=1)
    run("merge", tmp_path / "part", "--report", tmp_path / "out.html", "--format", "json", code=1)
    page = (tmp_path / "out.html").read_text()
    assert acting(page) == set()
    assert any("x1b[2J" in picture and "$\\frac$" in picture for picture in page.split("<svg")[1:])


@contextlib.contextmanager
def ending(seconds: float = 20) -> Iterator[None]:
    """Ends what waits at a pipe, so that the test fails and does not hang."""

    def end(*_: object) -> None:
        raise TimeoutError("it waits")

    before = signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


NAMED: dict[str, Callable[[Path, Path], tuple[object, ...]]] = {
    "a source": lambda pipe, here: ("stats", pipe),
    "an array": lambda pipe, here: ("stats", pipe.with_suffix(".npy")),
    "an array to count": lambda pipe, here: ("count", pipe.with_suffix(".npy"), "-o", here / "part"),
    "an array for bits": lambda pipe, here: ("bits", pipe.with_suffix(".npy")),
    "a part": lambda pipe, here: ("merge", pipe),
    "labels": lambda pipe, here: ("stats", here / "decks.txt", "--strata", f"day={pipe}"),
    "an order": lambda pipe, here: ("stats", here / "decks.txt", "--order", pipe),
    "a log to verify": lambda pipe, here: ("verify", pipe),
    "a log to explain": lambda pipe, here: ("explain", pipe, Draft("x").id),
    "a log to look in": lambda pipe, here: ("receipt", here / "receipt", "--log", pipe),
    "a key": lambda pipe, here: ("verify", here, "--key", pipe),
    "an escrow key": lambda pipe, here: ("verify", here, "--escrow-key", pipe),
    "an earlier checkpoint": lambda pipe, here: ("verify", here, *KEY, "--since", pipe),
    "evidence": lambda pipe, here: ("receipt", pipe),
    "an entry": lambda pipe, here: ("receipt", here / "receipt", "--entry", pipe),
}
"""Every place of a command line that names a file to be read."""


@pytest.mark.parametrize("place", NAMED)
def test_no_command_waits_at_a_pipe(place: str, tmp_path: Path) -> None:
    for name in ("pipe", "pipe.npy"):
        os.mkfifo(tmp_path / name)
    (tmp_path / "decks.txt").write_text(decks(20))
    (tmp_path / "receipt").write_bytes(SIGNER.receipt(honest().raws(), 0))
    words = [str(word) for word in NAMED[place](tmp_path / "pipe", tmp_path)]
    with ending():
        done = CliRunner().invoke(cli, words)
    assert done.exit_code in (2, 4), done.output
    assert "pipe" in done.output
    assert "it is a pipe" in done.output or place.startswith("a log")


@pytest.mark.parametrize("password", ["secret", "s/e:c%r@e\u00e9t"])
def test_a_log_behind_a_password(password: str, tmp_path: Path) -> None:
    expected = b64encode(f"me:{password}".encode()).decode()

    class Guarded(Quiet):
        def do_GET(self) -> None:
            if self.headers["Authorization"] == f"Basic {expected}":
                super().do_GET()
            else:
                self.send_error(401)

    folder = honest().write(tmp_path)
    with serving(partial(Guarded, directory=str(folder))) as address:
        named = address.replace("://", f"://me:{quote(password, safe='')}@")
        assert verify(named).verdict == "valid"
        for words in (["verify", named], ["verify", named.replace("me:", "you:")]):
            done = CliRunner().invoke(cli, [*words, *KEY, "--format", "json"])
            assert password not in done.output
            assert quote(password, safe="") not in done.output
            assert expected not in done.output
        assert json.loads(done.stdout)["verdict"] == "unreadable"
        assert "status 401" in done.stdout


def test_the_names_of_files_that_count_and_bits_say(tmp_path: Path) -> None:
    decks = [tmp_path / f"{name}\u202e.txt" for name in ("one", "two")]
    for path in decks:
        path.write_text("\n".join([" ".join(STANDARD52.cards)] * 10))
    for words in (["count", *decks, "-o", f"{decks[0]}.part"], ["bits", *decks]):
        done = CliRunner().invoke(cli, [str(word) for word in words])
        assert done.exit_code == 0, done.stderr
        said = done.stderr + (done.stdout if words[0] == "count" else "")
        assert "\\u202e" in said
        assert "\u202e" not in said


@pytest.mark.parametrize("scheme", ["grpc", "grpcs"])
@pytest.mark.parametrize("command", ["verify", "stats", "explain"])
def test_a_password_where_none_belongs(scheme: str, command: str) -> None:
    done = CliRunner().invoke(
        cli, [command, f"{scheme}://me:secret@127.0.0.1:1", *([uuid7("x")] if command == "explain" else [])]
    )
    assert done.exit_code in (2, 4)
    assert "no user or password" in done.output
    assert "secret" not in done.output


@pytest.mark.parametrize("carrier", ["http", "grpc"])
@pytest.mark.parametrize(
    ("states", "code", "said"),
    [
        ((9, 17), 0, None),
        ((17, 9), 1, "rolled back, or not yet published"),
        (("other", 17), 1, "a fork, both notes stand below"),
    ],
)
def test_earlier_states_of_a_log_behind_a_server(
    carrier: str, states: tuple[Any, int], code: int, said: str | None, tmp_path: Path
) -> None:
    """The same verdict and the same words as of a folder, whatever brings the bytes."""
    book = honest()
    raws = book.raws()
    then, now = states
    earlier = [b"{}", *raws[1:9]] if then == "other" else raws[:then]
    (tmp_path / "since").write_bytes(book.signer.checkpoint(earlier))
    kept = Book(book.signer, list(raws[:now]))
    folder = kept.write(tmp_path / "log")
    words = (*KEY, "--since", tmp_path / "since", "--escrow-key", escrow_file(tmp_path), "--allow-test")
    serve = serving(partial(Quiet, directory=str(folder))) if carrier == "http" else dealing(Service(kept))
    with serve as address:
        told = [
            json.loads(CliRunner().invoke(cli, ["verify", str(where), *map(str, words), "--format", "json"]).stdout)
            for where in (folder, address)
        ]
    assert [each["findings"] for each in told[:1]] == [each["findings"] for each in told[1:]]
    assert told[1]["verdict"] == told[0]["verdict"]
    found = [each["detail"] for each in told[1]["findings"] if each["check"] == "append-only"]
    assert (told[1]["exit_code"] == 1) == (code == 1)
    assert [said in detail for detail in found] == [True] * (said is not None)


def escrow_file(folder: Path) -> Path:
    file = folder / "escrow.key"
    file.write_text(EscrowPair().private.hex())
    return file
