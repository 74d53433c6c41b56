"""The watched seed source: tested before it is used, and never given on by a process that was forked."""

import os
from collections.abc import Callable

import pytest

from dealer.core.seed import EntropyError, draw_seed
from dealer.service.writer.watched_source import START_UP_DRAWS, WatchedSource, raw_output


class Source:
    """A source that can be spoilt, and counts what it is asked for."""

    def __init__(self) -> None:
        self.asked: list[int] = []
        self.gives: Callable[[int], bytes] = os.urandom

    def __call__(self, length: int) -> bytes:
        self.asked.append(length)
        return self.gives(length)


def test_the_start_up_tests_are_passed_by_bytes_that_nobody_gets() -> None:
    source = Source()
    watched = WatchedSource(source)
    assert len(watched(64)) == 64
    assert source.asked == [64] * (START_UP_DRAWS + 1)
    watched(64)
    assert len(source.asked) == START_UP_DRAWS + 2


def test_after_a_failure_nothing_is_given_until_the_start_up_tests_are_passed_anew() -> None:
    source = Source()
    watched = WatchedSource(source)
    draw_seed(watched)
    source.gives = bytes
    for _ in range(2):
        with pytest.raises(EntropyError, match="repetition count"):
            draw_seed(watched)
    given = [*[os.urandom(64)] * 1, bytes(64)]
    source.gives = lambda length: given.pop(0)  # one draw that is well is not enough
    with pytest.raises(EntropyError):
        draw_seed(watched)
    source.gives, source.asked = os.urandom, []
    draw_seed(watched)
    assert len(source.asked) == START_UP_DRAWS + 1


@pytest.mark.parametrize("fault", [lambda n: b"", lambda n: os.urandom(n - 1), lambda n: [1] * n, lambda n: 1 / 0])
def test_a_source_that_does_not_give_what_it_is_asked_for_has_failed(fault: Callable[[int], bytes]) -> None:
    source = Source()
    watched = WatchedSource(source)
    watched(64)
    source.gives = fault
    with pytest.raises(EntropyError):
        watched(64)


def test_a_forked_child_gets_nothing() -> None:
    watched = WatchedSource(os.urandom)
    watched(64)
    child = os.fork()
    if not child:
        code = 1
        try:
            watched(64)
        except EntropyError as error:
            code = 0 if "forked" in str(error) else 2
        os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert len(watched(64)) == 64


def test_raw_output_is_the_source_s_own_and_what_fails_is_told_beside_it() -> None:
    source = Source()
    given, alarms = list[bytes](), list[str]()
    source.gives = lambda length: given.append(os.urandom(length)) or given[-1]  # type: ignore[func-returns-value]
    assert b"".join(raw_output(source, 100_000, alarms.append)) == b"".join(given)[:100_000]
    assert set(source.asked) == {64}
    assert alarms == []
    assert b"".join(raw_output(bytes, 1_000, alarms.append)) == bytes(1_000)
    assert "repetition count" in alarms[0]
