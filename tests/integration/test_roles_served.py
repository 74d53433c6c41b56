"""The table of roles has every call that a dealer registers, each by its name, and none that it does not."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import grpc
import pytest
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

import dealer.service.server
from dealer.double.server import Double
from dealer.errors import Refused
from dealer.service.rpc.roles import LOCAL, METHODS, PUBLIC, PUBLIC_METHODS, Caller, Role, require_role
from dealer.service.server import Dealer
from dealer.service.settings import Settings
from dealer.service.writer.sources import Sources
from dealer.store.datadir import DataDir

SETTINGS = Settings(public="127.0.0.1:0", grace_seconds=0.2)
DOUBLE = "dealer.v1.TestDoubleService/"


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch) -> list[set[str]]:
    """What each server that is made has had registered, SERVICE/NAME; the rooms' first, then the public's."""
    found: list[set[str]] = []
    make = dealer.service.server.make_server

    def spied(*interceptors: Any, **options: Any) -> grpc.aio.Server:
        server, names = make(*interceptors, **options), set[str]()
        found.append(names)
        generic, by_name = server.add_generic_rpc_handlers, getattr(server, "add_registered_method_handlers", None)

        def add(handlers: Any) -> None:
            for handler in handlers:
                inner = getattr(handler, "_service", handler)  # the double's, whose calls meet faults
                names.update(name.removeprefix("/") for name in inner._method_handlers)
            generic(handlers)

        def add_named(service: str, handlers: Any) -> None:
            names.update(f"{service}/{name}" for name in handlers)
            if by_name is not None:
                by_name(service, handlers)

        monkeypatch.setattr(server, "add_generic_rpc_handlers", add, raising=False)
        monkeypatch.setattr(server, "add_registered_method_handlers", add_named, raising=False)
        return server

    monkeypatch.setattr(dealer.service.server, "make_server", spied)
    return found


def real(folder: Path) -> Dealer:
    data = DataDir.at(folder)
    data.init("roles.invalid/dealer")
    return Dealer(data, SETTINGS, Sources())


@pytest.mark.parametrize("make", [real, lambda folder: Double(folder, SETTINGS)], ids=["dealer", "double"])
async def test_every_call_that_is_registered_stands_in_the_table_and_no_other(
    tmp_path: Path, registered: list[set[str]], make: Callable[[Path], Dealer]
) -> None:
    made = make(tmp_path / "data")
    await made.start()
    try:
        async with grpc.aio.insecure_channel(made.address) as channel:
            asked = reflection_pb2.ServerReflectionRequest(list_services="")
            call = reflection_pb2_grpc.ServerReflectionStub(channel).ServerReflectionInfo(iter([asked]))
            told = [each async for each in call]
    finally:
        await made.stop()
    rooms, public = registered
    of_double = {name for name in METHODS if name.startswith(DOUBLE)}
    assert rooms == set(METHODS) - (set() if isinstance(made, Double) else of_double)
    assert public == {name for name in METHODS if name.startswith(("dealer.v1.LogService/", "grpc."))} | PUBLIC_METHODS
    assert {each.name for part in told for each in part.list_services_response.service} == {
        name.partition("/")[0] for name in rooms
    }


def test_a_call_that_nobody_has_put_in_the_table_is_nobody_s() -> None:
    for who in (LOCAL, PUBLIC, Caller(Role.ROOM, "a"), Caller(Role.OPERATOR, "o")):
        for method in ("dealer.v1.DealerService/NewCall", "dealer.v1.NewService/GetHand", "", "/"):
            with pytest.raises(Refused):
                require_role(who, method)


def test_no_operator_reaches_a_card_and_nobody_but_operators_operates() -> None:
    for method, roles in METHODS.items():
        service = method.partition("/")[0]
        cards = service in ("dealer.v1.DealerService", "dealer.v1.TableService", "dealer.v1.TestDoubleService")
        assert not (cards and Role.OPERATOR in roles), method
        assert service != "dealer.v1.OperatorService" or roles == {Role.OPERATOR, Role.LOCAL}, method
