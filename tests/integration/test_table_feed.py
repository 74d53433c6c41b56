"""Who watches costs the others nothing: each event is made once for all, and a few watchers are woken at a time."""

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from dealer.service.referee import watchers
from dealer.service.referee.watchers import Watchers
from dealer.service.rpc import table_views
from tests.integration.inside import dealer_inside
from tests.integration.table_room import TableRoom


async def test_an_event_is_made_once_for_all_who_see_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[tuple[int, int]] = []
    real = table_views.Seen.message

    def counted(seen: table_views.Seen, eyes: int) -> Any:
        made.append((seen.sequence, eyes))
        return real(seen, eyes)

    monkeypatch.setattr(table_views.Seen, "message", counted)
    async with dealer_inside(tmp_path / "dealer") as (dealer, inside):
        looks = 0
        submitted = dealer.engine.do

        async def look(*arguments: Any, **options: Any) -> Any:
            nonlocal looks
            looks += 1
            return await submitted(*arguments, **options)

        monkeypatch.setattr(dealer.engine, "do", look)
        started = await TableRoom(inside.channel).start(dict.fromkeys((1, 2, 3), 1000))
        rail = [asyncio.ensure_future(started.seen()) for _ in range(40)]
        seats = [asyncio.ensure_future(started.seen(seat)) for seat in (1, 2, 3, 1)]
        while looks < 44:  # noqa: ASYNC110 - all of them watch, and then it goes on
            await asyncio.sleep(0.01)
        await started.play_out()
        seen = await asyncio.gather(*rail)
        assert all(each == seen[0] for each in seen)
        assert [event.sequence for event in seen[0]] == list(range(1, len(seen[0]) + 1))
        assert seen[0][-1].hand_finished.close_receipt
        for mine in await asyncio.gather(*seats):
            assert len(mine) == len(seen[0])
            assert mine != seen[0], "a seat sees its own down cards"
        assert len(made) == len(set(made)), "nothing is made twice"
        with_own_cards = sum(e.HasField("street_dealt") and e.street_dealt.street in (1, 5) for e in seen[0])
        assert len(made) == len(seen[0]) + 3 * with_own_cards
        assert looks == 45, "one look each at the start, and one for all at the end"


async def test_watchers_are_woken_a_few_at_a_time_and_all_of_them() -> None:
    crowd = Watchers()
    woken = 0

    async def watch(hand: bytes, known: Any) -> None:
        nonlocal woken
        with crowd.watching(hand) as watcher:
            await watcher.later_than(known)
            woken += 1

    tasks = [asyncio.ensure_future(watch(b"hand", SimpleNamespace(events=()))) for _ in range(100)]
    await asyncio.sleep(0)
    crowd.show(SimpleNamespace(hand=b"hand", events=(1,)))  # type: ignore[arg-type]
    turns, most, before = 0, 0, 0
    while woken < 100:
        await asyncio.sleep(0)
        turns, most, before = turns + 1, max(most, woken - before), woken
        assert turns < 1000
    assert most <= watchers._WOKEN_AT_ONCE
    await asyncio.gather(*tasks)
