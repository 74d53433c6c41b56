"""Owners of tables that move to another of the room's logs, in a file (docs/shards.md).

An old shard writes who its moved tables belong to; a new one reads it at its start. Otherwise the first room to open a
table there would have it.
"""

import json
from collections.abc import Iterable
from pathlib import Path

from dealer.core.ids import is_id
from dealer.errors import CutcardError
from dealer.files import read_text
from dealer.store.interface import TableRow

FORMAT = "cutcard-table-owners/v1"


class OwnersError(CutcardError):
    """A file of table owners that cannot be read, or is none."""


def write_owners(path: Path, origin: str, tables: Iterable[TableRow]) -> None:
    """Writes who tables belong to.

    Args:
        path: the file, whole or not at all.
        origin: of the log that the tables leave.
        tables: their rows.

    Raises:
        OSError: it cannot be written.
    """
    owners = {row.table: row.owner for row in tables}
    fresh = path.with_name(f"{path.name}.new")
    fresh.write_text(json.dumps({"format": FORMAT, "from": origin, "owners": owners}, indent=1) + "\n")
    fresh.replace(path)


def read_owners(path: Path) -> dict[str, str]:
    """Returns the owner of each table in a file.

    Raises:
        OwnersError: the file cannot be read, or is none of ours.
    """
    try:
        value = json.loads(read_text(path))
    except OSError as error:
        raise OwnersError(f"{path} cannot be read: {error.strerror}") from None
    except ValueError:
        raise OwnersError(f"{path} is no file of table owners: not JSON") from None
    if not isinstance(value, dict) or value.get("format") != FORMAT or not isinstance(value.get("owners"), dict):
        raise OwnersError(f"{path} is no file of table owners: its format is not {FORMAT}")
    for table, owner in value["owners"].items():
        if not (is_id(table) and isinstance(owner, str) and is_id(owner)):
            raise OwnersError(f"{path}: {table!a} is no table, or {owner!a} no room")
    return dict(value["owners"])
