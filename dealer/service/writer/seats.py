"""Sealed seats as the dealer deals them: their keys, envelopes and cards, and their consents (SEATS.md)."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from hmac import compare_digest

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.hpke import AEAD, KDF, KEM, Suite

from dealer.core import seats as sealing
from dealer.core.deck import SALT_BYTES
from dealer.core.hand import Dealt, Face, HandState
from dealer.core.seed import Seed
from dealer.errors import Reason, Refused
from dealer.service.writer.live import LiveHand

_SUITE = Suite(KEM.X25519, KDF.HKDF_SHA256, AEAD.CHACHA20_POLY1305)
_TRIED = X25519PrivateKey.generate()
"""Shares a secret with each seat's key once, which a point of small order does not let it; it serves nothing else."""


@dataclass(frozen=True, slots=True)
class Consent:
    """A seat's word that its cards may be turned up: those of the request, or, at the `showdown`, any of its own."""

    seat: int
    mac: bytes = field(repr=False)
    showdown: bool


def require_key(seat: int, key: bytes) -> None:
    """Refuses what is no key that a secret can be shared with, whatever its encoding.

    Raises:
        Refused: it is not 32 bytes, or a point of small order.
    """
    try:
        _TRIED.exchange(X25519PublicKey.from_public_bytes(key))
    except ValueError:
        text = f"the key of seat {seat} is no X25519 public key of {sealing.KEY_BYTES} bytes, or one of small order"
        raise wrong_key(seat, text) from None


def wrong_key(seat: int, text: str) -> Refused:
    """Returns the refusal of a seat's key."""
    return Refused(Reason.INVALID_SEAT_KEY, text, {"seat": str(seat)})


def make_envelopes(state: HandState, keys: Mapping[int, bytes], seed: Seed) -> dict[int, bytes]:
    """Seals each seat's secret to its key; never twice alike, so once for a hand."""
    envelopes = {}
    for seat, _ in state.seat_keys:
        key, secret = keys[seat], sealing.seat_secret(state.hand, seat, seed)
        info = sealing.envelope_info(state.hand, seat, key)
        envelopes[seat] = _SUITE.encrypt(secret, X25519PublicKey.from_public_bytes(key), info)
    return envelopes


Seals = Callable[[Dealt], bytes]
"""Gives a down card of a sealed seat, sealed; b"" of any other card."""


def no_seals(card: Dealt) -> bytes:
    """Seals nothing: the look-up of a hand without sealed seats."""
    return b""


def seals_of(live: LiveHand) -> Seals:
    """Returns the look-up of sealed cards of a hand in play."""
    hand, secrets = live.state.hand, live.seat_secrets
    if not secrets:
        return no_seals
    deck = live.known_deck()
    cards, salts, commitments, seal_card = deck.cards, deck.salts, deck.card_commitments, sealing.seal_card

    def seal(card: Dealt) -> bytes:  # up to sixteen times a street, which waits for it: so without a call too many
        position, seat, face = card
        if face is Face.UP or seat not in secrets:
            return b""
        begin, end = SALT_BYTES * position, SALT_BYTES * (position + 1)
        return seal_card(hand, position, secrets[seat], commitments[begin:end], cards[position], salts[begin:end])

    return seal


def require_consents(live: LiveHand, positions: Collection[int], consents: Sequence[Consent]) -> None:
    """Refuses to turn up cards of a sealed seat without the seat's consent (SEATS.md, section 4).

    Args:
        live: the hand, in which these positions may be shown otherwise.
        positions: what is to be turned up.
        consents: what the room passes on.

    Raises:
        Refused: a consent is missing, wrong, or for a showdown that has not come.
    """
    state = live.state
    sealed = dict(state.seat_keys)
    given = {consent.seat: consent for consent in consents}
    if len(given) != len(consents):
        seats = [consent.seat for consent in consents]
        twice = next(seat for seat in seats if seats.count(seat) > 1)
        raise _missing(twice, f"seat {twice} consents twice in one request")
    own: dict[int, list[int]] = {}
    for position in positions:
        own.setdefault(state.dealt[position].seat, []).append(position)
    for seat, consent in given.items():
        if seat not in sealed:
            raise _missing(seat, f"seat {seat} brought no key to this hand, and can give no consent")
        if not compare_digest(_expected(live, consent, own.get(seat, [])), consent.mac):
            what = "the showdown" if consent.showdown else "having exactly these cards of its own shown"
            raise _missing(seat, f"this is no consent of seat {seat} to {what}")
    for seat in own:
        if seat in sealed and seat not in given:
            raise _missing(seat, f"seat {seat} is sealed, and its cards are shown with its consent alone")
        if seat in sealed and given[seat].showdown:
            _require_showdown(state, seat, given)


def _expected(live: LiveHand, consent: Consent, positions: Sequence[int]) -> bytes:
    hand, secret = live.state.hand, live.seat_secrets[consent.seat]
    if consent.showdown:
        return sealing.showdown_consent(hand, secret)
    return sealing.show_consent(hand, secret, positions) if positions else b""


def _require_showdown(state: HandState, seat: int, given: Mapping[int, Consent]) -> None:
    """Refuses a consent to the showdown as long as another sealed seat may still bet."""
    streets = state.game.street_names
    if not streets or state.street != streets[-1] or len(state.live) < 2:
        text = f"seat {seat} consents to the showdown, which comes with seventh street dealt and two seats in"
        raise _missing(seat, text)
    shown = state.shown
    for other, _ in state.seat_keys:
        hidden = any(
            card.seat == other and card.face is Face.DOWN and card.position not in shown for card in state.dealt
        )
        if other in state.live and other not in given and hidden:
            text = f"seat {seat} consents to the showdown, and seat {other} neither shows nor consents: fold it first"
            raise _missing(other, text)


def _missing(seat: int, text: str) -> Refused:
    return Refused(Reason.CONSENT_MISSING, text, {"seat": str(seat)})
