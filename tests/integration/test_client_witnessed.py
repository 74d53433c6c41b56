"""A client that wants witnesses: its three modes (WITNESS.md section 7), with a real dealer and real witnesses."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from dealer.client import CallError, CheckError, Client, Hand, SyncClient, UsageError
from dealer.log.policy import PolicyError
from dealer.log.receipt import Receipt
from tests.attacks.cosigning import ONE, TWO
from tests.integration.cosigning_room import Liar
from tests.integration.lying_server import lying_server
from tests.integration.running import run_tool
from tests.integration.test_asking_witnesses import TEXT, Cast, cast, honest

POLICY = f"witness one {ONE.key}\nquorum one\n"


@asynccontextmanager
async def cosigned(folder: Path, **pace: float) -> AsyncIterator[tuple[Cast, Liar]]:
    liar = Liar()
    liar.on_post = honest(ONE)
    async with cast(folder, [(ONE, liar)], **pace) as all_:
        yield all_, liar


def key_of(all_: Cast) -> str:
    return all_.data.signer().verifier_key


async def play(hand: Hand) -> None:
    for street in ("third", "fourth", "fifth", "sixth", "seventh"):
        await hand.deal_street(street)
    await hand.close()


async def test_close_the_receipt_is_kept_beside_the_others(tmp_path: Path) -> None:
    policy = tmp_path / "policy"
    told: list[Hand] = []
    async with cosigned(tmp_path / "data") as (all_, _):
        policy.write_text(f"log {key_of(all_)}\n{POLICY}")
        folder = tmp_path / "client"
        options: dict[str, Any] = {"folder": folder, "policy": policy, "on_unwitnessed": told.append}
        async with Client(all_.dealer.address, key_of(all_), **options) as client:
            hand = await client.open_hand("t", [1, 2])
            with pytest.raises(UsageError):
                await hand.witnessed()
            await play(hand)
            found = await hand.witnessed(20)
            assert found is not None
            assert hand.closed is not None
            assert found.entry == hand.closed.entry
            assert ONE.key.name in found.note
            assert client.checkpoint is not None
            assert client.checkpoint.size >= found.checkpoint.size
    kept = folder / "receipts" / f"{hand.hand_id}.close-witnessed.receipt"
    assert kept.read_text() == found.receipt
    entry = kept.with_suffix(".entry")
    done = await asyncio.to_thread(run_tool, "audit", "receipt", kept, "--entry", entry, "--policy", policy)
    assert done.returncode == 0, done.stdout
    assert told == []


async def test_close_says_where_no_cosignature_comes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dealer.client.cosigned._PUBLISH_SECONDS", 0.5)
    told: list[Hand] = []
    async with cosigned(tmp_path / "data") as (all_, liar):
        liar.on_post = lambda body: (503, TEXT, b"")
        options: dict[str, Any] = {"policy": POLICY, "witness_seconds": 0.1, "on_unwitnessed": told.append}
        async with Client(all_.dealer.address, key_of(all_), **options) as client:
            hand = await client.open_hand("t", [1, 2])
            await play(hand)
            assert await hand.witnessed(0.01) is None
            end = time.monotonic() + 20
            while not told:
                assert time.monotonic() < end
                await asyncio.sleep(0.02)
            assert told == [hand]
            again = await client.open_hand("t", [1, 2])  # it is no lie: the dealer may be honest, and the network not
            await again.void()
        assert told == [hand]  # who closes a client asks no more, and is told nothing


async def test_too_few_by_the_clients_own_policy_is_waited_for(tmp_path: Path) -> None:
    async with cosigned(tmp_path / "data") as (all_, _):
        policy = f"witness one {ONE.key}\nwitness two {TWO.key}\ngroup g all one two\nquorum g\n"
        async with Client(all_.dealer.address, key_of(all_), policy=policy) as client:
            hand = await client.open_hand("t", [1, 2])
            await play(hand)
            assert await hand.witnessed(1) is None


async def test_commit_holds_the_first_card_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dealer.client.cosigned._PUBLISH_SECONDS", 0.5)
    async with cosigned(tmp_path / "data") as (all_, liar):
        folder = tmp_path / "client"
        options: dict[str, Any] = {"folder": folder, "policy": POLICY, "witnessed": "commit", "witness_seconds": 0.1}
        async with Client(all_.dealer.address, key_of(all_), **options) as client:
            hand = await client.open_hand("t", [1, 2])
            await play(hand)
            assert (folder / "receipts" / f"{hand.hand_id}.commit-witnessed.receipt").exists()
            assert await hand.witnessed(20) is not None
            liar.on_post = lambda body: (503, TEXT, b"")
            held = await client.open_hand("t", [1, 2])
            with pytest.raises(CallError) as refused:
                await held.deal_street("third")
            assert refused.value.reason == "NOT_WITNESSED_YET"
            assert held.cards == {}
            await held.void()


async def test_a_wrong_cosignature_is_named_with_its_note(tmp_path: Path) -> None:
    async with cosigned(tmp_path / "data") as (all_, _), lying_server(all_.dealer) as liar:

        def spoil(answer: Any) -> None:
            receipt = Receipt.parse(answer.receipt)
            if ONE.key.name in receipt.checkpoint_note:
                text = receipt.checkpoint_note.partition("\n\n")[0]
                own, _, _ = receipt.checkpoint_note.partition(f"\u2014 {ONE.key.name}")
                wrong = ONE.line(f"{text}\nmore\n", int(time.time()))
                answer.receipt = Receipt(receipt.index, receipt.proof, own + wrong).text()

        liar.lie("GetReceipt", spoil)
        told: list[Hand] = []
        options: dict[str, Any] = {"policy": POLICY, "folder": tmp_path / "client", "on_unwitnessed": told.append}
        async with Client(liar.address, key_of(all_), **options) as client:
            hand = await client.open_hand("t", [1, 2])
            await play(hand)
            with pytest.raises(CheckError, match=f"the cosignature of {ONE.key.name} is wrong") as caught:
                await hand.witnessed(20)
        assert (caught.value.check, told) == ("witness", [hand])
        assert caught.value.evidence is not None
        evidence = json.loads(caught.value.evidence.read_text())
        assert ONE.key.name in evidence["cosigned"]
        policy = tmp_path / "policy"
        policy.write_text(f"log {key_of(all_)}\n{POLICY}")
        judged = await asyncio.to_thread(run_tool, "audit", "receipt", caught.value.evidence, "--policy", policy)
        assert (judged.returncode, "FAIL  witness" in judged.stdout) == (1, True), judged.stdout


async def test_no_is_as_without_a_policy_and_nonsense_is_refused(tmp_path: Path) -> None:
    async with cosigned(tmp_path / "data") as (all_, _):
        key = key_of(all_)
        async with Client(all_.dealer.address, key, policy=POLICY, witnessed="no") as client:
            hand = await client.open_hand("t", [1, 2])
            await play(hand)
            with pytest.raises(UsageError):
                await hand.witnessed()
        for options in ({"witnessed": "always"}, {"witnessed": "close"}, {"policy": f"log {ONE_LOG}\n{POLICY}"}):
            with pytest.raises(UsageError):
                Client(all_.dealer.address, key, **options)  # type: ignore[arg-type]
        with pytest.raises(PolicyError, match="no quorum line"):
            Client(all_.dealer.address, key, policy="")


ONE_LOG = "other.example/room+7f2ec15e+AUy1q/atefv1q7zK/MJp2FzSZR7UuIW1hp8kGu3wpbop"


async def test_the_client_without_asyncio_does_the_same(tmp_path: Path) -> None:
    async with cosigned(tmp_path / "data") as (all_, _):

        def run() -> bool:
            with SyncClient(all_.dealer.address, key_of(all_), policy=POLICY) as client:
                hand = client.open_hand("t", [1, 2])
                hand.void()
                return hand.witnessed(20) is not None

        assert await asyncio.to_thread(run)


async def test_a_dealer_without_witnesses_says_so(tmp_path: Path) -> None:
    from tests.integration.inside import dealer_inside

    async with dealer_inside(tmp_path / "data") as (dealer, _):
        key = dealer.engine.state.signer.verifier_key
        async with Client(dealer.address, key, policy=POLICY) as client:
            hand = await client.open_hand("t", [1, 2])
            await hand.void()
            with pytest.raises(CallError) as refused:
                await hand.witnessed(5)
            assert refused.value.reason == "NO_WITNESSES"
