"""A dealer that has lost the key of a hand or an answer: the client keeps what is left, and the table goes on."""

import json

import pytest
from click.testing import CliRunner

from audit.commands.receipt import receipt
from dealer.client import CallError, Client, LostError, Retry
from tests.integration.lying_server import Unavailable, honest_dealer, lying_server
from tests.integration.test_lost_hands import lose_keys

QUICK = Retry(attempts=2, first_wait=0.001)
CALLS = [
    lambda hand: hand.deal_street("fourth"),
    lambda hand: hand.fold(1),
    lambda hand: hand.show([0]),
    lambda hand: hand.close(),
    lambda hand: hand.void(),
    lambda hand: hand.lock(),
    lambda hand: hand.submit("me", bytes(32)),
    lambda hand: hand.draw([(0, "up")]),
]


async def lost(work):
    with pytest.raises(LostError) as caught:
        await work
    return caught.value


@pytest.fixture
def data(tmp_path):
    return tmp_path / "data"


@pytest.fixture
async def client(data, tmp_path):
    """A client, to be given the address of a dealer's latest run."""

    def at(address, key):
        return Client(address, key, folder=tmp_path / "client", retry=QUICK)

    return at


@pytest.mark.parametrize("contribute_as", [[], ["me"]], ids=["alone", "with entropy"])
@pytest.mark.parametrize("reveal", ["public", "sealed"])
async def test_a_lost_hand_leaves_its_receipts_and_the_table_goes_on(data, client, tmp_path, contribute_as, reveal):
    async with honest_dealer(data) as dealer, lying_server(dealer) as server:
        key = server.signer.verifier_key
        async with client(server.address, key) as room:
            hand = await room.open_hand("t", [1, 2], contribute_as=contribute_as, reveal=reveal)
            await hand.deal_street("third")
            await dealer.stop()
            lose_keys(data, "seed")
            async with honest_dealer(data) as again:
                server.go_over_to(again.address)
                error = await lost(hand.deal_street("fourth"))
                assert (error.reason, error.metadata["state"], hand.status) == ("HAND_LOST", "LOST", "lost")
                assert "hand 1 of t cannot be played on" in str(error)
                server.calls.clear()
                for call in CALLS:
                    assert (await lost(call(hand))).evidence == error.evidence
                assert server.calls == []  # nobody is asked once more
                assert (await room.open_hand("t", [1, 2], contribute_as=contribute_as)).number == 2
    kept = json.loads(error.evidence.read_text())
    assert (kept["check"], kept["hand"], "offer" in kept) == ("lost", hand.hand_id, bool(contribute_as))
    assert kept["commit"]["receipt"] == hand.commit.receipt
    judged = CliRunner().invoke(receipt, [str(error.evidence), "--key", key])
    assert judged.exit_code != 4, judged.output  # it is evidence that the auditor reads
    assert hand.commit.receipt == (tmp_path / "client" / "receipts" / f"{hand.hand_id}.commit.receipt").read_text()


async def test_a_hand_that_is_lost_before_its_deck_is_locked_leaves_its_offer_and_the_table_goes_on(data, client):
    async with honest_dealer(data) as dealer, lying_server(dealer) as server:

        async def lose(request, forward):
            raise Unavailable

        server.lies["SubmitEntropy"] = lose
        async with client(server.address, server.signer.verifier_key) as room:
            with pytest.raises(CallError):
                await room.open_hand("t", [1, 2], contribute_as=["me"])
            await dealer.stop()
            lose_keys(data, "seed")
            async with honest_dealer(data) as again:
                server.go_over_to(again.address)
                server.lies.clear()
                error = await lost(room.open_hand("t", [1, 2], contribute_as=["me"]))
                assert error.reason == "HAND_LOST"
                assert "offer" in json.loads(error.evidence.read_text())
                assert (await room.open_hand("t", [1, 2], contribute_as=["me"])).number == 2


async def test_a_lost_answer_ends_the_hand_for_this_client_and_nothing_is_asked_anew(data, client):
    async with honest_dealer(data) as dealer, lying_server(dealer) as server:

        async def lose(request, forward):
            await forward(request)
            raise Unavailable

        async with client(server.address, server.signer.verifier_key) as room:
            hand = await room.open_hand("t", [1, 2], game="free-draw")
            server.lies["DrawCards"] = lose
            with pytest.raises(CallError):
                await hand.draw([(1, "down")])
            await dealer.stop()
            lose_keys(data, "answer")
            async with honest_dealer(data) as again:
                server.go_over_to(again.address)
                server.lies.clear()
                error = await lost(hand.void())
                assert (error.reason, hand.status) == ("ANSWER_LOST", "committed")
                server.calls.clear()
                assert (await lost(hand.draw([(1, "down")]))).reason == "ANSWER_LOST"
                assert server.calls == []


async def test_a_lost_answer_to_an_opening_does_not_block_the_table_for_ever(data, client):
    async with honest_dealer(data) as dealer, lying_server(dealer) as server:

        async def lose(request, forward):
            await forward(request)
            raise Unavailable

        async with client(server.address, server.signer.verifier_key) as room:
            server.lies["OpenHand"] = lose
            with pytest.raises(CallError):
                await room.open_hand("t", [1, 2])
            await dealer.stop()
            lose_keys(data, "answer")
            lose_keys(data, "seed")
            async with honest_dealer(data) as again:
                server.go_over_to(again.address)
                server.lies.clear()
                assert (await lost(room.open_hand("t", [1, 2]))).reason == "ANSWER_LOST"
                assert (await room.open_hand("t", [1, 2])).number == 2
