"""Plays on a dealer and writes down every answer: `python -m tests.released.make_data ADDRESS OUT.json`.

With a data folder of a release it makes what `data-v1.tar.xz` holds: a store to be brought up to a later version, with
hands that are over, on offer, in play and run by the referee, and all answers, to be compared with their repeats.
"""

import hashlib
import json
import sys
from pathlib import Path
from typing import Any

import grpc

from dealer.v1 import dealer_pb2 as pb
from dealer.v1 import dealer_pb2_grpc, table_pb2_grpc
from dealer.v1 import table_pb2 as tpb
from dealer.v1 import types_pb2 as t
from tests.integration.running import STREETS, rid

PASSIVE = (tpb.ACTION_BRING_IN, tpb.ACTION_CHECK, tpb.ACTION_CALL)


def main(address: str, out: Path) -> None:
    said: list[dict[str, str]] = []
    with grpc.insecure_channel(address) as channel:
        stubs = {
            "dealer": dealer_pb2_grpc.DealerServiceStub(channel),
            "table": table_pb2_grpc.TableServiceStub(channel),
        }

        def ask(service: str, method: str, request: Any) -> Any:
            answer = getattr(stubs[service], method)(request)
            kind = type(request).__name__
            said.append(
                {
                    "service": service,
                    "method": method,
                    "kind": kind,
                    "request": request.SerializeToString().hex(),
                    "answer": answer.SerializeToString().hex(),
                }
            )
            return answer

        def open_hand(table: str, **fields: Any) -> str:
            usual = {"game": t.GAME_SEVEN_CARD_STUD, "seats": [1, 2, 3], "reveal": t.REVEAL_PUBLIC}
            request = pb.OpenHandRequest(request_id=rid(), table=table, **{**usual, **fields})
            return str(ask("dealer", "OpenHand", request).hand.hand_id)

        def deal(hand: str, *streets: t.Street.ValueType) -> None:
            for street in streets:
                ask("dealer", "DealStreet", pb.DealStreetRequest(request_id=rid(), hand_id=hand, street=street))

        for reveal in (t.REVEAL_PUBLIC, t.REVEAL_SEALED):
            hand = open_hand(f"over-{reveal}", reveal=reveal)
            deal(hand, STREETS[0])
            ask("dealer", "FoldSeat", pb.FoldSeatRequest(request_id=rid(), hand_id=hand, seat=2))
            deal(hand, *STREETS[1:])
            ask("dealer", "CloseHand", pb.CloseHandRequest(request_id=rid(), hand_id=hand))
            deal(open_hand(f"playing-{reveal}", reveal=reveal), *STREETS[:2])
        hand = open_hand("void")
        ask("dealer", "VoidHand", pb.VoidHandRequest(request_id=rid(), hand_id=hand, reason=t.VOID_REASON_MISDEAL))
        value = bytes(range(32))
        tag = b"cutcard/v1/contribution\0" + b"\0\x07offered" + (1).to_bytes(8, "big") + b"\0\x05alice" + value
        alice = pb.Contributor(id="alice", commitment=hashlib.sha256(tag).digest())
        hand = open_hand("offered", contributors=[alice, pb.Contributor(id="bob", commitment=bytes(32))])
        given = pb.SubmitEntropyRequest(request_id=rid(), hand_id=hand, contributor="alice", value=value)
        ask("dealer", "SubmitEntropy", given)
        for table, acts in (("referee", 5), ("referee-over", 100)):
            start = tpb.StartHandRequest(
                request_id=rid(), table=table, game=t.GAME_SEVEN_CARD_STUD, reveal=t.REVEAL_PUBLIC, action_seconds=3600,
                stakes=tpb.Stakes(ante=25, bring_in=50, small_bet=100, big_bet=200),
                seats=[tpb.SeatStack(seat=seat, stack=5000) for seat in (1, 2, 3)],
            )  # fmt: skip
            started = ask("table", "StartHand", start)
            tokens, at = {each.seat: each.token for each in started.tokens}, started.table_hand
            while not at.finished and acts:
                acts -= 1
                option = next(
                    o for o in at.options if o.action in (tpb.ACTION_BRING_IN, tpb.ACTION_CHECK, tpb.ACTION_CALL)
                )
                act = tpb.ActRequest(
                    request_id=rid(), hand_id=started.table_hand.hand_id, seat=at.to_act, token=tokens[at.to_act],
                    action=option.action, amount=option.amount,
                )  # fmt: skip
                at = ask("table", "Act", act).table_hand
    out.write_text(json.dumps(said, indent=1))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
