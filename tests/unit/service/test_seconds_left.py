"""Clocks go on at another dealer: nobody loses time to a machine's end, and none starts over for ever."""

import pytest

from dealer.service.referee.clocks import seconds_left


@pytest.mark.parametrize(
    ("full", "ago", "left"),
    [
        (60, 0, 60),
        (60, 20, 40),
        (60, 55, 10),  # at least 10 s,
        (60, 600, 10),
        (5, 600, 5),  # or all of a shorter time,
        (60, -30, 60),  # and never more than there was
    ],
)
def test_what_is_left_of_a_deadline(full, ago, left):
    assert seconds_left(full, 1000 - ago, 1000) == left


def test_what_nobody_knows_begins_anew():
    assert seconds_left(30, None, 1000) == 30
