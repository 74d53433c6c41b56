"""What a test stacked and nothing met fails it at its end, and an error of the client shows the test's own line."""

import pytest

from dealer.testing import StackedDealer

pytest_plugins = ["pytester"]

WRONG = """
import pytest
from dealer.client import CallError

def test_another_table(stacked_dealer):
    stacked_dealer.stack("table-1", "As")
    client = stacked_dealer.client()
    client.open_hand("table-one", [1, 2]).void()
    client.open_hand("table-one", [1, 2])
    client.open_hand("offered", [1, 2], invited={"silent": bytes(32)})

def test_no_table(stacked_dealer):
    stacked_dealer.stack_seats("table-1", third={1: "As Ad | 7c", 2: "?? ?? | 2h"})

def test_a_later_hand(stacked_dealer):
    client = stacked_dealer.client()
    hand = client.open_hand("t", [1, 2])
    stacked_dealer.stack("t", "As")

def test_a_fault(stacked_dealer):
    stacked_dealer.inject_fault("CloseHand", drop=True)

def test_a_reason_for_another_failure(stacked_dealer):
    stacked_dealer.stack("table-1", "As")
    assert 1 == 2

@pytest.fixture
def game(stacked_dealer):
    stacked_dealer.stack("t", "As")
    return stacked_dealer.client()

def test_through_another_fixture(game):
    pass
"""
RIGHT = """
import pytest
from dealer.client import CallError

def test_taken(stacked_dealer):
    stacked_dealer.stack("t", "As")
    stacked_dealer.client().open_hand("t", [1, 2])

def test_offered_only(stacked_dealer):
    stacked_dealer.stack("t", "As")
    stacked_dealer.client().open_hand("t", [1, 2], invited={"silent": bytes(32)})

def test_dropped_on_purpose(stacked_dealer):
    stacked_dealer.stack("t", "As")
    stacked_dealer.inject_fault("CloseHand", drop=True)
    assert stacked_dealer.reset() == (("t", 1),)

def test_nothing_asked():
    pass
"""
CALLS = """
import pytest

def game(client):
    client.open_hand("t", [1, 2]).deal_street("fifth")

def test_sync(stacked_dealer):
    game(stacked_dealer.client())

async def test_async(stacked_dealer):
    async with stacked_dealer.async_client() as client:
        await (await client.open_hand("t", [1, 2])).deal_street("fifth")

def test_chained(stacked_dealer):
    try:
        game(stacked_dealer.client())
    except Exception as error:
        raise RuntimeError("the game stops") from error

def test_stack(stacked_dealer):
    stacked_dealer.stack("t", "As As")

def test_recorded(stacked_dealer):
    stacked_dealer.stack_from(".", "019ad4c5-7f1e-7c52-a0e4-31c0b6d2f3aa")
"""


def test_what_nothing_met_fails_the_test_and_tracebacks_end_at_the_game_s_own_line(pytester: pytest.Pytester) -> None:
    """What was met does not fail it, and what nothing met is told with the tables that were opened."""
    pytester.makepyfile(test_wrong=WRONG, test_right=RIGHT, test_calls=CALLS)
    result = pytester.runpytest_subprocess("-p", "no:randomly", "-o", "asyncio_mode=auto")
    result.assert_outcomes(failed=11, passed=4)
    shown = result.stdout.str()
    assert shown.count("CallError: DealStreet: the next street is third, not fifth") >= 3
    assert shown.count('.deal_street("fifth")') >= 3
    for inside in ("dealer/client", "dealer/double", "dealer/testing.py", "/asyncio/", "/concurrent/"):
        assert inside not in shown
    result.stdout.fnmatch_lines(
        [
            "no hand took what is stacked for hand 1 of table table-1; *: offered (to hand 1), table-one (to hand 2)",
            "no hand took what is stacked for hand 1 of table table-1; no hand was opened at any table",
            "no hand took what is stacked for hand 2 of table t; the tables that were opened: t (to hand 1)",
            "no call met the fault injected into CloseHand",
            "E       assert 1 == 2",
            "E       no hand took what is stacked for hand 1 of table table-1; no hand was opened at any table",
            "no hand took what is stacked for hand 1 of table t; no hand was opened at any table",
        ]
    )


def test_reset_tells_the_stacks_that_no_hand_took_and_starts_anew(stacked_dealer: StackedDealer) -> None:
    client = stacked_dealer.client()
    client.open_hand("taken", [1, 2])
    stacked_dealer.stack("taken", "As")
    stacked_dealer.stack("b", "As")
    stacked_dealer.stack("a", "As")
    stacked_dealer.stack("a", "Ks")
    assert stacked_dealer.reset() == (("a", 1), ("b", 1), ("taken", 2))
    assert stacked_dealer.reset() == ()
