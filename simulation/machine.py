"""A simulated dealer's operating system: files that fail, a clock, chance, and somewhere to write log lines."""

import errno
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from hashlib import sha256
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import patch

import structlog
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

import dealer.client.calls
import dealer.log.tiles
import dealer.service.server
import dealer.store.datadir
import dealer.store.keeping
import dealer.store.remembered
import dealer.store.slots
import dealer.store.vault
from dealer.code_digest import code_digest
from dealer.service.loglines import Unfailing
from dealer.store.datadir import DataDir

ORIGIN = "simulated.invalid/dealer"
_WITH_FILES = (
    dealer.store.datadir,
    dealer.store.remembered,
    dealer.store.slots,
    dealer.store.vault,
    dealer.log.tiles,
)
_WITH_TIME = (
    dealer.client.calls,
    dealer.store.keeping,
)
_MEMORY = Path("/dev/shm")


class _Instead:
    """A module with some of its functions replaced."""

    def __init__(self, module: ModuleType, **replaced: Any) -> None:
        self._module = module
        self.__dict__ |= replaced

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)


class Files:
    """The calls by which the dealer writes files beside its database.

    Attributes:
        failing: names of calls that fail, and with what.
    """

    def __init__(self) -> None:
        self.failing: dict[str, int] = {}
        self._open: set[int] = set()
        self._dead = False

    def _may(self, call: str) -> None:
        if self._dead:
            raise OSError(errno.EIO, "the process was killed")
        if (number := self.failing.get(call)) is not None:
            raise OSError(number, os.strerror(number), "a simulated file")

    def open(self, path: Any, flags: int, mode: int = 0o777) -> int:
        self._may("open")
        descriptor = os.open(path, flags, mode)
        self._open.add(descriptor)
        return descriptor

    def close(self, descriptor: int) -> None:
        if descriptor in self._open:
            self._open.discard(descriptor)
            os.close(descriptor)

    def fdopen(self, descriptor: int, *arguments: Any, **named: Any) -> Any:
        self._open.discard(descriptor)
        return os.fdopen(descriptor, *arguments, **named)

    def dup(self, descriptor: int) -> int:
        made = os.dup(descriptor)
        self._open.add(made)
        return made

    def fsync(self, descriptor: int) -> None:
        self._may("fsync")

    def pwrite(self, descriptor: int, data: bytes, offset: int) -> int:
        self._may("pwrite")
        return os.pwrite(descriptor, data, offset)

    def kill(self) -> None:
        """Takes a dead process's files from it."""
        for descriptor in self._open:
            with suppress(OSError):
                os.close(descriptor)
        self._open.clear()

    def end(self) -> None:
        """Lets nothing be written any more."""
        self.kill()
        self._dead = True

    def module(self) -> Any:
        """Returns what stands for the module `os`."""
        return _Instead(
            os,
            open=self.open,
            close=self.close,
            fdopen=self.fdopen,
            dup=self.dup,
            fsync=self.fsync,
            fdatasync=self.fsync,
            pwrite=self.pwrite,
        )


class _Lines:
    """Where log lines go: a list, or nowhere, with an error."""

    def __init__(self, take: Callable[[str], None]) -> None:
        self.msg = self.debug = self.info = self.warning = self.error = self.critical = take


@contextmanager
def installed(
    files: Files, monotonic: Callable[[], float], below: Callable[[int], int], take: Callable[[str], None]
) -> Iterator[None]:
    """Puts simulated files, time and chance in the place of the system's, where the code asks for them by itself.

    Args:
        files: for what is written beside the database.
        monotonic: seconds.
        below: draws a number below another.
        take: is given each log line; may raise.
    """
    before = structlog.get_config()
    lines = _Lines(take)
    with ExitStack() as stack:
        for module in _WITH_FILES:
            stack.enter_context(patch.object(module, "os", files.module()))
        clock = _Instead(time, monotonic=monotonic)
        for timed in _WITH_TIME:
            stack.enter_context(patch.object(timed, "time", clock))
        stack.enter_context(patch.object(dealer.service.server, "code_digest", _code_digest))
        stack.enter_context(patch.object(dealer.client.calls, "secrets", _Instead(os, randbelow=below)))
        structlog.configure(
            processors=[structlog.processors.KeyValueRenderer()],
            wrapper_class=Unfailing,
            logger_factory=lambda *arguments: lines,
            cache_logger_on_first_use=False,
        )
        try:
            yield
        finally:
            structlog.configure(**before)


_code_digest = cache(code_digest)  # many dealers of one code start in one process


@cache
def _template() -> Path:
    """Makes the data folder that every world begins with, once a process."""
    root = Path(tempfile.mkdtemp(prefix="cutcard-simulated-", dir=_MEMORY if _MEMORY.is_dir() else None))
    key = Ed25519PrivateKey.from_private_bytes(sha256(b"the key of every simulated log").digest())
    with _fixed(key):
        DataDir.at(root / "data").init(ORIGIN)
    return root / "data"


def _fixed(key: Ed25519PrivateKey) -> Any:
    return patch.object(dealer.store.datadir, "Ed25519PrivateKey", _Instead(os, generate=lambda: key))


@contextmanager
def data_folder(begin: Path | None = None) -> Iterator[DataDir]:
    """Yields a data folder, in memory, that goes afterwards: a fresh one, or a copy of another."""
    template = _template()
    root = Path(tempfile.mkdtemp(prefix="world-", dir=template.parent))
    try:
        shutil.copytree(begin or template, root / "data")
        yield DataDir.at(root / "data")
    finally:
        shutil.rmtree(root, ignore_errors=True)
