"""The command `dealer`: make a data folder, serve, print the key, export the log."""

import importlib
import os
import sys
import traceback
from collections.abc import Mapping
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dealer.config import (
    C,
    config_option,
    contribution_option,
    database_option,
    log_format_option,
    log_level_option,
    option,
)
from dealer.core.shards import Shards, ShardsError, check_shards, shard_of
from dealer.errors import CutcardError, how_to_install
from dealer.files import read_text
from dealer.raw_forms import FORMS, in_form

if TYPE_CHECKING:
    from dealer.service.settings import Tls, Witnessing
    from dealer.store.datadir import DataDir

_PATH = click.Path(path_type=Path)
_DEV_ORIGIN = "dev.invalid/dealer"
_ELSEWHERE = {
    "certs": "dealer.certs:certs",
    "double": "dealer.double.command:double",
    "play": "dealer.play.command:play",
    "hands": "dealer.operate:hands",
    "void": "dealer.operate:void",
    "move-table": "dealer.operate:move_table",
    "drain": "dealer.operate:drain",
    "resume": "dealer.operate:resume",
    "status": "dealer.operate:status",
}
"""Commands whose modules are imported when they are called: what starts a dealer does not wait for them."""
_EX_UNREAD = 4
_EX_SOFTWARE = 70
_EX_UNHEARD = 141
"""As a shell says of a command that SIGPIPE ended."""


class _UnreadError(click.ClickException):
    """What a command was to look at could not be looked at."""

    exit_code = _EX_UNREAD


class _UnheardError(Exception):
    """Whoever read the output has gone. The library would end with 1 for a `BrokenPipeError`."""


class _Group(click.Group):
    """Says an error of the dealer, of a file that it was given, or a missing part in one line, and exits with 1.

    What nobody foresaw is one line as well, and exits with 70. Standard error may fail: the exit code is the same.
    """

    def main(self, *arguments: Any, **settings: Any) -> Any:
        """Runs the command that the arguments name, and exits with its code; see `click.Command.main`."""
        # Of each failed handshake the library would write a raw line, and so anybody could fill the log.
        os.environ.setdefault("GRPC_VERBOSITY", "ERROR")
        run: Any = super().main
        if not settings.pop("standalone_mode", True):
            return run(*arguments, standalone_mode=False, **settings)
        try:
            code = run(*arguments, standalone_mode=False, **settings)
            _finish()
        except (BrokenPipeError, _UnheardError):
            code = _EX_UNHEARD
        except click.ClickException as error:
            code = error.exit_code
            with suppress(Exception):
                error.show()
        except click.Abort:
            code = 1
            with suppress(Exception):
                click.echo("Aborted!", err=True)
        except Exception as error:
            code = _EX_SOFTWARE
            with suppress(Exception):
                click.echo(_output_fault(error) or _unforeseen(error), err=True)
        _let_go()
        sys.exit(code)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Returns the names, sorted."""
        return sorted([*super().list_commands(ctx), *_ELSEWHERE])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Returns a command, its module imported; None where there is no such command."""
        if cmd_name not in _ELSEWHERE:
            return super().get_command(ctx, cmd_name)
        module, _, name = _ELSEWHERE[cmd_name].partition(":")
        try:
            command: click.Command = getattr(importlib.import_module(module), name)
        except ModuleNotFoundError as error:
            raise _not_installed(error) from None
        return command

    def make_context(self, *names: Any, **extra: Any) -> click.Context:
        """Reads the command line, and may print help."""
        try:
            return super().make_context(*names, **extra)
        except BrokenPipeError:
            raise _UnheardError from None

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise _UnheardError from None
        except CutcardError as error:
            raise click.ClickException(str(error)) from None
        except OSError as error:
            if error.filename is None:
                raise
            raise click.ClickException(f"{error.filename}: {error.strerror}") from None
        except ModuleNotFoundError as error:
            raise _not_installed(error) from None


def _not_installed(error: ModuleNotFoundError) -> Exception:
    """What to raise where a module cannot be found: one of our own is our fault."""
    if (error.name or "").partition(".")[0] == "dealer":
        return error
    return click.ClickException(f"this needs {error.name}, which is not installed: {how_to_install('dealer')}")


def _output_fault(error: Exception) -> str | None:
    """Says why standard output cannot be written; None where that is not what an error is about."""
    at = traceback.extract_tb(error.__traceback__)[-1]
    writing = at.filename == click.echo.__code__.co_filename or at.name == _finish.__name__
    return f"Error: the output cannot be written: {error.strerror}" if writing and isinstance(error, OSError) else None


def _finish() -> None:
    """Writes out what is held back: what fails at the interpreter's end would have an exit code of its own."""
    if sys.stdout is not None and not sys.stdout.closed:
        sys.stdout.flush()


def _let_go() -> None:
    """Turns an output that cannot be written to away, so that its last flush does not change the exit code."""
    try:
        _finish()
    except OSError:
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _unforeseen(error: Exception) -> str:
    """Says where an error comes from and of which kind it is; its own text might hold a secret."""
    at = traceback.extract_tb(error.__traceback__)[-1]
    why = f" ({error.strerror})" if isinstance(error, OSError) and error.strerror else ""
    where = f"{Path(at.filename).name}, line {at.lineno}, in {at.name}"
    return f"Error: {type(error).__name__}{why} at {where}: a fault of the dealer's own; please report this line"


def _data_options(command: C) -> C:
    command = option(
        "--at-rest-dir", type=_PATH, default=None, help="Folder of the keys at rest.  [default: DATA_DIR/at-rest]"
    )(command)
    return option("--data-dir", type=_PATH, required=True, help="The dealer's data folder.")(command)


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="cutcard", prog_name="dealer")
def main() -> None:
    """Certified shuffling and dealing for online card rooms."""


_store_option = database_option(
    "--store", default=None, help="PostgreSQL that several dealers share: postgresql://ROLE@HOST/DATABASE."
)


@main.command()
@_data_options
@option("--origin", required=True, help="Name of the log: a domain that is yours and a path, such as example.com/room.")
@_store_option
@option("--succeeds", type=_PATH, default=None, help="Static files of an ended log that this one follows.")
@option("--succeeds-key", default=None, help="Its verifier key, or a file with it.")
@config_option
def init(
    data_dir: Path,
    at_rest_dir: Path | None,
    origin: str,
    store: str | None,
    succeeds: Path | None,
    succeeds_key: str | None,
) -> None:
    """Make a data folder and the log's signing key, and print the verifier key."""
    from dealer.store.datadir import DataDir
    from dealer.store.ends import begin_after, read_ended

    if origin.startswith("test.invalid/"):
        raise CutcardError("origins that begin with test.invalid/ are for test records: no auditor calls them valid")
    if (succeeds is None) != (succeeds_key is None):
        raise click.UsageError("--succeeds and --succeeds-key come together")
    if succeeds is not None and store is not None:
        raise click.UsageError("--succeeds is for an embedded store: begin the log there, then `dealer migrate --to`")
    data = DataDir.at(data_dir, at_rest_dir)
    if store is None:
        before = _key_text(succeeds_key or "")
        final = None if succeeds is None else read_ended(succeeds, before)
        if final is not None and final.origin == origin:
            raise CutcardError(f"{origin} has ended: an origin is one log for ever, so choose another")
        data.init(origin)
        if final is not None:
            begin_after(data, final, before)
    else:
        from dealer.store.postgres.admin import init as init_shared

        init_shared(data, origin, store)
    click.echo(data.signer().verifier_key)


def _key_text(given: str) -> str:
    """Returns a verifier key that was given as text or as a file with it."""
    path = Path(given)
    try:
        return read_text(path).strip() if given and "+" not in given else given
    except (OSError, UnicodeDecodeError):
        raise CutcardError(f"{path} cannot be read, and is no verifier key") from None


@main.command()
@_data_options
@option("--successor", default=None, metavar="KEY", help="Verifier key of the log that follows, or a file with it.")
@config_option
def retire(data_dir: Path, at_rest_dir: Path | None, successor: str | None) -> None:
    """End a log for good: no entry is added any more; then, or later, name the log that follows.

    The server must be stopped, and every hand over. A retired log is served on, without new hands.
    """
    from dealer.store.datadir import DataDir
    from dealer.store.ends import retire as end

    data = DataDir.at(data_dir, at_rest_dir)
    data.check()
    with data.only_server():
        end(data, None if successor is None else _key_text(successor), click.echo)


@main.command()
@_data_options
@database_option("--store", required=True, help="The database of the log: postgresql://ROLE@HOST/DATABASE.")
@option("--log-key", type=_PATH, required=True, help="The log's signing key: DATA_DIR/log.key of another dealer.")
@config_option
def join(data_dir: Path, at_rest_dir: Path | None, store: str, log_key: Path) -> None:
    """Make a further data folder for a log in a database, for a dealer that stands by."""
    from dealer.store.datadir import DataDir
    from dealer.store.postgres.admin import join as join_shared

    data = DataDir.at(data_dir, at_rest_dir)
    join_shared(data, log_key, store)
    click.echo(data.signer().verifier_key)


@main.command()
@_data_options
@database_option("--store", required=True, help="The database of the log: postgresql://ROLE@HOST/DATABASE.")
@config_option
def leave(data_dir: Path, at_rest_dir: Path | None, store: str) -> None:
    """Take a data folder's dealer out of the log's database, and destroy its keys at rest."""
    from dealer.store.datadir import DataDir
    from dealer.store.postgres.admin import leave as leave_shared

    data = DataDir.at(data_dir, at_rest_dir)
    data.check(shared=True)
    with data.only_server():
        leave_shared(data, store)


@main.command()
@_data_options
@config_option
def key(data_dir: Path, at_rest_dir: Path | None) -> None:
    """Print the verifier key, which auditors and players pin."""
    from dealer.store.datadir import DataDir

    data = DataDir.at(data_dir, at_rest_dir)
    data.check(shared=data.is_shared)
    click.echo(data.signer().verifier_key)


def _shared(store: str | None, replication: str | None, lease_seconds: float) -> Any:
    from dealer.service.settings import Shared

    if store is None:
        return None
    if replication is None:
        raise click.UsageError(
            "--replication must say how the database of --store is replicated: none, synchronous or asynchronous; it "
            "is what a failover may lose"
        )
    return Shared(store, replication, lease_seconds)


@main.command()
@_data_options
@option(
    "--listen",
    multiple=True,
    default=("127.0.0.1:50051",),
    show_default=True,
    help="HOST:PORT, without TLS on the loopback, or unix:/PATH; may be repeated. Port 0: a free one.",
)
@option("--public-listen", default=None, help="HOST:PORT for players and readers of the log, who show no certificate.")
@option("--tls-cert", type=_PATH, default=None, help="The server's certificate chain, in PEM.")
@option("--tls-key", type=_PATH, default=None, help="Its key, in PEM.")
@option("--client-ca", type=_PATH, default=None, help="CA certificates of rooms and operators, in PEM.")
@option("--trust-domain", default=None, help="DOMAIN of their ids, spiffe://DOMAIN/cutcard/ROLE/NAME.")
@option("--revoked", type=_PATH, default=None, help="Certificates that hold no more: fingerprints or serial numbers.")
@option("--public-rail/--no-public-rail", default=False, show_default=True, help="Let the public watch the rail.")
@option("--insecure-listen-anywhere", is_flag=True, help="Listen without TLS off the loopback, behind a mesh's own.")
@option("--escrow-public-key", type=_PATH, default=None, help="The auditor's public key file; allows sealed hands.")
@option("--dev", is_flag=True, help="Make the data folder if there is none.")
@option("--log-listen", default=None, help="HOST:PORT of the static log over plain HTTP, for who has no web server.")
@option(
    "--metrics-listen",
    default=None,
    help="HOST:PORT of metrics and probes over plain HTTP; operators alone should reach it.",
)
@option("--reflection/--no-reflection", default=True, show_default=True, help="Serve gRPC server reflection.")
@option("--publish-seconds", type=click.FloatRange(1), default=1.0, show_default=True, help="Pace of the static log.")
@option("--witness-policy", type=_PATH, default=None, help="Policy of the witnesses that are to cosign the log.")
@option("--witness-seconds", type=click.FloatRange(1), default=10.0, show_default=True, help="Their pace.")
@option("--witness-timeout", type=click.FloatRange(0.1), default=5.0, show_default=True, help="They have so long.")
@option(
    "--witness-refresh",
    type=click.FloatRange(1),
    default=3_600.0,
    show_default=True,
    help="A log that has not grown is shown again after so long.",
)
@contribution_option
@_store_option
@option(
    "--replication",
    type=click.Choice(["none", "synchronous", "asynchronous"]),
    default=None,
    help="How the database of --store is replicated, which must be said: it is what a failover may lose.",
)
@option("--lease-seconds", type=click.FloatRange(1), default=2.0, show_default=True, help="A standby waits so long.")
@option(
    "--key-seconds",
    type=click.IntRange(1),
    default=None,
    help="Lifetime of a key of answers, 3600 if it is not given; with --store that of a generation, 300 to 3600, 1800.",
)
@option("--answer-hours", type=click.IntRange(24), default=24, show_default=True, help="Answers are kept so long.")
@option("--hand-hours", type=click.FloatRange(0, min_open=True), default=None, help="Void hands left alone so long.")
@option("--max-hands", type=click.IntRange(1), default=20_000, show_default=True, help="Hands in play at once.")
@option("--max-pending", type=click.IntRange(1), default=20_000, show_default=True, help="Requests of a room waiting.")
@option("--max-streams", type=click.IntRange(1), default=1_000, show_default=True, help="Open on a connection.")
@option("--max-caller-streams", type=click.IntRange(1), default=10_000, show_default=True, help="Open for a room.")
@option("--shards", default=None, metavar="A,B,…", help="All logs of this room; needs --shard.")
@option("--shard", default=None, help="Which of them this one is: tables of the others are refused.")
@option("--table-owners", type=_PATH, multiple=True, help="Owners of tables that move here; `dealer shards --out`.")
@option("--room-hands", type=click.IntRange(1), default=20_000, show_default=True, help="Hands in play of one room.")
@option("--room-tables", type=click.IntRange(1), default=100_000, show_default=True, help="Tables of one room.")
@option("--room-rate", type=click.FloatRange(1), default=20_000, show_default=True, help="Requests a second of a room.")
@option("--room-connections", type=click.IntRange(1), default=1_000, show_default=True, help="Connections of a room.")
@option("--room-pending", type=click.IntRange(1), default=10_000, show_default=True, help="Calls of a room that wait.")
@option("--address-rate", type=click.FloatRange(1), default=200, show_default=True, help="Of an address of the public.")
@option("--address-connections", type=click.IntRange(1), default=100, show_default=True, help="Of such an address.")
@option("--address-pending", type=click.IntRange(1), default=200, show_default=True, help="Of such an address.")
@option("--address-streams", type=click.IntRange(1), default=200, show_default=True, help="Of such an address.")
@option(
    "--slow-seconds", type=click.FloatRange(1), default=60, show_default=True, help="A stream may stand still so long."
)
@option("--grace-seconds", type=click.FloatRange(0), default=10.0, show_default=True, help="Time for calls to end.")
@log_format_option
@log_level_option
@config_option
def serve(data_dir: Path, at_rest_dir: Path | None, dev: bool, log_format: str, log_level: str, **options: Any) -> None:
    """Serve DealerService, TableService and LogService over gRPC."""
    from dealer.code_digest import code_digest, version
    from dealer.run import run_until_stopped
    from dealer.service.loglines import configure
    from dealer.service.server import Dealer
    from dealer.service.settings import Limits, Settings
    from dealer.service.writer.sources import Sources
    from dealer.store.datadir import DataDir
    from dealer.store.escrow import read_escrow_public, trial_escrow
    from dealer.store.owners import read_owners

    configure(log_format, log_level)
    tls = _tls(options)
    shards = _shards(options["shards"], options["shard"])
    owners: dict[str, str] = {}
    for path in options["table_owners"]:
        owners |= read_owners(path)
    data = DataDir.at(data_dir, at_rest_dir)
    if dev and not data.exists():
        data.init(_DEV_ORIGIN)
    escrow = options["escrow_public_key"]
    shared = _shared(options["store"], options["replication"], options["lease_seconds"])
    key_seconds = options["key_seconds"] or (3600 if shared is None else 1800)
    if shared is not None and not 300 <= key_seconds <= 3600:
        raise click.UsageError("--key-seconds must be 300 to 3600 with --store: it is the life of a generation of keys")
    settings = Settings(
        listen=options["listen"],
        public=options["public_listen"],
        tls=tls,
        anywhere=options["insecure_listen_anywhere"],
        public_rail=options["public_rail"],
        log=options["log_listen"],
        metrics=options["metrics_listen"],
        reflection=options["reflection"],
        publish_seconds=options["publish_seconds"],
        contribution_seconds=options["contribution_seconds"],
        grace_seconds=options["grace_seconds"],
        table_owners=owners,
        hand_seconds=None if options["hand_hours"] is None else options["hand_hours"] * 3600,
        limits=Limits(
            hands_in_play=options["max_hands"],
            pending=options["max_pending"],
            streams=options["max_streams"],
            caller_streams=options["max_caller_streams"],
            room_hands=options["room_hands"],
            room_tables=options["room_tables"],
            room_rate=options["room_rate"],
            room_connections=options["room_connections"],
            room_pending=options["room_pending"],
            address_rate=options["address_rate"],
            address_connections=options["address_connections"],
            address_pending=options["address_pending"],
            address_streams=options["address_streams"],
            slow_seconds=options["slow_seconds"],
            answer_seconds=options["answer_hours"] * 3600,
            key_seconds=key_seconds,
        ),
        shared=shared,
        witnesses=_witnessing(options),
    )
    if dev and escrow is None:
        escrow = trial_escrow(data.root)
    key = read_escrow_public(escrow) if escrow else None
    if settings.anywhere:
        click.echo(
            "cards travel in the clear: --insecure-listen-anywhere is for a mesh that brings TLS of its own", err=True
        )
    more = [] if key is None else [f"sealed hands are for the escrow key {key}"]
    more.append(f"cutcard {version()}, code digest {code_digest()}")
    run_until_stopped(Dealer(data, settings, Sources(escrow=key, shards=shards)), *more)


@main.command()
@click.argument("out", type=_PATH)
@_data_options
@_store_option
@config_option
def export(out: Path, data_dir: Path, at_rest_dir: Path | None, store: str | None) -> None:
    """Write the static log to the folder OUT, or bring it up to date; a server may run meanwhile."""
    from dealer.log.checkpoint import read_checkpoint
    from dealer.log.tiles import check_only_a_log, publish, published_checkpoint
    from dealer.store.datadir import DataDir
    from dealer.store.ends import publish_ends

    data = DataDir.at(data_dir, at_rest_dir)
    with closing(_reader(data, store)) as log:
        note, published = log.checkpoint(), log.published()
        if published_checkpoint(data.public) == read_checkpoint(published):
            note = published  # with its cosignatures, where witnesses are asked
        size = read_checkpoint(note).size
        try:
            check_only_a_log(out)
            publish(out, 0, size, note, log.node, log.entries)
            publish_ends(log, out)
        except OSError as error:
            raise CutcardError(f"{out} cannot be written: {error.strerror}") from None
    click.echo(f"{size} entries in {out}")


@main.command()
@_data_options
@database_option("--to", default=None, help="Move the log into this database: postgresql://ROLE@HOST/DATABASE.")
@database_option(
    "--store",
    default=None,
    help="Of a folder whose log is in a database: bring that up, postgresql://ROLE@HOST/DATABASE.",
)
@option("--answer-hours", type=click.IntRange(24), default=24, show_default=True, help="Answers are kept so long.")
@config_option
def migrate(data_dir: Path, at_rest_dir: Path | None, to: str | None, store: str | None, answer_hours: int) -> None:
    """Bring a store up to this version, or move it into a database; the old one is kept beside."""
    from dealer.store.datadir import DataDir
    from dealer.store.migrate import migrate as bring_up
    from dealer.store.vault import Vault

    data = DataDir.at(data_dir, at_rest_dir)
    if to is None and store is not None and data.is_shared:
        _bring_up_database(data, store)
        return
    data.check()
    with data.only_server(), closing(Vault(data.at_rest, 3600)) as vault:
        if not bring_up(data.database, vault, click.echo):
            click.echo("the store is of this version already" + (": nothing to do" if to is None else ""))
    if to is not None:
        from dealer.store.postgres.move import move

        with data.only_server():
            move(data, to, answer_hours * 3600, click.echo)


def _bring_up_database(data: "DataDir", store: str) -> None:
    from dealer.store.postgres.admin import bring_up

    data.check(shared=True)
    with data.only_server():
        changed = bring_up(data, store)
    click.echo("the database is of this version now" if changed else "the database is of this version: nothing to do")


def _tls(options: Mapping[str, Any]) -> "Tls | None":
    """Reads the options of TLS, which come together."""
    from dealer.service.settings import Tls

    needed = ("tls_cert", "tls_key", "client_ca", "trust_domain")
    given = [name for name in needed if options[name] is not None]
    if not given and options["revoked"] is None:
        return None
    if len(given) < len(needed):
        missing = ", ".join(f"--{name.replace('_', '-')}" for name in needed if name not in given)
        raise click.UsageError(f"TLS needs {missing} as well")
    if options["insecure_listen_anywhere"]:
        raise click.UsageError("--insecure-listen-anywhere is for a dealer without TLS")
    certificate, key, client_ca, domain = (options[name] for name in needed)
    return Tls(certificate, key, client_ca, domain, options["revoked"])


def _witnessing(options: Mapping[str, Any]) -> "Witnessing | None":
    """Reads the policy of witnesses, and how they are asked."""
    from dealer.log.policy import PolicyError, parse
    from dealer.service.settings import Witnessing

    path: Path | None = options["witness_policy"]
    if path is None:
        return None
    try:
        policy = parse(read_text(path).encode())
    except (PolicyError, UnicodeDecodeError) as error:
        raise CutcardError(f"{path}: {error}") from None
    pace, timeout, refresh = (options[f"witness_{name}"] for name in ("seconds", "timeout", "refresh"))
    return Witnessing(policy, pace, timeout, refresh)


def _shards(names: str | None, own: str | None) -> Shards | None:
    """Reads `--shards` and `--shard`, which come together."""
    if names is None and own is None:
        return None
    if names is None or own is None:
        raise click.UsageError("--shards and --shard come together: all logs of the room, and which of them this is")
    try:
        return Shards(tuple(name.strip() for name in names.split(",")), own)
    except ShardsError as error:
        raise click.BadParameter(str(error), param_hint="--shards") from None


@main.command("shards")
@_data_options
@option("--shards", required=True, metavar="A,B,…", help="All logs of the room, as they are to be.")
@option("--shard", required=True, help="Which of them this folder's is; one that is left out of the list goes.")
@click.option(
    "--moved",
    is_flag=True,
    help="Only tables that are not this log's any more; exits with 1 while any has a hand in play.",
)
@click.option("--out", type=_PATH, default=None, help="With --moved: write their owners there, for the new shard.")
@_store_option
@config_option
def shards_command(
    data_dir: Path,
    at_rest_dir: Path | None,
    shards: str,
    shard: str,
    moved: bool,
    out: Path | None,
    store: str | None,
) -> None:
    """List the tables of this log and the shards that they belong to; a server may run meanwhile."""
    from dealer.store.datadir import DataDir
    from dealer.store.owners import write_owners

    if out is not None and not moved:
        raise click.UsageError("--out needs --moved: it is for the tables that go")
    names = tuple(name.strip() for name in shards.split(","))
    try:
        check_shards((*names,))
    except ShardsError as error:
        raise click.BadParameter(str(error), param_hint="--shards") from None
    data = DataDir.at(data_dir, at_rest_dir)
    with closing(_reader(data, store)) as reader:
        tables = [(row, shard_of(row.table, names)) for row in reader.tables()]
        if moved:
            tables = [(row, home) for row, home in tables if home != shard]
        if out is not None:
            write_owners(out, reader.origin, [row for row, _ in tables])
    for row, home in tables:
        playing = f"hand {row.number} in play" if row.hand is not None else f"{row.number} hands"
        click.echo(f"{row.table}\t{home}\t{row.owner}\t{playing}")
    busy = sum(row.hand is not None for row, _ in tables)
    if moved and busy:
        raise CutcardError(f"{busy} of {len(tables)} moved tables have a hand in play: the new shard has to wait")


def _reader(data: "DataDir", store: str | None) -> Any:
    """Opens a log for reading: in its folder, or in its database; which of them it is the folder says."""
    shared = store is not None and data.is_shared
    data.check(shared=shared)
    if store is None or not shared:
        from dealer.store.sqlite import SqliteStore

        return SqliteStore(data.database, read_only=True)
    from dealer.store.postgres.admin import open_reader

    return open_reader(data, store)


RAW_OUTPUT = (
    "this is raw output of the seed source, before any word, card or deck, none of it discarded; bits of final decks "
    "are what `audit bits` writes"
)
"""So that nobody files the one for the other."""


@main.command()
@option(
    "--bytes", "count", type=click.IntRange(1), default=None, help="So many; without it, until the reader has gone."
)
@option(
    "--form",
    type=click.Choice(FORMS),
    default="raw",
    show_default=True,
    help="raw bytes; ascii, a 0 or 1 for each bit (NIST SP 800-22); words, 32 bits in decimal, one a line.",
)
@config_option
def entropy(count: int | None, form: str) -> None:
    """Write raw output of the seed source to standard output, drawn as `serve` draws seeds.

    The bytes are random and nobody's seed. The health tests run beside them: a failure is told on standard error, the
    output goes on, and the exit code is 1.
    """
    from dealer.service.writer.sources import Sources
    from dealer.service.writer.watched_source import raw_output

    if sys.stdout.isatty():
        raise click.UsageError("this is binary: send it to a file or to another program")
    alarms: list[str] = []

    def alarm(what: str) -> None:
        if not alarms:
            click.echo(f"{what}: the output goes on", err=True)
        alarms.append(what)

    if form != "raw" or sys.stderr.isatty():  # programs that read raw bytes take a silent stderr for a working source
        click.echo(RAW_OUTPUT, err=True)
    for part in in_form(raw_output(Sources().entropy, count, alarm), form):
        click.echo(part, nl=False)
    if alarms:
        raise CutcardError(f"the seed source failed its health tests {len(alarms)} times")


@main.command()
@_data_options
@database_option("--store", default=None, help="The log's database: postgresql://ROLE@HOST/DATABASE.")
@config_option
def fsck(data_dir: Path, at_rest_dir: Path | None, store: str | None) -> None:
    """Check a whole store against its log, keys and published files; says what to do, and changes nothing.

    The folder's server must be stopped; others on the same database may run. Exit codes: 0 all is well, 1 something is
    not, 4 it could not be looked at.
    """
    from dealer.store.datadir import DataDir
    from dealer.store.fsck import check

    data = DataDir.at(data_dir, at_rest_dir)
    try:
        data.check(shared=store is not None)
        with data.only_server():
            if store is None:
                problems = check(data, click.echo)
            else:
                from dealer.store.postgres.fsck import check_shared

                problems = check_shared(data, store, click.echo)
    except (CutcardError, OSError) as error:
        raise _UnreadError(f"the store could not be looked at: {error}") from None
    for problem in problems:
        click.echo(f"- {problem.what}\n  do: {problem.remedy}")
    if problems:
        count = len(problems)
        told = "1 thing is not as it should be" if count == 1 else f"{count} things are not as they should be"
        raise CutcardError(told)
    click.echo("all is well")


@main.command("escrow-keygen")
@click.argument("out", type=_PATH)
def escrow_keygen(out: Path) -> None:
    """Make an auditor's key pair: OUT.key, to be kept by the auditor alone, and OUT.pub for the dealer."""
    from dealer.store.escrow import write_escrow_pair

    private, public = write_escrow_pair(out)
    click.echo(f"{private}: the auditor keeps it\n{public}: for `dealer serve --escrow-public-key`")


@main.command()
@click.option("--tls", is_flag=True, help="Over TLS, with rooms on another host, an operator and the public listener.")
def demo(tls: bool) -> None:
    """Show it all in a temporary folder: serve, deal, audit, and refuse a forged log."""
    if tls:
        from dealer.demo.tls import run
    else:
        from dealer.demo.run import run
    run()
