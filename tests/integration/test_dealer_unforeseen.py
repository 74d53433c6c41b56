"""What nobody foresaw ends every command of `dealer` with 70 and one line, never with 1 and a traceback."""

import os
import subprocess
import sys
from typing import Any

import click
import pytest

from dealer.cli import main

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


def arguments_of(command: click.Command) -> list[str]:
    needed: list[str] = []
    for parameter in command.params:
        if parameter.required:
            needed += ["x"] if isinstance(parameter, click.Argument) else [parameter.opts[-1], "x"]
    return needed


@pytest.mark.parametrize("name", sorted(main.commands))
@pytest.mark.parametrize("error", [ValueError("seed 00ff\n"), OSError(28, "No space left on device"), MemoryError()])
def test_every_command_ends_with_70_and_one_line(
    name: str, error: Exception, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(context: click.Context) -> Any:
        raise error

    command = main.commands[name]
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
