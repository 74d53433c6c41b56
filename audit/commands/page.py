"""`audit page OUT`: the page on which a player checks a hand, with the key to believe in it."""

from __future__ import annotations

import hashlib
import html
import sysconfig
from pathlib import Path

import click

from audit.commands.options import key_option, read_file
from audit.errors import AuditError
from audit.tlog.keys import VerifierKey
from audit.tlog.policy import parse

BUILT = (
    Path(__file__).resolve().parents[2] / "player" / "bundle" / "verify.html",
    Path(sysconfig.get_path("data")) / "share" / "cutcard" / "page" / "verify.html",
)
"""Where `make page` puts it in a checkout, and where a wheel brings it to."""


@click.command()
@click.argument("out", type=click.Path(path_type=Path, dir_okay=False))
@key_option
@click.option("--policy", type=click.Path(path_type=Path, exists=True, dir_okay=False), help="A policy of witnesses.")
def page(out: Path, key: VerifierKey | None, policy: Path | None) -> None:
    """Write OUT, one HTML file on which a player checks a hand, offline.

    With --key or --policy, the page believes that key and asks for those witnesses, and says that they came with it:
    give it to players from somewhere else than the room.
    """
    built = next((path for path in BUILT if path.is_file()), None)
    if built is None:
        raise click.UsageError("the page was not built here: in a checkout, run `make page` first")
    text = built.read_text(encoding="utf-8")
    if key is not None:
        text = _filled(text, "key", str(key))
    if policy is not None:
        text = _filled(text, "policy", _policy(policy, key))
    try:
        with out.open("x", encoding="utf-8", newline="") as file:
            file.write(text)
    except OSError as error:
        raise click.BadParameter(f"{out} cannot be written: {error.strerror}", param_hint="OUT") from None
    click.echo(f"{out}  sha256 {hashlib.sha256(text.encode()).hexdigest()}")


def _policy(path: Path, key: VerifierKey | None) -> str:
    try:
        data = read_file(str(path))
        policy = parse(data)
    except AuditError as error:
        raise click.BadParameter(str(error), param_hint="--policy") from None
    if key is not None and policy.logs and key not in policy.logs:
        raise click.UsageError(f"--key and --policy do not agree: {key.name}'s key is none of the policy's logs")
    return data.decode()


def _filled(text: str, name: str, value: str) -> str:
    """Returns the page with a value in the place that it keeps for it."""
    empty = f'<meta name="cutcard-{name}" content="">'
    if text.count(empty) != 1:
        raise click.UsageError("the page that was built here is another version's: run `make page` again")
    return text.replace(empty, f'<meta name="cutcard-{name}" content="{html.escape(value)}">')
