"""The one way to read a file that the dealer is told to read: a regular one, without waiting for anybody."""

import errno
import os
import stat
from pathlib import Path


def read_text(path: Path) -> str:
    """Returns a file's text in UTF-8; a mark of byte order before it is passed over.

    Raises:
        OSError: it cannot be read, or is no regular file: a pipe without a writer would be waited for without end, and
            a device may never end.
        UnicodeDecodeError: it is not UTF-8.
    """
    with open(path, encoding="utf-8-sig", opener=_without_waiting) as file:
        return file.read()


def _without_waiting(path: str, flags: int) -> int:
    descriptor = os.open(path, flags | os.O_NONBLOCK)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "it is no regular file", path)
    return descriptor
