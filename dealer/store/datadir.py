"""The data folder: what `dealer init` makes, and what `dealer serve` needs to find whole.

```
DATA/log.key          the log's signing key, 0600: back it up apart, once
DATA/db/              the database: what a backup copies
DATA/at-rest/         keys that seal seeds and answers: never in a backup; and `owner`, the log that they serve
DATA/public/          the static log, for any web server
DATA/lock             held by the server that runs
DATA/conflicts/       evidence of what witnesses hold against this log, if ever any does
DATA/seen             what one of several dealers on a database has seen of it; it has no `db`
```
"""

import base64
import fcntl
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from dealer.errors import CutcardError
from dealer.log.checkpoint import Checkpoint, check_origin, sign_checkpoint
from dealer.log.merkle import EMPTY_ROOT
from dealer.log.note import NoteSigner
from dealer.store import sqlite
from dealer.store.sqlite import SqliteStore

_KEY_HEAD = "PRIVATE+KEY"


class DataDirError(CutcardError):
    """The data folder is missing, half made, in use, or cannot be written."""


@dataclass(frozen=True, slots=True)
class DataDir:
    """Where a dealer's data lies. `at_rest` may lie elsewhere, on a file system that is never copied."""

    root: Path
    at_rest: Path

    @classmethod
    def at(cls, root: Path, at_rest: Path | None = None) -> "DataDir":
        """Names the folders of a data folder."""
        return cls(root, at_rest or root / "at-rest")

    @property
    def key(self) -> Path:
        """Returns the place of the log's signing key."""
        return self.root / "log.key"

    @property
    def database(self) -> Path:
        """Returns the place of the embedded store."""
        return self.root / "db" / sqlite.FILE

    @property
    def public(self) -> Path:
        """Returns the place of the static log."""
        return self.root / "public"

    @property
    def conflicts(self) -> Path:
        """Returns the place of evidence against this log."""
        return self.root / "conflicts"

    def exists(self) -> bool:
        """Tells whether anything is there.

        Raises:
            DataDirError: it is no folder, or cannot be read.
        """
        try:
            return self.root.exists() and any(self.root.iterdir())
        except OSError as error:
            raise DataDirError(f"{self.root} cannot be read: {error.strerror}") from None

    def init(self, origin: str, create: Callable[[str, str], None] | None = None) -> None:
        """Makes the folder, the key last: without it the folder is half made.

        Args:
            origin: the log's.
            create: makes the store of the log, of its origin and the signed checkpoint of the empty tree; the embedded
                one if it is not given.

        Raises:
            DataDirError: something is there already, or it cannot be written.
            CutcardError: the origin is no name for a log.
        """
        check_origin(origin)
        if not origin.isascii():
            raise DataDirError("an origin is ASCII text, such as example.com/room")
        self._make(origin, Ed25519PrivateKey.generate(), create or self._embedded)

    def join(self, origin: str, key: Ed25519PrivateKey) -> None:
        """Makes a further folder of a log that is there, with the log's key, for a dealer on the same database.

        Raises:
            DataDirError: something is there already, or it cannot be written.
        """
        self._make(origin, key, lambda origin, note: None)

    def _embedded(self, origin: str, note: str) -> None:
        self.database.parent.mkdir(mode=0o700, parents=True)
        SqliteStore.create(self.database, origin, note)

    def _make(self, origin: str, key: Ed25519PrivateKey, create: Callable[[str, str], None]) -> None:
        if self.exists():
            raise DataDirError(f"{self.root} is not empty: nothing was made")
        try:
            if self.at_rest.exists() and any(self.at_rest.iterdir()):
                raise DataDirError(f"{self.at_rest} is not empty: the keys at rest need a folder of their own")
            with self._all_or_nothing():
                for folder in (self.root, self.at_rest, self.public):
                    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                self.public.chmod(0o755)
                signer = NoteSigner(origin, key)
                create(origin, sign_checkpoint(Checkpoint(origin, 0, EMPTY_ROOT), signer))
                self._claim_at_rest(signer)
                raw = base64.b64encode(key.private_bytes_raw()).decode("ascii")
                write_secret(self.key, f"{_KEY_HEAD}+{origin}+{raw}\n")
        except OSError as error:
            raise DataDirError(f"{self.root} cannot be made: {error.strerror}") from None

    @contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        """Leaves the two folders, which are empty or not there, as they were if the block fails."""
        folders = (self.root, self.at_rest)
        there = [folder for folder in folders if folder.exists()]
        try:
            yield
        except (OSError, CutcardError):
            for made in {*folders, *(each for folder in there for each in folder.iterdir())} - {*there}:
                if made.is_dir():
                    shutil.rmtree(made, ignore_errors=True)
                else:
                    made.unlink(missing_ok=True)
            raise

    @property
    def is_shared(self) -> bool:
        """Whether the folder belongs to one of several dealers on a database."""
        return self.key.exists() and not self.database.parent.exists()

    def check(self, *, shared: bool = False) -> None:
        """Checks that the folder is whole.

        Args:
            shared: whether it belongs to one of several dealers on a database, and has no embedded store.

        Raises:
            DataDirError: it is missing or half made; says what to do.
        """
        if not self.exists():
            raise DataDirError(
                f"there is no data folder at {self.root}: make one with\n"
                f"  dealer init --data-dir {self.root} --origin YOUR.DOMAIN/ROOM"
            )
        if self.key.exists() and shared != self.is_shared:
            raise DataDirError(
                f"{self.root} has no store in it: its log is in a database, to be named by --store where it is taken"
                if not shared
                else f"{self.root} has a store of its own: serve it without --store, or move it there by "
                "`dealer migrate --to`"
            )
        needed = (self.key, self.at_rest) if shared else (self.key, self.database, self.at_rest)
        missing = [path for path in needed if not path.exists()]
        if missing:
            elsewhere = ", or name it with --at-rest-dir" if missing[0] == self.at_rest else ""
            raise DataDirError(
                f"the data folder {self.root} is half made: {missing[0]} is missing. Restore it{elsewhere}, or make "
                f"another:\n  dealer init --data-dir ANOTHER-DIR --origin YOUR.DOMAIN/ANOTHER-ROOM"
            )

    def signer(self) -> NoteSigner:
        """Reads the signing key.

        Raises:
            DataDirError: it cannot be read.
        """
        return NoteSigner(*read_log_key(self.key))

    @contextmanager
    def only_server(self) -> Iterator[None]:
        """Holds the folder, and that of the keys at rest, for one server.

        Raises:
            DataDirError: another server has it, the keys at rest are another dealer's, or it cannot be written.
        """
        try:
            self._claim_at_rest(self.signer())
            descriptor = os.open(self.root / "lock", os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise DataDirError(f"{error.filename} cannot be written: {error.strerror}") from None
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(descriptor)
            raise DataDirError(f"another server runs on {self.root}") from None
        try:
            yield
        finally:
            os.close(descriptor)

    def _claim_at_rest(self, signer: NoteSigner) -> None:
        """Holds the folder of the keys at rest for one log: a dealer destroys every key there that it does not need."""
        owner = self.at_rest / "owner"
        with suppress(FileExistsError):
            write_secret(owner, f"{signer.verifier_key}\n")
        if (found := owner.read_text("utf-8-sig").strip()) != signer.verifier_key:
            raise DataDirError(
                f"the keys at rest in {self.at_rest} serve the log {found.partition('+')[0]}, and the signing key is "
                f"another, of {signer.name}: give each dealer a folder of its own"
            )


def lies_in_memory(folder: Path) -> bool:
    """Tells whether a folder lies on a file system in memory; where that cannot be told, it does not."""
    try:
        mounts = [line.split()[1:3] for line in Path("/proc/mounts").read_text("utf-8", "replace").splitlines()]
        place = folder.resolve()
    except OSError:
        return False
    there = [(len(Path(where).parts), kind) for where, kind in mounts if place.is_relative_to(where)]
    return bool(there) and max(there)[1] in ("tmpfs", "ramfs")


def read_log_key(path: Path) -> tuple[str, Ed25519PrivateKey]:
    """Reads a log's origin and signing key.

    Raises:
        DataDirError: the file cannot be read, or holds none.
    """
    try:
        head, known, rest = path.read_text("utf-8-sig").strip().partition(f"{_KEY_HEAD}+")
        origin, _, encoded = rest.partition("+")  # a name has no plus sign, base64 may
        if head or not known:
            raise ValueError
        return origin, Ed25519PrivateKey.from_private_bytes(base64.b64decode(encoded, validate=True))
    except (OSError, ValueError):
        raise DataDirError(f"{path} holds no signing key") from None


def write_secret(path: Path, text: str) -> None:
    """Makes a file that its owner alone reads, and makes it durable.

    Raises:
        OSError: it exists, or cannot be written.
    """
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
