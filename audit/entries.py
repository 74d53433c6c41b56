"""Log entries of PROTOCOL.md section 6: exact bytes in, checked values out, or a reason why not.

Form is judged here, one entry at a time: members, types, alphabets, lengths, ranges. What entries mean together is
for the other checks; an entry that fails here takes no part in them (section 10, `schema`).
"""

from __future__ import annotations

import binascii
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from itertools import combinations
from typing import Any, NamedTuple, NoReturn

from audit import jcs, protocol
from audit.errors import FormatError

MAX_ENTRY_BYTES = 65_535
PRODUCTION = "cutcard/v1/"
TEST = "cutcard-test/v1/"
STREETS = ("third", "fourth", "fifth", "sixth", "seventh")
STUD_GAMES = frozenset({"seven-card-stud", "seven-card-stud-hi-lo"})
GAMES = STUD_GAMES | {"free-draw"}
REASONS = frozenset({"operator", "timeout", "misdeal", "failure"})
_FACES = frozenset({"down", "up"})
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
_RESERVED = "operator."


class SchemaError(FormatError):
    """An entry that fails `schema`.

    Attributes:
        test: whether it nevertheless says that it is a test record.
        hand: the hand that it names, as text, where that much can be read.
    """

    def __init__(self, detail: str, *, test: bool = False, hand: str | None = None) -> None:
        super().__init__(detail)
        self.test = test
        self.hand = hand


class Escrow(NamedTuple):
    """What an offer or commit says of a sealed hand's escrow: 8 bytes of key id, 32 of digest."""

    key: bytes
    digest: bytes


class Cards(NamedTuple):
    """Dealt cards as columns of equal length: positions, seats (0 is the board) and faces (`down` or `up`)."""

    positions: tuple[int, ...]
    seats: tuple[int, ...]
    faces: tuple[str, ...]


class Deal(NamedTuple):
    """A street that was dealt."""

    street: str
    cards: Cards


class Draw(NamedTuple):
    """Cards dealt in free-draw."""

    cards: Cards


class Fold(NamedTuple):
    """A seat that folded."""

    seat: int


class Show(NamedTuple):
    """Down cards that were turned up."""

    positions: tuple[int, ...]


Event = Deal | Draw | Fold | Show


class Openings(NamedTuple):
    """Opened cards as columns of equal length; salts are 32 raw bytes each."""

    positions: tuple[int, ...]
    cards: tuple[str, ...]
    salts: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class Offer:
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


@dataclass(frozen=True, slots=True)
class Commit:
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


@dataclass(frozen=True, slots=True, repr=False)
class Close:
    """A hand's end. `commit` is an entry index; members that the policy asks for are None where they are absent."""

    test: bool
    hand: bytes
    commit: int
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


@dataclass(frozen=True, slots=True)
class Unknown:
    """Canonical JSON with a schema that this auditor does not know."""

    schema: str
    test: bool


Entry = Offer | Commit | Close | Unknown


def hand_text(hand: bytes) -> str:
    """The usual lower-case text of a hand's 16 bytes."""
    text = hand.hex()
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def hand_bytes(text: str) -> bytes:
    """The 16 bytes of a hand's UUID.

    Raises:
        FormatError: not lower-case text of a version 7 UUID with RFC 9562's variant.
    """
    if not UUID.fullmatch(text):
        raise FormatError("not the lower-case text of a version 7 UUID")
    return bytes.fromhex(text.replace("-", ""))


def _fail(member: str, why: str) -> NoReturn:
    raise SchemaError(f"`{member}`: {why}")


def _hex(value: Any, member: str, length: int) -> bytes:
    if type(value) is str and len(value) == 2 * length:
        try:
            data = bytes.fromhex(value)
        except ValueError:
            data = b""
        if data.hex() == value:
            return data
    _fail(member, f"not {2 * length} digits of lower-case hex")


def _base64(value: Any, member: str) -> bytes:
    if type(value) is str:
        try:
            data = binascii.a2b_base64(value, strict_mode=True)
        except (binascii.Error, ValueError):
            data = b""
        if value and binascii.b2a_base64(data, newline=False).decode("ascii") == value:
            return data
    _fail(member, "not canonical base64")


def _integer(value: Any, member: str, least: int = 0, most: int = jcs.MAX_INTEGER) -> int:
    if type(value) is int and least <= value <= most:
        return value
    _fail(member, f"not an integer from {least} to {most}")


def _id(value: Any, member: str) -> str:
    if type(value) is str and ID.fullmatch(value):
        return value
    _fail(member, "not 1 to 64 characters of A-Z a-z 0-9 . _ -")


def _contributor(value: Any, member: str) -> str:
    name = _id(value, member)
    if name.startswith(_RESERVED):
        _fail(member, f"ids that begin with {_RESERVED} are reserved")
    return name


def _one_of(value: Any, member: str, known: Iterable[str]) -> str:
    if type(value) is str and value in known:
        return value
    _fail(member, f"not one of {', '.join(sorted(known))}")


def _hand(value: Any) -> bytes:
    if type(value) is str and UUID.fullmatch(value):
        return bytes.fromhex(value.replace("-", ""))
    _fail("hand", "not the lower-case text of a version 7 UUID")


def _time(value: Any) -> str:
    if type(value) is str and len(value) == 24:
        try:
            if datetime.fromisoformat(value[:-1]).isoformat(timespec="milliseconds") + "Z" == value:
                return value
        except ValueError:
            pass
    _fail("time", "not a real date and time of day as YYYY-MM-DDThh:mm:ss.sssZ")


def _list(value: Any, member: str) -> list[Any]:
    if type(value) is list:
        return value
    _fail(member, "not a list")


def _members(value: Any, member: str, names: tuple[str, ...]) -> dict[str, Any]:
    """An object with exactly these members, which are given, and stand, in sorted order."""
    if type(value) is dict and tuple(value) == names:
        return value
    _fail(member, f"not an object of exactly {', '.join(names)}")


def _integers(values: tuple[Any, ...]) -> bool:
    return set(map(type, values)) == {int} and min(values) >= 0 and max(values) <= jcs.MAX_INTEGER


def _cards(value: Any, member: str) -> Cards:
    rows = _list(value, member)
    if not rows:
        return Cards((), (), ())
    try:
        positions, seats, faces = zip(*rows, strict=True)
        fits = set(map(type, rows)) == {list} and _integers(positions) and _integers(seats) and _FACES.issuperset(faces)
    except (TypeError, ValueError):
        fits = False
    if not fits:
        _fail(member, "not a list of [position, seat, down or up]")
    return Cards(positions, seats, faces)


def _deal(event: dict[str, Any]) -> Deal:
    cards = _cards(event["cards"], "events.cards")
    return Deal(_one_of(event["deal"], "events.deal", STREETS), cards)


def _draw(event: dict[str, Any]) -> Draw:
    return Draw(_cards(event["draw"], "events.draw"))


def _fold(event: dict[str, Any]) -> Fold:
    return Fold(_integer(event["fold"], "events.fold"))


def _show(event: dict[str, Any]) -> Show:
    positions = tuple(_list(event["show"], "events.show"))
    if positions and not _integers(positions):
        _fail("events.show", "not a list of positions")
    return Show(positions)


_EVENTS: dict[tuple[str, ...], Callable[[dict[str, Any]], Event]] = {
    ("cards", "deal"): _deal,
    ("draw",): _draw,
    ("fold",): _fold,
    ("show",): _show,
}


def _events(value: Any) -> tuple[Event, ...]:
    events = []
    for event in _list(value, "events"):
        read = _EVENTS.get(tuple(event)) if type(event) is dict else None
        if read is None:
            _fail("events", "an event that is neither deal with cards, nor draw, fold or show")
        events.append(read(event))
    return tuple(events)


def _openings(value: Any) -> Openings:
    rows = _list(value, "openings")
    if not rows:
        return Openings((), (), ())
    try:
        positions, cards, salts = zip(*rows, strict=True)
        fits = set(map(type, rows)) == {list} and _integers(positions)
        fits = fits and set(map(type, cards)) == {str} and set(map(len, cards)) == {2}
    except (TypeError, ValueError):
        fits = False
    if not fits:
        _fail("openings", "not a list of [position, card of two characters, salt]")
    return Openings(positions, cards, tuple([_hex(salt, "openings", protocol.SALT_BYTES) for salt in salts]))


def _seats(value: Any, game: str) -> tuple[int, ...]:
    least, most = (2, 8) if game in STUD_GAMES else (1, 23)
    seats = tuple(_list(value, "seats"))
    if not least <= len(seats) <= most:
        _fail("seats", f"{len(seats)} seats, where {game} takes {least} to {most}")
    if not _integers(seats) or min(seats) < 1 or max(seats) > 255 or len(set(seats)) != len(seats):
        _fail("seats", "not distinct numbers from 1 to 255")
    return seats


def _deck_kind(value: Any, game: str) -> str:
    deck = _one_of(value, "deck", protocol.DECKS)
    if game in STUD_GAMES and deck != "standard52":
        _fail("deck", f"{game} takes standard52")
    return deck


def _escrow(entry: dict[str, Any], reveal: str) -> Escrow | None:
    if ("escrow" in entry) != (reveal == "sealed"):
        _fail("escrow", f"must be {'present' if reveal == 'sealed' else 'absent'} where `reveal` is {reveal}")
    if reveal != "sealed":
        return None
    value = _members(entry["escrow"], "escrow", ("digest", "key"))
    return Escrow(_hex(value["key"], "escrow.key", 8), _hex(value["digest"], "escrow.digest", 32))


def _values(value: Any, member: str, names: tuple[str, str]) -> tuple[tuple[str, bytes], ...]:
    """A list of objects that give a contributor and 32 bytes; `names` are the members, sorted."""
    rows = [_members(row, member, names) for row in _list(value, member)]
    other = names[0] if names[1] == "contributor" else names[1]
    return tuple(
        (_contributor(row["contributor"], f"{member}.contributor"), _hex(row[other], f"{member}.{other}", 32))
        for row in rows
    )


def _offer(entry: dict[str, Any], test: bool) -> Offer:
    game = _one_of(entry["game"], "game", GAMES)
    reveal = _one_of(entry["reveal"], "reveal", ("public", "sealed"))
    contributors = _values(entry["contributors"], "contributors", ("commitment", "contributor"))
    if not 1 <= len(contributors) <= 64:
        _fail("contributors", f"{len(contributors)} contributors, where an offer takes 1 to 64")
    if len({name for name, _ in contributors}) != len(contributors):
        _fail("contributors", "ids that are not distinct")
    return Offer(
        test=test,
        hand=_hand(entry["hand"]),
        table=_id(entry["table"], "table"),
        number=_integer(entry["number"], "number", least=1),
        game=game,
        deck=_deck_kind(entry["deck"], game),
        seats=_seats(entry["seats"], game),
        reveal=reveal,
        contributors=contributors,
        seed_commitment=_hex(entry["seed_commitment"], "seed_commitment", 32),
        escrow=_escrow(entry, reveal),
        time=_time(entry["time"]),
    )


def _commit(entry: dict[str, Any], test: bool) -> Commit:
    game = _one_of(entry["game"], "game", GAMES)
    reveal = _one_of(entry["reveal"], "reveal", ("public", "sealed"))
    return Commit(
        test=test,
        hand=_hand(entry["hand"]),
        table=_id(entry["table"], "table"),
        number=_integer(entry["number"], "number", least=1),
        game=game,
        deck=_deck_kind(entry["deck"], game),
        seats=_seats(entry["seats"], game),
        reveal=reveal,
        offer=_integer(entry["offer"], "offer") if "offer" in entry else None,
        contributions=_values(entry["contributions"], "contributions", ("contributor", "value")),
        withheld=tuple([_contributor(name, "withheld") for name in _list(entry["withheld"], "withheld")]),
        seed_commitment=_hex(entry["seed_commitment"], "seed_commitment", 32),
        entropy_digest=_hex(entry["entropy_digest"], "entropy_digest", 32),
        deck_commitment=_hex(entry["deck_commitment"], "deck_commitment", 32),
        escrow=_escrow(entry, reveal),
        time=_time(entry["time"]),
    )


def _card_commitments(value: Any) -> bytes:
    data = _base64(value, "card_commitments")
    if len(data) % protocol.HASH_BYTES or not 2 <= len(data) // protocol.HASH_BYTES <= 64:
        _fail("card_commitments", "not 2 to 64 hashes of 32 bytes")
    return data


def _ciphertext(value: Any) -> bytes:
    data = _base64(value, "escrow")
    if len(data) != protocol.ESCROW_BYTES:
        _fail("escrow", f"{len(data)} bytes, where an escrow ciphertext has {protocol.ESCROW_BYTES}")
    return data


def _deck_text(value: Any) -> str:
    if type(value) is str and value.isascii():
        return value
    _fail("deck", "not text")


def _close(entry: dict[str, Any], test: bool) -> Close:
    outcome = _one_of(entry["outcome"], "outcome", ("completed", "void"))
    if ("reason" in entry) != (outcome == "void"):
        _fail("reason", f"must be {'present' if outcome == 'void' else 'absent'} where `outcome` is {outcome}")
    return Close(
        test=test,
        hand=_hand(entry["hand"]),
        commit=_integer(entry["commit"], "commit"),
        outcome=outcome,
        reason=_one_of(entry["reason"], "reason", REASONS) if "reason" in entry else None,
        events=_events(entry["events"]),
        seed=_hex(entry["seed"], "seed", protocol.SEED_BYTES) if "seed" in entry else None,
        card_commitments=_card_commitments(entry["card_commitments"]) if "card_commitments" in entry else None,
        openings=_openings(entry["openings"]) if "openings" in entry else None,
        escrow=_ciphertext(entry["escrow"]) if "escrow" in entry else None,
        history=_hex(entry["history"], "history", 32) if "history" in entry else None,
        deck=_deck_text(entry["deck"]) if test else None,
        time=_time(entry["time"]),
    )


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
_END = "schema hand commit outcome events time"
_END_OPTIONAL = "reason seed card_commitments openings escrow history"

_SHAPES: dict[str, _Shape] = {
    f"{kind}{name}": _shape(read, required + (" deck" if test and name == "close" else ""), optional, test)
    for kind, test in ((PRODUCTION, False), (TEST, True))
    for name, read, required, optional in (
        ("offer", _offer, f"{_OPENING} contributors", "escrow"),
        ("commit", _commit, f"{_OPENING} contributions withheld entropy_digest deck_commitment", "offer escrow"),
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


def parse(raw: bytes) -> Entry:
    """Reads one entry from the exact bytes stored.

    Raises:
        SchemaError: anything that section 10 lists under `schema`.
    """
    if len(raw) > MAX_ENTRY_BYTES:
        raise SchemaError(f"{len(raw)} bytes, where an entry has at most {MAX_ENTRY_BYTES}")
    value: Any = jcs.decode_in_order(raw)
    shape = _SHAPES.get(value["schema"]) if type(value) is dict and type(value.get("schema")) is str else None
    if shape is None:
        return _parse_unfamiliar(raw)
    try:
        if tuple(value) not in shape.allowed:
            raise SchemaError(_wrong_members(value, shape))
        return shape.read(value, shape.test)
    except SchemaError as error:
        hand = value.get("hand")
        known = hand if type(hand) is str and UUID.fullmatch(hand) else None
        raise SchemaError(str(error), test=shape.test, hand=known) from None


def _parse_unfamiliar(raw: bytes) -> Unknown:
    """Reads what the fast way could not: an unknown schema, or something to refuse with the right reason."""
    try:
        value: Any = jcs.decode(raw)
    except FormatError as error:
        raise SchemaError(str(error), test=TEST.encode("ascii") in raw) from None
    if type(value) is not dict:
        raise SchemaError("not a JSON object")
    schema = value.get("schema")
    if type(schema) is not str:
        raise SchemaError("`schema` is missing" if "schema" not in value else "`schema`: not text")
    test = schema.startswith(TEST)
    if schema not in _SHAPES:
        return Unknown(schema, test)
    # A known schema that the fast way would not take: text that is not ASCII, or a number that is no integer.
    raise SchemaError("text that is not ASCII, or a number that is no integer", test=test)
