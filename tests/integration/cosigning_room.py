"""Real dealers that real witnesses cosign: `audit witness` in processes, and one in this process that lies."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from tests.integration.running import run_tool
from tests.integration.witnessing import serving

ORIGIN = "witnessed.invalid/room"


def make_log(data: Path) -> str:
    """Makes a data folder and returns the log's verifier key."""
    done = run_tool("dealer", "init", "--data-dir", data, "--origin", ORIGIN)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def make_witness(folder: Path, name: str, log: str) -> str:
    """Makes a witness that knows a log, and returns its verifier key."""
    made = run_tool("audit", "witness", "init", "--data-dir", folder, "--name", f"{name}.witness.invalid")
    assert made.returncode == 0, made.stderr
    added = run_tool("audit", "witness", "add-log", log, "--data-dir", folder)
    assert added.returncode == 0, added.stderr
    return made.stdout.strip().splitlines()[-1]


@contextmanager
def witness(folder: Path) -> Iterator[str]:
    """A witness in a process of its own; yields its url."""
    with serving(folder) as (port, _):
        yield f"http://127.0.0.1:{port}"


def write_policy(path: Path, log: str, needed: int, *witnesses: tuple[str, str]) -> Path:
    """Writes a policy of witnesses (verifier key, url) named w1, w2, and so on, of which so many are needed."""
    names = [f"w{number}" for number, _ in enumerate(witnesses, 1)]
    lines = [f"log {log}"]
    lines += [f"witness {name} {key} {url}" for name, (key, url) in zip(names, witnesses, strict=True)]
    path.write_text("\n".join([*lines, f"group g {needed} {' '.join(names)}", "quorum g", ""]))
    return path


def until(true: Callable[[], object], seconds: float = 30) -> None:
    """Waits until something is so."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it did not come to be so"
        time.sleep(0.05)


Answer = tuple[int, str, bytes]


class Liar:
    """A witness that answers as the test tells it, and keeps what it was asked."""

    def __init__(self) -> None:
        """Answers 404 until it is told otherwise."""
        self.asked: list[str] = []
        self.got: list[str] = []
        self.on_post: Callable[[str], Answer] = lambda body: (404, "text/plain", b"")
        self.on_get: Callable[[str], Answer] = lambda path: (404, "text/plain", b"")

    @contextmanager
    def serve(self) -> Iterator[str]:
        """Serves on a free port; yields the url."""
        liar = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"])).decode()
                liar.asked.append(body)
                self._give(liar.on_post(body))

            def do_GET(self) -> None:
                liar.got.append(self.path)
                self._give(liar.on_get(self.path))

            def _give(self, answer: Answer) -> None:
                status, kind, body = answer
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                if status in (301, 302, 307):
                    self.send_header("Location", body.decode())
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *arguments: object) -> None:
                pass

        with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
            server.daemon_threads = True
            thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
            thread.start()
            try:
                yield f"http://127.0.0.1:{server.server_address[1]}"
            finally:
                server.shutdown()
                thread.join()
