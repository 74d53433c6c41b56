"""Where a log comes from: a static folder, a web server, or a dealer over gRPC. Nothing here judges."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

from audit.errors import InputError
from audit.logs.folder import FolderLog
from audit.logs.log import Log


def open_log(where: str) -> Log:
    """Returns the log at a folder, an `http(s)` address, `grpc://host:port` or `grpcs://host:port`.

    Raises:
        InputError: an address of another kind.
    """
    scheme, sep, rest = where.partition("://")
    if not sep:
        return FolderLog(Path(where))
    if scheme in ("http", "https"):
        try:
            address = urlsplit(where)
            if address.hostname and address.port != 0:
                from audit.logs.http import HttpLog

                return HttpLog(address)
        except ValueError:
            pass
        raise InputError(f"{where} is no address")
    if scheme in ("grpc", "grpcs"):
        host, colon, port = rest.rstrip("/").rpartition(":")
        if "@" in host:  # The library would look it up as a name, and say it in its error.
            raise InputError(f"{where}: a log behind gRPC takes no user or password, expected {scheme}://host:port")
        if not (host and colon and port.isdecimal()):
            raise InputError(f"{where}: expected {scheme}://host:port")
        from audit.logs.service import GrpcLog  # grpc takes a while to import, and a folder has no need of it

        return GrpcLog(rest.rstrip("/"), secure=scheme == "grpcs")
    if scheme == "file":
        return FolderLog(Path(urlsplit(where).path))
    raise InputError(f"{where}: expected a folder, an http(s) address or grpc://host:port")
