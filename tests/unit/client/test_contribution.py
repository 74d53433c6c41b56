"""A contributor's value leaves once, for the one offer that binds the dealer to its seed and to this commitment."""

import pytest

from dealer.client import CheckError, Contribution
from dealer.client.receipts import Proven
from dealer.core.entries import canonical
from dealer.core.seed import contribution_commitment
from dealer.log.checkpoint import Checkpoint

VALUE = bytes(range(32))


def offer(**changes: object) -> Proven:
    content = {
        "table": "t",
        "number": 7,
        "contributors": [
            {"contributor": "other", "commitment": "00" * 32},
            {"contributor": "me", "commitment": contribution_commitment("t", 7, "me", VALUE).hex()},
        ],
        "seed_commitment": "11" * 32,
        **changes,
    }
    return Proven(canonical(content), "", 3, Checkpoint("example.com/room", 4, bytes(32)), "", content)


@pytest.fixture
def mine() -> Contribution:
    return Contribution.draw("t", 7, "me", lambda length: VALUE[:length])


def test_the_value_leaves_for_the_offer_that_holds_its_commitment(mine):
    assert mine.release(offer()) == VALUE
    assert mine.release(offer()) == VALUE  # the same offer again, for a call that was lost


@pytest.mark.parametrize(
    ("changes", "detail"),
    [
        ({"table": "u"}, "the offer's table: expected t, found u"),
        ({"number": 8}, "the offer's number: expected 7, found 8"),
        ({"number": "7"}, "the offer's number"),
        ({"contributors": []}, "does not hold the commitment of me"),
        ({"contributors": None}, "does not hold the commitment of me"),
        ({"contributors": [{"contributor": "me", "commitment": "00" * 32}]}, "does not hold the commitment of me"),
        ({"contributors": offer().content["contributors"] * 2}, "does not hold the commitment of me"),
    ],
)
def test_it_does_not_leave_for_another(mine, changes, detail):
    with pytest.raises(CheckError, match=detail) as refused:
        mine.release(offer(**changes))
    assert refused.value.check == "entropy"


def test_it_does_not_leave_for_a_second_offer_whose_seed_may_have_been_chosen_by_it(mine):
    mine.release(offer())
    with pytest.raises(CheckError, match="was let out already, for another offer"):
        mine.release(offer(seed_commitment="22" * 32))


def test_two_draws_differ():
    assert Contribution.draw("t", 7, "me").commitment != Contribution.draw("t", 7, "me").commitment
