"""Callers of two dealers: what they read goes on at the other one, over TLS too; and a dealer leaves for good."""

from pathlib import Path
from typing import Any

import grpc
import psycopg

from dealer.client import SyncClient
from dealer.v1 import log_pb2, table_pb2
from tests.integration.access_room import Certificates
from tests.integration.running import STREETS, run_tool
from tests.integration.sharing import ORIGIN, asked, end, is_ready, make, sharing
from tests.integration.table_room import TableRoom
from tests.postgres import Postgres

STREET_NAMES = ("third", "fourth", "fifth", "sixth", "seventh")


def entries(log: Any, start: int, end: int) -> list[bytes]:
    parts = log.ListEntries(log_pb2.ListEntriesRequest(**{"from": start, "limit": end - start}))
    return [entry for part in parts for entry in part.entries]


def test_entries_are_read_on_at_the_other_dealer(postgres: Postgres, tmp_path: Path) -> None:
    with sharing(postgres, tmp_path) as (first, second):
        one, two = first.room(), second.room()
        hand = asked(lambda: one.open("t")).hand_id
        for street in STREETS:
            one.deal(hand, street)
        one.close(hand)
        is_ready(second)
        known = entries(one.log, 0, 1)
        assert entries(two.log, 0, 2) == entries(one.log, 0, 2), "by one who stands by"
        first.kill()
        known += entries(two.log, 1, 2)
        assert len(known) == 2
        asked(lambda: two.open("t"))
        assert entries(two.log, 0, 2) == known


async def test_who_watches_goes_on_at_the_other_dealer(postgres: Postgres, tmp_path: Path) -> None:
    with sharing(postgres, tmp_path) as (first, second):
        asked(lambda: first.room().open("probe"))
        is_ready(second)
        async with grpc.aio.insecure_channel(first.address) as one, grpc.aio.insecure_channel(second.address) as two:
            started = await TableRoom(one).start()
            seen = list[table_pb2.TableEvent]()
            watching = started.watch()
            while len(seen) < 2:
                seen.append((await watching.read()).event)
            await started.act()
            first.kill()
            asked(lambda: second.room().open("probe2"))
            started.stub = TableRoom(two).stub
            await started.play_out()
            after = await started.seen(after=seen[-1].sequence)
            whole = await started.seen()
            assert whole[len(seen) :] == after
            assert [event.sequence for event in whole] == list(range(1, len(whole) + 1))


def test_a_client_of_both_over_tls_by_the_name_that_they_share(postgres: Postgres, tmp_path: Path) -> None:
    certificates = Certificates(tmp_path / "tls")
    certificates.ca()
    certificates.issue("server", "--server", "dealer.example.com")
    certificates.issue("room", "--room", "red")
    dealers = make(postgres.database(), tmp_path, 2, *certificates.options())
    try:
        for dealer in dealers:
            dealer.start()
        first, second = dealers
        addresses = [first.address, second.address]
        credentials = certificates.credentials("room")
        shared = {"credentials": credentials, "server_name": "dealer.example.com"}
        with SyncClient(addresses, first.verifier_key(), **shared) as client:
            hand = client.open_hand("t", seats=[1, 2])
            hand.deal_street(STREET_NAMES[0])
            is_ready(second)
            first.kill()
            for street in STREET_NAMES[1:]:
                hand.deal_street(street)
            hand.close()
    finally:
        end(dealers)


def test_a_dealer_leaves_for_good(postgres: Postgres, tmp_path: Path) -> None:
    with sharing(postgres, tmp_path) as (first, second):
        hand = asked(lambda: first.room().open("t")).hand_id
        is_ready(second)
        url = first.options[first.options.index("--store") + 1]
        leave = ("dealer", "leave", "--store", url, "--data-dir")
        first.kill()
        asked(lambda: second.room().deal(hand, STREETS[0]))
        done = run_tool(*leave, first.data)
        assert done.returncode == 0, done.stderr
        with psycopg.connect(url) as link:
            left = link.execute("SELECT DISTINCT encode(dealer, 'hex') FROM dealers").fetchall()
            holder = link.execute("SELECT holder FROM writer").fetchone()
        assert left == [holder]
        assert not list((first.data / "at-rest").glob("*.pair")), list((first.data / "at-rest").iterdir())
        second.kill()
        refused = run_tool(*leave, second.data)
        assert refused.returncode != 0
        assert "the last to write" in refused.stderr
        second.start()
        asked(lambda: second.room().deal(hand, STREETS[1]))
        assert ORIGIN in second.verifier_key()
