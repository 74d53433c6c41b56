"""A client refuses each lie for its own reason, and keeps what shows it to others."""

import json
import shutil
from contextlib import AsyncExitStack
from uuid import uuid4

import grpc
import pytest
from click.testing import CliRunner
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from google.rpc import error_details_pb2
from grpc_status import rpc_status

from audit.cli import cli
from dealer.client import CallError, CheckError, Client, Retry
from dealer.core.entries import TEST
from dealer.log.acknowledgement import acknowledgement_text
from dealer.log.note import NoteSigner
from dealer.service.writer.sources import Sources
from dealer.v1 import dealer_pb2 as pb
from dealer.v1 import dealer_pb2_grpc
from dealer.v1 import types_pb2 as t
from tests.integration.lying_server import Unavailable, honest_dealer, lying_server, resigned
from tests.integration.running import rid

QUICK = Retry(attempts=3, first_wait=0.001)
SEATS = [1, 2, 3]


@pytest.fixture
async def stack():
    async with AsyncExitStack() as held:
        yield held


@pytest.fixture
async def liar(stack, tmp_path):
    dealer = await stack.enter_async_context(honest_dealer(tmp_path / "data"))
    return await stack.enter_async_context(lying_server(dealer))


@pytest.fixture(params=[False, True], ids=["calls", "stream"])
async def client(request, stack, liar, tmp_path):
    return await stack.enter_async_context(
        Client(liar.address, liar.signer.verifier_key, folder=tmp_path / "client", retry=QUICK, stream=request.param)
    )


async def refused(check, detail, work, *, signed=False):
    """Holds that the work fails by this check, for this reason, and returns the evidence that was kept.

    The auditor convicts where what contradicts itself is `signed`; where it is the client's word, it never says valid.
    """
    with pytest.raises(CheckError, match=detail) as caught:
        await work
    assert caught.value.check == check
    evidence = json.loads(caught.value.evidence.read_text())
    judged = CliRunner().invoke(cli, ["receipt", str(caught.value.evidence), "--key", evidence["key"]])
    assert judged.exit_code == (1 if signed else 3), judged.output
    assert (evidence["format"], evidence["check"]) == ("cutcard-evidence/v1", check)
    return evidence


def another_card(answer):
    answer.cards[0].card = "2c" if answer.cards[0].card != "2c" else "2d"


def another_salt(answer):
    answer.cards[0].salt = bytes(32)


def short_salt(answer):
    answer.cards[0].salt = answer.cards[0].salt[:31]


def no_card_of_the_deck(answer):
    answer.cards[0].card = "1s"


def another_position(answer):
    answer.cards[0].position = 9


def another_seat(answer):
    answer.cards[0].seat = 3


def another_face(answer):
    answer.cards[0].face = t.FACE_UP


def no_face(answer):
    answer.cards[0].face = t.FACE_UNSPECIFIED


def a_gap(answer):
    del answer.cards[1]


def a_card_twice(answer):
    answer.cards[1].card, answer.cards[1].salt = answer.cards[0].card, answer.cards[0].salt


def two_cards_exchanged(answer):
    answer.cards[0].card, answer.cards[1].card = answer.cards[1].card, answer.cards[0].card


def an_up_card_kept_back(answer):
    answer.cards[-1].card, answer.cards[-1].salt = "", b""


def another_opener(answer):
    answer.opener.seat = next(seat for seat in SEATS if seat != answer.opener.seat)


def a_seat_gone(answer):
    del answer.hand.live_seats[0]


def another_count(answer):
    answer.hand.cards_left += 1


def another_street(answer):
    answer.hand.street = t.STREET_FOURTH


def another_hand(answer):
    answer.hand.hand_id = "01890000-0000-7000-8000-000000000000"


NOT_AS_COMMITTED = {
    another_card, another_salt, short_salt, no_card_of_the_deck, two_cards_exchanged, a_card_twice, another_position,
}  # fmt: skip
"""The cards are unsigned; that they do not fit the signed commitments is arithmetic."""


@pytest.mark.parametrize(
    ("lie", "check", "detail"),
    [
        (another_card, "opening", "at position 0 does not match its commitment"),
        (another_salt, "opening", "at position 0 does not match its commitment"),
        (short_salt, "opening", "the salt at position 0 is not 32 bytes"),
        (no_card_of_the_deck, "opening", "'1s' at position 0 is no card of standard52"),
        (two_cards_exchanged, "opening", "at position 0 does not match its commitment"),
        (a_card_twice, "opening", "at position 1 does not match its commitment"),
        (an_up_card_kept_back, "opening", "'' at position 8 is no card"),
        (another_position, "dealing", r"expected .* \(0, 1, 'down'\), found \(9, 1, 'down'\)"),
        (another_seat, "dealing", r"expected .* \(0, 1, 'down'\), found \(0, 3, 'down'\)"),
        (another_face, "dealing", r"expected .* \(0, 1, 'down'\), found \(0, 1, 'up'\)"),
        (no_face, "dealing", r"expected .* \(0, 1, 'down'\), found None"),
        (a_gap, "dealing", "9 cards were to come, and 8 came"),
        (another_opener, "dealing", "opens by the cards"),
        (a_seat_gone, "dealing", "seats still in: expected"),
        (another_count, "dealing", "cards left: expected 43, found 44"),
        (another_street, "dealing", "street: expected"),
        (another_hand, "lifecycle", "hand: expected"),
    ],
)
async def test_a_lie_about_a_street_is_refused(liar, client, lie, check, detail):
    hand = await client.open_hand("t", SEATS)
    liar.lie("DealStreet", lie)
    evidence = await refused(check, detail, hand.deal_street("third"), signed=lie in NOT_AS_COMMITTED)
    assert hand.cards == {} or check == "dealing"
    assert evidence["hand"] == hand.hand_id
    assert evidence["cards"]
    assert evidence["commit"]["receipt"] == hand.commit.receipt


def another_table(answer):
    answer.hand.table = "u"


def another_number(answer):
    answer.hand.number += 1


def seats_turned(answer):
    answer.hand.seats[:] = [2, 3, 1]


def another_policy(answer):
    answer.hand.reveal = t.REVEAL_SEALED


def another_game(answer):
    answer.hand.game = t.GAME_SEVEN_CARD_STUD_HI_LO


def not_a_hand_id(answer):
    answer.hand.hand_id = answer.hand.hand_id.upper()


def another_commitment_in_the_list(answer):
    answer.hand.card_commitments = bytes(32) + answer.hand.card_commitments[32:]


def a_commitment_too_few(answer):
    answer.hand.card_commitments = answer.hand.card_commitments[32:]


def another_deck_commitment(answer):
    answer.hand.deck_commitment = bytes(32)


def another_seed_commitment(answer):
    answer.hand.seed_commitment = bytes(32)


def another_index(answer):
    answer.hand.commit_index += 1


def another_entry(answer):
    answer.hand.commit_entry = answer.hand.commit_entry.replace(b'"seats":[1,2,3]', b'"seats":[3,2,1]')


def no_receipt(answer):
    answer.hand.receipt = "index 0\n"


BESIDE_THE_COMMIT = {not_a_hand_id, another_commitment_in_the_list, a_commitment_too_few, another_entry}
"""What evidence holds and does not fit the signed commit; other members of the answer are the client's word."""


@pytest.mark.parametrize(
    ("lie", "check", "detail"),
    [
        (another_table, "lifecycle", "table: expected t, found u"),
        (another_number, "lifecycle", "number: expected number 2, found 3"),
        (seats_turned, "lifecycle", r"seats: expected \[1, 2, 3\], found \[2, 3, 1\]"),
        (another_game, "lifecycle", "game: expected 1, found 2"),
        (another_policy, "reveal", "policy: expected 1, found 2"),
        (not_a_hand_id, "schema", "is no hand id"),
        (another_commitment_in_the_list, "deck", "card commitments do not give the deck commitment"),
        (a_commitment_too_few, "deck", "the list of commitments is not 52 hashes long"),
        (another_deck_commitment, "deck", "card commitments do not give the deck commitment"),
        (another_seed_commitment, "seed", "the commit's seed_commitment"),
        (another_index, "checkpoint", "the receipt is for entry 2, and the hand names entry 3"),
        (another_entry, "checkpoint", "does not prove the entry: the inclusion proof of entry 2"),
        (no_receipt, "checkpoint", "does not prove the entry: a receipt begins with"),
    ],
)
async def test_a_lie_about_the_commit_is_refused(liar, client, lie, check, detail):
    await (await client.open_hand("t", SEATS)).void()
    liar.lie("OpenHand", lie)
    await refused(check, detail, client.open_hand("t", SEATS), signed=lie in BESIDE_THE_COMMIT)


async def test_another_root_is_refused_though_the_log_s_own_key_signed_it(liar, client):
    def lie(answer):
        answer.hand.receipt = resigned(answer.hand.receipt, liar.signer, bytes(32))

    liar.lie("OpenHand", lie)
    await refused("checkpoint", "does not give the root", client.open_hand("t", SEATS), signed=True)


async def test_another_root_is_refused_where_nobody_signed_it(liar, client):
    def lie(answer):
        head, _, note = answer.hand.receipt.partition("\n\n")
        lines = note.split("\n")
        lines[2] = "A" * 43 + "="
        answer.hand.receipt = head + "\n\n" + "\n".join(lines)

    liar.lie("OpenHand", lie)
    await refused("checkpoint", "the note's signature by example.com/room is wrong", client.open_hand("t", SEATS))


async def test_another_key_is_refused_though_it_bears_the_log_s_name(liar, client):
    forger = NoteSigner(liar.signer.name, Ed25519PrivateKey.generate())
    liar.lie("OpenHand", lambda answer: setattr(answer.hand, "receipt", resigned(answer.hand.receipt, forger)))
    await refused("checkpoint", "not signed by example.com/room with key id", client.open_hand("t", SEATS))


async def test_a_test_record_is_refused_under_a_real_log_s_key(stack, tmp_path):
    dealer = await stack.enter_async_context(honest_dealer(tmp_path / "data", Sources(family=TEST)))
    client = await stack.enter_async_context(Client(dealer.address, dealer.engine.state.signer.verifier_key))
    with pytest.raises(
        CheckError, match=r"schema: .* expected cutcard/v1/commit, found cutcard-test/v1/commit"
    ) as caught:
        await client.open_hand("t", SEATS)
    shutil.rmtree(caught.value.evidence.parent)


async def other_dealer(stack, tmp_path, name):
    """A dealer on a copy of the data, as it would be restored from a backup: same key, same log so far."""
    shutil.copytree(tmp_path / "data", tmp_path / name)
    return await stack.enter_async_context(honest_dealer(tmp_path / name))


async def test_a_log_that_is_rolled_back_is_refused(stack, liar, client, tmp_path):
    await (await client.open_hand("t", SEATS)).void()
    restored = await other_dealer(stack, tmp_path, "backup")
    await (await client.open_hand("t", SEATS)).void()
    liar.go_over_to(restored.address)
    evidence = await refused(
        "append-only", "shown 4 entries and can no longer prove them: it was rolled back", client.refresh()
    )
    assert len(evidence["checkpoints"]) == 2
    assert evidence["consistency"] == {"from": 2, "to": 4, "hashes": None}
    await refused("append-only", "rolled back", client.open_hand("t", SEATS, number=0))


async def test_a_log_that_is_forked_is_refused(stack, liar, client, tmp_path):
    await (await client.open_hand("t", SEATS)).void()
    forked = await other_dealer(stack, tmp_path, "fork")
    await (await client.open_hand("t", SEATS)).void()
    async with Client(forked.address, liar.signer.verifier_key) as confederate:
        for _ in range(2):
            await (await confederate.open_hand("t", SEATS)).void()
    liar.go_over_to(forked.address)
    evidence = await refused(
        "append-only", "the tree of 6 entries does not extend that of 4", client.refresh(), signed=True
    )
    assert evidence["consistency"]["hashes"]


async def test_a_fork_of_the_same_size_is_refused(stack, liar, client, tmp_path):
    await (await client.open_hand("t", SEATS)).void()
    forked = await other_dealer(stack, tmp_path, "fork")
    await (await client.open_hand("t", SEATS)).void()
    async with Client(forked.address, liar.signer.verifier_key) as confederate:
        await (await confederate.open_hand("t", SEATS)).void()
    liar.go_over_to(forked.address)
    said = "two signed trees of 4 entries have different roots: the log is forked"
    await refused("append-only", said, client.refresh(), signed=True)


async def test_a_rollback_is_seen_by_the_next_run_of_the_client_too(stack, liar, client, tmp_path):
    await (await client.open_hand("t", SEATS)).void()
    restored = await other_dealer(stack, tmp_path, "backup")
    await (await client.open_hand("t", SEATS)).void()
    liar.go_over_to(restored.address)
    async with Client(liar.address, liar.signer.verifier_key, folder=tmp_path / "client", retry=QUICK) as next_run:
        assert next_run.checkpoint.size == 4
        await refused("append-only", "rolled back", next_run.refresh())


async def next_run_of(stack, liar, tmp_path):
    return await stack.enter_async_context(
        Client(liar.address, liar.signer.verifier_key, folder=tmp_path / "client", retry=QUICK)
    )


async def test_a_rollback_is_seen_where_the_dealer_denies_the_table_s_last_hand(stack, liar, client, tmp_path):
    """The refusal itself is not signed; the checkpoint that the client asks for then is."""
    await (await client.open_hand("t", SEATS)).void()
    restored = await other_dealer(stack, tmp_path, "backup")
    await (await client.open_hand("t", SEATS)).void()
    liar.go_over_to(restored.address)
    next_run = await next_run_of(stack, liar, tmp_path)
    evidence = await refused("append-only", "it was rolled back", next_run.open_hand("t", SEATS))
    assert evidence["consistency"] == {"from": 2, "to": 4, "hashes": None}


async def test_a_log_that_began_anew_is_seen_where_the_dealer_denies_the_table_s_last_hand(
    stack, liar, client, tmp_path
):
    anew = await other_dealer(stack, tmp_path, "anew")
    await (await client.open_hand("t", SEATS)).void()
    liar.go_over_to(anew.address)
    next_run = await next_run_of(stack, liar, tmp_path)
    evidence = await refused("append-only", "it was rolled back", next_run.open_hand("t", SEATS))
    assert evidence["consistency"] == {"from": 0, "to": 2, "hashes": None}


async def test_a_rollback_is_seen_where_a_table_is_said_to_play_an_earlier_hand(stack, liar, client, tmp_path):
    async with Client(liar.address, liar.signer.verifier_key, retry=QUICK) as before:
        unfinished = await before.open_hand("t", SEATS)
        restored = await other_dealer(stack, tmp_path, "backup")
        await unfinished.void()
    await (await client.open_hand("t", SEATS, number=2)).void()
    liar.go_over_to(restored.address)
    await refused("append-only", "it was rolled back", client.open_hand("t", SEATS))


async def test_a_rollback_is_seen_where_the_dealer_denies_a_hand_in_play(stack, liar, client, tmp_path):
    await (await client.open_hand("t", SEATS)).void()
    restored = await other_dealer(stack, tmp_path, "backup")
    hand = await client.open_hand("t", SEATS)
    liar.go_over_to(restored.address)
    await refused("append-only", "it was rolled back", hand.deal_street("third"))


@pytest.mark.parametrize(
    ("said", "shown"), [("1", "1"), ("0" * 4400, "0000000000000000"), ("-1", "-1"), ("\x1b[2J", r"\\x1b\[2J")]
)
async def test_a_dealer_whose_log_holds_the_hand_that_it_denies_is_refused(liar, client, said, shown):
    await (await client.open_hand("t", SEATS)).void()

    async def lie(request, forward):
        request.number = 9
        try:
            return await forward(request)
        except grpc.aio.AioRpcError as error:
            status = rpc_status.from_call(error)
            info = error_details_pb2.ErrorInfo(reason="WRONG_NUMBER", domain="cutcard", metadata={"next_number": said})
            status.details[0].Pack(info)
            details = (("grpc-status-details-bin", status.SerializeToString()),)
            raise grpc.aio.AioRpcError(error.code(), grpc.aio.Metadata(), grpc.aio.Metadata(*details)) from None

    liar.lies["OpenHand"] = lie
    await refused(
        "lifecycle",
        f"the next hand of table t is number {shown}, the dealer says; it has proven hand 1",
        client.open_hand("t", SEATS),
    )


async def test_a_number_that_others_have_taken_meanwhile_is_a_refusal_and_no_lie(liar, client):
    await (await client.open_hand("t", SEATS)).void()
    async with Client(liar.address, liar.signer.verifier_key, retry=QUICK) as other:
        await (await other.open_hand("t", SEATS)).void()
    with pytest.raises(CallError) as caught:
        await client.open_hand("t", SEATS)
    assert (caught.value.reason, caught.value.metadata["next_number"]) == ("WRONG_NUMBER", "3")
    assert (await client.open_hand("t", SEATS, number=3)).number == 3


async def test_an_old_hand_that_is_asked_for_again_does_not_turn_the_table_s_number_back(liar, client):
    first = uuid4()
    await (await client.open_hand("t", SEATS, number=1, request_id=first)).void()
    await (await client.open_hand("t", SEATS)).void()
    await client.open_hand("t", SEATS, number=1, request_id=first)
    assert (await client.open_hand("t", SEATS)).number == 3


async def test_a_down_card_is_not_kept_back_from_a_room(liar, client):
    def lie(answer):
        answer.cards[0].card, answer.cards[0].salt = "", b""

    hand = await client.open_hand("t", SEATS)
    liar.lie("DealStreet", lie)
    await refused("opening", "'' at position 0 is no card", hand.deal_street("third"))
    assert hand.cards == {}


async def test_what_a_dealer_says_does_not_reach_a_terminal_as_it_is(liar, client):
    liar.lie("OpenHand", lambda answer: setattr(answer.hand, "table", "\x1b[2J\u009b\u202e\n"))
    with pytest.raises(CheckError) as caught:
        await client.open_hand("t", SEATS)
    assert r"found \x1b[2J\x9b\u202e\n" in str(caught.value)
    assert str(caught.value).isprintable()


async def test_a_retry_that_is_answered_with_another_hand_is_refused(liar, client):
    """The first hand is dealt to nobody, and the retry gets one that suits the dealer better."""
    attempts = []

    async def lie(request, forward):
        attempts.append(request.request_id)
        if len(attempts) > 1:
            request.request_id, request.number = rid(), 0
            return await forward(request)
        answer = await forward(request)
        # Between the two the dealer gives the first hand up, by itself.
        await void(liar, answer.hand.hand_id)
        raise Unavailable

    await (await client.open_hand("t", SEATS)).void()
    liar.lies["OpenHand"] = lie
    await refused("lifecycle", "the hand's number: expected number 2, found 3", client.open_hand("t", SEATS))
    assert len(set(attempts)) == 1


async def void(liar, hand_id):
    async with grpc.aio.insecure_channel(liar.behind) as channel:
        stub = dealer_pb2_grpc.DealerServiceStub(channel)
        await stub.VoidHand(pb.VoidHandRequest(request_id=rid(), hand_id=hand_id, reason=t.VOID_REASON_FAILURE))


async def look_up(liar, hand_id):
    async with grpc.aio.insecure_channel(liar.behind) as channel:
        return (await dealer_pb2_grpc.DealerServiceStub(channel).GetHand(pb.GetHandRequest(hand_id=hand_id))).hand


async def test_a_repeated_request_that_is_answered_with_something_else_is_refused(liar, client):
    request_id = uuid4()
    hand = await client.open_hand("t", SEATS, number=1, request_id=request_id)
    again = await client.open_hand("t", SEATS, number=1, request_id=request_id)
    assert again.hand_id == hand.hand_id
    liar.lie("OpenHand", lambda answer: setattr(answer.hand, "hand_id", "01890000-0000-7000-8000-000000000000"))
    again = client.open_hand("t", SEATS, number=1, request_id=request_id)
    evidence = await refused("repeat", "answered with something else", again, signed=True)
    assert len(set(evidence["answers"])) == 2


async def test_no_value_leaves_before_the_offer_is_proven(liar, client):
    liar.lie(
        "OpenHand",
        lambda answer: setattr(
            answer.hand, "offer_receipt", resigned(answer.hand.offer_receipt, liar.signer, bytes(32))
        ),
    )
    opening = client.open_hand("t", SEATS, contribute_as=["me"])
    await refused("checkpoint", "does not give the root", opening, signed=True)
    assert "SubmitEntropy" not in liar.calls


async def test_no_value_leaves_for_an_offer_of_another_hand(liar, client):
    """The dealer shows the offer of an earlier hand, whose seed it can choose again."""
    first = await client.open_hand("t", SEATS, contribute_as=["me"])
    await first.void()
    liar.calls.clear()

    def lie(answer):
        answer.hand.offer_entry, answer.hand.offer_receipt = first.offer.entry, first.offer.receipt
        answer.hand.offer_index = first.offer.index

    liar.lie("OpenHand", lie)
    opening = client.open_hand("t", SEATS, contribute_as=["me"])
    await refused("entropy", "the offer's contributors", opening, signed=True)
    assert "SubmitEntropy" not in liar.calls


async def test_a_value_that_was_acknowledged_and_left_out_is_refused_with_the_proof_in_hand(liar, client):
    async def pretend(request, forward):
        text = acknowledgement_text(request.hand_id, request.contributor, request.value)
        hand = await look_up(liar, request.hand_id)
        return pb.SubmitEntropyResponse(hand=hand, acknowledgement=liar.signer.sign(text))

    liar.lies["SubmitEntropy"] = pretend
    evidence = await refused(
        "entropy",
        "the value of me was acknowledged and is not in the deck",
        client.open_hand("t", SEATS, contribute_as=["me"]),
        signed=True,
    )
    assert evidence["acknowledgements"]


@pytest.mark.parametrize(
    ("lie", "detail"),
    [
        (lambda answer, liar: setattr(answer, "acknowledgement", ""), "does not hold"),
        (
            lambda answer, liar: setattr(
                answer, "acknowledgement", liar.signer.sign(acknowledgement_text(answer.hand.hand_id, "me", bytes(32)))
            ),
            "for another hand, contributor or value",
        ),
    ],
    ids=["none", "for another value"],
)
async def test_an_acknowledgement_has_to_be_for_this_value(liar, client, lie, detail):
    liar.lie("SubmitEntropy", lambda answer: lie(answer, liar))
    await refused("entropy", detail, client.open_hand("t", SEATS, contribute_as=["me"]))


async def test_a_close_of_another_hand_is_refused(liar, client):
    first = await client.open_hand("t", SEATS)
    closed = await first.void()
    hand = await client.open_hand("t", SEATS)

    def lie(answer):
        answer.entry, answer.receipt = closed.entry, closed.receipt

    liar.lie("VoidHand", lie)
    await refused("lifecycle", "the close", hand.void(), signed=True)


async def test_an_honest_dealer_behind_the_same_server_is_believed(liar, client):
    hand = await client.open_hand("t", SEATS, contribute_as=["me"], reveal="sealed")
    for street in ("third", "fourth", "fifth", "sixth", "seventh"):
        await hand.deal_street(street)
    await hand.show([0])
    await hand.close()
    assert hand.status == "closed"
