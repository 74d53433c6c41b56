"""The one way to open a file that somebody names: a regular one, without waiting for anybody."""

from __future__ import annotations

import errno
import os
import stat
from io import BufferedReader
from pathlib import Path

_KINDS = {
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFDIR: "a folder",
}


def open_regular(path: Path) -> BufferedReader:
    """Opens a file for reading; symbolic links are followed.

    Raises:
        OSError: it cannot be opened, or is no regular file: a pipe without a writer would make its reader wait
            without end, and a device may never end. `strerror` says which.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | getattr(os, "O_BINARY", 0))
    try:
        kind = stat.S_IFMT(os.fstat(descriptor).st_mode)
        if kind != stat.S_IFREG:
            what = _KINDS.get(kind, "something else")
            raise OSError(errno.EINVAL, f"it is {what}, not a regular file", str(path))
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise
