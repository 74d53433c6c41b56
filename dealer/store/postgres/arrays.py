"""Columns of a batch as PostgreSQL's binary arrays: one statement brings all of it, in one round trip."""

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import psycopg
from psycopg.adapt import Buffer, Dumper
from psycopg.pq import Format

_HEAD = struct.Struct(">iiIii")
_LENGTH = struct.Struct(">i")
_INT = struct.Struct(">iq")
_NULL = _LENGTH.pack(-1)
_BYTEA, _TEXT, _INT8, _BOOL = 17, 25, 20, 16
_ARRAYS = {_BYTEA: 1001, _TEXT: 1009, _INT8: 1016, _BOOL: 1000}


@dataclass(frozen=True, slots=True)
class Column:
    """One column, packed: an array of one dimension."""

    data: bytes = field(repr=False)


class Bytes(Column):
    """An array of bytea."""

    @classmethod
    def of(cls, values: Sequence[bytes | None]) -> "Bytes":
        """Packs values."""
        return cls(_packed(_BYTEA, values))


class Texts(Column):
    """An array of text."""

    @classmethod
    def of(cls, values: Sequence[str | None]) -> "Texts":
        """Packs values."""
        return cls(_packed(_TEXT, [None if each is None else each.encode() for each in values]))


class Ints(Column):
    """An array of bigint."""

    @classmethod
    def of(cls, values: Sequence[int | None]) -> "Ints":
        """Packs values."""
        pack = _INT.pack
        return cls(_joined(_INT8, len(values), [_NULL if each is None else pack(8, each) for each in values]))


class Bools(Column):
    """An array of boolean."""

    @classmethod
    def of(cls, values: Iterable[bool]) -> "Bools":
        """Packs values."""
        return cls(_packed(_BOOL, [b"\1" if each else b"\0" for each in values]))


def _packed(oid: int, values: Sequence[bytes | None]) -> bytes:
    pack = _LENGTH.pack
    return _joined(oid, len(values), [_NULL if each is None else pack(len(each)) + each for each in values])


def _joined(oid: int, count: int, parts: list[bytes]) -> bytes:
    return _HEAD.pack(1, 1, oid, count, 1) + b"".join(parts) if count else struct.pack(">iiI", 0, 0, oid)


class _ColumnDumper(Dumper):
    format = Format.BINARY

    def dump(self, obj: Column) -> Buffer | None:
        return obj.data


def register(link: "psycopg.Connection[tuple[object, ...]]") -> None:
    """Has a connection send columns."""
    for kind, oid in ((Bytes, _BYTEA), (Texts, _TEXT), (Ints, _INT8), (Bools, _BOOL)):
        link.adapters.register_dumper(kind, type(f"{kind.__name__}Dumper", (_ColumnDumper,), {"oid": _ARRAYS[oid]}))
