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


async def test_the_dealer_s_word_for_how_long_to_wait_counts(waits):
    patience = _Patience(Retry())
    busy = CallError("OpenHand", grpc.StatusCode.RESOURCE_EXHAUSTED, "TOO_MANY_REQUESTS", "", retry_seconds=4.0)
    for _ in range(3):
        await patience.wait(busy)
    assert min(waits) > 4
    late = CallError("OpenHand", grpc.StatusCode.UNAVAILABLE, "STANDBY", "", retry_seconds=60.0)
    with pytest.raises(CallError):  # it says that there is no point in waiting so short a time
        await patience.wait(late)


@pytest.mark.parametrize("reason", ["TOO_MANY_HANDS", "TOO_MANY_TABLES", "TOO_MANY_STREAMS"])
async def test_what_waiting_does_not_end_is_not_waited_for(waits, reason):
    full = CallError("OpenHand", grpc.StatusCode.RESOURCE_EXHAUSTED, reason, "", retry_seconds=1.0)
    with pytest.raises(CallError):
        await _Patience(Retry()).wait(full)
    assert waits == []


@pytest.mark.parametrize("code", [grpc.StatusCode.INTERNAL, grpc.StatusCode.DEADLINE_EXCEEDED])
async def test_what_is_no_absence_is_not_waited_for(waits, code):
    with pytest.raises(CallError):
        await _Patience(Retry()).wait(CallError("OpenHand", code, "", ""))
    assert waits == []
