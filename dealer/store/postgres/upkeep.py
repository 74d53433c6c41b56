"""What the writer does by the clock with days and keys at rest, each step under the fence (MACHINES.md, section 8)."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import date, timedelta

from dealer.store.interface import StoreError
from dealer.store.postgres import schema
from dealer.store.postgres.arrays import Ints
from dealer.store.postgres.keyring import DataKey, Wrap
from dealer.store.postgres.lease import own_clock
from dealer.store.postgres.link import store_errors
from dealer.store.postgres.registry import Registry, insert_keys, insert_wraps
from dealer.store.postgres.store import PostgresStore
from dealer.store.postgres.vouching import Registration
from dealer.store.vault import Purpose

_WAIT_FOR_OTHERS_SECONDS = 10.0
_SLACK_SECONDS = 3600.0
"""An answer key is used for an hour, and for as long as nobody comes to change it: so much longer it is kept."""

_GONE = """
DELETE FROM keys WHERE purpose = 'answer' AND keep_until <= clock_timestamp()
  AND extract(epoch FROM keep_until) <= %(now)s AND made < to_timestamp(%(needed)s) AND id <> %(current)s
  RETURNING id"""


@dataclass(slots=True)
class Upkeep:
    """The writer's duties beside its batches. It belongs to the writer's thread, and to one epoch.

    Attributes:
        store: the writer's.
        registry: who is registered.
        answer_key_seconds: for how long a key seals answers.
        answer_seconds: for how long answers are kept after their hand closed.
    """

    store: PostgresStore
    registry: Registry
    answer_key_seconds: float
    answer_seconds: float
    _due_since: float | None = None
    _wrapped: set[tuple[int, bytes, int]] = field(default_factory=set)

    def begin(self) -> None:
        """Chooses the keys that seal from now on, or makes them; and the days that answers fall on.

        Raises:
            StoreError: the database does not answer, or the lease was lost.
        """
        ring, generation = self.store.keyring, self.store.row.generation
        ring.seed = ring.answer = None
        self.registry.learn(self.store.link)
        for each in self.registry.ages(self.store.link):
            key = ring.key(each.id)
            if key is None:
                continue
            if each.purpose == Purpose.SEED and each.generation == generation:
                ring.seed = key
            if each.purpose == Purpose.ANSWER and each.seconds < self.answer_key_seconds:
                ring.answer = key
        self.tend()

    def tend(self) -> None:
        """Does what is due: days, the hour's key, wraps for who has joined, and the change of generation."""
        self._make_days()
        ring = self.store.keyring
        missing = list[Purpose]()
        if ring.seed is None:
            missing.append(Purpose.SEED)
        age = {each.id: each.seconds for each in self.registry.ages(self.store.link)}
        if ring.answer is None or age.get(ring.answer.id, self.answer_key_seconds) >= self.answer_key_seconds:
            missing.append(Purpose.ANSWER)
        if missing:
            self._make_keys(missing)
        self._wrap_for_joined()
        if self._change_is_due(age):
            self.change_generation()

    def finish_change(self) -> None:
        """Notes that no hand is sealed under an older generation's key any more, and destroys what opened those.

        Raises:
            StoreError: the database does not answer, or the lease was lost.
            VaultError: a pair cannot be destroyed.
        """
        store, generation = self.store, self.store.row.generation
        if store.row.clean == generation:
            return
        with store.fenced(", clean = %(clean)s", clean=generation), store_errors():
            store.link.execute("DELETE FROM wraps WHERE generation < %s", (generation,))
            store.link.execute("DELETE FROM keys WHERE purpose = 'seed' AND generation < %s", (generation,))
            store.link.execute("DELETE FROM dealers WHERE generation < %s", (generation,))
        store.row = replace(store.row, clean=generation)
        self.registry.forget_below(generation)

    def forget(self, now: float) -> bool:
        """Destroys answer keys whose time has passed, and drops the days that no key opens any more.

        Args:
            now: the writer's own wall clock, POSIX seconds: what is due goes only when it agrees.

        Returns:
            Whether there is more to do at once.
        """
        store = self.store
        needed = [store.answer_keys.get(key, 0.0) for key in store.answers_from.values()]
        current = store.keyring.answer
        values = {"now": now, "needed": min(needed, default=9e9), "current": current.id if current else 0}
        days = [day for day in schema.days_there(store.link) if self._is_over(day)]
        with store.fenced(), store_errors():
            gone = [id_ for (id_,) in store.link.execute(_GONE, values).fetchall()]
            store.link.execute("DELETE FROM wraps WHERE key = ANY(%s)", (Ints.of(gone),))
            for day in days:
                for statement in schema.day_gone(day):
                    store.link.execute(statement.encode())
        for id_ in gone:
            store.answer_keys.pop(id_, None)
        kept = {each.id for each in self.registry.ages(store.link)}
        store.keyring.forget_all_but(kept)
        return bool(gone)

    def _is_over(self, day: date) -> bool:
        """Tells whether every key that sealed answers on a day has gone."""
        end = _start_of(day + timedelta(days=1))
        return end < self.store.lease.now() and all(made >= end for made in self.store.answer_keys.values())

    def _make_days(self) -> None:
        link = self.store.link
        with store_errors():
            row = link.execute("SELECT (clock_timestamp() AT TIME ZONE 'UTC')::date").fetchone()
        if row is None:
            raise StoreError("the database answers without a row")
        if statements := schema.days_to_come(row[0], schema.days_there(link)):
            with self.store.fenced(), store_errors():
                for statement in statements:
                    link.execute(statement.encode())

    def _everybody(self, generation: int) -> list[Registration]:
        """Returns this dealer and every other that is registered for a generation and alive."""
        others = self.registry.alive(self.store.link, generation, self.store.row.generation)
        return [self.registry.mine(generation), *others]

    def _make_keys(self, purposes: list[Purpose]) -> None:
        ring, generation = self.store.keyring, self.store.row.generation
        made = [ring.make(purpose, generation) for purpose in purposes]
        self._write(made, made, self._everybody(generation))
        self._use(made)

    def _use(self, made: Iterable[DataKey]) -> None:
        """Seals under these keys from now on: their wraps are durable."""
        for key in made:
            if key.purpose is Purpose.SEED:
                self.store.keyring.seed = key
            else:
                self.store.keyring.answer = key
                self.store.answer_keys[key.id] = self.store.lease.now()

    def _write(
        self, made: list[DataKey], wrapped: list[DataKey], to: list[Registration], change: str = "", **values: object
    ) -> None:
        wraps = [self.store.keyring.wrap(key, each) for key in wrapped for each in to]
        keep = self.answer_key_seconds + self.answer_seconds + _SLACK_SECONDS
        with self.store.fenced(change, **values), store_errors():
            insert_keys(self.store.link, made, keep)
            insert_wraps(self.store.link, wraps)
        self._note(wraps)

    def _note(self, wraps: list[Wrap]) -> None:
        self._wrapped |= {(wrap.key, wrap.dealer, wrap.generation) for wrap in wraps}

    def _in_use(self) -> list[DataKey]:
        """Returns the answer keys that are in use, as far as this dealer has them."""
        found = [self.store.keyring.key(id_) for id_ in self.store.answer_keys]
        return [key for key in found if key is not None]

    def _wrap_for_joined(self) -> None:
        """Wraps the current seed key, and every answer key in use, for dealers that have them not."""
        store, generation = self.store, self.store.row.generation
        seed = store.keyring.seed
        if seed is None or seed.generation != generation:
            return
        keys, to = [seed, *self._in_use()], self._everybody(generation)
        wanted = [(key, each) for key in keys for each in to]
        if all((key.id, each.dealer, generation) in self._wrapped for key, each in wanted):
            return
        with store_errors():
            rows = store.link.execute("SELECT key, dealer, generation FROM wraps", binary=True).fetchall()
        self._wrapped = {(key, bytes(dealer), of) for key, dealer, of in rows}
        wraps = [
            store.keyring.wrap(key, each)
            for key, each in wanted
            if (key.id, each.dealer, generation) not in self._wrapped
        ]
        if wraps:
            with store.fenced(), store_errors():
                insert_wraps(store.link, wraps)
            self._note(wraps)

    def _change_is_due(self, age: dict[int, float]) -> bool:
        """Tells whether it is time for the next generation: once all that live are ready or waited for."""
        store, seed = self.store, self.store.keyring.seed
        if seed is None or store.row.clean != store.row.generation or age.get(seed.id, 0.0) < self.registry.period:
            self._due_since = None
            return False
        now = own_clock()
        self._due_since = now if self._due_since is None else self._due_since
        ready = len(self.registry.alive(store.link, store.row.generation + 1, store.row.generation))
        return ready >= self.registry.others_alive(store.link) or now - self._due_since >= _WAIT_FOR_OTHERS_SECONDS

    def change_generation(self) -> None:
        """Begins the next generation: its seed key and all answer keys in use, wrapped for its pairs alone.

        The old seed key is never wrapped for a new pair.
        """
        store, generation = self.store, self.store.row.generation + 1
        made = store.keyring.make(Purpose.SEED, generation)
        to = self._everybody(generation)
        self._write([made], [made, *self._in_use()], to, ", generation = %(generation)s", generation=generation)
        store.row = replace(store.row, generation=generation)
        self._use([made])
        self._due_since = None


def _start_of(day: date) -> float:
    return (day - date(1970, 1, 1)).total_seconds()
