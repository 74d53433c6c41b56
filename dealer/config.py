"""Where an option's value comes from: the command line, then `CUTCARD_…`, then a TOML file, then the default."""

import re
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click
from click.core import ParameterSource

from dealer.files import read_text

PREFIX = "CUTCARD"
C = TypeVar("C", bound=Callable[..., Any])


def _read(context: click.Context, parameter: click.Parameter, path: Path | None) -> None:
    if path is None:
        return
    try:
        content = tomllib.loads(read_text(path))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise click.UsageError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}") from None
    known = {p.name: p for p in context.command.params}
    values: dict[str, Any] = {}
    for key, value in content.items():
        name = key.replace("-", "_")
        if name not in known:
            raise click.UsageError(f"{path}: {key} is no option of `dealer {context.command.name}`")
        # Of an option that may be repeated one value stands for a list of it.
        repeated = isinstance(known[name], click.Option) and known[name].multiple
        values[name] = [value] if repeated and isinstance(value, str) else value
    context.default_map = {**(context.default_map or {}), **values}


config_option = click.option(
    "--config",
    type=click.Path(path_type=Path),
    envvar=f"{PREFIX}_CONFIG",
    is_eager=True,
    expose_value=False,
    callback=_read,
    help="TOML file whose members are these options, without the dashes in front.",
)
"""The option that every command with settings takes."""


def option(*names: str, **settings: Any) -> Callable[[C], C]:
    """Returns a click option that is an environment variable too: `--data-dir` is `CUTCARD_DATA_DIR`."""
    long = next(name for name in names if name.startswith("--")).split("/")[0]
    variable = f"{PREFIX}_{long.removeprefix('--').replace('-', '_').upper()}"
    return click.option(*names, envvar=variable, show_envvar=True, **settings)


def _warn_of_password(context: click.Context, parameter: click.Parameter, url: str | None) -> str | None:
    typed = context.get_parameter_source(parameter.name or "") is ParameterSource.COMMANDLINE
    if url is not None and typed and re.search(r"://[^/?]*:[^/?]*@|password *=", url):
        click.echo(
            f"Warning: everybody on this machine can read the password in {parameter.opts[0]} (ps): put it into "
            f"~/.pgpass, or the whole URL into {parameter.envvar}",
            err=True,
        )
    return url


def database_option(*names: str, **settings: Any) -> Callable[[C], C]:
    """Returns the option that names a log's database; it says where a password in it is seen by others."""
    return option(*names, metavar="URL", callback=_warn_of_password, **settings)


contribution_option = option(
    "--contribution-seconds",
    type=click.FloatRange(0),
    default=60.0,
    show_default=True,
    help="An offered hand is locked after so long; 0: only when asked.",
)
"""How long whatever serves hands waits for contributions."""

log_format_option = option(
    "--log-format", type=click.Choice(["text", "json"]), default="text", show_default=True, help="Of log lines."
)
"""The form of the log lines of whatever serves hands."""

log_level_option = option(
    "--log-level", type=click.Choice(["info", "warning"]), default="info", show_default=True, help="Least of log lines."
)
"""From which level on whatever serves hands writes lines."""
