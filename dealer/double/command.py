"""`dealer double`: the test double as a process of its own, for tests in any language."""

from pathlib import Path

import click

from dealer.config import config_option, contribution_option, log_format_option, option

_PATH = click.Path(path_type=Path)


@click.command()
@option("--listen", default="127.0.0.1:0", show_default=True, help="HOST:PORT on the loopback; port 0: a free one.")
@option("--key-file", type=_PATH, default=None, help="Write the verifier key of the test log into this file.")
@option(
    "--escrow-public-key", type=_PATH, default=None, help="An auditor's public key file.  [default: a pair of its own]"
)
@option(
    "--escrow-key-file", type=_PATH, default=None, help="Write the private half of its own escrow pair into this file."
)
@contribution_option
@log_format_option
@config_option
def double(
    listen: str,
    key_file: Path | None,
    escrow_public_key: Path | None,
    escrow_key_file: Path | None,
    contribution_seconds: float,
    log_format: str,
) -> None:
    """Serve the test double: the real services, and TestDoubleService to choose the decks.

    It keeps nothing: its log, its key and its hands are gone when it ends, and no auditor takes them for real ones.
    It prints where it listens, and the verifier key of its log.
    """
    from dealer.double.server import Double, double_settings, temporary_folder
    from dealer.ending import orderly_end
    from dealer.run import run_until_stopped
    from dealer.service.loglines import configure
    from dealer.store.escrow import read_escrow_public

    if escrow_public_key is not None and escrow_key_file is not None:
        raise click.UsageError("--escrow-key-file is for a pair of the double's own: leave out --escrow-public-key")
    configure(log_format)
    settings = double_settings(listen, contribution_seconds=contribution_seconds)
    with orderly_end(), temporary_folder() as folder:
        server = Double(folder, settings, read_escrow_public(escrow_public_key) if escrow_public_key else None)
        if key_file is not None:
            _write(key_file, server.verifier_key)
        if escrow_key_file is not None:
            _write(escrow_key_file, server.escrow_private)
        run_until_stopped(server, f"verifier key {server.verifier_key}")


def _write(path: Path, key: str) -> None:
    try:
        path.write_text(key + "\n", "ascii")
    except OSError as error:
        raise click.ClickException(f"{path} cannot be written: {error.strerror}") from None
