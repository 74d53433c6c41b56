"""What a client checks of offer, commit and close: the true ones pass, every changed member fails by its own name."""

import base64
import json
from dataclasses import replace
from uuid import UUID

import pytest

from dealer.client.checks import Committed, check_close, check_commit, check_offer
from dealer.client.errors import CheckError
from dealer.client.receipts import Proven
from dealer.client.values import Card
from dealer.core import entries
from dealer.core import hand as machine
from dealer.core.deck import derive_deck
from dealer.core.entries import CERTIFIED, canonical
from dealer.core.hand import Face, HandState, Reveal, Status, VoidReason
from dealer.core.seed import Seed, contribution_commitment, entropy_digest, escrow_digest
from dealer.games.plans import SEVEN_CARD_STUD
from dealer.log.checkpoint import Checkpoint

HAND = UUID("01890a5d-ac96-774b-bcce-b302099a8057").bytes
SEED = Seed(bytes(range(64)))
CIPHERTEXT = bytes(112)
ESCROW = {"key": "0011223344556677", "digest": escrow_digest(HAND, CIPHERTEXT).hex()}
VALUES = {"a": bytes([1]) * 32, "c": bytes([3]) * 32}
INVITED = tuple((n, contribution_commitment("t", 7, n, bytes([i]) * 32)) for i, n in enumerate("abc", start=1))
DIGEST = entropy_digest(HAND, [("a", VALUES["a"]), ("c", VALUES["c"])])
DECK = derive_deck("standard52", HAND, DIGEST, SEED)


def proven(entry: bytes, index: int = 5) -> Proven:
    return Proven(entry, "", index, Checkpoint("example.com/room", 9, bytes(32)), "", entries.decode(entry))


def changed(entry: Proven, member: str, value: object) -> Proven:
    content = {**entry.content, member: value}
    if value is None:
        del content[member]
    return proven(canonical(content), entry.index)


def state(reveal: Reveal) -> HandState:
    return HandState(
        hand=HAND,
        table="t",
        number=7,
        game=SEVEN_CARD_STUD,
        deck="standard52",
        seats=(1, 2),
        reveal=reveal,
        status=Status.COMMITTED,
        seed_commitment=SEED.commitment(HAND),
        deck_commitment=DECK.commitment,
        invited=INVITED,
    )


def escrow(reveal: Reveal) -> dict[str, str] | None:
    return ESCROW if reveal is Reveal.SEALED else None


def offer(reveal: Reveal) -> Proven:
    return proven(entries.offer_entry(state(reveal), escrow(reveal), 0), 4)


def commit(reveal: Reveal) -> Proven:
    entry = entries.commit_entry(
        state(reveal),
        escrow(reveal),
        0,
        offer=4,
        values=VALUES,
        entropy_digest=DIGEST,
        deck_commitment=DECK.commitment,
    )
    return proven(entry, 5)


def played(reveal: Reveal) -> HandState:
    dealt, _ = machine.deal_street(state(reveal), "third")
    shown, _ = machine.show(dealt, [0])
    folded, _ = machine.fold(shown, 2)
    return machine.complete(folded)


KNOWN = {p: Card(p, 1 + p % 2, Face.UP if p > 3 else Face.DOWN, DECK.cards[p], DECK.salt(p)) for p in range(6)}


def close(reveal: Reveal) -> Proven:
    entry = entries.close_entry(
        played(reveal), 0, commit=5, reason=None, deck=DECK, seed=SEED, escrow_ciphertext=CIPHERTEXT, history=None
    )
    return proven(entry, 6)


def verify_commit(
    entry: Proven, reveal: Reveal = Reveal.PUBLIC, given: dict[str, bytes] = VALUES, family: str = CERTIFIED
) -> Committed:
    return check_commit(entry, state(reveal), DECK.card_commitments, offer(reveal), given, family)


def verify_close(entry: Proven, reveal: Reveal = Reveal.PUBLIC, reason: VoidReason | None = None):
    return check_close(entry, played(reveal), reason, verify_commit(commit(reveal), reveal), KNOWN, CERTIFIED)


def test_the_time_of_an_entry_is_for_people_and_its_form_alone_is_held():
    true = commit(Reveal.PUBLIC)
    verify_commit(changed(true, "time", "2026-11-30T23:59:59.999Z"))
    for wrong in ("2026-11-30T23:59:59Z", "2026-11-30T23:59:59.999Z\n", 0, None):
        with pytest.raises(CheckError, match="schema: the commit has no time in its one form"):
            verify_commit(changed(true, "time", wrong))


@pytest.mark.parametrize(
    "spoil",
    [
        lambda entry: entry.replace(b'"table":', b'"table": '),
        lambda entry: entry.replace(b'"table":"t"', b'"table":"\\u0074"'),
        lambda entry: entry.replace(b'"table":"t"', b'"table":"u","table":"t"'),
        lambda entry: entry + b"\n",
    ],
    ids=["a space", "an escape", "a member twice", "a newline"],
)
def test_an_entry_in_another_form_is_refused_though_it_says_the_same(spoil):
    true = commit(Reveal.PUBLIC)
    spoiled = spoil(true.entry)
    assert spoiled != true.entry
    assert entries.decode(spoiled) == true.content
    with pytest.raises(CheckError, match="schema: the entry is not a JSON object in its one canonical form"):
        verify_commit(proven(spoiled))


@pytest.mark.parametrize("reveal", list(Reveal))
def test_a_true_hand_passes(reveal):
    check_offer(offer(reveal), state(reveal), CERTIFIED)
    assert verify_commit(commit(reveal), reveal).digest == DIGEST
    assert verify_close(close(reveal), reveal) == (DECK.cards if reveal is Reveal.PUBLIC else None)


@pytest.mark.parametrize(
    ("member", "value", "check"),
    [
        ("table", "u", "lifecycle"),
        ("number", 8, "lifecycle"),
        ("number", "7", "lifecycle"),
        ("seats", [2, 1], "lifecycle"),
        ("game", "seven-card-stud-hi-lo", "lifecycle"),
        ("reveal", "sealed", "reveal"),
        ("seed_commitment", "00" * 32, "seed"),
        ("contributors", [{"contributor": "a", "commitment": "00" * 32}], "entropy"),
        ("escrow", ESCROW, "reveal"),
        ("schema", "cutcard-test/v1/offer", "schema"),
        ("time", "2026-01-01", "schema"),
        ("time", None, "schema"),
        ("seed_commitment", None, "schema"),
        ("note", "x", "schema"),
    ],
)
def test_a_changed_offer_fails(member, value, check):
    with pytest.raises(CheckError) as caught:
        check_offer(changed(offer(Reveal.PUBLIC), member, value), state(Reveal.PUBLIC), CERTIFIED)
    assert caught.value.check == check


A, C = ({"contributor": n, "value": VALUES[n].hex()} for n in "ac")


@pytest.mark.parametrize(
    ("member", "value", "check"),
    [
        ("hand", "01890a5d-ac96-774b-bcce-b302099a8058", "lifecycle"),
        ("table", "u", "lifecycle"),
        ("number", 6, "lifecycle"),
        ("offer", 3, "lifecycle"),
        ("offer", None, "schema"),
        ("contributions", [C, A], "entropy"),
        ("contributions", [A], "entropy"),
        ("contributions", [A, C, C], "entropy"),
        ("contributions", [A, {**C, "value": "03" * 31 + "04"}], "entropy"),
        ("contributions", [A, C, {"contributor": "x", "value": "00" * 32}], "entropy"),
        ("contributions", [A, C, "x"], "schema"),
        ("contributions", {"a": "x"}, "schema"),
        ("contributions", [A, {**C, "value": C["value"].upper() + "A"}], "schema"),
        ("withheld", [], "entropy"),
        ("withheld", ["b", "c"], "entropy"),
        ("entropy_digest", "00" * 32, "entropy"),
        ("deck_commitment", "00" * 32, "deck"),
        ("seed_commitment", "00" * 32, "seed"),
        ("escrow", ESCROW, "reveal"),
        ("schema", "cutcard/v1/offer", "schema"),
    ],
)
def test_a_changed_commit_fails(member, value, check):
    with pytest.raises(CheckError) as caught:
        verify_commit(changed(commit(Reveal.PUBLIC), member, value))
    assert caught.value.check == check


def test_a_value_that_was_acknowledged_must_be_in_the_commit():
    with pytest.raises(CheckError, match="entropy: the value of b was acknowledged"):
        verify_commit(commit(Reveal.PUBLIC), given={"b": bytes([2]) * 32})


@pytest.mark.parametrize(
    ("value", "detail"),
    [
        (None, "no escrow"),
        ({**ESCROW, "key": "00" * 8}, "not that of the offer"),
        ({**ESCROW, "digest": "00" * 32}, "not that of the offer"),
        ({"key": ESCROW["key"]}, "malformed"),
        ({**ESCROW, "key": ESCROW["key"] + "00"}, "malformed"),
    ],
)
def test_a_sealed_commit_repeats_the_offer_s_escrow(value, detail):
    with pytest.raises(CheckError, match=f"reveal: .*{detail}"):
        verify_commit(changed(commit(Reveal.SEALED), "escrow", value), Reveal.SEALED)


EVENTS = close(Reveal.PUBLIC).content["events"]


@pytest.mark.parametrize(
    ("member", "value", "check"),
    [
        ("hand", "01890a5d-ac96-774b-bcce-b302099a8058", "lifecycle"),
        ("commit", 4, "lifecycle"),
        ("outcome", "void", "lifecycle"),
        ("reason", "operator", "schema"),
        ("events", EVENTS[:-1], "dealing"),
        ("events", [*EVENTS[:-1], {"fold": 1}], "dealing"),
        ("events", [EVENTS[0], EVENTS[2], EVENTS[1]], "dealing"),
        ("seed", bytes(64).hex(), "seed"),
        ("seed", "00", "reveal"),
        ("seed", None, "reveal"),
        ("history", "00" * 32, "schema"),
        ("schema", "cutcard-test/v1/close", "schema"),
        ("deck", " ".join(DECK.cards), "schema"),
    ],
)
def test_a_changed_close_fails(member, value, check):
    with pytest.raises(CheckError) as caught:
        verify_close(changed(close(Reveal.PUBLIC), member, value))
    assert caught.value.check == check


OPENINGS = close(Reveal.SEALED).content["openings"]


@pytest.mark.parametrize(
    ("member", "value", "check"),
    [
        ("openings", OPENINGS[1:], "opening"),
        ("openings", OPENINGS[::-1], "opening"),
        ("openings", [*OPENINGS[:-1], [5, "2c", OPENINGS[-1][2]]], "opening"),
        ("openings", [*OPENINGS[:-1], [5, OPENINGS[-1][1], "00" * 32]], "opening"),
        ("openings", [*OPENINGS, [6, DECK.cards[6], DECK.salt(6).hex()]], "opening"),
        ("card_commitments", base64.b64encode(bytes(52 * 32)).decode(), "opening"),
        ("escrow", base64.b64encode(bytes(111) + b"x").decode(), "seed"),
        ("escrow", base64.b64encode(bytes(80)).decode(), "reveal"),
        ("escrow", "%%%", "reveal"),
        ("escrow", None, "reveal"),
        ("seed", SEED.value.hex(), "schema"),
    ],
)
def test_a_changed_close_of_a_sealed_hand_fails(member, value, check):
    with pytest.raises(CheckError) as caught:
        verify_close(changed(close(Reveal.SEALED), member, value), Reveal.SEALED)
    assert caught.value.check == check


def test_a_close_before_its_commit_fails():
    with pytest.raises(CheckError, match="stands before its commit"):
        verify_close(replace(close(Reveal.PUBLIC), index=5))


def test_a_void_hand_names_the_reason_that_was_given():
    void = machine.void(replace(played(Reveal.PUBLIC), status=Status.COMMITTED))
    entry = entries.close_entry(
        void, 0, commit=5, reason=VoidReason.MISDEAL, deck=DECK, seed=SEED, escrow_ciphertext=b"", history=None
    )
    committed = verify_commit(commit(Reveal.PUBLIC))
    check_close(proven(entry, 6), void, VoidReason.MISDEAL, committed, KNOWN, CERTIFIED)
    with pytest.raises(CheckError, match="reason: expected operator, found misdeal"):
        check_close(proven(entry, 6), void, VoidReason.OPERATOR, committed, KNOWN, CERTIFIED)


def test_a_card_that_was_dealt_must_be_the_derived_deck_s():
    """A card that matches its commitment is the committed one; this holds where a card was taken on trust."""
    known = {**KNOWN, 0: replace(KNOWN[0], name="2c" if DECK.cards[0] != "2c" else "2d")}
    committed = verify_commit(commit(Reveal.PUBLIC))
    with pytest.raises(CheckError, match=r"opening: .* at position 0 is not the derived deck's card"):
        check_close(close(Reveal.PUBLIC), played(Reveal.PUBLIC), None, committed, known, CERTIFIED)


def test_another_deck_than_the_committed_one_fails_though_the_seed_is_right():
    """A coherent lie: the dealer committed to a deck of its own making."""
    forged = replace(verify_commit(commit(Reveal.PUBLIC)), card_commitments=bytes(52 * 32))
    with pytest.raises(CheckError, match="deck: the seed gives another deck than was committed"):
        check_close(close(Reveal.PUBLIC), played(Reveal.PUBLIC), None, forged, KNOWN, CERTIFIED)


JUNK = (
    None,
    True,
    -1,
    0.5,
    2**64,
    10**4000,
    "",
    "x",
    "00",
    "\ud800",
    "A" * 152,
    [],
    [[]],
    [None],
    {},
    {"": 0},
    ["x", 1],
    [{}],
)


@pytest.mark.parametrize("reveal", list(Reveal))
@pytest.mark.parametrize("family", [CERTIFIED, "cutcard-test/v1"])
def test_no_value_of_any_member_fails_but_by_a_check(reveal, family):
    """A dealer signs what it likes: each member, and each member of its elements, with values of every wrong type."""
    committed = verify_commit(commit(reveal), reveal)
    known = {p: replace(card, name="", salt=b"") if p == 1 else card for p, card in KNOWN.items()}
    for make, check in (
        (offer, lambda entry: check_offer(entry, state(reveal), family)),
        (
            commit,
            lambda entry: check_commit(entry, state(reveal), DECK.card_commitments, offer(reveal), VALUES, family),
        ),
        (close, lambda entry: check_close(entry, played(reveal), None, committed, known, family)),
    ):
        true = make(reveal)
        for member in [*true.content, "escrow", "deck", "new"]:
            inner = true.content.get(member)
            elements = [[*inner[:-1], each] for each in JUNK] if isinstance(inner, list) and inner else []
            if elements and isinstance(inner[-1], dict):
                elements += [[*inner[:-1], {**inner[-1], name: each}] for name in inner[-1] for each in JUNK]
            if isinstance(inner, dict):
                elements += [{**inner, name: each} for name in inner for each in JUNK]
            for value in [*JUNK, *elements]:
                content = {**true.content, "schema": f"{family}/{make.__name__}", member: value}
                entry = json.dumps(content, sort_keys=True, separators=(",", ":")).encode("ascii")
                with pytest.raises(CheckError) as caught:
                    check(Proven(entry, "", true.index, true.checkpoint, "", content))
                assert str(caught.value).isprintable()
