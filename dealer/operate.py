"""The operator's commands: `dealer hands`, `void`, `move-table`, `drain`, `resume`, `status` (API.md)."""

import json
import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar
from uuid import uuid4

import click
import grpc
from google.protobuf.json_format import MessageToDict
from google.protobuf.message import Message
from google.rpc import error_details_pb2
from grpc_status import rpc_status
from rich.console import Console
from rich.table import Table

from dealer.config import config_option, option
from dealer.errors import CutcardError
from dealer.service.rpc.listener import ListenError, parse_address
from dealer.v1 import operator_pb2 as pb
from dealer.v1 import operator_pb2_grpc, types_pb2

C = TypeVar("C", bound=Callable[..., Any])
_PATH = click.Path(path_type=Path)
_SECONDS = 30.0
_DAY, _HOUR, _MINUTE = 86_400, 3_600, 60


class OperatorError(CutcardError):
    """The dealer refused, or did not answer."""


def _connected(command: C) -> C:
    """Adds the options that say which dealer, and hands the command a stub of its OperatorService."""

    @wraps(command)
    def run(connect: str, tls_ca: Path | None, tls_cert: Path | None, tls_key: Path | None, **rest: Any) -> None:
        if (tls_cert is None) != (tls_key is None):
            raise click.UsageError("--tls-cert and --tls-key come together")
        with _stub(connect, tls_ca, tls_cert, tls_key) as stub:
            command(stub, **rest)

    decorated: Any = run
    for each in (
        config_option,
        option("--tls-key", type=_PATH, default=None, help="Its key, in PEM."),
        option("--tls-cert", type=_PATH, default=None, help="The operator's certificate, in PEM."),
        option(
            "--tls-ca", type=_PATH, default=None, help="CA certificates of the dealer, in PEM; says that TLS is used."
        ),
        option(
            "--connect", default="127.0.0.1:50051", show_default=True, help="HOST:PORT or unix:/PATH of the dealer."
        ),
    ):
        decorated = each(decorated)
    return decorated  # type: ignore[no-any-return]


_format = click.option("--format", "output", type=click.Choice(["text", "json"]), default="text", show_default=True)


@contextmanager
def _stub(connect: str, ca: Path | None, certificate: Path | None, key: Path | None) -> Iterator[Any]:
    try:
        parse_address(connect)
    except ListenError as error:
        raise click.BadParameter(str(error), param_hint="--connect") from None
    try:
        roots, chain, secret = (None if path is None else path.read_bytes() for path in (ca, certificate, key))
    except OSError as error:
        raise OperatorError(f"{error.filename} cannot be read: {error.strerror}") from None
    tls = ca is not None or certificate is not None
    if not tls:
        channel = grpc.insecure_channel(connect)
    else:
        _check_files(ca, certificate, key)
        channel = grpc.secure_channel(connect, grpc.ssl_channel_credentials(roots, secret, chain))
    with channel:
        try:
            yield operator_pb2_grpc.OperatorServiceStub(channel)
        except grpc.RpcError as error:
            raise OperatorError(_why(error, tls=tls, shows=certificate is not None)) from None


def _check_files(ca: Path | None, certificate: Path | None, key: Path | None) -> None:
    """Refuses what no handshake can use: of that gRPC tells in lines of its own, and not which file."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    try:
        if ca is not None:
            context.load_verify_locations(ca)
    except ssl.SSLError:
        raise OperatorError(f"{ca} holds no certificate in PEM") from None
    try:
        if certificate is not None:
            context.load_cert_chain(certificate, key, password="")  # one with a password is not asked for it
    except (ssl.SSLError, ValueError):
        raise OperatorError(
            f"{key} is not the key of the certificate in {certificate}, or has a password, or one of them is no PEM"
        ) from None


def _why(error: Any, *, tls: bool, shows: bool) -> str:
    status = rpc_status.from_call(error)
    info = error_details_pb2.ErrorInfo()
    for detail in status.details if status is not None else ():
        detail.Unpack(info)
    reason = info.reason or error.code().name
    return f"{reason}: {error.details()}{_hint(error.code(), info.reason, tls=tls, shows=shows)}"


def _hint(code: grpc.StatusCode, reason: str, *, tls: bool, shows: bool) -> str:
    """Returns what may be behind an answer that came before any of the dealer's own words; "" behind those."""
    if reason:
        return ""
    if code is grpc.StatusCode.UNIMPLEMENTED:
        return " Is this the public listener? Operators are served where rooms are, --listen."
    if code is not grpc.StatusCode.UNAVAILABLE:
        return ""
    if not tls:
        return ". Does a dealer listen there? One behind TLS needs --tls-ca, --tls-cert and --tls-key."
    if not shows:
        return (
            ". Does a dealer listen there? To rooms and operators it listens for certificates: --tls-cert, --tls-key."
        )
    return ". A certificate of another CA, or out of its dates, is refused without a word, on either side."


def _print_json(message: Message) -> None:
    value = MessageToDict(message, preserving_proto_field_name=True, always_print_fields_with_no_presence=True)
    click.echo(json.dumps(value, indent=2))


def _ago(seconds: int) -> str:
    for size, unit in ((_DAY, "d"), (_HOUR, "h"), (_MINUTE, "min")):
        if seconds >= 2 * size:
            return f"{seconds // size} {unit}"
    return f"{seconds} s"


@click.command()
@_connected
@_format
def hands(stub: Any, output: str) -> None:
    """List hands in play of all rooms, oldest first."""
    found = pb.ListAllHandsResponse()
    token = ""
    while True:
        page = stub.ListAllHands(pb.ListAllHandsRequest(page_size=1_000, page_token=token), timeout=_SECONDS)
        found.hands.extend(page.hands)
        token = page.next_page_token
        if not token:
            break
    if output == "json":
        _print_json(found)
        return
    table = Table(box=None, pad_edge=False)
    for name in ("hand", "room", "table", "number", "state", "street", "opened", "idle"):
        table.add_column(name, justify="right" if name in ("number", "opened", "idle") else "left")
    for each in found.hands:
        state = types_pb2.HandState.Name(each.state).removeprefix("HAND_STATE_").lower()
        street = types_pb2.Street.Name(each.street).removeprefix("STREET_").lower() if each.street else "-"
        ago = (_ago(each.opened_seconds), _ago(each.idle_seconds))
        state = f"{state}, referee" if each.referee else state
        table.add_row(each.hand_id, each.room, each.table, str(each.number), state, street, *ago)
    console = Console(highlight=False)
    Console(highlight=False, width=None if console.is_terminal else 200).print(table)
    click.echo(f"{len(found.hands)} in play")


@click.command()
@_connected
@click.argument("hand")
@click.option("--note", required=True, help="Why: kept in the service's log, at most 500 bytes.")
def void(stub: Any, hand: str, note: str) -> None:
    """Give HAND (its UUID) up; in the public log the reason is `operator`."""
    answer = stub.VoidAnyHand(pb.VoidAnyHandRequest(request_id=str(uuid4()), hand_id=hand, note=note), timeout=_SECONDS)
    click.echo(f"hand {answer.hand.hand_id} is void: number {answer.hand.number} at table {answer.hand.table}")


@click.command("move-table")
@_connected
@click.argument("table")
@click.option("--from", "before", required=True, help="The room that has it; `local` without TLS.")
@click.option("--to", "after", required=True, help="The room that gets it.")
def move_table(stub: Any, table: str, before: str, after: str) -> None:
    """Give TABLE, without a hand in play, to another room; its numbers go on."""
    request = pb.MoveTableRequest(table=table, to=after, **{"from": before})
    answer = stub.MoveTable(request, timeout=_SECONDS)
    click.echo(f"table {table} is {after or 'local'}'s: its next hand is number {answer.next_number}")


@click.command()
@_connected
def drain(stub: Any) -> None:
    """Take no new hand from now on; hands in play go on to their end."""
    answer = stub.Drain(pb.DrainRequest(), timeout=_SECONDS)
    click.echo(f"no new hand is taken; {answer.hands_in_play} in play go on to their end")


@click.command()
@_connected
def resume(stub: Any) -> None:
    """Take new hands again."""
    answer = stub.Resume(pb.ResumeRequest(), timeout=_SECONDS)
    click.echo(f"new hands are taken; {answer.hands_in_play} in play")


@click.command()
@_connected
@_format
def status(stub: Any, output: str) -> None:
    """Tell how the dealer is."""
    answer = stub.GetStatus(pb.GetStatusRequest(), timeout=_SECONDS)
    if output == "json":
        _print_json(answer)
        return
    rows = [
        ("version", answer.version),
        ("code digest", answer.code_digest),
        ("origin", answer.origin),
        ("key id", answer.key_id),
        ("up", _ago(answer.uptime_seconds)),
        ("role", f"{answer.role}, epoch {answer.epoch}" if answer.epoch else answer.role),
        ("log", f"{answer.log_size} entries, {answer.published_size} published"),
        ("entropy", "works" if answer.entropy else "FAILED"),
        ("storage", "works" if answer.storage else "FAILED"),
        ("new hands", "refused" if answer.draining else "taken"),
        ("hands", f"{answer.hands_in_play} in play, {answer.most_hands} at most"),
    ]
    if answer.HasField("certificate_days"):
        rows.append(("certificate", f"{answer.certificate_days:.1f} days left"))
    most = answer.limits
    rows += [
        (
            f"room {each.room}",
            f"{each.hands_in_play} of {most.hands_in_play} hands in play, {each.tables} of {most.tables} tables, "
            f"{each.requests_waiting} of {most.requests_waiting} requests waiting",
        )
        for each in answer.rooms
    ]
    for label, value in rows:
        click.echo(f"{label:<12} {value}")
