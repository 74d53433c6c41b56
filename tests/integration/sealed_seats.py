"""A player's side of a sealed seat, made from the auditor's code and SEATS.md: it shares nothing with the dealer."""

import hashlib
import hmac
from dataclasses import dataclass, field

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from audit import protocol
from audit.hand.seat import SeatKey, open_card
from audit.record.fields import hand_bytes
from dealer.v1 import dealer_pb2 as pb
from dealer.v1 import types_pb2 as t


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
        assert digests[self.seat] == protocol.seat_key_digest(self.hand, self.seat, self.key.public)
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
