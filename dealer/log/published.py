"""Holds the files of a static log against the log itself; what a killed publisher left behind is right as well."""

import re
from collections.abc import Iterator
from pathlib import Path

from dealer.errors import CutcardError
from dealer.log.merkle import NodeReader
from dealer.log.tiles import (
    CHECKPOINT,
    TILE_HEIGHT,
    TILE_WIDTH,
    UNFINISHED,
    EntryReader,
    bundle,
    bundle_path,
    tile_path,
    tiles_of,
)

_PLACE = re.compile(
    r"tile/(?P<level>entries|[0-9]{1,2})/(?P<number>(?:x[0-9]{3}/)*[0-9]{3})(?:\.p/(?P<width>[0-9]{1,3}))?"
)


def wrong_files(out: Path, shown: int, size: int, read_node: NodeReader, read_entries: EntryReader) -> Iterator[str]:
    """Names every file of a static log that is missing, is not what the log says, or is none of its files.

    Args:
        out: the folder.
        shown: how many entries its checkpoint shows; the files of so many have to be there.
        size: how many entries the log has; a file of more than `shown` may be there, and has to be right.
        read_node: gives the complete subtrees of the log.
        read_entries: gives the entries of the log.

    Raises:
        OSError: the folder cannot be read.
    """
    for level, number, width in tiles_of(0, shown):
        names = [tile_path(level, number, width), *([bundle_path(number, width)] if level == 0 else [])]
        full = [tile_path(level, number), *([bundle_path(number)] if level == 0 else [])]
        for name, whole in zip(names, full, strict=True):
            if not (out / name).is_file() and not (out / whole).is_file():
                yield f"{name} is missing"
    for path in sorted(out.rglob("*")):
        if path.is_dir() and not path.is_symlink():
            continue
        name = path.relative_to(out).as_posix()
        if name in (CHECKPOINT, UNFINISHED):
            continue
        try:
            expected = _expected(name, size, read_node, read_entries)
        except CutcardError as error:
            yield f"{name} cannot be held against the log: {error}"
            continue
        if expected is None:
            yield f"{name} is no file of this log"
        elif path.read_bytes() != expected:
            yield f"{name} is not what the log says"


def _expected(name: str, size: int, read_node: NodeReader, read_entries: EntryReader) -> bytes | None:
    """Returns what a file holds; None if a log of so many entries has no such file."""
    if (place := _PLACE.fullmatch(name)) is None:
        return None
    width = int(place["width"] or TILE_WIDTH)
    number = int(re.sub("[x/]", "", place["number"]))
    level = 0 if place["level"] == "entries" else int(place["level"])
    first = number * TILE_WIDTH
    of_entries = place["level"] == "entries"
    canonical = bundle_path(number, width) if of_entries else tile_path(level, number, width)
    if name != canonical or not 1 <= width <= TILE_WIDTH or first + width > size >> level * TILE_HEIGHT:
        return None
    if of_entries:
        return bundle(read_entries(first, first + width))
    return b"".join(read_node(level * TILE_HEIGHT, first + at) for at in range(width))
