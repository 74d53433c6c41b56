"""The fixture `stacked_dealer`: a double of the test's own, with decks that the test chooses."""

import time
from contextlib import nullcontext
from datetime import UTC, datetime
from uuid import uuid4

import grpc
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from dealer.client import CallError, CheckError, SyncClient
from dealer.double.recorded import RecordedHandError
from dealer.log.note import NoteSigner
from dealer.log.tiles import bundle, bundle_path
from dealer.testing import StackedDealer, StackError, counting_ids
from dealer.v1 import table_pb2, table_pb2_grpc, types_pb2
from tests.integration.running import running

FILLER_7 = "Qh 8s 4d 5s Tc 4h 6h"
STREETS = ("third", "fourth", "fifth", "sixth", "seventh")


def names(cards):
    return " ".join(map(str, cards))


def test_the_next_hand_is_dealt_from_the_stacked_deck_and_the_one_after_it_is_not(stacked_dealer: StackedDealer):
    deck = "As Ks Qs Js Ts 9s"
    client = stacked_dealer.client()
    assert stacked_dealer.stack("t", deck) == 1
    hand = client.open_hand("t", [1, 2])
    assert names(hand.deal_street("third")) == deck
    hand.void()
    assert hand.deck[:8] == (*deck.split(), "2c", "2d")
    after = client.open_hand("t", [1, 2])
    after.void()
    assert after.deck[:6] != tuple(deck.split())


def test_a_test_may_close_its_client_itself(stacked_dealer: StackedDealer):
    with stacked_dealer.client() as client:
        assert client.open_hand("t", [1, 2]).number == 1
    client.close()


def test_a_hand_in_play_keeps_its_deck_when_the_next_one_is_stacked(stacked_dealer: StackedDealer):
    client = stacked_dealer.client()
    hand = client.open_hand("t", [1, 2])
    assert stacked_dealer.stack("t", "2c 2d") == 2
    hand.void()
    assert hand.deck[:2] != ("2c", "2d")
    follows = client.open_hand("t", [1, 2])
    follows.void()
    assert follows.deck[:2] == ("2c", "2d")


def test_the_deck_is_worked_out_from_what_each_seat_gets_folds_included(stacked_dealer: StackedDealer):
    stacked_dealer.stack_seats(
        "t",
        third={4: "As Ad | 7c", 2: "?? ?? | 2h", 9: "Kc Kd | Ks"},
        fourth={4: "Ac", 2: "fold"},
        seventh={4: "Ah", 9: "Kh"},
    )
    hand = stacked_dealer.client().open_hand("t", [4, 2, 9])
    hand.deal_street("third")
    assert hand.opener.seat == 2
    hand.fold(2)
    for street in STREETS[1:]:
        hand.deal_street(street)
    hand.close()
    four, nine = hand.cards_of(4), hand.cards_of(9)
    assert names(four[:4]) == "As Ad 7c Ac"
    assert (str(four[-1]), str(nine[-1])) == ("Ah", "Kh")
    assert names(nine[:3]) == "Kc Kd Ks"


FOLDS = {"third": {1: "As Ad | 7c", 2: "?? ?? | 2h", 3: "?? ?? | 3h"}, "fourth": {1: "Ac", 2: "fold"}}


def test_a_stacked_fold_that_the_game_forgets_is_refused_at_the_next_street(stacked_dealer: StackedDealer):
    stacked_dealer.stack_seats("t", **FOLDS)
    hand = stacked_dealer.client().open_hand("t", [1, 2, 3])
    hand.deal_street("third")
    with pytest.raises(
        CallError, match="the stack has seat 2 fold before fourth street, and it is still in"
    ) as refused:
        hand.deal_street("fourth")
    assert refused.value.reason == "WRONG_STREET"
    hand.fold(2)  # nothing had changed: the hand goes on as it was stacked
    assert names(hand.deal_street("fourth")).startswith("Ac ")
    for street in STREETS[2:]:
        hand.deal_street(street)
    hand.close()


def test_another_fold_is_refused_where_a_named_card_would_go_elsewhere_and_only_there(stacked_dealer: StackedDealer):
    client = stacked_dealer.client()
    third = {1: "As Ad | 7c", 2: "?? ?? | 2h", 3: "?? ?? | 3h"}
    stacked_dealer.stack_seats("t", third=third, fourth={1: "Ac"}, fifth={3: "Ah"})
    hand = client.open_hand("t", [1, 2, 3])
    hand.deal_street("third")
    hand.fold(2)
    assert names(hand.deal_street("fourth")).startswith("Ac ")  # seat 1 gets it, whoever folds behind it
    with pytest.raises(CallError, match=r"Ah is stacked for seat 3 on fifth street .* have folded are 2"):
        hand.deal_street("fifth")
    hand.void()
    stacked_dealer.stack_seats("t", third=third)
    free = client.open_hand("t", [1, 2, 3])
    free.deal_street("third")
    free.fold(1)
    assert len(free.deal_street("fourth")) == 2


def test_a_filler_with_a_seed_is_shuffled_and_always_the_same(stacked_dealer: StackedDealer):
    client = stacked_dealer.client()
    decks = []
    for filler in (7, 7, 8, 0, None):
        stacked_dealer.stack("t", "As Kd", filler=filler)
        hand = client.open_hand("t", [1, 2])
        hand.void()
        decks.append(hand.deck)
    assert decks[0] == decks[1]
    assert len(set(decks)) == 4
    assert {deck[:2] for deck in decks} == {("As", "Kd")}
    assert names(decks[0][2:9]) == FILLER_7
    by_seat = [stacked_dealer.stack_seats("t", third={1: "As ?? | 7c", 2: "?? ?? | 2h"}, filler=f) for f in (7, 7, 8)]
    assert by_seat[0] == by_seat[1] != by_seat[2]
    assert (by_seat[0][0], *by_seat[0][4:6]) == ("As", "7c", "2h")
    assert set(by_seat[0]) == set(decks[0])
    stacked_dealer.reset()
    for wrong in (-1, 2**64):
        with pytest.raises(StackError, match="from 0 below 2"):
            stacked_dealer.stack("t", "As", filler=wrong)


@pytest.mark.parametrize("family", ["certified", "test"])
def test_a_recorded_hand_is_played_again(stacked_dealer: StackedDealer, family: str, tmp_path):
    client, log = stacked_dealer.client(), tmp_path / "log"
    with running(tmp_path / "data") if family == "certified" else nullcontext() as dealer:
        address, key = (
            (dealer.address, dealer.verifier_key()) if dealer else (stacked_dealer.address, stacked_dealer.key)
        )
        with SyncClient(address, key) as room:
            if not dealer:
                stacked_dealer.stack("north", "Qs Jd 7c")
            hand = room.open_hand("north", [4, 2, 9], contribute_as=["me"])
            hand.deal_street("third")
            hand.fold(2)
            for street in STREETS[1:]:
                hand.deal_street(street)
            hand.close()
            write_log(log, hand)
    recorded = stacked_dealer.stack_from(log, hand.hand_id, table="again")
    assert (recorded.table, recorded.number, recorded.game) == ("north", 1, "seven-card-stud")
    assert (recorded.seats, recorded.folds) == ((4, 2, 9), {"fourth": (2,)})
    again = client.open_hand("again", recorded.seats, game=recorded.game)
    for street in STREETS:
        for seat in recorded.folds.get(street, ()):
            again.fold(seat)
        again.deal_street(street)
    again.close()
    assert names(again.cards.values()) == names(hand.cards.values())
    assert again.deck == hand.deck == recorded.cards


def write_log(folder, hand):
    """The static log of one hand, as far as a reader of entries goes."""
    entries = [proven.entry for proven in (hand.offer, hand.commit, hand.closed)]
    path = folder / bundle_path(0, len(entries))
    path.parent.mkdir(parents=True)
    path.write_bytes(bundle(entries))
    (folder / "checkpoint").write_text(hand.closed.note)


def test_a_recorded_hand_that_cannot_be_played_again_says_why(stacked_dealer: StackedDealer, tmp_path):
    client, log = stacked_dealer.client(), tmp_path / "log"
    hand = client.open_hand("t", [1, 2], invited={"me": bytes(32)})
    hand.lock()
    hand.void()
    with pytest.raises(RecordedHandError, match="has no checkpoint"):
        stacked_dealer.stack_from(tmp_path, hand.hand_id)
    write_log(log, hand)
    with pytest.raises(RecordedHandError, match="'north' is no hand id"):
        stacked_dealer.stack_from(log, "north")
    with pytest.raises(RecordedHandError, match="is not there in the log"):
        stacked_dealer.stack_from(log, uuid4())
    bundle_file = log / bundle_path(0, 3)
    honest = bundle_file.read_bytes()
    seed = hand.closed.content["seed"]
    bundle_file.write_bytes(honest.replace(seed.encode(), seed[::-1].encode()))
    with pytest.raises(RecordedHandError, match="not the one that it was committed to"):
        stacked_dealer.stack_from(log, hand.hand_id)
    assert stacked_dealer.reset() == ()  # nothing was stacked


@pytest.mark.parametrize(
    ("deck", "named"),
    [
        ("As Kd As", "As stands twice"),
        ("As Jo", "'Jo' at place 2 is no card"),
        ("As 10h", "'10h'"),
        ("as", "'as'"),
        ("", "names no card"),
        (" ".join([*(["2c", "2d", "2h", "2s"]), "2c"]), "2c stands twice"),
    ],
)
def test_an_impossible_deck_fails_when_it_is_stacked_and_names_the_card(stacked_dealer: StackedDealer, deck, named):
    with pytest.raises(StackError, match=named):
        stacked_dealer.stack("t", deck)
    hand = stacked_dealer.client().open_hand("t", [1, 2])  # nothing was stacked
    assert hand.number == 1


def test_a_deck_of_another_kind_is_refused_when_the_hand_is_opened(stacked_dealer: StackedDealer):
    stacked_dealer.stack("t", "2c")
    with pytest.raises(CallError, match="2c is stacked, and short36 has no such card"):
        stacked_dealer.client().open_hand("t", [1], game="free-draw", deck="short36")
    assert stacked_dealer.reset() == (("t", 1),)


def test_a_hand_stacked_by_seats_is_refused_to_other_seats(stacked_dealer: StackedDealer):
    stacked_dealer.stack_seats("t", third={1: "As Ad | 7c", 2: "Ks Kd | 8c"})
    client = stacked_dealer.client()
    with pytest.raises(CallError, match="stacked for a stud hand of the seats 1, 2"):
        client.open_hand("t", [2, 1])
    assert names(client.open_hand("t", [1, 2]).deal_street("third")) == "As Ks Ad Kd 7c 8c"


def test_a_stacked_deck_survives_a_contribution(stacked_dealer: StackedDealer):
    stacked_dealer.stack("t", "7c 7d")
    hand = stacked_dealer.client().open_hand("t", [1, 2], contribute_as=["me"])
    hand.void()
    assert hand.deck[:2] == ("7c", "7d")


def test_reset_drops_stacks_frees_tables_and_lets_the_clock_run(stacked_dealer: StackedDealer):
    client = stacked_dealer.client()
    client.open_hand("t", [1, 2])
    stacked_dealer.stack("t", "2c 2d 2h 2s")
    stacked_dealer.set_clock(datetime(2001, 1, 1, tzinfo=UTC))
    stacked_dealer.reset()
    hand = client.open_hand("t", [1, 2])
    hand.void()
    assert hand.number == 2
    assert hand.deck[:4] != ("2c", "2d", "2h", "2s")
    assert not hand.closed.content["time"].startswith("2001")


def test_time_and_request_ids_can_be_driven(stacked_dealer: StackedDealer):
    stacked_dealer.set_clock(datetime(2031, 5, 6, 7, 8, 9, tzinfo=UTC))
    client = stacked_dealer.client(request_ids=counting_ids())
    hand = client.open_hand("t", [1, 2])
    assert hand.commit.content["time"] == "2031-05-06T07:08:09.000Z"
    stacked_dealer.advance_clock(90.5)
    assert hand.void().content["time"] == "2031-05-06T07:09:39.500Z"


def test_the_deadline_of_contributions_passes_on_the_driven_clock(stacked_dealer: StackedDealer):
    stacked_dealer.set_clock(datetime(2031, 1, 1, tzinfo=UTC))
    hand = stacked_dealer.client().open_hand("t", [1, 2], invited={"silent": bytes(32)})
    stacked_dealer.advance_clock(59.9)
    assert hand.status == "offered"
    stacked_dealer.advance_clock(0.1)
    hand.lock()  # finds that the dealer has locked it
    assert hand.commit.content["withheld"] == ["silent"]
    assert hand.commit.content["time"] == "2031-01-01T00:01:00.000Z"


@pytest.fixture
def referee(stacked_dealer: StackedDealer):
    with grpc.insecure_channel(stacked_dealer.address) as channel:
        yield table_pb2_grpc.TableServiceStub(channel)


PASSIVE = (table_pb2.ACTION_CHECK, table_pb2.ACTION_CALL, table_pb2.ACTION_BRING_IN)


def start_hand(referee, table: str = "t") -> table_pb2.TableHand:
    return start_hand_with_tokens(referee, table)[0]


def start_hand_with_tokens(
    referee, table: str = "t", seats: tuple[int, ...] = (1, 2)
) -> tuple[table_pb2.TableHand, dict[int, bytes]]:
    stakes = table_pb2.Stakes(ante=5, bring_in=10, small_bet=20, big_bet=40)
    request = table_pb2.StartHandRequest(
        request_id=str(uuid4()),
        table=table,
        game=types_pb2.GAME_SEVEN_CARD_STUD,
        stakes=stakes,
        seats=[table_pb2.SeatStack(seat=seat, stack=1000) for seat in seats],
        reveal=types_pb2.REVEAL_PUBLIC,
        action_seconds=3600,
    )
    started = referee.StartHand(request)
    return started.table_hand, {each.seat: each.token for each in started.tokens}


def test_the_referee_deals_from_the_stacked_deck(stacked_dealer: StackedDealer, referee):
    stacked_dealer.stack_seats("t", third={1: "As Ad | 7c", 2: "?? ?? | 2h"})
    hand = start_hand(referee)
    assert [list(seat.cards) for seat in hand.seats] == [["??", "??", "7c"], ["??", "??", "2h"]]
    assert hand.bring_in_seat == 2


def test_the_referee_too_refuses_the_street_before_which_a_stacked_fold_was_forgotten(stacked_dealer, referee):
    third = {1: "As Ad | 7c", 2: "?? ?? | 2h", 3: "?? ?? | 3h"}
    stacked_dealer.stack_seats("t", third=third, fourth={1: "Kc"}, fifth={1: "fold"})
    hand, tokens = start_hand_with_tokens(referee, seats=(1, 2, 3))
    while hand.street != types_pb2.STREET_FIFTH:
        option = next(each for each in hand.options if each.action in PASSIVE)
        request = table_pb2.ActRequest(
            request_id=str(uuid4()),
            hand_id=hand.hand_id,
            seat=hand.to_act,
            token=tokens[hand.to_act],
            action=option.action,
            amount=option.amount,
        )
        try:
            hand = referee.Act(request).table_hand
        except grpc.RpcError as error:
            assert "the stack has seat 1 fold before fifth street" in error.details()
            break
    else:
        pytest.fail("fifth street was dealt")
    assert hand.street == types_pb2.STREET_FOURTH
    assert hand.hand_id == referee.GetTableHand(table_pb2.GetTableHandRequest(hand_id=hand.hand_id)).table_hand.hand_id


def test_the_time_of_the_seat_to_act_runs_out_on_the_driven_clock(stacked_dealer: StackedDealer, referee):
    hand = start_hand(referee)
    stacked_dealer.advance_clock(3599)
    left = referee.GetTableHand(table_pb2.GetTableHandRequest(hand_id=hand.hand_id)).table_hand
    assert (left.to_act, left.milliseconds_left <= 1000) == (hand.to_act, True)
    stacked_dealer.advance_clock(1)
    for _ in range(100):
        now = referee.GetTableHand(table_pb2.GetTableHandRequest(hand_id=hand.hand_id)).table_hand
        if now.to_act != hand.to_act:
            break
        time.sleep(0.05)
    assert now.to_act != hand.to_act  # the bring-in was posted for it


def test_reset_gives_the_referee_s_hands_up_too(stacked_dealer: StackedDealer, referee):
    hand = start_hand(referee)
    stacked_dealer.reset()
    given_up = referee.GetTableHand(table_pb2.GetTableHandRequest(hand_id=hand.hand_id)).table_hand
    assert (given_up.finished, given_up.hand.state) == (True, types_pb2.HAND_STATE_VOID)
    assert start_hand(referee).hand.number == 2


def test_a_client_with_a_real_log_s_key_takes_nothing_from_a_double(stacked_dealer: StackedDealer):
    key = NoteSigner("example.com/room", Ed25519PrivateKey.generate()).verifier_key
    with (
        SyncClient(stacked_dealer.address, key) as client,
        pytest.raises(CheckError, match="not signed by"),
    ):
        client.open_hand("t", [1, 2])


@pytest.mark.parametrize("number", range(24))
def test_doubles_do_not_hear_each_other(stacked_dealer: StackedDealer, number: int):
    """Each test's double has its own tables, decks and log, whatever runs beside it."""
    ranks = "23456789TJQKA"
    top = f"{ranks[number % 13]}s {ranks[number % 13]}h"
    assert stacked_dealer.stack("shared", top) == 1
    client = stacked_dealer.client()
    hand = client.open_hand("shared", [1, 2])
    hand.void()
    assert " ".join(hand.deck[:2]) == top
    assert client.refresh().size == 2


@pytest.mark.soak
@pytest.mark.parametrize("number", range(200))
def test_200_doubles_in_parallel_do_not_hear_each_other(stacked_dealer: StackedDealer, number: int):
    test_doubles_do_not_hear_each_other(stacked_dealer, number)
