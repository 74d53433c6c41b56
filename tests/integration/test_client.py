"""The client of an honest dealer: whole hands, retries, what it remembers and what it keeps."""

import asyncio
import json
import os
import re
import stat
import subprocess
import sys
import time
from pathlib import Path

import grpc
import pytest

from dealer.client import CallError, CheckError, Client, Contribution, Retry, SyncClient, UsageError, prove
from dealer.client.folder import FolderError
from dealer.log.errors import NoteError
from dealer.service.settings import Settings
from dealer.testing import StackedDealer
from tests.integration.lying_server import Unavailable, honest_dealer, lying_server
from tests.integration.running import running

ROOT = Path(__file__).resolve().parents[2]
STREETS = ("third", "fourth", "fifth", "sixth", "seventh")
QUICK = Retry(attempts=4, first_wait=0.001)


@pytest.fixture
def client(stacked_dealer: StackedDealer):
    return stacked_dealer.client()


@pytest.mark.parametrize("game", ["seven-card-stud", "seven-card-stud-hi-lo"])
def test_eight_seats_to_the_end(client, game):
    hand = client.open_hand("t", range(1, 9), game=game)
    dealt = [len(hand.deal_street(street)) for street in STREETS]
    assert dealt == [24, 8, 8, 8, 1]
    assert [card.seat for card in hand.cards_of(0)] == [0]
    hand.close()
    assert hand.status == "closed"
    assert sorted(hand.cards) == list(range(49))
    assert all(hand.deck[position] == card.name for position, card in hand.cards.items())


def test_folds_shows_and_a_last_seat(client):
    hand = client.open_hand("t", [3, 1, 2])
    hand.deal_street("third")
    assert [str(c.face) for c in hand.show([0])] == ["up"]
    hand.fold(1)
    hand.fold(hand.seats[0])
    assert hand.seats == (2,)
    close = hand.close()
    assert close.content["events"][-1] == {"fold": 3}


def test_free_draw(client):
    hand = client.open_hand("t", [5], game="free-draw", deck="short36")
    cards = hand.draw([(5, "down"), (0, "up"), (5, "up")])
    assert [(c.position, c.seat, str(c.face)) for c in cards] == [(0, 5, "down"), (1, 0, "up"), (2, 5, "up")]
    assert hand.cards_left == 33
    hand.close()


@pytest.mark.parametrize("reason", ["operator", "timeout", "misdeal", "failure"])
def test_a_void_hand_is_revealed_and_checked(client, reason):
    hand = client.open_hand("t", [1, 2])
    assert hand.void(reason).content["reason"] == reason
    assert len(hand.deck) == 52


def test_a_refusal_tells_its_reason_and_changes_nothing(client):
    hand = client.open_hand("t", [1, 2])
    with pytest.raises(CallError) as refused:
        hand.deal_street("fifth")
    assert (refused.value.code, refused.value.reason) == (grpc.StatusCode.FAILED_PRECONDITION, "WRONG_STREET")
    assert len(hand.deal_street("third")) == 6


@pytest.mark.parametrize(
    "call",
    [
        lambda client, hand: client.open_hand("u", [1, 2], game="draughts"),
        lambda client, hand: client.open_hand("u", [1, 2], reveal="never"),
        lambda client, hand: client.open_hand("u", [1, 2], number=0, contribute_as=["me"]),
        lambda client, hand: hand.deal_street("ninth"),
        lambda client, hand: hand.draw([(1, "sideways")]),
        lambda client, hand: hand.void("boredom"),
        lambda client, hand: hand.lock(),
    ],
)
def test_what_cannot_be_asked_is_not_sent(client, call):
    hand = client.open_hand("t", [1, 2])
    with pytest.raises(UsageError):
        call(client, hand)
    hand.deal_street("third")


def test_no_card_is_asked_for_before_the_commit_is_checked(client):
    hand = client.open_hand("t", [1, 2], invited={"other": bytes(32)})
    with pytest.raises(UsageError, match="lock the deck first"):
        hand.deal_street("third")


def test_a_client_that_does_not_know_the_table_finds_its_number_in_the_log(stacked_dealer: StackedDealer):
    first = stacked_dealer.client()
    for table in ("t", "u", "t"):
        first.open_hand(table, [1, 2]).void()
    second = stacked_dealer.client()
    assert second.next_number("t") == 3
    hand = second.open_hand("t", [1, 2], contribute_as=["me"])
    assert (hand.number, hand.offer.content["number"]) == (3, 3)


def test_a_number_that_is_not_the_next_is_refused(client):
    with pytest.raises(CallError, match="number 1") as refused:
        client.open_hand("t", [1, 2], number=2)
    assert refused.value.reason == "WRONG_NUMBER"


def test_a_key_that_is_none_is_refused_at_once(stacked_dealer: StackedDealer):
    with pytest.raises(NoteError):
        SyncClient(stacked_dealer.address, stacked_dealer.key[:-4])


def test_down_cards_and_values_are_in_no_repr(client):
    hand = client.open_hand("t", [1, 2])
    card = hand.deal_street("third")[0]
    value = bytes(range(32))
    contribution = Contribution.draw("t", 1, "me", lambda length: value)
    assert card.salt.hex() not in repr(card)
    assert repr(card.salt) not in repr(card)
    assert repr(value) not in repr(contribution)


async def test_fifty_hands_at_once_share_one_client(stacked_dealer: StackedDealer):
    async with stacked_dealer.async_client() as client:

        async def play(number: int) -> int:
            hand = await client.open_hand(f"t{number}", [1, 2, 3], contribute_as=["me"] if number % 2 else [])
            await hand.deal_street("third")
            await hand.fold(2)
            await hand.void()
            return len(hand.deck)

        assert await asyncio.gather(*map(play, range(50))) == [52] * 50
        newest = await client.refresh()
        assert newest.size == 50 * 2 + 25


async def test_streets_that_are_asked_for_at_once_come_one_after_the_other(stacked_dealer: StackedDealer):
    async with stacked_dealer.async_client() as client:
        hand = await client.open_hand("t", [1, 2])
        await asyncio.gather(*(hand.deal_street(street) for street in STREETS))
        await hand.close()


# Retries


async def test_an_unavailable_dealer_is_asked_again_under_the_same_id_and_the_hand_is_opened_once(tmp_path):
    async with honest_dealer(tmp_path / "data") as dealer, lying_server(dealer) as server:
        ids: list[str] = []

        async def lose_two_answers(request, forward):
            ids.append(request.request_id)
            answer = await forward(request)
            if len(ids) <= 2:
                raise Unavailable
            return answer

        for method in ("OpenHand", "DealStreet", "CloseHand", "FoldSeat"):
            server.lies[method] = lose_two_answers
        async with Client(server.address, server.signer.verifier_key, retry=QUICK) as client:
            hand = await client.open_hand("t", [1, 2])
            assert (len(ids), len(set(ids))) == (3, 1)
            ids.clear()
            await hand.deal_street("third")
            assert (len(ids), len(set(ids))) == (3, 1)
            ids.clear()
            await hand.fold(1)
            ids.clear()
            await hand.close()
            assert (await client.refresh()).size == 2


async def test_a_restart_of_the_dealer_is_waited_for_and_noticed_at_once(tmp_path):
    """gRPC by itself would connect again after 1, 1.6, 2.6 ... seconds, whenever it is asked."""
    with running(tmp_path / "data") as dealer:
        async with Client(dealer.address, dealer.verifier_key()) as client:
            hand = await client.open_hand("t", [1, 2])
            dealer.kill()
            dealt = asyncio.create_task(hand.deal_street("third"))
            await asyncio.sleep(1.5)
            assert not dealt.done()
            with running(tmp_path / "data", "--listen", dealer.address):
                back = time.monotonic()
                assert len(await dealt) == 6
                assert time.monotonic() - back < 10
                await hand.void()


async def test_a_dealer_that_stays_away_is_not_asked_for_ever(tmp_path):
    async with honest_dealer(tmp_path / "data") as dealer, lying_server(dealer) as server:

        async def away(request, forward):
            raise Unavailable

        server.lies["OpenHand"] = away
        async with Client(server.address, server.signer.verifier_key, retry=QUICK) as client:
            with pytest.raises(CallError, match="the connection is gone") as error:
                await client.open_hand("t", [1, 2])
        assert error.value.code is grpc.StatusCode.UNAVAILABLE
        assert server.calls.count("OpenHand") == 4


@pytest.mark.parametrize("contribute_as", [[], ["me"]], ids=["alone", "with entropy"])
async def test_the_same_call_after_a_failure_is_the_same_request(tmp_path, contribute_as):
    """The answer never came though the hand was opened: asking again gives that hand, and no second one."""
    async with honest_dealer(tmp_path / "data") as dealer, lying_server(dealer) as server:
        ids = []

        async def lose(request, forward):
            ids.append(request.request_id)
            answer = await forward(request)
            if len(ids) <= 4:
                raise Unavailable
            return answer

        server.lies["OpenHand"] = lose
        async with Client(server.address, server.signer.verifier_key, retry=QUICK) as client:
            with pytest.raises(CallError):
                await client.open_hand("t", [1, 2], contribute_as=contribute_as)
            hand = await client.open_hand("t", [1, 2], contribute_as=contribute_as)
            assert len(set(ids)) == 1
            assert hand.number == 1


async def test_a_hand_whose_contribution_was_never_answered_goes_on_when_it_is_asked_for_again(tmp_path):
    async with honest_dealer(tmp_path / "data") as dealer, lying_server(dealer) as server:
        calls = []

        async def lose(request, forward):
            calls.append(request.value)
            answer = await forward(request)
            if len(calls) <= 4:
                raise Unavailable
            return answer

        server.lies["SubmitEntropy"] = lose
        async with Client(server.address, server.signer.verifier_key, retry=QUICK) as client:
            with pytest.raises(CallError):
                await client.open_hand("t", [1, 2], contribute_as=["me"])
            hand = await client.open_hand("t", [1, 2], contribute_as=["me"])
            assert (hand.number, len(set(calls))) == (1, 1)
            assert hand.commit.content["withheld"] == []
            await hand.void()


async def test_a_contribution_that_comes_after_the_deadline_is_withheld_and_the_hand_goes_on(tmp_path):
    settings = Settings(grace_seconds=0.5, contribution_seconds=0.05)
    async with honest_dealer(tmp_path / "data", settings=settings) as dealer, lying_server(dealer) as server:

        async def late(request, forward):
            await asyncio.sleep(0.3)
            return await forward(request)

        server.lies["SubmitEntropy"] = late
        async with Client(server.address, server.signer.verifier_key) as client:
            hand = await client.open_hand("t", [1, 2], contribute_as=["me"])
            assert hand.commit.content["withheld"] == ["me"]
            assert len(await hand.deal_street("third")) == 6


async def test_a_street_whose_answer_was_lost_is_settled_before_the_hand_is_given_up(tmp_path):
    """Otherwise an honest dealer, which has dealt it, would be taken for a liar."""
    async with honest_dealer(tmp_path / "data") as dealer, lying_server(dealer) as server:
        ids = []

        async def lose(request, forward):
            ids.append(request.request_id)
            answer = await forward(request)
            if len(ids) <= 4:
                raise Unavailable
            return answer

        async with Client(server.address, server.signer.verifier_key, retry=QUICK) as client:
            hand = await client.open_hand("t", [1, 2])
            server.lies["DealStreet"] = lose
            with pytest.raises(CallError):
                await hand.deal_street("third")
            assert hand.cards == {}
            close = await hand.void()
            assert len(set(ids)) == 1
            assert len(hand.cards) == 6
            assert [event["deal"] for event in close.content["events"]] == ["third"]


async def test_a_call_that_never_arrived_and_cannot_be_made_any_more_is_let_go(tmp_path):
    async with honest_dealer(tmp_path / "data") as dealer, lying_server(dealer) as server:

        async def away(request, forward):
            raise Unavailable

        async with Client(server.address, server.signer.verifier_key, retry=QUICK) as client:
            hand = await client.open_hand("t", [1, 2])
            await hand.deal_street("third")
            server.lies["DealStreet"] = away
            with pytest.raises(CallError):
                await hand.deal_street("fifth")
            server.lies.clear()
            assert len(await hand.deal_street("fourth")) == 2


@pytest.mark.parametrize("method", ["LockDeck", "CloseHand"])
async def test_a_call_whose_answer_could_not_be_checked_is_made_again_as_the_same_request(tmp_path, method):
    """The answer came; the dealer went away before it could prove that its log had only grown."""
    async with honest_dealer(tmp_path / "data") as dealer, lying_server(dealer) as server:
        failures = []

        async def away(request, forward):
            failures.append(request)
            if method in server.calls and len(failures) <= QUICK.attempts:
                raise Unavailable
            return await forward(request)

        async with Client(server.address, server.signer.verifier_key, retry=QUICK) as client:
            hand = await client.open_hand("t", [1, 2], invited={"silent": bytes(32)})
            if method == "CloseHand":
                await hand.lock()
                for street in STREETS:
                    await hand.deal_street(street)
            server.lies["GetConsistencyProof"] = away
            with pytest.raises(CallError):
                await (hand.lock() if method == "LockDeck" else hand.close())
            await (hand.lock() if method == "LockDeck" else hand.close())
            assert server.calls.count(method) == 2
            assert hand.status == ("committed" if method == "LockDeck" else "closed")


async def test_a_refused_request_is_not_remembered(tmp_path):
    async with honest_dealer(tmp_path / "data") as dealer, lying_server(dealer) as server:
        ids = []

        async def look(request, forward):
            ids.append(request.request_id)
            return await forward(request)

        server.lies["DealStreet"] = look
        async with Client(server.address, server.signer.verifier_key) as client:
            hand = await client.open_hand("t", [1, 2])
            for _ in range(2):
                with pytest.raises(CallError):
                    await hand.deal_street("fifth")
        assert len(set(ids)) == 2


async def test_what_was_not_sent_along_is_asked_for(tmp_path):
    async with honest_dealer(tmp_path / "data") as dealer, lying_server(dealer) as server:

        def without(answer):
            for member in ("commit_entry", "receipt", "offer_entry", "offer_receipt"):
                answer.hand.ClearField(member)

        server.lie("OpenHand", without)
        server.lie("LockDeck", without)
        async with Client(server.address, server.signer.verifier_key) as client:
            hand = await client.open_hand("t", [1, 2], contribute_as=["me"])
            assert hand.commit.content["contributions"][0]["contributor"] == "me"
            assert server.calls.count("GetReceipt") == 2


# What it remembers and keeps


def test_the_folder_remembers_checkpoint_numbers_and_receipts(stacked_dealer: StackedDealer, tmp_path):
    with SyncClient(stacked_dealer.address, stacked_dealer.key, folder=tmp_path) as client:
        hand = client.open_hand("t", [1, 2], contribute_as=["me"])
        hand.void()
        seen = client.checkpoint
    with SyncClient(stacked_dealer.address, stacked_dealer.key, folder=tmp_path) as client:
        assert client.checkpoint == seen
        assert client.open_hand("t", [1, 2]).number == 2
    kept = {path.name.removeprefix(hand.hand_id) for path in (tmp_path / "receipts").glob(f"{hand.hand_id}*")}
    assert kept == {f".{name}.{kind}" for name in ("offer", "commit", "close") for kind in ("entry", "receipt")} | {
        ".me.acknowledgement"
    }


def test_what_the_folder_keeps_is_for_its_owner_alone(stacked_dealer: StackedDealer, tmp_path):
    tmp_path.chmod(0o755)
    stacked_dealer.client(folder=tmp_path).open_hand("t", [1, 2], contribute_as=["alice"])
    kept = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert any(path.suffix == ".acknowledgement" for path in kept)
    assert {stat.S_IMODE(path.stat().st_mode) for path in kept} == {0o600}


def test_kept_receipts_hold_without_the_dealer(stacked_dealer: StackedDealer, tmp_path):
    client = stacked_dealer.client(folder=tmp_path)
    hand = client.open_hand("t", [1, 2])
    base = tmp_path / "receipts" / f"{hand.hand_id}.commit"
    entry, receipt = (base.with_name(f"{base.name}.{kind}") for kind in ("entry", "receipt"))
    verifier = client._client._log.verifier
    assert prove(entry.read_bytes(), receipt.read_text(), verifier).index == 0
    with pytest.raises(CheckError, match="checkpoint"):
        prove(entry.read_bytes() + b" ", receipt.read_text(), verifier)


def test_a_folder_of_another_log_or_a_broken_one_is_refused(stacked_dealer: StackedDealer, tmp_path):
    with SyncClient(stacked_dealer.address, stacked_dealer.key, folder=tmp_path) as client:
        client.refresh()
    seen = tmp_path / "seen.json"
    seen.write_text(json.dumps({**json.loads(seen.read_text()), "key": "another"}))
    with pytest.raises(FolderError, match="another log's key"):
        SyncClient(stacked_dealer.address, stacked_dealer.key, folder=tmp_path)
    seen.write_text("{")
    with pytest.raises(FolderError, match="cannot be read"):
        SyncClient(stacked_dealer.address, stacked_dealer.key, folder=tmp_path)


def test_evidence_is_for_its_owner_alone(tmp_path):
    from dealer.client.evidence import write

    path = write({"check": "opening"}, tmp_path / "evidence")
    assert path.stat().st_mode & 0o077 == 0
    assert path.parent.stat().st_mode & 0o077 == 0


# A hand in ten lines


def test_ten_lines_deal_a_hand_at_a_real_dealer(tmp_path):
    """examples/ten_lines.py, as it is, against `dealer serve`."""
    source = (ROOT / "examples" / "ten_lines.py").read_text()
    assert len([line for line in source.splitlines() if line.strip()]) <= 10
    with running(tmp_path / "data") as dealer:
        env = {**os.environ, "CUTCARD_ADDRESS": dealer.address, "CUTCARD_KEY": dealer.verifier_key()}
        done = subprocess.run(
            [sys.executable, ROOT / "examples" / "ten_lines.py"], env=env, capture_output=True, text=True, timeout=60
        )
    assert done.returncode == 0, done.stderr
    dealt, revealed = done.stdout.split("revealed")
    deck = re.findall(r"\b[2-9TJQKA][cdhs]\b", revealed)
    assert len(set(deck)) == 52
    assert re.findall(r"[1-3]:(..)", dealt) == deck[: 3 * 7]


def test_the_readme_shows_what_was_run():
    shown = re.search(
        r"<!-- examples/ten_lines.py -->\n```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL
    )
    assert shown is not None
    assert shown[1] == (ROOT / "examples" / "ten_lines.py").read_text()
