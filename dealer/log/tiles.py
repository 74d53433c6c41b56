"""The static log (c2sp.org/tlog-tiles): which files it has, and writing them so that no reader sees a gap.

Every tile and bundle is the same for as long as the log lives, so a file that is already there is either right or
of another log; that makes a run that was killed at any moment safe to repeat (PROTOCOL.md section 9).
"""

import fcntl
import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from dealer.log.checkpoint import Checkpoint, read_checkpoint
from dealer.log.ends import PREDECESSOR, SUCCESSOR
from dealer.log.errors import CheckpointError, PublishError
from dealer.log.merkle import CompactRange, NodeReader, leaf_hash
from dealer.log.note import signature_lines

TILE_WIDTH = 256
"""How many hashes a full tile, and how many entries a full bundle has."""

MAX_ENTRY = 65_535
"""The greatest length of an entry in bytes."""

TILE_HEIGHT = 8
"""A tile's hashes are so many levels of the tree above those of the tile level below."""

CHECKPOINT = "checkpoint"
UNFINISHED = ".new"
"""The one file that is written under another name until it is whole."""
_TILES = "tile"

EntryReader = Callable[[int, int], Iterable[bytes]]
"""Gives the entries from the first index up to, not including, the second."""


def tile_path(level: int, number: int, width: int = TILE_WIDTH) -> str:
    """Returns the path of a hash tile within the static log; a width below 256 is a partial tile's.

    >>> tile_path(0, 1234067)
    'tile/0/x001/x234/067'
    >>> tile_path(1, 0, 17)
    'tile/1/000.p/17'
    """
    return f"tile/{level}/{_number(number, width)}"


def bundle_path(number: int, width: int = TILE_WIDTH) -> str:
    """Returns the path of the bundle with the entries of the level 0 tile of the same number and width."""
    return f"tile/entries/{_number(number, width)}"


def bundle(entries: Iterable[bytes]) -> bytes:
    """Returns the content of a bundle: each entry after its length, 2 bytes, big-endian.

    Raises:
        PublishError: an entry is too long to be in the log.
    """
    parts = []
    for entry in entries:
        if len(entry) > MAX_ENTRY:
            raise PublishError(f"an entry of {len(entry)} bytes: at most {MAX_ENTRY} fit")
        parts += [len(entry).to_bytes(2, "big"), entry]
    return b"".join(parts)


def published_note(out: Path) -> str | None:
    """Returns the signed checkpoint that the folder shows its readers, None where there is none yet.

    Raises:
        PublishError: there is one that does not decode.
    """
    return None if published_checkpoint(out) is None else _shown_note(out)


def published_checkpoint(out: Path) -> Checkpoint | None:
    """Returns the checkpoint that the folder shows its readers, None where there is none yet.

    Raises:
        PublishError: there is one that does not decode.
    """
    try:
        return read_checkpoint((out / CHECKPOINT).read_bytes().decode())
    except FileNotFoundError:
        return None
    except (CheckpointError, UnicodeDecodeError) as error:
        raise PublishError(f"{out / CHECKPOINT} is not a checkpoint: {error}") from error


def check_only_a_log(out: Path) -> None:
    """Refuses a folder that holds anything but a static log, whole or begun; an empty or absent one will do.

    Raises:
        PublishError: there is something else in it, which readers of the log would be shown as well.
        OSError: it cannot be read.
    """
    if not out.exists():
        return
    known = (CHECKPOINT, _TILES, UNFINISHED, SUCCESSOR, PREDECESSOR)
    foreign = sorted(path.name for path in out.iterdir() if path.name not in known)
    if foreign:
        raise PublishError(f"{out} holds {foreign[0]!a}, which is no part of a log: name an empty folder, or a new one")


def write_beside(out: Path, name: str, text: str) -> None:
    """Writes a small file beside the checkpoint, durably, and in one step; the folder is made if need be."""
    with _Folder(out).only_writer() as folder:
        folder.replace(name, text.encode())
        folder.sync()


def place(
    out: Path,
    previous_size: int,
    checkpoint_note: str,
    read_node: NodeReader,
    read_entries: EntryReader,
) -> None:
    """Brings tiles and bundles into place for a checkpoint that the folder does not show yet; see `publish`."""
    checkpoint = read_checkpoint(checkpoint_note)
    _check_root(checkpoint, read_node)
    with _Folder(out).only_writer() as folder:
        _place(folder, previous_size, checkpoint, read_node, read_entries)


def publish(
    out: Path,
    previous_size: int,
    size: int,
    checkpoint_note: str,
    read_node: NodeReader,
    read_entries: EntryReader,
) -> None:
    """Brings the static log in the folder `out` up to `size` entries; the folder is made if need be.

    Tiles and bundles are durable before the checkpoint takes the place of the one before, and partial ones go only
    after that, once the full one is there. A run that was killed is simply repeated. Of the same checkpoint the one
    with more signature lines stays.

    Args:
        out: the folder; one process at a time writes to it.
        previous_size: for how many entries the caller knows the folder's tiles and bundles to be in place and right;
            0 to look at every one of them and put back what is missing. No more is believed than the folder's own
            checkpoint says, so a value that is too great does no harm.
        size: how many entries the log has at the checkpoint.
        checkpoint_note: the signed checkpoint of that size.
        read_node: gives the complete subtrees of the log.
        read_entries: gives the entries of the log.

    Raises:
        PublishError: the folder holds another log or a later state of this one, another process writes to it, or the
            log's entries, nodes and checkpoint do not agree. What readers see has not changed.
        OSError: the folder cannot be written to; what readers see is still whole.
    """
    checkpoint = read_checkpoint(checkpoint_note)
    if checkpoint.size != size:
        raise PublishError(f"the checkpoint is not that of the log's first {size} entries")
    _check_root(checkpoint, read_node)
    with _Folder(out).only_writer() as folder:
        known, shown = _place(folder, previous_size, checkpoint, read_node, read_entries)
        if shown == checkpoint and not _says_more(out, checkpoint_note):
            if known == size:
                return
            checkpoint_note = _shown_note(out)
        folder.replace(CHECKPOINT, checkpoint_note.encode())
        folder.sync()
        for level, number, width in tiles_of(known, size):
            if width == TILE_WIDTH:
                folder.remove_partial(tile_path(level, number))
                if level == 0:
                    folder.remove_partial(bundle_path(number))


def _place(
    folder: "_Folder", previous_size: int, checkpoint: Checkpoint, read_node: NodeReader, read_entries: EntryReader
) -> tuple[int, Checkpoint | None]:
    """Writes what a tree's readers need but the checkpoint; returns what was in place before, and what is shown."""
    size, out = checkpoint.size, folder.root
    shown = check_extends(out, checkpoint, read_node)
    known = min(previous_size, shown.size) if shown is not None else 0
    if shown == checkpoint and known == size:
        return known, shown
    for level, number, width in tiles_of(known, size):
        first = number * TILE_WIDTH
        hashes = [read_node(level * TILE_HEIGHT, first + place) for place in range(width)]
        if level == 0:
            entries = list(read_entries(first, first + width))
            _check_entries(entries, first, hashes)
            folder.write_once(bundle_path(number, width), bundle(entries))
        folder.write_once(tile_path(level, number, width), b"".join(hashes))
    folder.sync()
    return known, shown


def _check_root(checkpoint: Checkpoint, read_node: NodeReader) -> None:
    """Checks that a checkpoint is one of this log's."""
    if CompactRange.load(checkpoint.size, read_node).root() != checkpoint.root:
        raise PublishError(f"the checkpoint is not that of the log's first {checkpoint.size} entries")


def _shown_note(out: Path) -> str:
    return (out / CHECKPOINT).read_bytes().decode()


def _says_more(out: Path, note: str) -> bool:
    """Whether a note differs from the one shown, of the same checkpoint, and has no fewer signature lines."""
    shown = _shown_note(out)
    return note != shown and len(signature_lines(note)[1]) >= len(signature_lines(shown)[1])


def _number(number: int, width: int) -> str:
    """A tile's number in groups of three digits, all but the last with an `x` before them, and a partial width."""
    text = f"{number % 1000:03d}"
    while number := number // 1000:
        text = f"x{number % 1000:03d}/{text}"
    return text if width == TILE_WIDTH else f"{text}.p/{width}"


def tiles_of(known: int, size: int) -> Iterator[tuple[int, int, int]]:
    """Returns the tiles (level, number, width) that a log of `size` entries has and one of `known` has not."""
    level = 0
    while size:
        if size != known:
            for number in range(known // TILE_WIDTH, size // TILE_WIDTH):
                yield level, number, TILE_WIDTH
            if size % TILE_WIDTH:
                yield level, size // TILE_WIDTH, size % TILE_WIDTH
        level, known, size = level + 1, known // TILE_WIDTH, size // TILE_WIDTH


def check_extends(out: Path, new: Checkpoint, read_node: NodeReader) -> Checkpoint | None:
    """Checks that the log at `new` is one and the same with, or an extension of, what a folder shows, if it shows any.

    Returns:
        The checkpoint that the folder shows.

    Raises:
        PublishError: it is not, or the folder's checkpoint is none.
    """
    shown = published_checkpoint(out)
    if shown is None:
        return None
    if shown.origin != new.origin:
        raise PublishError(f"{out} holds the log {shown.origin}, not {new.origin}: choose another folder")
    if shown.size > new.size:
        raise PublishError(
            f"{out} already shows {shown.size} entries of {new.origin} and this state has {new.size}: "
            "a published log never goes back (docs/operations.md, Restoring a backup)"
        )
    if CompactRange.load(shown.size, read_node).root() != shown.root:
        raise PublishError(
            f"{out} holds another log under the name {new.origin}: its {shown.size} entries are not ours"
        )
    return shown


def _check_entries(entries: list[bytes], first: int, hashes: list[bytes]) -> None:
    """Checks that the entries are the ones whose hashes are in the tree; otherwise the store contradicts itself."""
    if len(entries) != len(hashes):
        raise PublishError(f"{len(entries)} entries from index {first} where the log has {len(hashes)}")
    for index, (entry, stored) in enumerate(zip(entries, hashes, strict=True), first):
        if leaf_hash(entry) != stored:
            raise PublishError(f"entry {index} is not the one whose hash is in the log's tree")


class _Folder:
    """Durable writing below one folder: a file has its name only once it is whole and on disk."""

    def __init__(self, root: Path) -> None:
        root.mkdir(parents=True, exist_ok=True)
        self.root = root
        self._changed: set[Path] = set()

    @contextmanager
    def only_writer(self) -> "Iterator[_Folder]":
        """Keeps every other publisher out of the folder; the lock goes with the process, however that ends."""
        handle = os.open(self.root, os.O_RDONLY)
        try:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise PublishError(f"another process is publishing to {self.root}") from error
            yield self
        finally:
            os.close(handle)

    def write_once(self, name: str, content: bytes) -> None:
        """Writes a file that never changes; one that is already there must have the same content."""
        path = self.root / name
        try:
            present = path.read_bytes()
        except FileNotFoundError:
            self.replace(name, content)
            return
        if present != content:
            raise PublishError(f"{path} is there with other content: the folder holds another log or is damaged")
        self._note_change(path)  # a run that was killed may have left its name in memory alone

    def replace(self, name: str, content: bytes) -> None:
        """Writes a file under its name in one step, over one that may be there."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = self.root / UNFINISHED
        with unfinished.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(path)
        self._note_change(path)

    def sync(self) -> None:
        """Makes the names of all files so far durable."""
        for folder in self._changed:
            handle = os.open(folder, os.O_RDONLY)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)
        self._changed.clear()

    def remove_partial(self, full: str) -> None:
        """Removes the partial files of a tile or bundle whose full file is there; readers take its prefix."""
        partial = self.root / f"{full}.p"
        if partial.is_dir():
            shutil.rmtree(partial)

    def _note_change(self, path: Path) -> None:
        """Has the folders synced that hold the names on the way to `path`."""
        for folder in path.parents:
            self._changed.add(folder)
            if folder == self.root:
                break
