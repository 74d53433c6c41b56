"""Reads a log's hash tiles for proofs."""

from __future__ import annotations

from functools import lru_cache

from audit.errors import InputError
from audit.logs.log import Log
from audit.tlog.proving import ReadTile
from audit.tlog.tiles import path


def tile_reader(log: Log) -> ReadTile:
    """Returns what reads a log's hash tiles for a proof, the last few of them once.

    Raises:
        InputError: by what is returned, where a tile is not there.
    """

    @lru_cache(maxsize=4)
    def read(level: int, number: int, width: int) -> bytes:
        found = log.tile(level, number, width)
        if found is None:
            raise InputError(f"{log.address}: the hash tile {path(level, number, width)} is not there")
        return found

    return read
