"""Makes the receipt of one entry from a log's static files, under its newest checkpoint and with its cosignatures."""

from __future__ import annotations

from audit.errors import CheckError, FormatError, InputError
from audit.logs.log import Log
from audit.logs.tile_reader import tile_reader
from audit.plural import counted
from audit.tlog import note, receipt
from audit.tlog.checkpoint import read_checkpoint
from audit.tlog.proving import inclusion_proof
from audit.tlog.tiles import WIDTH, path


def make_receipt(log: Log, index: int) -> tuple[bytes, bytes]:
    """Makes the receipt of a log's entry; nothing in it is checked yet.

    Returns:
        The receipt's text, and the entry's bytes.

    Raises:
        InputError: the log is not there, is no static log, or has no such entry.
        CheckError: its files do not decode.
    """
    if not log.has_tiles:
        raise InputError(f"{log.address} has no hash tiles: make a receipt from the static files, or ask GetReceipt")
    data = log.checkpoint()
    if data is None:
        raise InputError(log.why_no_checkpoint())
    try:
        size = read_checkpoint(note.decode(data)).size
        if index >= size:
            raise InputError(f"{log.address} has {counted(size, 'entry', 'entries')}, and so no entry {index}")
        number, at = divmod(index, WIDTH)
        entries = log.entries(number, min(WIDTH, size - number * WIDTH))
        if entries is None:
            raise InputError(f"{log.address}: {path('entries', number, WIDTH)} is not there")

        return receipt.encode(index, inclusion_proof(index, size, tile_reader(log)), data), entries[at]
    except FormatError as error:
        raise CheckError(f"{log.address}: {error}") from None
