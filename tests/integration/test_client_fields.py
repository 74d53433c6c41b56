"""Every field of `Hand`, `Card` and `Opener` is held by the client, or stands in its list of what it does not read.

A field that is added to the protos and to neither fails here.
"""

from contextlib import asynccontextmanager

import pytest
from google.protobuf.descriptor import FieldDescriptor

from dealer.client import CheckError, Client, Retry
from dealer.client.unread import UNREAD
from dealer.core.seed import contribution_commitment
from dealer.v1 import types_pb2 as t
from tests.integration.lying_server import honest_dealer, lying_server

SEATS = [1, 2, 3]


def change(message, name):
    """Gives a field another value of its type, near the true one."""
    field, value = message.DESCRIPTOR.fields_by_name[name], getattr(message, name)
    if field.message_type is not None and field.is_repeated:
        value.add()
    elif field.message_type is not None:
        value.SetInParent()
    elif field.is_repeated:
        other = [*value[1:], value[0]] if len(set(value)) > 1 else [*value, 9]
        message.ClearField(name)
        getattr(message, name).extend(other)
    elif field.type == FieldDescriptor.TYPE_BYTES:
        setattr(message, name, bytes([value[0] ^ 1]) + value[1:] if value else b"\x01" * 32)
    elif field.type == FieldDescriptor.TYPE_STRING:
        setattr(message, name, value + "x")
    else:
        setattr(message, name, value + 1)


def fields(kind):
    return [field.name for field in kind.DESCRIPTOR.fields]


class Changed:
    """Has an honest answer come once, and gives it out with fields changed however often it is asked for."""

    def __init__(self):
        self.true, self.to_change = None, lambda answer: None

    async def __call__(self, request, forward):
        if self.true is None:
            self.true = await forward(request)
        answer = type(self.true)()
        answer.CopyFrom(self.true)
        self.to_change(answer)
        return answer


INVITED = ("player", bytes(range(32)))


async def nothing(hand):
    """Makes no call before the one in question."""


async def dealt(hand):
    await hand.deal_street("third")


async def through(hand):
    for street in ("third", "fourth", "fifth", "sixth", "seventh"):
        await hand.deal_street(street)


# The answer, the list that is for it, how the hand comes there, the call, and where cards and opener are in the answer.
ANSWERS = [
    ("DealStreet", "later", {}, nothing, lambda hand: hand.deal_street("third"), ("cards", "opener")),
    ("DealStreet", "later", {}, dealt, lambda hand: hand.deal_street("fourth"), ("cards", "opener")),
    (
        "DrawCards",
        "later",
        {"game": "free-draw"},
        nothing,
        lambda hand: hand.draw([(1, "down"), (0, "up")]),
        ("cards",),
    ),
    ("FoldSeat", "later", {}, dealt, lambda hand: hand.fold(1), ()),
    ("ShowCards", "later", {}, dealt, lambda hand: hand.show([0]), ("cards",)),
    ("CloseHand", "later", {}, through, lambda hand: hand.close(), ()),
    ("VoidHand", "later", {"contribute_as": ["me"]}, dealt, lambda hand: hand.void(), ()),
    ("SubmitEntropy", "later", {"invited": {}}, nothing, lambda hand: hand.submit(*INVITED), ()),
    ("LockDeck", "LockDeck", {"invited": {}}, nothing, lambda hand: hand.lock(), ()),
]


@asynccontextmanager
async def at_a_liar(tmp_path):
    async with honest_dealer(tmp_path / "data") as dealer, lying_server(dealer) as liar:
        key = liar.signer.verifier_key
        client = Client(liar.address, key, folder=tmp_path / "client", retry=Retry(attempts=1))
        async with client:
            yield liar, client


async def hold(changed, call, unread, parts):
    """Holds that each field is refused if it is changed, and that the client reads nothing from those in the list."""
    missed = []
    for member, kind in (("hand", t.Hand), *((part, {"cards": t.Card, "opener": t.Opener}[part]) for part in parts)):
        for name in fields(kind):
            if kind is t.Hand and name in unread:
                continue

            def change_it(answer, member=member, name=name):
                part = getattr(answer, member)
                change(part[0] if member == "cards" else part, name)

            changed.to_change = change_it
            try:
                await call()
            except CheckError:
                continue
            missed.append(f"{kind.DESCRIPTOR.name}.{name}")
            break  # it was believed: the hand has gone on
    assert missed == [], "neither checked nor in dealer/client/unread.py"

    def change_unread(answer):
        for name in unread:
            change(answer.hand, name)

    changed.to_change = change_unread
    await call()


@pytest.mark.parametrize(
    ("method", "unread", "options", "before", "call", "parts"),
    ANSWERS,
    ids=[f"{row[0]} {row[3].__name__}" for row in ANSWERS],
)
async def test_every_field_of_an_answer_is_held(tmp_path, method, unread, options, before, call, parts):
    async with at_a_liar(tmp_path) as (liar, client):
        if "invited" in options:
            options = {"invited": {"player": contribution_commitment("t", 1, *INVITED)}}
        hand = await client.open_hand("t", SEATS, number=1, **options)
        await before(hand)
        liar.lies[method] = changed = Changed()
        await hold(changed, lambda: call(hand), UNREAD[unread], parts)


@pytest.mark.parametrize(
    ("unread", "contribute_as"),
    [("OpenHand", []), ("OpenHand with contributors", ["me"])],
    ids=["alone", "with entropy"],
)
async def test_every_field_of_the_answer_that_opens_a_hand_is_held(tmp_path, unread, contribute_as):
    async with at_a_liar(tmp_path) as (liar, client):
        liar.lies["OpenHand"] = changed = Changed()
        await hold(
            changed,
            lambda: client.open_hand("t", SEATS, number=1, contribute_as=contribute_as),
            UNREAD[unread],
            (),
        )


def test_the_list_names_fields_that_there_are_each_with_a_reason():
    for unread in UNREAD.values():
        assert set(unread) <= set(fields(t.Hand))
        assert all(len(reason) > 20 for reason in unread.values())
