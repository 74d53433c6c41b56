"""How long an unavailable dealer is asked again: by the default long enough for a restart, without long pauses."""

import grpc
import pytest

from dealer.client import CallError, Retry
from dealer.client.calls import _Patience

AWAY = CallError("OpenHand", grpc.StatusCode.UNAVAILABLE, "", "")


@pytest.fixture
def waits(monkeypatch):
    """Waits that take no time; the clock goes on by each."""
    taken = []

    async def sleep(seconds):
        taken.append(seconds)

    monkeypatch.setattr("dealer.client.calls.asyncio.sleep", sleep)
    monkeypatch.setattr("dealer.client.calls.time.monotonic", lambda: 1000.0 + sum(taken))
    return taken


async def until_it_is_given_up(patience):
    async def ask():
        while True:
            await patience.wait(AWAY)

    with pytest.raises(CallError) as caught:
        await ask()
    assert caught.value is AWAY


async def test_the_default_goes_on_for_thirty_seconds_with_short_pauses(waits):
    await until_it_is_given_up(_Patience(Retry()))
    assert 30 <= sum(waits) < 32
    assert waits[0] < 0.2
    assert max(waits) <= 1.5
    assert len(waits) > 20


async def test_pauses_grow_and_are_capped_however_many_there_are(waits):
    await until_it_is_given_up(_Patience(Retry(seconds=1e6, attempts=5000, first_wait=1.0, longest_wait=8.0)))
    assert len(waits) == 4999
    means = [1, 2, 4, *[8] * 4996]
    assert all(0.5 * mean <= wait <= 1.5 * mean for wait, mean in zip(waits, means, strict=True))


async def test_an_answer_renews_it(waits):
    patience = _Patience(Retry(attempts=3))
    for _ in range(10):
        await patience.wait(AWAY)
        await patience.wait(AWAY)
        patience.renew()
    await until_it_is_given_up(patience)


@pytest.mark.parametrize("code", [grpc.StatusCode.INTERNAL, grpc.StatusCode.DEADLINE_EXCEEDED])
async def test_what_is_no_absence_is_not_waited_for(waits, code):
    with pytest.raises(CallError):
        await _Patience(Retry()).wait(CallError("OpenHand", code, "", ""))
    assert waits == []
