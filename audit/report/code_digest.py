"""The digest of the code that runs (API.md, "Code digest"): what a laboratory writes beside a result."""

from __future__ import annotations

import hashlib
import importlib.util
from pathlib import Path

from audit.protocol import lp

CACHES = "__pycache__"


def code_digest(package: str = "audit") -> str:
    """Returns the SHA-256, in hex, over `lp(path) || SHA-256(file)` of each file of an installed package.

    Paths are relative to the package's folder, with `/`, in byte order; caches are left out.
    """
    spec = importlib.util.find_spec(package)
    assert spec is not None
    assert spec.origin is not None
    return folder_digest(Path(spec.origin).parent)


def folder_digest(folder: Path) -> str:
    """Returns the code digest of a package that lies in `folder`."""
    files = {
        path.relative_to(folder).as_posix().encode(): path
        for path in folder.rglob("*")
        if path.is_file() and CACHES not in path.relative_to(folder).parts
    }
    digest = hashlib.sha256()
    for name in sorted(files):
        digest.update(lp(name) + hashlib.sha256(files[name].read_bytes()).digest())
    return digest.hexdigest()
