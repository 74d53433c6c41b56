"""What waits for the writer: a line for each connection, served in turn, and for each room a total of its own."""

from itertools import count

import pytest

from dealer.errors import Reason, Refused
from dealer.service.writer.backlog import Backlog


def made(most: int) -> Backlog[str]:
    return Backlog(most, count().__next__)


def fill(backlog: Backlog[str], source: str, most: int = 10_000) -> int:
    """Puts items until one is refused, and returns how many were taken."""
    for number in range(most):
        try:
            backlog.put(source, f"{source}{number}")
        except Refused as refused:
            assert refused.reason is Reason.TOO_MANY_REQUESTS
            return number
    return most


def test_each_line_keeps_its_order_and_the_lines_take_turns() -> None:
    backlog: Backlog[str] = made(100)
    for item in ("a0", "a1", "a2", "b0", "a3", "c0", "b1"):
        backlog.put(item[0], item)
    assert backlog.take(4) == ["a0", "b0", "c0", "a1"]
    backlog.put("d", "d0")
    assert backlog.take(10) == ["b1", "a2", "d0", "a3"]


def test_no_connection_fills_the_last_of_its_room_s_share() -> None:
    backlog: Backlog[str] = made(1000)
    taken = [fill(backlog, f"room a\n{connection}") for connection in range(6)]
    assert taken[0] == 500
    assert all(count > 0 for count in taken)
    assert sum(taken) < 1000
    backlog.put("", "the dealer's own")
    assert fill(backlog, "room a\nnew") > 0


def test_a_room_that_has_filled_its_share_takes_nothing_of_another_s() -> None:
    backlog: Backlog[str] = made(100)
    filled = sum(fill(backlog, f"room a\n{connection}") for connection in range(100))
    assert filled == 100
    with pytest.raises(Refused, match="100 requests of this room are waiting"):
        backlog.put("room a\nnew", "one more")
    assert fill(backlog, "room b\n0") == fill(made(100), "room b\n0") == 50
    for connection in range(100):
        while backlog._in_line[f"room a\n{connection}"]:
            backlog.answered(f"room a\n{connection}")
    assert fill(backlog, "room a\n0") == 50


def test_what_is_answered_makes_room_again() -> None:
    backlog: Backlog[str] = made(10)
    assert fill(backlog, "a") == 5
    for _ in range(5):
        backlog.answered("a")
    assert fill(backlog, "b") == 5
    assert fill(backlog, "a") > 0


def test_the_dealer_s_own_have_all_the_room() -> None:
    backlog: Backlog[str] = made(10)
    assert fill(backlog, "") == 10
    with pytest.raises(Refused, match="10 requests are waiting"):
        backlog.put("", "one more")


def test_what_came_before_the_end_is_taken_and_then_nothing() -> None:
    backlog: Backlog[str] = made(100)
    backlog.put("a", "a0")
    backlog.put("a", "a1")
    backlog.end()
    assert backlog.take(1) == ["a0"]
    assert backlog.take(1) == ["a1"]
    assert backlog.take(1) is None
    backlog.put("a", "a2")
    assert backlog.rest() == ["a2"]
    assert backlog.rest() == []
