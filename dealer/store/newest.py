"""Holds an embedded store that nobody serves against what its log has published and signed last."""

from contextlib import closing

from dealer.log.checkpoint import read_checkpoint
from dealer.log.tiles import check_extends
from dealer.store.datadir import DataDir
from dealer.store.interface import LogStore
from dealer.store.remembered import Remembered, require_extends


def require_newest(data: DataDir, store: LogStore) -> None:
    """Refuses a store that is older than what was published or signed last, or another history.

    `serve` asks the same of itself, at the two places where it reads and signs.

    Raises:
        CutcardError: it is.
    """
    tree = read_checkpoint(store.checkpoint())
    check_extends(data.public, tree, store.node)
    if (path := data.at_rest / "signed-last").exists():
        with closing(Remembered(path)) as remembered:
            require_extends(remembered.note, tree.size, store.node)
