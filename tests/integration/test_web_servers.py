"""Configurations of web servers, run as the pages have them, serve a log as WITNESS.md section 10 says."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import time
from pathlib import Path

import pytest

from tests.integration.web_servers import serves_the_log
from tests.vectors.places import FOREIGN

LOG = FOREIGN / "golden-log-200"
ROOT = Path(__file__).parents[2]
OPERATIONS = ROOT / "docs" / "operations.md"


def block(kind: str) -> str:
    """The page's one block of this kind, for the log's folder."""
    (found,) = re.findall(rf"```{kind}\n(.*?)```", OPERATIONS.read_text("utf-8"), re.DOTALL)
    assert "/var/lib/cutcard/public" in found
    return found.replace("/var/lib/cutcard/public", str(LOG))


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=5).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise TimeoutError(f"nobody listens on {port}")


@pytest.mark.skipif(shutil.which("caddy") is None, reason="caddy is missing")
def test_caddy_as_the_page_has_it(tmp_path: Path) -> None:
    port = free_port()
    text = block("caddy").replace("log.example.com {", f"http://127.0.0.1:{port} {{")
    (tmp_path / "Caddyfile").write_text(f"{{\n    admin off\n    auto_https off\n}}\n{text}")
    homes = {"XDG_DATA_HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path)}
    command = ["caddy", "run", "--config", str(tmp_path / "Caddyfile"), "--adapter", "caddyfile"]
    with (tmp_path / "said").open("wb") as said:
        process = subprocess.Popen(command, env={**os.environ, **homes}, stdout=said, stderr=said)
        try:
            wait_for(port, process)
            serves_the_log(port, LOG)
        finally:
            process.terminate()
            process.wait(60)


@pytest.mark.skipif(shutil.which("nginx") is None, reason="nginx is missing")
@pytest.mark.parametrize("where", ["docs/operations.md", "deploy/nginx.conf"])
def test_nginx_as_the_page_and_the_deployed_file_have_it(tmp_path: Path, where: str) -> None:
    port = free_port()
    # nginx gives up root for a user that cannot read this test's folder.
    user = "user root;\n" if os.geteuid() == 0 else ""
    if where == "docs/operations.md":
        http = f"http {{ access_log off; types {{ }} {block('nginx')} }}"
        text = f"pid {tmp_path}/pid; events {{ }}\n{http}"
    else:
        text = (ROOT / where).read_text("utf-8").replace("/tmp/nginx.pid", f"{tmp_path}/pid")
        assert "root /data/public;" in text
        text = text.replace("/data/public", str(LOG))
    (tmp_path / "nginx.conf").write_text(user + re.sub(r"listen \d+;", f"listen 127.0.0.1:{port};", text))
    command = ["nginx", "-c", str(tmp_path / "nginx.conf"), "-e", str(tmp_path / "errors"), "-g", "daemon off;"]
    process = subprocess.Popen(command)
    try:
        wait_for(port, process)
        serves_the_log(port, LOG)
    finally:
        process.terminate()
        process.wait(60)
