"""The digest of the code that runs (docs/api.md, "Code digest"), and its version."""

import hashlib
import importlib.metadata
from pathlib import Path

from dealer.core.seed import length_prefixed

DISTRIBUTION = "cutcard"
_CACHES = "__pycache__"


def version() -> str:
    """Returns the version of the installed package."""
    try:
        return importlib.metadata.version(DISTRIBUTION)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


def code_digest() -> str:
    """Returns the SHA-256, in hex, over `lp(path) || SHA-256(file)` of each file of the package `dealer`.

    Paths are relative to the package's folder, with `/`, in byte order; caches are left out.
    """
    folder = Path(__file__).parent
    files = {
        path.relative_to(folder).as_posix().encode(): path
        for path in folder.rglob("*")
        if path.is_file() and _CACHES not in path.relative_to(folder).parts
    }
    digest = hashlib.sha256()
    for name in sorted(files):
        digest.update(length_prefixed(name) + hashlib.sha256(files[name].read_bytes()).digest())
    return digest.hexdigest()
