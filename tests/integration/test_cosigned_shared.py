"""Witnesses of several dealers on one database: the writer alone asks (MACHINES.md section 10)."""

from __future__ import annotations

from pathlib import Path

from dealer.log.checkpoint import Checkpoint, read_checkpoint, sign_checkpoint
from dealer.log.note import signature_lines
from dealer.store.datadir import DataDir
from dealer.v1 import log_pb2 as pb
from tests.attacks.cosigning import ONE
from tests.integration.cosigning_room import Liar, until
from tests.integration.sharing import ORIGIN, asked, end, is_ready, make
from tests.integration.test_asking_witnesses import TEXT, honest
from tests.postgres import Postgres


def shown(data: Path) -> tuple[int, list[str]]:
    """The published checkpoint's size, and who cosigned it."""
    try:
        note = (data / "public" / "checkpoint").read_text()
    except FileNotFoundError:
        return -1, []
    return read_checkpoint(note).size, [name for name, _ in signature_lines(note)[1]][1:]


def test_the_writer_alone_asks_and_all_publish(postgres: Postgres, tmp_path: Path) -> None:
    witness, policy = Liar(), tmp_path / "policy"
    witness.on_post = honest(ONE)
    with witness.serve() as url:
        policy.write_text(f"witness one {ONE.key} {url}\nquorum one\n")
        options = ("--witness-policy", str(policy), "--witness-seconds", "1")
        dealers = first, second = make(postgres.database(), tmp_path, 2, *options)
        try:
            first.start()
            room = first.room()
            asked(lambda: room.play_out(room.open().hand_id))
            until(lambda: shown(first.data) == (2, [ONE.key.name]))
            before = len(witness.asked)
            second.start()
            is_ready(second)
            until(lambda: shown(second.data) == (2, [ONE.key.name]))
            assert (first.data / "public/checkpoint").read_text() == (second.data / "public/checkpoint").read_text()
            standby = second.room().log.GetCheckpoint(pb.GetCheckpointRequest(witnessed=True)).checkpoint
            assert standby == (first.data / "public" / "checkpoint").read_text()
            assert all(body.startswith("old 0\n") for body in witness.asked[before:]), (
                "a standby asks as it starts alone"
            )

            first.kill()
            room = second.room()
            asked(lambda: room.play_out(room.open().hand_id))
            until(lambda: shown(second.data) == (4, [ONE.key.name]))

            fork = sign_checkpoint(Checkpoint(ORIGIN, 3, bytes(32)), DataDir.at(first.data).signer())
            witness.on_get = lambda path: (200, TEXT, fork.encode())
            witness.on_post = lambda body: (422, TEXT, b"")
            hand = room.open()
            until(lambda: "hold another history of this log" in second.log_lines())
            room.play_out(hand.hand_id)
            assert len(list((second.data / "conflicts").iterdir())) == 1
        finally:
            end(dealers)
