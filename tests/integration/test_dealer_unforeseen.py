"""What nobody foresaw ends every command of `dealer` with 70 and one line, never with 1 and a traceback."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pytest

from dealer.cli import main
from tests.integration.running import BIN

FAILING = """
import sys
from dealer.cli import main
def fail(context): raise {error}
main.commands["escrow-keygen"].invoke = fail
main(["escrow-keygen", "x"])
"""
FORESEEN = """
from dealer.cli import main
main(["key", "--data-dir", "/nowhere/at/all"])
"""


HERE = click.Context(main)
NAMES = main.list_commands(HERE)


def arguments_of(command: click.Command) -> list[str]:
    if isinstance(command, click.Group):
        first = min(command.commands)
        return [first, *arguments_of(command.commands[first])]
    needed: list[str] = []
    for parameter in command.params:
        if parameter.required:
            needed += ["x"] if isinstance(parameter, click.Argument) else [parameter.opts[-1], "x"]
    return needed


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("error", [ValueError("seed 00ff\n"), OSError(28, "No space left on device"), MemoryError()])
def test_every_command_ends_with_70_and_one_line(
    name: str, error: Exception, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(context: click.Context) -> Any:
        raise error

    command = main.get_command(HERE, name)
    assert command is not None
    monkeypatch.setattr(command, "invoke", fail)
    with pytest.raises(SystemExit) as ended:
        main([name, *arguments_of(command)])
    told = capsys.readouterr().err
    assert (ended.value.code, told.count("\n")) == (70, 1)
    assert type(error).__name__ in told
    assert "test_dealer_unforeseen.py" in told
    assert "00ff" not in told


@pytest.mark.parametrize(("program", "code"), [(FAILING.format(error="KeyError('x')"), 70), (FORESEEN, 1)])
@pytest.mark.parametrize("where", ["pipe", "full", "no reader", "closed"])
def test_the_code_is_the_same_wherever_the_message_goes(program: str, code: int, where: str) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    full = os.open("/dev/full", os.O_WRONLY)
    stderr = {"pipe": subprocess.PIPE, "full": full, "no reader": writing, "closed": None}[where]
    run = [sys.executable, "-c", program]
    if where == "closed":
        run = ["sh", "-c", 'exec "$@" 2>&-', "sh", *run]
    done = subprocess.run(run, stderr=stderr, stdout=subprocess.PIPE, text=True, timeout=60)
    os.close(writing)
    os.close(full)
    assert done.returncode == code
    if where == "pipe":
        assert done.stderr.count("Error: ") == 1
        assert "Traceback" not in done.stderr


@pytest.mark.parametrize("words", [["escrow-keygen", "pair"], ["--help"], ["key", "--help"]])
@pytest.mark.parametrize(("where", "code"), [("full", 70), ("no reader", 141)])
def test_an_output_that_cannot_be_written_is_no_fault_of_the_dealer(
    words: list[str], where: str, code: int, tmp_path: Path
) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    full = os.open("/dev/full", os.O_WRONLY)
    stdout = {"full": full, "no reader": writing}[where]
    run = [str(BIN / "dealer"), *words]
    done = subprocess.run(run, cwd=tmp_path, stdout=stdout, stderr=subprocess.PIPE, text=True, timeout=60)
    os.close(writing)
    os.close(full)
    told = "Error: the output cannot be written: No space left on device\n" if where == "full" else ""
    assert (done.returncode, done.stderr) == (code, told)


@pytest.mark.parametrize("option", ["--config", "--escrow-public-key"])
@pytest.mark.parametrize("kind", ["pipe", "device"])
def test_what_is_no_regular_file_is_not_waited_for(option: str, kind: str, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    path = pipe if kind == "pipe" else Path("/dev/zero")
    run = [str(BIN / "dealer"), "serve", "--dev", "--data-dir", "data", "--listen", "127.0.0.1:0", option, str(path)]
    done = subprocess.run(run, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.returncode == (2 if option == "--config" else 1)
    assert f"{path} cannot be read: it is no regular file" in done.stderr
