"""Keys at rest of several dealers: what opens of every row ever committed (MACHINES.md, section 8)."""

import hashlib
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import structlog
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from dealer.log.note import NoteSigner
from dealer.store.datadir import lies_in_memory
from dealer.store.interface import Answer, Batch, HandRow, LeaseLost, Sealed
from dealer.store.postgres import schema
from dealer.store.postgres.keyring import Keyring, Wrap
from dealer.store.postgres.lease import Lease, look, own_clock
from dealer.store.postgres.link import Database, Replication
from dealer.store.postgres.registry import Registry
from dealer.store.postgres.store import PostgresStore
from dealer.store.postgres.upkeep import Upkeep
from dealer.store.postgres.vouching import Registration
from dealer.store.vault import Purpose, SealLost
from tests.postgres import SETTABLE_CLOCK

ORIGIN = "keys.invalid/x"
PERIOD = 1800.0
_ARCHIVE = """
CREATE TABLE archive_wraps AS SELECT * FROM wraps WITH NO DATA;
CREATE TABLE archive_hands AS SELECT * FROM hands WITH NO DATA;
CREATE TABLE archive_keys AS SELECT * FROM keys WITH NO DATA;
CREATE TABLE archive_answers AS SELECT * FROM answers WITH NO DATA;
CREATE FUNCTION keep() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN EXECUTE format('INSERT INTO archive_%s SELECT ($1).*', TG_ARGV[0]) USING NEW; RETURN NEW; END $$;
"""


class Member:
    """A dealer without hands' rules and without gRPC: its folder, its lease, its store."""

    def __init__(self, folder: Path, url: str, signer: NoteSigner) -> None:
        folder.mkdir()
        self.folder, self.signer = folder, signer
        self.database = Database(url, Replication.NONE)
        self.link = self.database.connect()
        self.start()

    def start(self) -> None:
        """Starts on its folder, as after a crash."""
        self.keyring = Keyring(self.folder, self.signer)
        self.registry = Registry(self.keyring, PERIOD)
        self.registry.register(self.link, look(self.link).generation)
        self.registry.learn(self.link)

    def lead(self) -> None:
        """Takes the lease, from whoever has it."""
        self.link.execute("UPDATE writer SET holder = ''")
        lease = Lease(self.database, self.keyring.dealer.hex())
        row = lease.take(self.link, look(self.link))
        assert row is not None
        self.store = PostgresStore(self.link, self.keyring, lease, row)
        self.registry.register(self.link, row.generation)
        self.upkeep = Upkeep(self.store, self.registry, 3600, 86400)
        self.store.upkeep = self.upkeep
        self.upkeep.begin()

    def open_hand(self, hand: bytes, secrets: bytes, table: str = "t", owner: str = "room") -> None:
        sealed = self.keyring.seal_hand(None, secrets, self.keyring.context(hand, table, owner))
        answer = Answer("room", hashlib.sha256(hand).digest()[:16], bytes(32), hand, b"answer of " + hand)
        row = HandRow(hand, f'{{"table":"{table}"}}', False, None, 0, None, sealed, owner)
        self.store.commit(Batch(hands={hand: row}, answers=[answer]))

    def close_hand(self, hand: bytes) -> None:
        row = HandRow(hand, None, False, None, 0, 1, None, "room")
        self.store.commit(Batch(hands={hand: row}, expires=int(1000 * (time.time() + 86400))))

    def seal_anew(self, most: int = 1000) -> None:
        for row in list(self.store.hands_in_play())[:most]:
            assert row.secrets is not None
            context = self.keyring.context(row.hand, "t", "room")
            plain = self.keyring.open(Purpose.SEED, row.secrets, context)
            sealed = self.keyring.seal_hand(None, plain, context)
            self.store.commit(Batch(hands={row.hand: replace(row, secrets=sealed)}))

    def secrets(self, hand: bytes, table: str = "t", owner: str = "room") -> bytes:
        row = self.store.hand(hand)
        assert row is not None
        if row.secrets is None:
            raise SealLost("the row was not written by a dealer")
        return self.keyring.open(Purpose.SEED, row.secrets, self.keyring.context(hand, table, owner))

    def settle(self) -> None:
        """Looks once, as every dealer does four times a second."""
        row = look(self.link)
        self.registry.register(self.link, row.generation)
        self.registry.learn(self.link)
        if row.clean == row.generation:
            self.registry.settle(self.link, row.generation)


@pytest.fixture
def signer() -> NoteSigner:
    return NoteSigner(ORIGIN, Ed25519PrivateKey.generate())


@pytest.fixture
def pair(postgres, tmp_path, signer) -> Iterator[tuple[Member, Member]]:
    """A writer and a standby that has opened every key."""
    url = postgres.database()
    link = Database(url, Replication.NONE).connect()
    schema.create(link, ORIGIN, "note")
    for statement in _ARCHIVE.split(";\n"):
        if "FUNCTION" not in statement and statement.strip():
            link.execute(statement.encode())
    link.execute(_ARCHIVE[_ARCHIVE.index("CREATE FUNCTION") :].encode())
    for table in ("wraps", "hands", "keys", "answers"):
        when = f"AFTER INSERT OR UPDATE ON {table} FOR EACH ROW EXECUTE FUNCTION keep('{table}')"
        link.execute(f"CREATE TRIGGER keep {when}".encode())
    link.close()
    first, second = Member(tmp_path / "a", url, signer), Member(tmp_path / "b", url, signer)
    first.lead()
    second.settle()
    yield first, second
    first.link.close()
    second.link.close()


@dataclass(frozen=True)
class Thief:
    """Who has every row ever committed, and a dealer's folder as it was."""

    signer: NoteSigner
    folder: dict[str, bytes]

    @classmethod
    def of(cls, member: Member) -> "Thief":
        return cls(member.signer, {path.name: path.read_bytes() for path in member.folder.iterdir()})

    def opens(self, link, place: Path) -> set[bytes]:
        """Everything that opens, of hands and of answers."""
        place.mkdir()
        for name, content in self.folder.items():
            (place / name).write_bytes(content)
        ring = Keyring(place, self.signer)
        wraps = link.execute("SELECT key, dealer, generation, bytes FROM archive_wraps").fetchall()
        keys = {row[0]: row[1:] for row in link.execute("SELECT id, purpose, generation, note FROM archive_keys")}
        for key, dealer, generation, data in wraps:
            ring.learn(Wrap(key, bytes(dealer), generation, bytes(data)), *keys[key])
        found = set[bytes]()
        rows = link.execute("SELECT hand, key, secrets FROM archive_hands WHERE secrets IS NOT NULL").fetchall()
        for hand, key, data in rows:
            try:
                context = ring.context(bytes(hand), "t", "room")
                found.add(ring.open(Purpose.SEED, Sealed(key, bytes(data)), context))
            except SealLost:
                continue
        rows = link.execute("SELECT caller, request, body, hand, key, sealed FROM archive_answers").fetchall()
        for caller, request, body, hand, key, data in rows:
            context = b"answer" + len(caller).to_bytes(2, "big") + caller.encode() + request + body + hand
            try:
                found.add(ring.open(Purpose.ANSWER, Sealed(key, bytes(data)), context))
            except SealLost:
                continue
        return found


def hand(number: int) -> bytes:
    return bytes([number]) * 16


def seeds(found: set[bytes]) -> set[bytes]:
    return {each for each in found if each.startswith(b"seed")}


def test_every_key_tried_on_every_row_ever_committed(pair, tmp_path):
    first, second = pair
    first.open_hand(hand(1), b"seed 1")
    first.open_hand(hand(2), b"seed 2")
    first.close_hand(hand(1))
    thieves = {f"{name} in 1": Thief.of(member) for name, member in (("a", first), ("b", second))}
    first.upkeep.change_generation()
    first.seal_anew()
    first.upkeep.finish_change()
    for member in pair:
        member.settle()
    thieves |= {f"{name} in 2": Thief.of(member) for name, member in (("a", first), ("b", second))}
    first.close_hand(hand(2))
    first.open_hand(hand(3), b"seed 3")
    first.upkeep.change_generation()
    thieves["a within 3"] = Thief.of(first)
    first.seal_anew()
    first.upkeep.finish_change()
    for member in pair:
        member.settle()
    first.open_hand(hand(4), b"seed 4")
    thieves |= {f"{name} in 3": Thief.of(member) for name, member in (("a", first), ("b", second))}
    granted = {
        "a in 1": {b"seed 1", b"seed 2", b"seed 3"},  # the folder has the next generation's pair too
        "b in 1": {b"seed 1", b"seed 2", b"seed 3"},
        "a in 2": {b"seed 2", b"seed 3", b"seed 4"},
        "b in 2": {b"seed 2", b"seed 3", b"seed 4"},
        "a within 3": {b"seed 2", b"seed 3", b"seed 4"},
        "a in 3": {b"seed 3", b"seed 4"},
        "b in 3": {b"seed 3", b"seed 4"},
    }
    for number, (name, thief) in enumerate(thieves.items()):
        assert seeds(thief.opens(first.link, tmp_path / f"thief{number}")) == granted[name], name
    nobody = Thief(first.signer, {})
    assert nobody.opens(first.link, tmp_path / "nobody") == set()


@pytest.mark.parametrize("after", ["the change", "a part of the sealing", "the sealing", "the end"])
def test_a_death_within_a_change_loses_nothing(pair, after):
    first, second = pair
    for number in range(1, 5):
        first.open_hand(hand(number), b"seed %d" % number)
    first.upkeep.change_generation()
    if after != "the change":
        first.seal_anew(2 if after == "a part of the sealing" else 1000)
    if after == "the end":
        first.upkeep.finish_change()
        first.settle()
    second.settle()
    second.lead()
    with pytest.raises(LeaseLost):
        first.store.commit(Batch(proof="late"))
    for number in range(1, 5):
        assert second.secrets(hand(number)) == b"seed %d" % number
    second.seal_anew()
    second.upkeep.finish_change()
    second.settle()
    assert second.keyring.pairs.generations() == [2, 3]
    assert look(second.link).clean == 2
    first.start()
    first.settle()
    first.lead()
    assert first.secrets(hand(1)) == b"seed 1"


def test_a_later_joiner_is_wrapped_for_and_opens_what_is_in_play(pair, tmp_path, signer):
    first, _ = pair
    first.open_hand(hand(1), b"seed 1")
    third = Member(tmp_path / "c", first.database.url, signer)
    assert not all(third.registry.learn(third.link).values()), "nobody has wrapped for it yet"
    first.upkeep.tend()
    assert all(third.registry.learn(third.link).values())
    third.lead()
    assert third.secrets(hand(1)) == b"seed 1"


def test_an_old_seed_key_is_never_wrapped_for_a_new_pair(pair):
    first, _ = pair
    old = first.keyring.seed
    first.open_hand(hand(1), b"seed 1")
    first.upkeep.change_generation()
    first.upkeep.tend()
    rows = first.link.execute("SELECT generation FROM archive_wraps WHERE key = %s", (old.id,)).fetchall()
    assert {generation for (generation,) in rows} == {1}


def plant(member: Member, registration: Registration, note: str) -> None:
    member.link.execute(
        "INSERT INTO dealers VALUES (%b, %s, %s, clock_timestamp()) ON CONFLICT (dealer, generation) DO UPDATE "
        "SET note = excluded.note, alive = excluded.alive",
        (registration.dealer, registration.generation, note),
    )


STRANGER = X25519PrivateKey.generate().public_key().public_bytes_raw()


@pytest.mark.parametrize("forged", ["unsigned", "another log's", "old", "ahead", "another generation", "another's row"])
def test_nobody_becomes_a_dealer_by_writing_to_the_database(pair, forged):
    first, second = pair
    now = int(time.time())
    seconds = {"old": now - int(2 * PERIOD) - 10, "ahead": now + 400}.get(forged, now)
    generation = 3 if forged == "another generation" else 1
    wrong = Registration(b"w" * 16, generation, STRANGER, seconds)
    vouching = first.keyring.vouching
    note = vouching.register(wrong)
    if forged == "unsigned":
        note = note.replace(STRANGER.hex(), X25519PrivateKey.generate().public_key().public_bytes_raw().hex())
    if forged == "another log's":
        other = type(vouching).by(NoteSigner(ORIGIN, Ed25519PrivateKey.generate()))
        note = other.register(wrong)
    if forged == "another's row":
        wrong = replace(wrong, dealer=b"x" * 16)
    plant(first, wrong, note)
    first.upkeep.tend()
    first.upkeep.change_generation()
    rows = first.link.execute("SELECT DISTINCT dealer FROM archive_wraps").fetchall()
    assert {bytes(dealer) for (dealer,) in rows} == {first.keyring.dealer, second.keyring.dealer}


def test_a_dealer_s_second_key_in_a_generation_is_refused(pair):
    first, second = pair
    first.upkeep.tend()
    mine = Registration(second.keyring.dealer, 1, STRANGER, int(time.time()))
    plant(first, mine, first.keyring.vouching.register(mine))  # even by the log's key
    first.link.execute("DELETE FROM wraps WHERE dealer = %b", (second.keyring.dealer,))
    first.upkeep._wrapped.clear()
    first.upkeep.tend()
    assert first.link.execute("SELECT count(*) FROM wraps WHERE dealer = %b", (second.keyring.dealer,)).fetchone() == (
        0,
    )


def test_a_planted_data_key_is_refused(pair, signer):
    first, second = pair
    stranger = Keyring(second.folder, NoteSigner(ORIGIN, Ed25519PrivateKey.generate()))
    key = stranger.make(Purpose.SEED, 1)
    wrap = stranger.wrap(key, second.registry.mine(1))
    assert not second.keyring.learn(wrap, key.purpose, key.generation, key.note)
    ours = first.keyring.make(Purpose.ANSWER, 1)
    wrap = first.keyring.wrap(ours, second.registry.mine(1))
    assert not second.keyring.learn(wrap, Purpose.SEED, 1, ours.note), "made for answers"
    assert not second.keyring.learn(wrap, Purpose.ANSWER, 2, ours.note), "of another generation"
    assert not second.keyring.learn(replace(wrap, key=wrap.key ^ 1), Purpose.ANSWER, 1, ours.note)
    assert second.keyring.learn(wrap, Purpose.ANSWER, 1, ours.note)


@pytest.mark.parametrize(
    "change",
    [
        'state = \'{"table":"u"}\'',
        "owner = 'another room'",
        "secrets = (SELECT secrets FROM hands o WHERE o.hand <> hands.hand AND closed IS NULL LIMIT 1)",
        "mac = NULL",
        "mac = (SELECT mac FROM hands o WHERE o.hand <> hands.hand AND closed IS NULL LIMIT 1)",
        "secrets = set_byte(secrets, 19, get_byte(secrets, 19) # 1)",
    ],
)
def test_a_row_changed_from_outside_is_never_dealt_from(pair, change):
    first, _ = pair
    first.open_hand(hand(1), b"seed 1")
    first.open_hand(hand(2), b"seed 2")
    first.link.execute(f"UPDATE hands SET {change} WHERE hand = %b".encode(), (hand(1),))
    with pytest.raises(SealLost):
        first.secrets(hand(1))
    assert first.secrets(hand(2)) == b"seed 2"


def test_a_row_of_an_older_generation_that_is_put_back_is_never_dealt_from(pair):
    first, second = pair
    first.open_hand(hand(1), b"seed 1")
    first.link.execute(b"CREATE TABLE kept AS SELECT * FROM hands")
    first.upkeep.change_generation()
    first.seal_anew()
    first.upkeep.finish_change()
    assert first.secrets(hand(1)) == b"seed 1"
    for member in pair:
        member.settle()
    first.link.execute(b"DELETE FROM hands")
    first.link.execute(b"INSERT INTO hands SELECT * FROM kept")
    second.lead()
    with pytest.raises(SealLost):
        second.secrets(hand(1))


def test_an_answer_is_bound_to_its_caller_request_body_and_hand(pair):
    first, _ = pair
    first.open_hand(hand(1), b"seed 1")
    request = hashlib.sha256(hand(1)).digest()[:16]
    for change in ("caller = 'other'", "body = '\\x01'", "hand = '\\x02'"):
        first.link.execute(f"UPDATE answers SET {change}".encode())
        caller = "other" if "caller" in change else "room"
        (found,) = first.store.answers([(caller, request)]).values()
        with pytest.raises(SealLost):
            found.open()
        first.link.execute("UPDATE answers SET caller = 'room', body = %b, hand = %b", (bytes(32), hand(1)))
    (found,) = first.store.answers([("room", request)]).values()
    assert found.open() == b"answer of " + hand(1)


def set_clock(link, hours):
    link.execute(SETTABLE_CLOCK)
    link.execute(f"SET search_path = public, pg_catalog; UPDATE clock SET shift = '{hours} h'")


def test_a_dealer_whose_clock_is_not_this_one_s_is_given_no_key_and_that_is_said_once(pair):
    first, second = pair
    first.registry.clock = lambda: time.time() - 3600
    with structlog.testing.capture_logs() as said:
        for _ in range(3):
            assert first.registry.alive(first.link, 1, 1) == []
    assert len(said) == 1
    assert said[0]["dealer"] == second.keyring.dealer.hex()
    assert "its clock or this one's is wrong" in said[0]["error"]


def test_a_database_clock_that_is_set_forth_buries_nobody(pair):
    first, second = pair
    set_clock(first.link, 1)
    first.upkeep.tend()
    assert first.store.row.generation == 2
    query = "SELECT count(*) FROM wraps WHERE dealer = %b AND generation = 2"
    of_second = first.link.execute(query, (second.keyring.dealer,)).fetchone()
    assert of_second == (3,), "of the seeds' key and of two of answers: it has given a sign by the own clock"


def test_a_database_clock_that_is_set_back_keeps_no_key_and_no_dealer_for_longer(pair, monkeypatch):
    first, _ = pair
    first.registry.register(first.link, 1)
    first.upkeep.tend()
    set_clock(first.link, -1)
    later = own_clock() + PERIOD + 1
    monkeypatch.setattr("dealer.store.postgres.registry.own_clock", lambda: later)
    assert first.registry.alive(first.link, 1, 1) == [], "nobody has heard of it for half an hour"
    assert not first.registry.another_has_all(first.link, 1)
    assert first.registry.oldest_seed_seconds(first.link) > PERIOD
    first.upkeep.tend()
    assert first.store.row.generation == 2


def test_secrets_do_not_print(pair):
    first, _ = pair
    assert first.keyring.seed is not None
    said = repr(first.keyring.seed) + repr(first.keyring) + repr(first.database)
    assert first.keyring.seed.secret.hex() not in said
    assert repr(first.keyring.seed.secret) not in said
    assert "postgresql" not in said


def test_a_folder_in_memory_is_told_from_one_on_a_disk():
    assert lies_in_memory(Path("/dev/shm"))
    assert not lies_in_memory(Path("/proc/self"))
