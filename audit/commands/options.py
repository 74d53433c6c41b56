"""Options that commands share, and what they turn into; whatever is wrong with one is a usage error (exit code 2)."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import click

from audit.commands.run import note_input
from audit.errors import FormatError, InputError
from audit.files import open_regular
from audit.hand.escrow import EscrowKeys
from audit.hand.escrow_keys import read_keys
from audit.logs import open_log
from audit.logs.log import Log
from audit.report.subject import bytes_digest
from audit.tlog.keys import VerifierKey
from audit.tlog.policy import Policy
from audit.tlog.policy import parse as parse_policy
from audit.tlog.witnessed import Demand

MAX_KEY_BYTES = 10_000
MAX_FILE_BYTES = 2_000_000


def read_file(path: str, most: int = MAX_FILE_BYTES) -> bytes:
    """Returns the bytes of a file that the command line names, `-` for standard input.

    Raises:
        InputError: it cannot be read, or is longer than anything that it could be.
    """
    try:
        if path == "-":
            data = sys.stdin.buffer.read(most + 1)
        else:
            with open_regular(Path(path)) as file:
                data = file.read(most + 1)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from None
    if len(data) > most:
        raise InputError(f"{path} is longer than {most} bytes, which no such file is")
    note_input(bytes_digest(path, data))
    return data


class VerifierKeyType(click.ParamType[VerifierKey]):
    """A verifier key, as text or as the path of a file that holds it."""

    name = "KEY"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> VerifierKey:
        """Reads the key."""
        if isinstance(value, VerifierKey):
            return value
        try:
            text = key_text(read_file(value, MAX_KEY_BYTES)) if _is_there(value) else value
            return VerifierKey.parse(text.strip())
        except InputError as error:
            self.fail(str(error), param, ctx)
        except FormatError as error:
            what = "the file's text" if _is_there(value) else "no such file, and as a key"
            self.fail(f"{value}: {what}: {error}", param, ctx)


class LogType(click.ParamType[Log]):
    """A log: a folder, an http(s) address, or grpc://host:port."""

    name = "LOG"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Log:
        """Opens the log; nothing is read yet."""
        if isinstance(value, Log):
            return value
        try:
            return open_log(value)
        except InputError as error:
            self.fail(str(error), param, ctx)


class PolicyType(click.ParamType[Policy]):
    """A policy of witnesses; what is wrong with it is wrong usage."""

    name = "FILE"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Policy:
        """Reads the policy."""
        if isinstance(value, Policy):
            return value
        try:
            return parse_policy(read_file(value))
        except (FormatError, InputError) as error:
            self.fail(f"{value}: {error}", param, ctx)


class FileType(click.ParamType[tuple[str, bytes]]):
    """A file that must be there; its value is the path and the bytes."""

    name = "FILE"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, bytes]:
        """Reads the file."""
        if isinstance(value, tuple):
            return value
        try:
            return value, read_file(value)
        except InputError as error:
            self.fail(str(error), param, ctx)


def _is_there(value: str) -> bool:
    try:
        return Path(value).exists()
    except (OSError, ValueError):
        return False


def key_text(data: bytes) -> str:
    """Returns a key file's text; a byte order mark (U+FEFF), which some editors put before it, is passed over.

    Raises:
        FormatError: it is not text.
    """
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise FormatError("not text in UTF-8, which a key file is") from None


def escrow_keys(files: tuple[tuple[str, bytes], ...]) -> EscrowKeys:
    """Returns the auditor's escrow keys from their files.

    Raises:
        click.BadParameter: a file that holds no key; the message names the file and never its text.
    """
    texts = []
    for path, data in files:
        try:
            text = key_text(data)
            read_keys([text])
        except FormatError as error:
            raise click.BadParameter(f"{path}: {error}", param_hint="--escrow-key") from None
        texts.append(text)
    return read_keys(texts)


def trusting(log: Log, ca: tuple[str, bytes] | None) -> Log:
    """Returns the log, which holds its server against the CA certificates that were given."""
    if ca is not None:
        log.trust(ca[1])
    return log


def demand(policy: Policy | None, max_age: int | None, key: VerifierKey | None) -> Demand | None:
    """Returns what is asked of witnesses, None without a policy.

    Raises:
        click.UsageError: options that do not go together.
    """
    if policy is None:
        if max_age is not None:
            raise click.UsageError("--max-age needs --policy")
        return None
    if key is not None and policy.logs and key not in policy.logs:
        raise click.UsageError(f"--key and --policy do not agree: {key.name}'s key is none of the policy's logs")
    return Demand(policy, int(time.time()), max_age)


def host_and_port(text: str, option: str) -> tuple[str, int]:
    """Returns what HOST:PORT says, without the brackets of an address of IPv6.

    Raises:
        click.BadParameter: it says something else.
    """
    host, colon, port = text.rpartition(":")
    if not (colon and host and port.isdecimal() and int(port) < 65536):
        raise click.BadParameter(f"{text!a}: expected HOST:PORT", param_hint=option)
    return host.strip("[]"), int(port)


key_option = click.option(
    "--key",
    type=VerifierKeyType(),
    help="The log's verifier key (name+id+key), as text or a file. Take it from somewhere else than the log.",
)
needed_key_option = click.option(
    "--key",
    type=VerifierKeyType(),
    required=True,
    help="The log's verifier key (name+id+key), as text or a file. Take it from somewhere else than the log.",
)
keys_option = click.option(
    "--key",
    "keys",
    type=VerifierKeyType(),
    multiple=True,
    help="A log's verifier key (name+id+key), as text or a file; once for each log. Take it from somewhere else.",
)
escrow_key_option = click.option(
    "--escrow-key",
    "escrow_key_files",
    type=FileType(),
    multiple=True,
    help="A private escrow key that opens sealed hands (`dealer escrow-keygen`); may be given more than once.",
)
since_option = click.option(
    "--since",
    type=FileType(),
    multiple=True,
    help="An earlier checkpoint or receipt, which this log must extend; may be given more than once.",
)
policy_option = click.option(
    "--policy",
    type=PolicyType(),
    help="Whom to believe: logs, witnesses, how many of them (c2sp.org/tlog-policy). Its logs stand in for --key.",
)
max_age_option = click.option(
    "--max-age", type=click.IntRange(min=1), metavar="SECONDS", help="How old the witnesses' word may be."
)
ca_option = click.option(
    "--ca",
    type=FileType(),
    help="CA certificates in PEM that the server of a grpcs:// log is held against.  [default: the system's]",
)
allow_test_option = click.option("--allow-test", is_flag=True, help="Judge a test double's record as any other.")
format_option = click.option(
    "--format",
    "output",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="Text for people, or JSON with a stable schema.",
)
