"""How long a key at rest has outlived its time, as the metric says it: MACHINES.md, section 8."""

import time
from pathlib import Path

from dealer.store.datadir import DataDir
from dealer.store.postgres.admin import init
from dealer.store.postgres.contender import Contender, Terms
from dealer.store.postgres.link import Database, Replication
from tests.postgres import Postgres

PERIOD = 1000.0


def test_a_key_that_is_not_replaced_in_time_is_said_to_be_overdue(postgres: Postgres, tmp_path: Path) -> None:
    url, data = postgres.database(), DataDir.at(tmp_path / "a")
    init(data, "overdue.invalid/x", url)
    database = Database(url, Replication.NONE)
    contender = Contender(database, data.root, data.at_rest, data.signer(), Terms(key_seconds=PERIOD))
    contender.check()
    contender.start()
    until = time.monotonic() + 30
    while not contender.lease.epoch:
        assert time.monotonic() < until
        time.sleep(0.02)
    store = contender.open_store()
    try:
        assert contender.key_overdue_seconds() == 0
        store.link.execute(b"UPDATE keys SET made = made - interval '1500 s' WHERE purpose = 'seed'")
        while not 500 <= contender.key_overdue_seconds() < 600:
            assert time.monotonic() < until
            time.sleep(0.05)
        assert store.tend(), "the change is due"
        assert store.row.generation == 2
        while contender.key_overdue_seconds() < 500:  # the old key is still there
            assert time.monotonic() < until
            time.sleep(0.05)
        store.sealed_anew()
        while contender.key_overdue_seconds():
            assert time.monotonic() < until
            time.sleep(0.05)
    finally:
        store.close()
        contender.stop()
