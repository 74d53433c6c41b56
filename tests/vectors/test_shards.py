"""Shards of `shards.json`: hashes, choices, lists that are refused, and how tables spread and move."""

import hashlib
import json
from collections import Counter
from itertools import permutations
from typing import Any

import pytest

from dealer.core.seed import length_prefixed, tag
from dealer.core.shards import Shards, ShardsError, check_shards, shard_of
from tests.vectors.places import FOREIGN

VECTORS: dict[str, Any] = json.loads((FOREIGN / "shards.json").read_text("utf-8"))


def test_the_hash_of_a_shard_and_a_table() -> None:
    for each in VECTORS["scores"]:
        names = [length_prefixed(each[name].encode()) for name in ("shard", "table")]
        assert hashlib.sha256(tag("shard") + b"".join(names)).hexdigest() == each["sha256"]


def test_every_choice_whatever_the_order_of_the_list() -> None:
    for each in VECTORS["choices"]:
        for shards in list(permutations(each["shards"]))[:6]:
            assert shard_of(each["table"], shards) == each["shard"]
            assert Shards(shards, shards[0]).home(each["table"]) == each["shard"]


@pytest.mark.parametrize("refused", VECTORS["refused"], ids=lambda each: each["why"])
def test_lists_that_are_none(refused: dict[str, Any]) -> None:
    with pytest.raises(ShardsError):
        check_shards(tuple(refused["shards"]))


def test_how_tables_spread_and_move() -> None:
    spread = VECTORS["spread"]
    tables = [f"table-{number}" for number in range(100_000)]
    two = {table: shard_of(table, ("s0", "s1")) for table in tables}
    three = {table: shard_of(table, ("s2", "s1", "s0")) for table in tables}
    assert (Counter(two.values()), Counter(three.values())) == (spread["two"], spread["three"])
    moved = [table for table in tables if two[table] != three[table]]
    assert len(moved) == spread["moved_by_growing_from_two_to_three"]
    assert {three[table] for table in moved} == {"s2"}
