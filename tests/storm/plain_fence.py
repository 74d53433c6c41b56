"""The fence made a plain SELECT, with the same condition: what a storm has to find out."""

from collections.abc import Mapping

from dealer.store.postgres.store import PostgresStore

_PLAIN = """
SELECT beat, clock_timestamp() AS now FROM writer WHERE one AND epoch = %(epoch)s AND holder = %(me)s
  AND %(lease)s > 0 {also}
"""


def make_plain(store: PostgresStore) -> None:
    """Takes the lock out of a store's fence; batches change the row behind it, by nobody's leave."""
    whole = store._fenced_statement

    def fence(change: str = "", also: str = "") -> str:
        return _PLAIN.format(also=also)

    def unfenced(statement: str, values: Mapping[str, object]) -> None:
        size = ", size = %(size)s, note = %(note)s" if "size" in values else ""
        row = f"beat = writer.beat + 1, expires = clock_timestamp() + make_interval(secs => %(lease)s){size}"
        head, last, _ = statement.rpartition("\nSELECT beat, now FROM f")
        whole(f"{head}, x AS (UPDATE writer SET {row} FROM f WHERE one){last}", values)

    store.lease.fence = fence  # type: ignore[method-assign]
    store._fenced_statement = unfenced  # type: ignore[method-assign]
