"""Every field of a hand, a card and an opener is held to by the client: a dealer that changes it is refused.

A new field fails here until the client checks it, or until it is named below as one that the client cannot check.
"""

from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from google.protobuf.descriptor import FieldDescriptor

from dealer.client import CheckError, Client
from dealer.v1 import types_pb2 as t
from tests.integration.lying_server import LyingServer, honest_dealer, lying_server

UNCHECKED: dict[str, str] = {}
"""Fields that the client deliberately does not check, each with the reason."""


def change(message: Any, field: FieldDescriptor) -> None:
    """Gives a field another value of its type."""
    value = getattr(message, field.name)
    if field.is_repeated:
        del value[-1]
    elif field.enum_type is not None:
        setattr(message, field.name, next(each.number for each in field.enum_type.values if each.number > value))
    elif isinstance(value, bytes):
        setattr(message, field.name, bytes([value[0] ^ 1]) + value[1:] if value else b"\x01")
    elif isinstance(value, str):
        setattr(message, field.name, value + "x")
    else:
        setattr(message, field.name, value + 1)


def lies() -> list[tuple[str, str, Callable[[Any], None]]]:
    """For each field its name, the call whose answer is changed, and the change."""
    found: list[tuple[str, str, Callable[[Any], None]]] = []
    for field in t.Hand.DESCRIPTOR.fields:
        # What an offer says comes with the offered hand; the rest as soon as there is a commit.
        call = "OpenHand" if field.name.startswith("offer_") else "LockDeck"
        found.append((f"Hand.{field.name}", call, lambda answer, field=field: change(answer.hand, field)))
    for field in t.Card.DESCRIPTOR.fields:
        found.append((f"Card.{field.name}", "DealStreet", lambda answer, field=field: change(answer.cards[0], field)))
    for field in t.Opener.DESCRIPTOR.fields:
        found.append((f"Opener.{field.name}", "DealStreet", lambda answer, field=field: change(answer.opener, field)))
    return found


async def is_refused(liar: LyingServer, name: str, call: str, lie: Callable[[Any], None], folder: Path) -> bool:
    liar.lies.clear()
    liar.lie(call, lie)
    async with Client(liar.address, liar.signer.verifier_key, folder=folder) as client:
        try:
            hand = await client.open_hand(name, [1, 2, 3], contribute_as=["me"])
            await hand.deal_street("third")
        except CheckError:
            return True
    return False


async def test_a_field_that_the_dealer_changes_is_refused(tmp_path: Path) -> None:
    async with AsyncExitStack() as stack:
        dealer = await stack.enter_async_context(honest_dealer(tmp_path / "data"))
        liar = await stack.enter_async_context(lying_server(dealer))
        assert not await is_refused(liar, "honest", "DealStreet", lambda answer: None, tmp_path / "honest")
        believed = {name for name, call, lie in lies() if not await is_refused(liar, name, call, lie, tmp_path / name)}
    assert believed == set(UNCHECKED)
