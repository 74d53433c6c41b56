"""Log entries of PROTOCOL.md section 6: exact bytes in, checked values out, or a reason why not.

Form is judged here, one entry at a time: members, types, alphabets, lengths, ranges. What entries mean together is
for the other checks; an entry that fails here takes no part in them (section 10, `schema`).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from typing import Any, NamedTuple

from audit import protocol
from audit.record import fields, jcs
from audit.record.events import Deal, Event, read_events, split_events
from audit.record.fields import SchemaError, hand_text

MAX_ENTRY_BYTES = 65_535
PRODUCTION = "cutcard/v1/"
TEST = "cutcard-test/v1/"
STUD_GAMES = frozenset({"seven-card-stud", "seven-card-stud-hi-lo"})
GAMES = STUD_GAMES | {"free-draw"}
REASONS = frozenset({"operator", "timeout", "misdeal", "failure"})
_DECK_TEXT = re.compile(rf"[{protocol.RANKS}][{protocol.SUITS}](?: [{protocol.RANKS}][{protocol.SUITS}])*")


class Escrow(NamedTuple):
    """What an offer or commit says of a sealed hand's escrow: 8 bytes of key id, 32 of digest."""

    key: bytes
    digest: bytes


SeatKeys = tuple[tuple[int, bytes], ...]
"""Seat and 32 bytes of digest for each seat that brought a key, in the order of the seats."""


class Openings(NamedTuple):
    """Opened cards as columns of equal length; salts are 32 raw bytes each."""

    positions: tuple[int, ...]
    cards: tuple[str, ...]
    salts: tuple[bytes, ...]


class Offer(NamedTuple):
    """A hand that invites contributions. `hand` is 16 raw bytes; hashes are raw."""

    test: bool
    hand: bytes
    table: str
    number: int
    game: str
    deck: str
    seats: tuple[int, ...]
    reveal: str
    contributors: tuple[tuple[str, bytes], ...]
    seed_commitment: bytes
    escrow: Escrow | None
    time: str
    seat_keys: SeatKeys = ()


class Commit(NamedTuple):
    """A hand's commitment to its deck. `offer` is an entry index, None where the hand invited nobody."""

    test: bool
    hand: bytes
    table: str
    number: int
    game: str
    deck: str
    seats: tuple[int, ...]
    reveal: str
    offer: int | None
    contributions: tuple[tuple[str, bytes], ...]
    withheld: tuple[str, ...]
    seed_commitment: bytes
    entropy_digest: bytes
    deck_commitment: bytes
    escrow: Escrow | None
    time: str
    seat_keys: SeatKeys = ()


class Close(NamedTuple):
    """A hand's end; members that are not there are None.

    It names its commit's entry index, or, of a hand that was lost before its commit, its offer's.
    """

    test: bool
    hand: bytes
    commit: int | None
    outcome: str
    reason: str | None
    events: tuple[Event, ...]
    seed: bytes | None
    card_commitments: bytes | None
    openings: Openings | None
    escrow: bytes | None
    history: bytes | None
    deck: str | None
    time: str
    offer: int | None = None

    def __repr__(self) -> str:
        """Without the seed: a close may be shown before anybody asked for its seed."""
        names = f"commit={self.commit}, offer={self.offer}"
        return f"Close(hand={hand_text(self.hand)}, {names}, outcome={self.outcome}, seed=<seed>)"


@dataclass(frozen=True, slots=True)
class Unknown:
    """Canonical JSON with a schema that this auditor does not know."""

    schema: str
    test: bool


Entry = Offer | Commit | Close | Unknown


def _openings(value: Any) -> Openings:
    rows = fields.list_of(value, "openings")
    if not rows:
        return Openings((), (), ())
    try:
        positions, cards, salts = zip(*rows, strict=True)
        fits = set(map(type, rows)) == {list} and fields.integers(positions)
        fits = fits and set(map(type, cards)) == {str} and set(map(len, cards)) == {2}
    except (TypeError, ValueError):
        fits = False
    if not fits:
        fields.fail("openings", "not a list of [position, card of two characters, salt]")
    return Openings(
        positions, cards, tuple([fields.hex_bytes(salt, "openings", protocol.SALT_BYTES) for salt in salts])
    )


def _seats(value: Any, game: str) -> tuple[int, ...]:
    least, most = (2, 8) if game in STUD_GAMES else (1, 23)
    seats = tuple(fields.list_of(value, "seats"))
    if not least <= len(seats) <= most:
        fields.fail("seats", f"{len(seats)} seats, where {game} takes {least} to {most}")
    if not fields.integers(seats) or min(seats) < 1 or max(seats) > 255 or len(set(seats)) != len(seats):
        fields.fail("seats", "not distinct numbers from 1 to 255")
    return seats


def _deck_kind(value: Any, game: str) -> str:
    deck = fields.one_of(value, "deck", protocol.DECKS)
    if game in STUD_GAMES and deck != "standard52":
        fields.fail("deck", f"{game} takes standard52")
    return deck


def _escrow(entry: dict[str, Any], reveal: str) -> Escrow | None:
    if ("escrow" in entry) != (reveal == "sealed"):
        fields.fail("escrow", f"must be {'present' if reveal == 'sealed' else 'absent'} where `reveal` is {reveal}")
    if reveal != "sealed":
        return None
    value = fields.members(entry["escrow"], "escrow", ("digest", "key"))
    return Escrow(
        fields.hex_bytes(value["key"], "escrow.key", 8), fields.hex_bytes(value["digest"], "escrow.digest", 32)
    )


def _seat_keys(entry: dict[str, Any], seats: tuple[int, ...]) -> SeatKeys:
    if "seat_keys" not in entry:
        return ()
    rows = fields.list_of(entry["seat_keys"], "seat_keys")
    if not rows:
        fields.fail("seat_keys", "an empty list, where the member is absent if no seat brought a key")
    keys = []
    for row in rows:
        if type(row) is not list or len(row) != 2:
            fields.fail("seat_keys", "not a list of [seat, digest]")
        keys.append((fields.integer(row[0], "seat_keys", 1, 255), fields.hex_bytes(row[1], "seat_keys", 32)))
    named = [seat for seat, _ in keys]
    if named != [seat for seat in seats if seat in set(named)]:
        fields.fail("seat_keys", "not seats of the hand, each once, in the order of `seats`")
    if len({digest for _, digest in keys}) != len(keys):
        fields.fail("seat_keys", "digests that are not distinct")
    return tuple(keys)


def _values(value: Any, member: str, names: tuple[str, str]) -> tuple[tuple[str, bytes], ...]:
    """Returns a list of objects that give a contributor and 32 bytes; `names` are the members, sorted."""
    rows = [fields.members(row, member, names) for row in fields.list_of(value, member)]
    other = names[0] if names[1] == "contributor" else names[1]
    return tuple(
        (
            fields.contributor(row["contributor"], f"{member}.contributor"),
            fields.hex_bytes(row[other], f"{member}.{other}", 32),
        )
        for row in rows
    )


def _offer(entry: dict[str, Any], test: bool) -> Offer:
    game = fields.one_of(entry["game"], "game", GAMES)
    reveal = fields.one_of(entry["reveal"], "reveal", ("public", "sealed"))
    seats = _seats(entry["seats"], game)
    contributors = _values(entry["contributors"], "contributors", ("commitment", "contributor"))
    if not 1 <= len(contributors) <= 64:
        fields.fail("contributors", f"{len(contributors)} contributors, where an offer takes 1 to 64")
    if len({name for name, _ in contributors}) != len(contributors):
        fields.fail("contributors", "ids that are not distinct")
    return Offer(
        test=test,
        hand=fields.hand_id(entry["hand"]),
        table=fields.identifier(entry["table"], "table"),
        number=fields.integer(entry["number"], "number", least=1),
        game=game,
        deck=_deck_kind(entry["deck"], game),
        seats=seats,
        reveal=reveal,
        contributors=contributors,
        seed_commitment=fields.hex_bytes(entry["seed_commitment"], "seed_commitment", 32),
        escrow=_escrow(entry, reveal),
        time=fields.time_text(entry["time"]),
        seat_keys=_seat_keys(entry, seats),
    )


def _commit(entry: dict[str, Any], test: bool) -> Commit:
    game = fields.one_of(entry["game"], "game", GAMES)
    reveal = fields.one_of(entry["reveal"], "reveal", ("public", "sealed"))
    seats = _seats(entry["seats"], game)
    return Commit(
        test=test,
        hand=fields.hand_id(entry["hand"]),
        table=fields.identifier(entry["table"], "table"),
        number=fields.integer(entry["number"], "number", least=1),
        game=game,
        deck=_deck_kind(entry["deck"], game),
        seats=seats,
        reveal=reveal,
        offer=fields.integer(entry["offer"], "offer") if "offer" in entry else None,
        contributions=_values(entry["contributions"], "contributions", ("contributor", "value")),
        withheld=tuple(
            [fields.contributor(name, "withheld") for name in fields.list_of(entry["withheld"], "withheld")]
        ),
        seed_commitment=fields.hex_bytes(entry["seed_commitment"], "seed_commitment", 32),
        entropy_digest=fields.hex_bytes(entry["entropy_digest"], "entropy_digest", 32),
        deck_commitment=fields.hex_bytes(entry["deck_commitment"], "deck_commitment", 32),
        escrow=_escrow(entry, reveal),
        time=fields.time_text(entry["time"]),
        seat_keys=_seat_keys(entry, seats),
    )


def _card_commitments(value: Any) -> bytes:
    data = fields.base64_bytes(value, "card_commitments")
    if len(data) % protocol.HASH_BYTES or not 2 <= len(data) // protocol.HASH_BYTES <= 64:
        fields.fail("card_commitments", "not 2 to 64 hashes of 32 bytes")
    return data


def _ciphertext(value: Any) -> bytes:
    data = fields.base64_bytes(value, "escrow")
    if len(data) != protocol.ESCROW_BYTES:
        fields.fail("escrow", f"{len(data)} bytes, where an escrow ciphertext has {protocol.ESCROW_BYTES}")
    return data


def _deck_text(value: Any) -> str:
    if type(value) is not str or not _DECK_TEXT.fullmatch(value):
        fields.fail("deck", "not cards joined by single spaces")
    return str(value)


def _close(entry: dict[str, Any], test: bool) -> Close:
    outcome = fields.one_of(entry["outcome"], "outcome", ("completed", "lost", "void"))
    lost = outcome == "lost"
    if ("commit" in entry) == ("offer" in entry):
        fields.fail("commit", "a close names its commit or, of a hand that was lost before it had one, its offer")
    for member, wanted in (
        ("offer", "offer" in entry and lost),
        ("reason", outcome == "void"),
        ("deck", test and not lost),
    ):
        if (member in entry) != wanted:
            fields.fail(member, f"must be {'present' if wanted else 'absent'} where `outcome` is {outcome}")
    events = read_events(entry["events"])
    if "history" in entry and not lost and not any(type(event) is Deal for event in events):
        fields.fail("history", "only a hand that the referee ran has one, and no street was dealt")
    return Close(
        test=test,
        hand=fields.hand_id(entry["hand"]),
        commit=fields.integer(entry["commit"], "commit") if "commit" in entry else None,
        outcome=outcome,
        reason=fields.one_of(entry["reason"], "reason", REASONS) if "reason" in entry else None,
        events=events,
        seed=fields.hex_bytes(entry["seed"], "seed", protocol.SEED_BYTES) if "seed" in entry else None,
        card_commitments=_card_commitments(entry["card_commitments"]) if "card_commitments" in entry else None,
        openings=_openings(entry["openings"]) if "openings" in entry else None,
        escrow=_ciphertext(entry["escrow"]) if "escrow" in entry else None,
        history=fields.hex_bytes(entry["history"], "history", 32) if "history" in entry else None,
        deck=_deck_text(entry["deck"]) if "deck" in entry else None,
        time=fields.time_text(entry["time"]),
        offer=fields.integer(entry["offer"], "offer") if "offer" in entry else None,
    )


_CLOSES = (b'{"commit":', b'{"card_commitments":')
"""How the bytes of a close begin: the first of its members in sorted order."""


class _Shape(NamedTuple):
    """Which members an entry has, and how it is read. `allowed` holds every sorted tuple of names that is allowed."""

    required: frozenset[str]
    optional: frozenset[str]
    allowed: frozenset[tuple[str, ...]]
    read: Callable[[dict[str, Any], bool], Offer | Commit | Close]
    test: bool


def _shape(read: Callable[[dict[str, Any], bool], Offer | Commit | Close], req: str, opt: str, test: bool) -> _Shape:
    required, optional = frozenset(req.split()), frozenset(opt.split())
    some = (set(chosen) for count in range(len(optional) + 1) for chosen in combinations(optional, count))
    allowed = frozenset(tuple(sorted(required | chosen)) for chosen in some)
    return _Shape(required, optional, allowed, read, test)


_OPENING = "schema hand table number game deck seats reveal seed_commitment time"
_END = "schema hand outcome events time"
_END_OPTIONAL = "commit offer reason seed card_commitments openings escrow history"

SHAPES: dict[str, _Shape] = {
    f"{kind}{name}": _shape(read, required, optional + (" deck" if test and name == "close" else ""), test)
    for kind, test in ((PRODUCTION, False), (TEST, True))
    for name, read, required, optional in (
        ("offer", _offer, f"{_OPENING} contributors", "escrow seat_keys"),
        (
            "commit",
            _commit,
            f"{_OPENING} contributions withheld entropy_digest deck_commitment",
            "offer escrow seat_keys",
        ),
        ("close", _close, _END, _END_OPTIONAL),
    )
}


def _wrong_members(entry: dict[str, Any], shape: _Shape) -> str:
    names = set(entry)
    if missing := sorted(shape.required - names):
        return f"`{missing[0]}` is missing"
    if unknown := sorted(names - shape.required - shape.optional):
        return f"`{ascii(unknown[0])[1:-1][:80]}` is no member of {entry['schema']}"
    return "not canonical JSON (members out of order)"


def familiar(raw: bytes) -> Offer | Commit | Close | None:
    """Reads one entry from the exact bytes stored; None where `audit.record.reading` has to say what it is.

    Raises:
        SchemaError: what section 10 lists under `schema`, as far as the bytes are an entry of a known schema.
    """
    if len(raw) > MAX_ENTRY_BYTES:
        raise SchemaError(f"{len(raw)} bytes, where an entry has at most {MAX_ENTRY_BYTES}")
    value = _decode(raw)
    shape = SHAPES.get(value["schema"]) if type(value) is dict and type(value.get("schema")) is str else None
    if shape is None:
        return None
    try:
        if tuple(value) not in shape.allowed:
            raise SchemaError(_wrong_members(value, shape))
        return shape.read(value, shape.test)
    except SchemaError as error:
        hand = value.get("hand")
        known = hand if type(hand) is str and fields.UUID.fullmatch(hand) else None
        raise SchemaError(str(error), test=shape.test, hand=known) from None


def _decode(raw: bytes) -> Any:
    split = split_events(raw) if raw.startswith(_CLOSES) else None
    if split is None:
        return jcs.decode_in_order(raw)
    rest, events = split
    value: Any = jcs.decode_in_order(rest)
    if type(value) is dict and value.get("events") == []:
        value["events"] = events
        return value
    return jcs.decode_in_order(raw)
