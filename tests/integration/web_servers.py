"""A static log behind a web server, held against WITNESS.md section 10: types, caching, gzip, what is not there."""

from __future__ import annotations

import gzip
import http.client
from pathlib import Path

NOTE = ("text/plain; charset=utf-8", "no-cache")
FILE = ("application/octet-stream", "public, max-age=31536000, immutable")


def get(port: int, path: str, **headers: str) -> tuple[int, dict[str, str], bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        return answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()
    finally:
        connection.close()


def serves_the_log(port: int, log: Path) -> None:
    """Requires of the server at a port that it serves all of a log as the section says."""
    files = sorted(path.relative_to(log).as_posix() for path in log.rglob("*") if path.is_file())
    assert "checkpoint" in files
    assert any(name.startswith("tile/entries/") and "/" in name[13:] for name in files)
    for name in files:
        status, headers, body = get(port, f"/{name}")
        assert (status, body) == (200, (log / name).read_bytes()), name
        kind, caching = NOTE if name in ("checkpoint", "successor", "predecessor") else FILE
        assert headers["content-type"].replace("; ", ";").lower() == kind.replace("; ", ";"), (name, headers)
        assert headers["cache-control"] == caching, name
        _for_everybody(headers)
    bundle = max((name for name in files if "entries" in name), key=lambda name: (log / name).stat().st_size)
    status, headers, body = get(port, f"/{bundle}", **{"Accept-Encoding": "gzip, identity"})
    assert (status, headers["content-encoding"]) == (200, "gzip")
    assert "accept-encoding" in headers["vary"].lower()
    assert gzip.decompress(body) == (log / bundle).read_bytes()
    assert len(body) < (log / bundle).stat().st_size / 1.5
    assert (headers["content-type"], headers["cache-control"]) == FILE
    for name in ("tile/entries/999", "tile/9/000", "nothing", "", "tile/", "tile/entries"):
        status, headers, _ = get(port, f"/{name}")
        assert (status, headers["cache-control"]) == (404, "no-store"), (name, headers)
        _for_everybody(headers)


def _for_everybody(headers: dict[str, str]) -> None:
    assert headers["access-control-allow-origin"] == "*"
    assert headers["x-content-type-options"] == "nosniff"
