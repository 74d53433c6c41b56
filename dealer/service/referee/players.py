"""Who may speak for a seat of a referee's hand: who has its token, or a sealed seat's player by a proof (SEATS.md)."""

from dataclasses import dataclass, field
from hashlib import sha256
from hmac import compare_digest

from dealer.core.seats import LEAVE, WATCH, act_proof
from dealer.errors import Reason, Refused
from dealer.service.referee.record import RefereedHand


@dataclass(frozen=True, slots=True)
class Claim:
    """What somebody shows who wants to speak for a seat.

    Attributes:
        seat: the seat.
        action: what is wanted: an action of the rules, `LEAVE` or `WATCH`.
        amount: its amount.
        token, proof: as they came; empty: none did.
    """

    seat: int
    action: str
    amount: int = 0
    token: bytes = field(default=b"", repr=False)
    proof: bytes = field(default=b"", repr=False)

    @property
    def empty(self) -> bool:
        """Whether it shows nothing."""
        return not self.token and not self.proof

    def refusal(self, text: str) -> Refused:
        """Returns the refusal of a claim that does not hold: it follows from the claim alone, not from the hand."""
        return Refused(Reason.WRONG_PROOF if self.proof else Reason.WRONG_TOKEN, text)


def token_digest(token: bytes) -> bytes:
    """Returns what is kept of a seat's token."""
    return sha256(token).digest()


def require_player(refereed: RefereedHand, claim: Claim, *, once: bool = False) -> None:
    """Checks that a claim is the seat's.

    Args:
        refereed: the hand.
        claim: what is shown.
        once: whether it is enough that it was right for any of the seat's prompts: a repeat of what was carried out is
            the seat's too. Otherwise it has to be for the latest.

    Raises:
        Refused: the seat is not in this hand, or token or proof are not its own.
    """
    seat = claim.seat
    if seat not in refereed.state.lineup.seats:
        raise Refused(Reason.INVALID_SEAT, f"seat {seat} is not in this hand")
    if not refereed.is_sealed(seat):
        if not compare_digest(refereed.tokens[seat], token_digest(claim.token)):
            raise Refused(Reason.WRONG_TOKEN, f"this is not the token of seat {seat} in this hand")
    elif not claim.proof:
        raise Refused(Reason.WRONG_TOKEN, f"seat {seat} is sealed and has no token: its player proves what it does")
    elif not _is_proven(refereed, claim, once=once):
        raise Refused(Reason.WRONG_PROOF, f"this proves no such action of seat {seat} at its latest prompt")


def _is_proven(refereed: RefereedHand, claim: Claim, *, once: bool) -> bool:
    secret = refereed.secrets.get(claim.seat)  # there is none before the lock
    if secret is None or claim.amount < 0:
        return False
    if claim.action in (LEAVE, WATCH):
        sequences = [0]
    else:
        prompts = refereed.prompts(claim.seat)
        sequences = prompts if once else prompts[-1:]
    made = [act_proof(refereed.hand, secret, sequence, claim.action, claim.amount) for sequence in sequences]
    return True in [compare_digest(each, claim.proof) for each in made]
