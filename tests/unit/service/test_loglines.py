"""Log lines of libraries: in the same form as the dealer's own."""

import json
import subprocess
import sys

from dealer.service.loglines import Lasting

PROGRAM = """
import logging
from dealer.service.loglines import configure
configure("json", "warning")
logging.getLogger("some.library").warning("%s is odd", "this")
logging.getLogger("some.library").info("not this")
try:
    raise ValueError("why")
except ValueError:
    logging.getLogger("other").exception("it failed")
"""


def test_what_a_library_says_of_trouble_is_a_line_like_any_other() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    odd, failed = [json.loads(line) for line in done.stderr.splitlines()]
    assert (odd["event"], odd["logger"], odd["level"]) == ("this is odd", "some.library", "warning")
    assert (failed["event"], failed["logger"], failed["level"]) == ("it failed", "other", "error")
    assert failed["exception"].endswith("ValueError: why")


def test_what_lasts_is_said_once_and_again_when_it_changes():
    now = [0.0]
    lasting = Lasting(lambda: now[0])
    assert [lasting.is_due("storage", "full") for _ in range(3)] == [True, False, False]
    assert lasting.is_due("storage", "gone")
    assert lasting.is_due("publish", "gone"), "of another thing"
    now[0] = 59.0
    assert not lasting.is_due("storage", "gone")
    now[0] = 60.0
    assert lasting.is_due("storage", "gone")
    lasting.over("storage")
    assert lasting.is_due("storage", "gone"), "it was well meanwhile"
