"""In CI a skipped test is a failed run: what CI cannot run, it has to install. Only others' data may be missing."""

import os
from collections.abc import Iterator

import pytest

from tests.postgres import Postgres, server
from tests.vectors.places import OTHERS_MISSING

_skipped: list[str] = []


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.skipped and not hasattr(report, "wasxfail") and isinstance(report.longrepr, tuple):
        reason = report.longrepr[2].removeprefix("Skipped: ")
        if reason != OTHERS_MISSING:
            _skipped.append(f"{report.nodeid}: {reason}")


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    # With xdist the workers' reports arrive at the controller, which has no `workerinput` and alone decides.
    if os.environ.get("CI") == "true" and _skipped and not hasattr(session.config, "workerinput") and exitstatus == 0:
        print("\nCI skips no test; these were skipped:", *_skipped, sep="\n  ")
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """A real server, one for each of the processes that run tests; each test takes a database of its own."""
    with server() as made:
        yield made
