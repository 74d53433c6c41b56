"""`audit monitor LOG`: follow a log, and say what is wrong once it is (WITNESS.md section 9)."""

from __future__ import annotations

import contextlib
import json
import shlex
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.text import Text

from audit.commands.options import (
    LogType,
    allow_test_option,
    ca_option,
    demand,
    escrow_key_option,
    escrow_keys,
    format_option,
    host_and_port,
    key_option,
    max_age_option,
    policy_option,
    trusting,
)
from audit.commands.progress import entries_bar
from audit.commands.run import command_line, inputs
from audit.commands.verify import EPILOG, processes
from audit.errors import InputError
from audit.logs.log import Log
from audit.monitor import alarms
from audit.monitor.follow import Follower, Looked
from audit.monitor.memory import Memory
from audit.report import verify_json, verify_text
from audit.report.code_digest import code_digest
from audit.report.console import console, print_json
from audit.report.stderr import say
from audit.report.subject import subject
from audit.tlog.keys import VerifierKey
from audit.tlog.policy import Policy
from audit.whole.verify import Options

if TYPE_CHECKING:
    from audit.monitor.metrics import Metrics

COMMAND_SECONDS = 60.0
LEAST_EVERY = 10
"""The last bundle of a log grows until it is full: more often it is not read."""


@click.command(epilog=EPILOG.replace("Exit codes:", "Exit codes with --once:"))
@click.argument("log", type=LogType())
@click.option(
    "--state", type=click.Path(path_type=Path), required=True, help="The monitor's folder, made if it is not there."
)
@key_option
@policy_option
@max_age_option
@escrow_key_option
@ca_option
@allow_test_option
@click.option(
    "--every",
    type=click.IntRange(min=LEAST_EVERY),
    metavar="SECONDS",
    default=LEAST_EVERY,
    show_default=True,
    help="How often to look.",
)
@click.option("--once", is_flag=True, help="Look once, print the report as `audit verify` does, and end: for cron.")
@click.option("--metrics-listen", metavar="HOST:PORT", help="Where to serve metrics for Prometheus; port 0: any.")
@click.option(
    "--on-finding",
    "command",
    metavar="COMMAND",
    help="Run when an alarm begins or ends, with its JSON on standard input.",
)
@click.option("--jobs", type=click.IntRange(min=1), default=processes, show_default="all cores", help="Processes.")
@format_option
@click.pass_context
def monitor(
    ctx: click.Context,
    log: Log,
    state: Path,
    key: VerifierKey | None,
    policy: Policy | None,
    max_age: int | None,
    escrow_key_files: tuple[tuple[str, bytes], ...],
    ca: tuple[str, bytes] | None,
    allow_test: bool,
    every: int,
    once: bool,
    metrics_listen: str | None,
    command: str | None,
    jobs: int,
    output: str,
) -> None:
    """Follow LOG: check what is new, and hold it against what was seen before and what witnesses hold.

    Finds what `audit verify` of the whole LOG would, and remembers every checkpoint that it took as good. An alarm is
    said once when it begins, and once when it is over: a finding, no quorum newer than --max-age, a log that cannot be
    read. Ends with SIGTERM or Ctrl-C, and goes on where it was when it is started again.
    """
    words = _words(command)
    pinned = _pinned(key, policy)
    asked = demand(policy, max_age, pinned)
    options = Options(
        pinned,
        escrow_keys(escrow_key_files),
        allow_test=allow_test,
        processes=jobs,
        witnesses=asked,
        ask_witnesses=policy is not None and bool(policy.witnesses),
    )
    watch = _Watch(Memory(state, pinned, int(time.time())), trusting(log, ca), options, words, output, once=once)
    try:
        if metrics_listen is not None:
            watch.serve_metrics(metrics_listen)
        if once:
            ctx.exit(watch.look().report.exit_code)
        watch.follow(every)
    except (sqlite3.Error, UnicodeDecodeError) as error:  # the library cannot always decode its own message
        raise InputError(f"{state}: the monitor's memory cannot be used: {error}") from None
    finally:
        watch.close()


def _words(command: str | None) -> list[str]:
    try:
        return shlex.split(command or "")
    except ValueError as error:
        raise click.BadParameter(f"{command!a}: {error}", param_hint="--on-finding") from None


def _pinned(key: VerifierKey | None, policy: Policy | None) -> VerifierKey:
    """The log's key, the policy's only one where none was given."""
    if key is not None:
        return key
    keys = policy.logs if policy is not None else ()
    if len(keys) != 1:
        raise click.UsageError("the log's key is needed: --key, or a `log` line in the policy, one alone")
    return next(iter(keys))


class _StopError(BaseException):
    """The monitor is to end in the middle of a look, which it can at any moment."""


class _Watch:
    """A monitor at work: what it sees, whom it tells, and when it looks again."""

    def __init__(
        self, memory: Memory, log: Log, options: Options, command: list[str], output: str, *, once: bool
    ) -> None:
        assert options.key is not None
        basis = f"{code_digest()} {sys.version_info[:2]}"
        self._memory = memory
        self._follower = Follower(log, options.key, options, memory, basis)
        self._max_age = options.witnesses.max_age if options.witnesses is not None else None
        self._address = log.address
        self._command = command
        self._output = output
        self._once = once
        self._metrics: Metrics | None = None
        self._stop = threading.Event()
        self._looking = False

    def close(self) -> None:
        self._memory.close()

    def serve_metrics(self, listen: str) -> None:
        host, port = host_and_port(listen, "--metrics-listen")
        try:
            from audit.monitor.metrics import Metrics
        except ModuleNotFoundError as error:
            raise click.UsageError(
                f"--metrics-listen needs {error.name}, which is not installed: it comes with the extra `audit`"
            ) from None
        self._metrics = Metrics()
        try:
            bound = self._metrics.serve(host, port)
        except OSError as error:
            raise InputError(f"{listen} cannot be listened on: {error.strerror or error}") from None
        say(f"metrics are served on http://{host}:{bound}/metrics")

    def follow(self, every: int) -> None:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._end)
        say(f"monitoring {self._address}")
        with contextlib.suppress(_StopError):
            while not self._stop.is_set():
                begun = time.monotonic()
                self.look()
                took = time.monotonic() - begun
                self._stop.wait(max(every - took, min(took, every)))

    def _end(self, *_: object) -> None:
        self._stop.set()
        if self._looking:
            raise _StopError

    def look(self) -> Looked:
        now = int(time.time())
        self._looking = True
        with entries_bar() as progress:
            looked = self._follower.look(now, progress)
        self._looking = False
        alarms.take(looked, self._memory, now, self._max_age)
        if self._metrics is not None:
            self._metrics.take(looked, self._memory, now)
        if self._once:
            about = subject(command_line(), [looked.report], inputs())
            if self._output == "json":
                print_json(verify_json.render(looked.report, about))
            else:
                verify_text.print_report(looked.report, about, console(), show=20)
        self._tell()
        return looked

    def _tell(self) -> None:
        """Tells what nobody was told yet, in order; what could not be told is told again after the next look."""
        for news in self._memory.news():
            if self._stop.is_set():
                return
            if self._command and not self._run(json.dumps(news.said)):
                return
            self._print(news.said)
            self._memory.told(news.number)

    def _run(self, said: str) -> bool:
        try:
            done = subprocess.run(self._command, input=said.encode(), timeout=COMMAND_SECONDS, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            say(f"--on-finding: {error}")
            return False
        if done.returncode:
            say(f"--on-finding: {shlex.join(self._command)} ended with {done.returncode}")
        return done.returncode == 0

    def _print(self, said: dict[str, Any]) -> None:
        if self._output == "json":
            if not self._once:
                print_json(json.dumps(said))
            return
        over = said["alarm"] == "ends"
        where = "" if said["index"] is None else f", entry {said['index']}"
        check = "" if said["check"] is None else f" {said['check']}"
        word = ("over", "green") if over else ("ALARM", "bold red")
        out = console()
        out.print(Text.assemble(f"{said['time']}  ", word, f"  {said['kind']}{check}{where}: {said['text']}"))
        for note in said["whole"] if not over else ():
            for line in note.splitlines():
                out.print(Text(f"  | {line}"))
