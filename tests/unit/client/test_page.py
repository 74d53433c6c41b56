"""docs/client-api.md names every public name and argument of the client, and the client without asyncio is the same."""

import inspect
import re

import pytest

import dealer.client
from dealer.client import Client, Hand, HandSeat, Seat, SyncClient, SyncHand, SyncHandSeat, SyncSeat, SyncTable, Table
from tests.client_page import PAGE, members, page


def test_the_page_is_what_the_docstrings_say():
    assert PAGE.read_text("utf-8") == page(), "run `make generate`"


def test_every_public_name_and_argument_stands_on_the_page():
    text = PAGE.read_text("utf-8")
    assert set(dealer.client.__all__) == set(re.findall(r"^## (\w+)", text, re.MULTILINE))
    for part in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        kind = getattr(dealer.client, part.split()[0])
        calls = dict(members(kind)) if inspect.isclass(kind) else {kind.__name__: kind}
        for name, call in calls.items():
            assert re.search(rf"\b{name}\b", part), (kind, name)
            function = getattr(kind, name, call)
            for argument in inspect.signature(function).parameters if callable(function) else ():
                assert argument == "self" or re.search(rf"\b{argument}\b", part), (kind, name, argument)


@pytest.mark.parametrize(
    ("plain", "other", "own"),
    [
        (SyncClient, Client, {"aclose": "close"}),
        (SyncHand, Hand, {"begin": None, "take_up": None}),
        (SyncTable, Table, {"begin": None}),
        (SyncSeat, Seat, {}),
        (SyncHandSeat, HandSeat, {}),
    ],
    ids=["client", "hand", "table", "seat", "hand_seat"],
)
def test_both_clients_have_the_same_names_and_arguments(plain, other, own):
    ours, theirs = dict(members(plain)), dict(members(other))
    assert {own.get(name, name) for name in theirs} - {None} <= set(ours)
    for name, call in theirs.items():
        if callable(call) and own.get(name, name):
            same = [(p.name, p.kind, p.default) for p in inspect.signature(call).parameters.values()]
            mine = inspect.signature(ours[own.get(name, name)])
            assert [(p.name, p.kind, p.default) for p in mine.parameters.values()] == same, name
    made = [[(p.name, p.kind, p.default) for p in inspect.signature(k).parameters.values()] for k in (plain, other)]
    if other is Client:
        assert made[0] == made[1]
