"""A real PostgreSQL for tests: one server a test process, a database for each test; never a mock."""

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import psycopg
import pytest

MISSING = "PostgreSQL's own programs are not installed (Debian: postgresql)"
_USER = "nobody"
_SETTINGS = {
    "listen_addresses": "''",
    "shared_buffers": "16MB",
    "max_connections": "60",
    "max_wal_size": "64MB",
    "wal_level": "replica",
    "max_wal_senders": "4",
    "wal_keep_size": "64MB",
    "hot_standby": "on",
    "autovacuum": "off",
    "jit": "off",
    "logging_collector": "off",
    "log_checkpoints": "off",
}

SETTABLE_CLOCK = """
CREATE TABLE clock (shift interval NOT NULL);
INSERT INTO clock VALUES ('0');
CREATE FUNCTION public.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE
  AS 'SELECT pg_catalog.clock_timestamp() + shift FROM public.clock';
DO $$ BEGIN EXECUTE format('ALTER ROLE dealer IN DATABASE %I SET search_path = public, pg_catalog', current_database());
END $$;
GRANT SELECT ON clock TO dealer;
"""
"""With this a dealer's `clock_timestamp()` is its own, by what `clock` says: its role's path has `public` first."""

AS_SHIPPED = {"shared_buffers": "128MB", "max_wal_size": "1GB", "autovacuum": "on"}
"""The server's own defaults where tests ask for less: for measuring."""


def programs() -> Path | None:
    """Returns the folder of the newest server's programs; None if there is none."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"), key=lambda path: int(path.parts[4]))
    if found:
        return found[-1].parent
    there = shutil.which("postgres")
    return Path(there).parent if there else None


def as_other_user(command: list[str]) -> list[str]:
    """Returns a command as it is run by a user who is not root, as the server demands."""
    return ["runuser", "-u", _USER, "--", *command] if os.geteuid() == 0 else command


@dataclass
class Postgres:
    """One server on a folder of its own, on a socket in it; synchronised writes are on, as always."""

    folder: Path
    port: int = 5432
    process: "subprocess.Popen[bytes] | None" = None
    names: Iterator[int] = field(default_factory=count)

    @property
    def data(self) -> Path:
        return self.folder / f"data{self.port}"

    def url(self, database: str = "postgres", user: str = "postgres") -> str:
        return f"postgresql://{user}@/{database}?host={self.folder}&port={self.port}"

    def tool(self, name: str, *arguments: str) -> None:
        folder = programs()
        assert folder is not None
        command = as_other_user([str(folder / name), *arguments])
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, cwd="/")
        assert done.returncode == 0, done.stderr

    def init(self) -> "Postgres":
        self.tool(
            "initdb", "-D", str(self.data), "-U", "postgres", "-A", "trust", "--no-sync", "-E", "UTF8", "--locale=C"
        )
        return self

    def start(self, **settings: str) -> "Postgres":
        folder = programs()
        assert folder is not None
        options = {**_SETTINGS, "unix_socket_directories": f"'{self.folder}'", "port": str(self.port), **settings}
        arguments = [part for name, value in options.items() for part in ("-c", f"{name}={value.strip(chr(39))}")]
        with (self.folder / "log").open("a") as log:
            self.process = subprocess.Popen(
                as_other_user([str(folder / "postgres"), "-D", str(self.data), *arguments]),
                stdout=log,
                stderr=log,
                cwd="/",
            )
        self._wait()
        return self

    def _wait(self) -> None:
        until = time.monotonic() + 60
        while True:
            try:
                psycopg.connect(self.url(), connect_timeout=5).close()
            except psycopg.OperationalError:
                assert time.monotonic() < until, (self.folder / "log").read_text()
                assert self.process is not None
                assert self.process.poll() is None, (self.folder / "log").read_text()
                time.sleep(0.05)
            else:
                return

    def kill(self) -> None:
        """Ends the server as a power failure would, its processes all at once."""
        self.tool("pg_ctl", "stop", "-D", str(self.data), "-m", "immediate")
        self._gone()

    def stop(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.tool("pg_ctl", "stop", "-D", str(self.data), "-m", "immediate")
        self._gone()

    def _gone(self) -> None:
        if self.process is not None:
            self.process.wait(60)

    def standby(self) -> "Postgres":
        """Makes a standby of this server on the next port, and starts it."""
        made = Postgres(self.folder, self.port + 1)
        where = f"host={self.folder} port={self.port} user=postgres application_name=s1"
        self.tool("pg_basebackup", "-D", str(made.data), "-R", "-d", where, "-c", "fast", "--no-sync")
        return made.start()

    def promote(self) -> None:
        self.tool("pg_ctl", "promote", "-D", str(self.data), "-w")

    def sql(self, statement: str, database: str = "postgres") -> None:
        with psycopg.connect(self.url(database), autocommit=True) as link:
            link.execute(statement.encode())

    def database(self) -> str:
        """Makes an empty database, owned by a role that is not a superuser, and returns its URL."""
        name = f"room{next(self.names)}"
        with psycopg.connect(self.url(), autocommit=True) as link:
            link.execute("DO $$BEGIN CREATE ROLE dealer LOGIN; EXCEPTION WHEN duplicate_object THEN END$$")
            link.execute(f"CREATE DATABASE {name} OWNER dealer".encode())
        return self.url(name, "dealer")


@contextmanager
def server(**settings: str) -> Iterator[Postgres]:
    """Runs a server in a folder of its own, with these settings. Skips the test where its programs are missing."""
    if programs() is None:
        pytest.skip(MISSING)
    folder = Path(tempfile.mkdtemp(prefix="pg-"))  # a socket's path is short: not below pytest's folders
    if os.geteuid() == 0:
        shutil.chown(folder, _USER)
    made = Postgres(folder)
    try:
        made.init().start(**settings)
        yield made
    finally:
        made.stop()
        shutil.rmtree(folder, ignore_errors=True)
