"""A player's side of a sealed seat, made from the auditor's code and SEATS.md: it shares nothing with the dealer."""

import hashlib
import hmac
from dataclasses import dataclass, field

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from audit import protocol
from audit.hand import seat_hashes
from audit.hand.seat import SeatKey, open_card
from audit.record.fields import hand_bytes
from dealer.v1 import dealer_pb2 as pb
from dealer.v1 import types_pb2 as t

_P = 2**255 - 19
_SMALL = (
    0,
    1,
    _P - 1,
    _P,
    _P + 1,
    *(
        int.from_bytes(bytes.fromhex(point), "little")
        for point in (
            "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
            "5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157",
        )
    ),
)
"""Every point of small order, those that have two encodings below 2^255 in both."""
SMALL_ORDER = tuple((point | top << 255).to_bytes(32, "little") for point in _SMALL for top in (0, 1))


def bad_keys() -> dict[str, tuple[list[t.SeatKey], int]]:
    """Returns keys that no hand of the seats 1, 2 and 3 takes, and the seat that the refusal names."""
    one, two = SealedSeat(1), SealedSeat(2)
    pair = lambda seat, key: [two.brought, t.SeatKey(seat=seat, key=key)]
    return {
        **{f"small order {key.hex()[:6]} {key[31]:02x}": (pair(3, key), 3) for key in SMALL_ORDER},
        **{f"{size} bytes": (pair(3, b"\x09" * size), 3) for size in (0, 1, 31, 33, 64)},
        "in hex": (pair(1, one.key.public.hex().upper().encode()), 1),
        "a seat that is not in the hand": (pair(4, one.key.public), 4),
        "no seat": (pair(0, one.key.public), 0),
        "a seat past a byte": (pair(257, one.key.public), 257),
        "a seat past two bytes": (pair(65_537, one.key.public), 65_537),
        "the greatest seat": (pair(2**32 - 1, one.key.public), 2**32 - 1),
        "a seat twice": (pair(2, one.key.public), 2),
        "a seat twice with one key": (pair(2, two.key.public), 2),
        "a key twice": (pair(1, two.key.public), 1),
        "nothing of it set": ([t.SeatKey()], 0),
        "thousands": ([two.brought] * 5000, 2),
    }


@dataclass
class SealedSeat:
    """One seat's key, and what it learns of a hand."""

    seat: int
    key: SeatKey = field(default_factory=lambda: SeatKey.parse(X25519PrivateKey.generate().private_bytes_raw().hex()))
    hand: bytes = b""
    secret: bytes = b""
    commitments: bytes = b""

    @property
    def brought(self) -> t.SeatKey:
        return t.SeatKey(seat=self.seat, key=self.key.public)

    def take(self, hand: t.Hand) -> None:
        """Opens the envelope of a hand that is committed."""
        self.hand, self.commitments = hand_bytes(hand.hand_id), hand.card_commitments
        digests = {each.seat: each.digest for each in hand.seat_keys}
        assert digests[self.seat] == seat_hashes.seat_key_digest(self.hand, self.seat, self.key.public)
        (envelope,) = [each.envelope for each in hand.envelopes if each.seat == self.seat]
        self.secret = self.key.open(self.hand, self.seat, envelope)

    def open(self, card: t.Card) -> str:
        """Returns a down card of its own, held against the commitment."""
        assert card.seat == self.seat
        assert card.face == t.FACE_DOWN
        assert not card.card
        assert not card.salt
        at = card.position
        commitment = self.commitments[32 * at : 32 * at + 32]
        opened, salt = open_card(self.hand, at, self.secret, commitment, card.sealed)
        assert protocol.card_commitment(self.hand, at, opened, salt) == commitment
        return opened

    def consent(self, *positions: int) -> pb.SeatConsent:
        """Consents to have exactly these shown, or to the showdown if none is named."""
        if not positions:
            return pb.SeatConsent(seat=self.seat, mac=self._mac("seat-showdown"), showdown=True)
        named = b"".join(at.to_bytes(2, "big") for at in sorted(positions))
        return pb.SeatConsent(seat=self.seat, mac=self._mac("seat-show", len(positions).to_bytes(2, "big") + named))

    def proof(self, sequence: int, action: str, amount: int = 0) -> bytes:
        """Proves an action at the referee's table."""
        named = len(action).to_bytes(2, "big") + action.encode("ascii")
        return self._mac("seat-act", sequence.to_bytes(8, "big") + named + amount.to_bytes(8, "big"))

    def _mac(self, purpose: str, more: bytes = b"") -> bytes:
        return hmac.new(self.secret, protocol.tag(purpose) + self.hand + more, hashlib.sha256).digest()
