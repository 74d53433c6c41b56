"""A player's own key for one seat of one hand: what it opens, and what its player consents to and proves (SEATS.md)."""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.hpke import AEAD, KDF, KEM, Suite

from dealer.client.checks import HASH_BYTES, require
from dealer.client.errors import CheckError, UsageError
from dealer.client.values import Card
from dealer.core import seats as sealing
from dealer.core.hand import HandState
from dealer.v1 import dealer_pb2, types_pb2

_SUITE = Suite(KEM.X25519, KDF.HKDF_SHA256, AEAD.CHACHA20_POLY1305)


@dataclass(frozen=True, slots=True)
class SeatKey:
    """A player's key for one hand: the private half stays with the player, the public one goes to the room.

    Attributes:
        private: 32 bytes, which are not printed. Whoever has them can read the seat's cards.
        public: 32 bytes.
    """

    private: bytes = field(repr=False)
    public: bytes

    @classmethod
    def draw(cls) -> "SeatKey":
        """Draws a key: a fresh one for every hand, so that nobody can link a player's hands."""
        return cls.of(X25519PrivateKey.generate().private_bytes_raw())

    @classmethod
    def of(cls, private: bytes) -> "SeatKey":
        """Returns the key with this private half.

        Raises:
            UsageError: it is not 32 bytes.
        """
        try:
            return cls(private, X25519PrivateKey.from_private_bytes(private).public_key().public_bytes_raw())
        except ValueError:
            raise UsageError(f"a seat's private key is {sealing.KEY_BYTES} bytes") from None


class Sealed:
    """One sealed seat of one hand.

    HPKE does not say who sealed an envelope. So a secret is believed, and anything said under it, only once a card of
    the seat has opened under it against its commitment. And nothing more is said once a check has failed.

    Attributes:
        seat: the seat.
        key: its player's.
        envelope: as it came; empty until then.
        cards: the seat's sealed cards as they came, by position.
    """

    def __init__(self, seat: int, key: SeatKey, envelope: bytes = b"") -> None:
        """Begins before the commit; `envelope` may be there already, as the room has handed it on."""
        self.seat, self.key, self.envelope = seat, key, envelope
        self.cards: dict[int, bytes] = {}
        self._hand = b""
        self._secret: bytes | None = None
        self._believed = False
        self._failed = ""

    def __repr__(self) -> str:
        return f"<Sealed {self.seat}>"

    @contextmanager
    def held(self, checked: AbstractContextManager[None]) -> Iterator[None]:
        """Lets a check of the hand that fails end the seat's word: it consents to nothing and proves nothing after it.

        Args:
            checked: what gives a failed check its evidence.
        """
        try:
            with checked:
                yield
        except CheckError as error:
            self._failed = self._failed or str(error)
            raise

    def require_key(self, state: HandState) -> None:
        """Checks that an offer or a commit names this very key at this seat.

        Raises:
            CheckError: `lifecycle`: it names another, which somebody else can open, or none.
        """
        found = dict(state.seat_keys).get(self.seat)
        require(found is not None, "lifecycle", f"the key of seat {self.seat} was dropped: its cards would lie open")
        mine = sealing.seat_key_digest(state.hand, self.seat, self.key.public)
        said = f"seat {self.seat} is sealed to another key than its player's: whoever has that one can read its cards"
        require(found == mine, "lifecycle", said)

    def take_envelope(self, hand: bytes, envelopes: Sequence[types_pb2.SeatEnvelope]) -> None:
        """Opens the seat's envelope.

        Args:
            hand: the hand's id, 16 bytes.
            envelopes: as they came with the commit.

        Raises:
            CheckError: `opening`: there is none, it does not open, or is another than the one that came before.
        """
        came = [each.envelope for each in envelopes if each.seat == self.seat]
        envelope = came[0] if came else self.envelope
        require(bool(envelope), "opening", f"the envelope of seat {self.seat} was kept back")
        require(self.envelope in (b"", envelope), "opening", f"seat {self.seat} was given two envelopes")
        self.open_envelope(hand, envelope)

    def open_envelope(self, hand: bytes, envelope: bytes) -> None:
        """Opens one envelope; see `take_envelope`."""
        info = sealing.envelope_info(hand, self.seat, self.key.public)
        try:
            secret = _SUITE.decrypt(envelope, X25519PrivateKey.from_private_bytes(self.key.private), info)
        except (InvalidTag, ValueError):
            said = f"the envelope of seat {self.seat} does not open under its key: it is for another hand, seat or key"
            raise CheckError("opening", said) from None
        require(len(secret) == sealing.SECRET_BYTES, "opening", f"the envelope of seat {self.seat} holds no secret")
        self._hand, self._secret, self.envelope = hand, secret, envelope

    def open(self, card: Card, commitments: bytes) -> Card:
        """Returns a down card of the seat with its name and salt; that it opens its commitment is for the caller.

        Raises:
            CheckError: `opening`: it was kept back, or does not open.
        """
        position = card.position
        require(bool(card.sealed), "opening", f"the card at position {position} was kept back")
        commitment = commitments[HASH_BYTES * position : HASH_BYTES * (position + 1)]
        secret = self._secret
        opened = None
        if secret is not None:
            opened = sealing.open_card(self._hand, position, secret, commitment, card.sealed)
        if opened is None:
            said = f"the sealed card at position {position} does not open under the seat's secret and its commitment"
            raise CheckError("opening", said)
        return Card(position, card.seat, card.face, *opened, sealed=card.sealed)

    def believe(self, cards: Sequence[Card]) -> None:
        """Takes cards that were checked: one that opened here and opens its commitment shows the secret to be true."""
        for card in cards:
            if card.seat == self.seat and card.sealed:
                self.cards[card.position] = card.sealed
                self._believed = True

    def consent(self, positions: Sequence[int]) -> dealer_pb2.SeatConsent:
        """Consents to have exactly these cards of the seat's turned up in one request.

        Raises:
            UsageError: no card has opened yet, a check has failed, or one of these is not a down card of the seat.
        """
        strange = sorted(set(positions) - self.cards.keys())
        if strange or not positions or len(set(positions)) != len(positions):
            raise UsageError(
                f"seat {self.seat} has the down cards at {sorted(self.cards)}, and consents to these alone"
            )
        return self._consent(sealing.show_consent(self._hand, self._trusted(), positions), showdown=False)

    def consent_to_showdown(self) -> dealer_pb2.SeatConsent:
        """Consents to the showdown: any time, honoured once it has come.

        Raises:
            UsageError: no card has opened yet, or a check has failed.
        """
        return self._consent(sealing.showdown_consent(self._hand, self._trusted()), showdown=True)

    def _consent(self, mac: bytes, *, showdown: bool) -> dealer_pb2.SeatConsent:
        return dealer_pb2.SeatConsent(seat=self.seat, mac=mac, showdown=showdown)

    def prove(self, sequence: int, action: str, amount: int) -> bytes:
        """Proves that the seat's player acts, or leaves.

        Args:
            sequence: number of the prompt; 0 to leave.
            action: in lower case, as `bring_in`.
            amount: in chips.

        Raises:
            UsageError: no card has opened yet, or a check has failed.
        """
        return sealing.act_proof(self._hand, self._trusted(), sequence, action, amount)

    def prove_watching(self) -> bytes:
        """Proves that the seat's player watches, which moves nothing, so that no card has to be known; b"" before."""
        if self._secret is None:
            return b""
        return sealing.act_proof(self._hand, self._secret, 0, sealing.WATCH, 0)

    def _trusted(self) -> bytes:
        if self._failed:
            raise UsageError(f"seat {self.seat} says nothing more in a hand in which a check failed: {self._failed}")
        if self._secret is None or not self._believed:
            said = f"seat {self.seat} says nothing under a secret by which no card of its own has opened"
            raise UsageError(said)
        return self._secret
