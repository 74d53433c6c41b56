"""`dealer serve --log-listen`: the dealer serves its static log itself (docs/witness.md, section 10)."""

import http.client
import time
from collections.abc import Iterator

import pytest

from tests.integration.running import Running, run_tool, running
from tests.integration.test_watched_by_operators import free_port
from tests.integration.web_servers import get, serves_the_log


@pytest.fixture(scope="module")
def dealer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running(tmp_path_factory.mktemp("log") / "data", "--log-listen", f"127.0.0.1:{free_port()}") as dealer:
        room = dealer.room()
        for number in range(6):
            room.play_out(room.open(f"t-{number}").hand_id)
        deadline = time.monotonic() + 20
        while "\n12\n" not in (dealer.data / "public" / "checkpoint").read_text():
            assert time.monotonic() < deadline
            time.sleep(0.1)
        yield dealer


def port(dealer: Running) -> int:
    return int(dealer.options[1].split(":")[1])


def test_the_log_is_served_with_its_headers(dealer: Running) -> None:
    serves_the_log(port(dealer), dealer.data / "public")


def test_what_a_checkpoint_has_shown_can_be_read(dealer: Running) -> None:
    """Partial tiles stay for every tree that a reader may have seen."""
    room = dealer.room()
    shown: list[int] = []
    deadline = time.monotonic() + 60
    while len(shown) < 4:
        assert time.monotonic() < deadline
        size = int(get(port(dealer), "/checkpoint")[2].split(b"\n")[1])
        if size not in shown:
            shown.append(size)
            room.void(room.open(f"later-{size}").hand_id)
        for width in shown:
            for kind in ("0", "entries"):
                assert get(port(dealer), f"/tile/{kind}/000.p/{width}")[0] == 200, width
        time.sleep(0.1)


def test_nothing_else_is_served(dealer: Running) -> None:
    for path in ("/../log.key", "/tile/../../log.key", "/db/cutcard.sqlite3", "//etc/passwd", "/tile/0/%2e%2e/000"):
        assert get(port(dealer), path)[0] == 404, path


def test_the_auditor_reads_it(dealer: Running) -> None:
    done = run_tool("audit", "verify", f"http://127.0.0.1:{port(dealer)}", "--key", dealer.verifier_key())
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(("method", "status"), [("HEAD", 200), ("POST", 405), ("OPTIONS", 405), ("ODD", 405)])
def test_it_is_for_reading(dealer: Running, method: str, status: int) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", port(dealer), timeout=30)
    connection.request(method, "/checkpoint")
    answer = connection.getresponse()
    assert answer.status == status
    if method == "HEAD":
        assert answer.read() == b""
    else:
        assert answer.getheader("Allow") == "GET, HEAD"
        assert answer.getheader("Content-Type") == "text/plain; charset=utf-8"
        assert answer.getheader("Access-Control-Allow-Origin") == "*"
    connection.close()
