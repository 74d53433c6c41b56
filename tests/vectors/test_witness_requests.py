"""The 25 requests of `witness.json`, in order, to a real witness over HTTP: status, answer and what it holds after."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

from audit.tlog import note
from audit.tlog.checkpoint import read_checkpoint
from audit.tlog.cosignature import WitnessKey, cosigned_at
from audit.tlog.keys import VerifierKey
from audit.witness.store import FILE, Store, create, origin_hash
from tests.integration.witnessing import ask, inside
from tests.vectors.places import FOREIGN

VECTORS = json.loads((FOREIGN / "witness.json").read_text("utf-8"))
LOG = VerifierKey.parse(VECTORS["log"]["vkey"])
WITNESS = WitnessKey.parse(VECTORS["witnesses"][0]["vkey"])


def test_the_requests_in_their_order(tmp_path: Path) -> None:
    create(tmp_path / "w", WITNESS.name)
    with sqlite3.connect(tmp_path / "w" / FILE) as database:
        database.execute("UPDATE witness SET private_key = ?", (bytes.fromhex(VECTORS["witnesses"][0]["seed"]),))
    database.close()
    store = Store(tmp_path / "w")
    assert store.key == WITNESS
    store.add_logs([LOG])
    store.close()
    now = [0.0]
    cosigned = 0
    for number, case in enumerate(VECTORS["requests"]):
        if number % 9 == 0:  # what it holds does not depend on the process
            serving = inside(tmp_path / "w", lambda: now[0])
            port = serving.__enter__()
        now[0] = case["now"]
        reply = ask(port, case["body"].encode())
        assert (reply.status, reply.body) == (case["status"], case["response"]), case["why"]
        if case["status"] == 200:
            assert reply.content_type == "text/plain; charset=utf-8"
            cosigned += 1
        if "content_type" in case:
            assert reply.content_type == case["content_type"]
        held = ask(port, b"", f"/{origin_hash(LOG.name)}/checkpoint", "GET")
        assert held.headers["Cache-Control"] == "no-store"
        if cosigned:
            signed = note.decode(held.body.encode())
            note.check_signed(signed, LOG)
            assert read_checkpoint(signed).size == case["size_after"]
            assert cosigned_at(signed, WITNESS) is not None
            assert len(signed.signatures) == 2
        else:
            assert (held.status, held.body) == (404, "")
        if number % 9 == 8 or number == len(VECTORS["requests"]) - 1:
            serving.__exit__(None, None, None)
    store = Store(tmp_path / "w")
    refused = [(each.proves, each.refused.splitlines()[1]) for each in store.conflicts()]
    assert refused == [(False, "3"), (False, "8"), (True, "8"), (False, "20")]
    store.close()
    assert cosigned == sum(case["status"] == 200 for case in VECTORS["requests"]) == 6
