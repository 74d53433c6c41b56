"""Which key, and which earlier checkpoint, belongs to which of several logs: they go by origin (API.md)."""

from __future__ import annotations

from collections.abc import Sequence

import click

from audit.errors import FormatError, InputError
from audit.logs.log import Log
from audit.tlog.earlier import origin_of, origin_of_earlier
from audit.tlog.keys import VerifierKey

Since = tuple[tuple[str, bytes], ...]


def by_origin(logs: Sequence[Log], keys: Sequence[VerifierKey], since: Since) -> list[tuple[VerifierKey | None, Since]]:
    """Returns for each log its key and what it must extend.

    One log takes the one key there is, whatever its origin: that they do not agree is for the check `checkpoint`.

    Raises:
        click.UsageError: two keys, or two logs, of one origin; a key or an earlier state that is of none of the logs.
    """
    once(keys)
    if len(logs) == 1 and len(keys) < 2:
        return [(keys[0] if keys else None, since)]
    origins = [_origin(log) for log in logs]
    for at, origin in enumerate(origins):
        if origin is not None and origin in origins[:at]:
            first = logs[origins.index(origin)].address
            raise click.UsageError(
                f"{first} and {logs[at].address} are states of one log, {origin}: to hold one against the other give "
                "the checkpoint of the earlier one by --since"
            )
    for key in keys:
        _belongs(f"--key is of {key.name!a}", key.name, origins)
    earlier = [(name, data, origin_of_earlier(data)) for name, data in since]
    for name, _, origin in earlier:
        _belongs(f"--since {name} is of {origin!a}", origin, origins)
    return [
        (
            next((key for key in keys if key.name == origin), None),
            tuple((name, data) for name, data, of in earlier if of == origin or (of is None and at == 0)),
        )
        for at, origin in enumerate(origins)
    ]


def once(keys: Sequence[VerifierKey]) -> None:
    """Refuses two keys for one log.

    Raises:
        click.UsageError: two keys of one origin.
    """
    names = [key.name for key in keys]
    for at, name in enumerate(names):
        if name in names[:at]:
            raise click.UsageError(f"two keys of {name!a}: a log has one key for ever")


def _belongs(what: str, origin: str | None, origins: Sequence[str | None]) -> None:
    """Refuses what is of none of the logs; where a log does not say its origin, it may be of that one."""
    if origin is not None and origin not in origins and None not in origins:
        raise click.UsageError(f"{what}, and none of the logs is")


def _origin(log: Log) -> str | None:
    try:
        data = log.checkpoint()
        return None if data is None else origin_of(data)
    except (FormatError, InputError):
        return None
    finally:
        log.close()
