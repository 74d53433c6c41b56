"""`dealer fsck --store URL`: a log in a database, held against its keys, its published files and what was seen last."""

from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

from dealer.core.codec import load_state
from dealer.games.plans import GAMES
from dealer.store.datadir import DataDir
from dealer.store.fsck import BACKUP, Problem, held
from dealer.store.interface import Answer, HandRow, RecordLine, Sealed, StoreError
from dealer.store.postgres.keyring import Keyring
from dealer.store.postgres.lease import look
from dealer.store.postgres.link import Database, Link, Replication, store_errors
from dealer.store.postgres.registry import Registry
from dealer.store.postgres.store import HAND, PostgresReader, answer_place, record_place
from dealer.store.remembered import Remembered
from dealer.store.vault import Purpose, SealLost

_AT_ONCE = 512
_NODES = "SELECT position, hash FROM nodes WHERE level = %(level)s AND position >= %(first)s AND position < %(end)s"
_KEPT = """
SELECT caller, request, body, hand, key, sealed FROM answers a WHERE EXISTS (SELECT FROM keys WHERE id = a.key)"""
_LINES = """
SELECT hand, number, key, sealed FROM records r WHERE EXISTS (SELECT FROM keys WHERE id = r.key)"""


def check_shared(data: DataDir, url: str, told: Callable[[str], None]) -> list[Problem]:
    """Checks a log in a database as one dealer's folder has it; other dealers may run. It changes nothing.

    What is published is read before the database, and the database as it is at one moment: so nothing that goes on
    meanwhile looks like damage.

    Raises:
        CutcardError: the folder is not whole, its dealer runs, or the database cannot be used.
    """
    seen = Remembered(data.root / "seen").content if (data.root / "seen").exists() else {}
    keyring = Keyring(data.at_rest, data.signer(), read_only=True)
    with closing(keyring), closing(Database(url, Replication.NONE).connect()) as link:
        with store_errors():
            link.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        store = _AtOneMoment(link, keyring)
        if store.origin != data.signer().name:
            raise StoreError(f"the database is the log {store.origin}, and the folder is of {data.signer().name}")
        Registry(keyring, 0.0).learn(link)
        row, problems = look(link), list[Problem]()
        if (beat := seen.get("beat", 0)) > row.beat:
            went = f"the database has gone back: this dealer has seen its beat {beat}, and it is at {row.beat}"
            problems.append(Problem(went, BACKUP))
        return problems + held(data, store, data.root / "seen", told)


class _AtOneMoment(PostgresReader):
    """A log's database as it is at one moment, with what this dealer's keys open."""

    def __init__(self, link: Link, keyring: Keyring) -> None:
        super().__init__(link)
        self._keyring = keyring
        self._nodes: dict[int, tuple[int, dict[int, bytes]]] = {}
        self._macs: dict[bytes, bytes | None] = {}

    def node(self, level: int, index: int) -> bytes:
        """See `LogStore.node`; several at once are read, as they are asked for in order."""
        first, there = self._nodes.get(level, (0, {}))
        if not there or not first <= index < first + _AT_ONCE:
            rows = self._all(_NODES, level=level, first=index, end=index + _AT_ONCE)
            first, there = self._nodes[level] = index, {position: bytes(hash_) for position, hash_ in rows}
        if index not in there:
            raise StoreError(f"the log has no node {index} at level {level}")
        return there[index]

    def all_hands(self) -> Iterator[HandRow]:
        """See `Whole.all_hands`."""
        for hand, state, referee, offer, commit, close, owner, key, data, mac in self._each(
            f"SELECT {HAND} FROM hands"  # noqa: S608 - a constant
        ):
            secrets = Sealed(key, bytes(data)) if key is not None and data is not None else None
            self._macs[hand] = mac
            yield HandRow(hand, state, referee, offer, commit, close, secrets, owner)
            del self._macs[hand]

    def open_secrets(self, row: HandRow) -> None:
        """See `Whole.open_secrets`."""
        if row.secrets is None:
            raise SealLost("it has no secrets")
        if self._keyring.mac(row.secrets.key, row.hand, row.owner, row.state or "") != self._macs[row.hand]:
            raise StoreError("its row was changed")
        context = self._keyring.context(row.hand, load_state(row.state or "", GAMES).table, row.owner)
        try:
            self._keyring.open(Purpose.SEED, row.secrets, context)
        except SealLost:
            raise StoreError("its secrets were changed") from None  # the key is there: it has made the MAC

    def all_kept(self) -> Iterator[list[Answer | RecordLine]]:
        """See `Whole.all_kept`."""
        for caller, request, body, hand, key, sealed in self._each(_KEPT):
            place = answer_place(caller, request, body, hand)
            yield [Answer(caller, request, body, hand, self._opened(key, sealed, place))]
        for hand, number, key, sealed in self._each(_LINES):
            yield [RecordLine(hand, number, self._opened(key, sealed, record_place(hand, number)))]

    def _opened(self, key: int, sealed: bytes, place: bytes) -> bytes:
        if not sealed or self._keyring.key(key) is None:  # it was lost before a move, or this dealer has not the key
            return b""
        try:
            return self._keyring.open(Purpose.ANSWER, Sealed(key, sealed), place)
        except SealLost as error:
            raise StoreError(str(error)) from None

    def _each(self, query: str) -> Iterator[tuple[Any, ...]]:
        with store_errors(), self.link.cursor("each", binary=True) as cursor:
            cursor.itersize = _AT_ONCE
            yield from cursor.execute(query)
