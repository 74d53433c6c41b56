"""Who is registered, and what is wrapped for whom: `dealers`, `keys` and `wraps` (MACHINES.md, section 8)."""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime

import structlog

from dealer.store.postgres.arrays import Bytes, Ints
from dealer.store.postgres.keyring import DataKey, Keyring, Wrap
from dealer.store.postgres.lease import own_clock
from dealer.store.postgres.link import Link, store_errors
from dealer.store.postgres.vouching import Registration, Unvouched, is_timely
from dealer.store.vault import Purpose

ALIVE_SECONDS = 10
_log = structlog.get_logger()

_DEALERS = """
SELECT dealer, generation, note, alive, alive > clock_timestamp() - make_interval(secs => 10) FROM dealers"""
_REGISTER = """
INSERT INTO dealers VALUES (%(dealer)s, %(generation)s, %(note)s, clock_timestamp())
  ON CONFLICT (dealer, generation) DO UPDATE SET note = excluded.note, alive = excluded.alive"""
_WRAPPED = "SELECT key FROM wraps WHERE dealer = %(dealer)b AND generation >= %(generation)s"
_AGES = """
SELECT id, purpose, generation, extract(epoch FROM clock_timestamp() - made)::float8 FROM keys ORDER BY made"""
_KEYS = """
SELECT k.id, k.purpose, k.generation, k.note, w.generation, w.bytes FROM keys k
  LEFT JOIN wraps w ON w.key = k.id AND w.dealer = %(dealer)s"""


@dataclass(frozen=True, slots=True)
class _Sign:
    """The last sign of another dealer's life: as written, since when on the own clock, and whether that was seen."""

    written: datetime
    since: float
    seen: bool


@dataclass(frozen=True, slots=True)
class KeyAge:
    """A data key as it is registered, and for how many seconds it is there."""

    id: int
    purpose: str
    generation: int
    seconds: float


@dataclass(slots=True)
class Registry:
    """What one dealer knows of the others. It believes no row that the log's key has not signed.

    Who lives and how old a key is it counts on its own clock from when it first saw them: a database clock that jumps
    neither buries a dealer nor has one live on, and keeps no key for longer.

    Attributes:
        keyring: the dealer's own.
        period: seconds of a generation.
        clock: the reader's own wall clock, POSIX seconds.
    """

    keyring: Keyring
    period: float
    clock: Callable[[], float] = time.time
    _known: dict[tuple[bytes, int], bytes] = field(default_factory=dict)
    _signed: dict[int, float] = field(default_factory=dict)
    _signs: dict[tuple[bytes, int], _Sign] = field(default_factory=dict)
    _made: dict[int, float] = field(default_factory=dict)
    _said: set[bytes] = field(default_factory=set)

    def register(self, link: Link, generation: int) -> None:
        """Registers this dealer for a generation and the next one, and says that it is alive.

        The private halves are synchronised before their public ones are shown to anybody.

        Raises:
            StoreError: the database does not answer.
            VaultError: no pair can be made.
        """
        ring, now = self.keyring, self.clock()
        for each in (generation, generation + 1):
            if now - self._signed.get(each, 0.0) < self.period:
                continue
            mine = Registration(ring.dealer, each, ring.pairs.public(each), int(now))
            values = {"dealer": ring.dealer, "generation": each, "note": ring.vouching.register(mine)}
            with store_errors():
                link.execute(_REGISTER, values, binary=True)
            self._signed[each] = now
        with store_errors():
            link.execute("UPDATE dealers SET alive = clock_timestamp() WHERE dealer = %b", (ring.dealer,))
        self._others(link)

    def mine(self, generation: int) -> Registration:
        """Returns this dealer's own registration, as it would sign it now."""
        ring = self.keyring
        return Registration(ring.dealer, generation, ring.pairs.public(generation), int(self.clock()))

    def leave(self, link: Link) -> None:
        """Removes this dealer's registrations.

        Raises:
            StoreError: the database does not answer.
        """
        with store_errors():
            link.execute("DELETE FROM dealers WHERE dealer = %b", (self.keyring.dealer,))
        self._signed.clear()

    def oldest_seed_seconds(self, link: Link) -> float:
        """Returns how long ago the oldest key of seeds was made that is not destroyed; 0 if there is none.

        Raises:
            StoreError: the database does not answer.
        """
        return max((each.seconds for each in self.ages(link) if each.purpose == Purpose.SEED), default=0.0)

    def ages(self, link: Link) -> list[KeyAge]:
        """Returns all data keys, the oldest first.

        Raises:
            StoreError: the database does not answer.
        """
        with store_errors():
            rows = link.execute(_AGES, binary=True).fetchall()
        now = own_clock()
        made = {id_: min(self._made.get(id_, now), now - said) for id_, _, _, said in rows}
        self._made = made
        return [KeyAge(id_, purpose, generation, now - made[id_]) for id_, purpose, generation, _ in rows]

    def alive(self, link: Link, generation: int, current: int) -> list[Registration]:
        """Returns the registrations for a generation of dealers that are alive, without this one's.

        Args:
            link: a connection.
            generation: for which they are asked.
            current: the generation now; of another than this and the next one none is taken.
        """
        if generation not in (current, current + 1):
            return []
        rows = [(dealer, note) for dealer, of, note in self._others(link) if of == generation]
        found = [self._accepted(dealer, generation, note) for dealer, note in rows]
        return [each for each in found if each is not None]

    def _others(self, link: Link) -> list[tuple[bytes, int, str]]:
        """Returns the rows of other dealers that are alive: those that have given a sign within the last 10 seconds.

        Of one that was not seen before the database says it; from then on the own clock.
        """
        with store_errors():
            rows = link.execute(_DEALERS, binary=True).fetchall()
        now, signs, found = own_clock(), dict[tuple[bytes, int], _Sign](), list[tuple[bytes, int, str]]()
        for data, of, note, written, recent in rows:
            dealer = bytes(data)
            if dealer == self.keyring.dealer:
                continue
            before = self._signs.get((dealer, of))
            if before is None:
                sign = _Sign(written, now if recent else now - ALIVE_SECONDS, seen=False)
            else:
                sign = before if before.written == written else _Sign(written, now, seen=True)
            signs[dealer, of] = sign
            if now - sign.since < ALIVE_SECONDS:
                found.append((dealer, of, note))
        self._signs = signs
        return found

    def others_alive(self, link: Link) -> int:
        """Returns how many other dealers say that they are alive, registered for whatever generation."""
        return len({dealer for dealer, *_ in self._others(link)})

    def _accepted(self, dealer: bytes, generation: int, note: str) -> Registration | None:
        try:
            found = self.keyring.vouching.registration(note, dealer, generation)
        except Unvouched as why:
            self._refuse(dealer, str(why))
            return None
        now = self.clock()
        if not is_timely(found, now, self.period):
            fault = "its clock or this one's is wrong" if found.seconds > now else "it is too old"
            self._refuse(dealer, f"it was signed {found.seconds - now:+.0f} s from now: {fault}")
            return None
        if self._known.setdefault((dealer, generation), found.public) != found.public:
            self._refuse(dealer, "it had another key before")
            return None
        self._said.discard(dealer)
        return found

    def _refuse(self, dealer: bytes, why: str) -> None:
        """Has it said once, not with each look, that a dealer which is alive is given no key."""
        if dealer not in self._said:
            _log.error("a dealer's registration is refused", dealer=dealer.hex(), error=why)
        self._said.add(dealer)

    def forget_below(self, generation: int) -> None:
        """Forgets what was registered for older generations."""
        self._known = {key: public for key, public in self._known.items() if key[1] >= generation}
        self._signed = {of: at for of, at in self._signed.items() if of >= generation}

    def settle(self, link: Link, generation: int) -> None:
        """Destroys the pairs of older generations, and forgets the data keys that came by them alone.

        Called once no hand in play is sealed under an older generation's key.

        Raises:
            StoreError: the database does not answer.
            VaultError: a pair cannot be destroyed.
        """
        pairs = self.keyring.pairs
        if all(each >= generation for each in pairs.generations()):
            return
        self.register(link, generation)
        self.learn(link)
        with store_errors():
            rows = link.execute(_WRAPPED, {"dealer": self.keyring.dealer, "generation": generation}).fetchall()
        pairs.destroy_below(generation)
        self.keyring.forget_old(generation, {key for (key,) in rows})
        self.forget_below(generation)

    def another_has_all(self, link: Link, generation: int) -> bool:
        """Tells whether another dealer that was seen to live has every wrap: it can go on alone."""
        with store_errors():
            total = {id_ for (id_,) in link.execute("SELECT id FROM keys").fetchall()}
            rows = link.execute("SELECT dealer, key FROM wraps", binary=True).fetchall()
        alive = {each.dealer for each in self.alive(link, generation, generation)}
        others = {dealer for dealer in alive if self._signs[dealer, generation].seen}
        return any(total <= {key for dealer, key in rows if bytes(dealer) == other} for other in others)

    def begin_anew(self) -> None:
        """Forgets what was registered, after the dealer has taken a new id."""
        self._signed.clear()

    def learn(self, link: Link) -> dict[int, bool]:
        """Opens every data key that is wrapped for this dealer; returns all keys, and of each whether it has it."""
        with store_errors():
            rows = link.execute(_KEYS, {"dealer": self.keyring.dealer}, binary=True).fetchall()
        found = dict[int, bool]()
        for id_, purpose, generation, note, wrapped_for, data in rows:
            has = self.keyring.key(id_) is not None
            if not has and data is not None:
                wrap = Wrap(id_, self.keyring.dealer, wrapped_for, bytes(data))
                has = self.keyring.learn(wrap, purpose, generation, note)
            found[id_] = found.get(id_, False) or has
        return found


def insert_keys(link: Link, keys: Iterable[DataKey], keep_seconds: float) -> None:
    """Writes data keys, as a part of a transaction that begins with the fence."""
    for key in keys:
        keep = keep_seconds if key.purpose is Purpose.ANSWER else 0.0
        link.execute(
            "INSERT INTO keys VALUES (%s, %s, %s, %s, clock_timestamp(), "
            "clock_timestamp() + make_interval(secs => %s::float8))",
            (key.id, str(key.purpose), key.generation, key.note, keep),
        )


def insert_wraps(link: Link, wraps: Iterable[Wrap]) -> None:
    """Writes wraps, as a part of a transaction that begins with the fence."""
    rows = list(wraps)
    link.execute(
        "INSERT INTO wraps SELECT * FROM unnest(%s, %s, %s, %s) ON CONFLICT DO NOTHING",
        (
            Ints.of([wrap.key for wrap in rows]),
            Bytes.of([wrap.dealer for wrap in rows]),
            Ints.of([wrap.generation for wrap in rows]),
            Bytes.of([wrap.data for wrap in rows]),
        ),
    )
