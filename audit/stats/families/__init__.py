"""The families of tests that make the battery; a new one is a new module and a line in `FAMILIES`."""

from audit.stats.families.aces import ACES
from audit.stats.families.between_decks import BETWEEN_DECKS
from audit.stats.families.card_positions import CARD_POSITIONS
from audit.stats.families.coupon_collector import COUPON_COLLECTOR
from audit.stats.families.duplicates import DUPLICATES
from audit.stats.families.fisher_yates import FISHER_YATES
from audit.stats.families.gap import GAP
from audit.stats.families.guessing import GUESSING
from audit.stats.families.lehmer import LEHMER
from audit.stats.families.neighbours import NEIGHBOURS
from audit.stats.families.permutations import PERMUTATIONS
from audit.stats.families.position_pairs import ALIKE_POSITIONS, POSITION_PAIRS
from audit.stats.families.precedence import PRECEDENCE
from audit.stats.families.showdowns import FIVE_CARDS, SHOWDOWNS
from audit.stats.families.streams import STREAMS
from audit.stats.families.successors import SUCCESSORS
from audit.stats.families.third_street import PAIRED_HOLES, THIRD_STREET_HANDS
from audit.stats.family import Family, Peer

FAMILIES: tuple[Family, ...] = (
    CARD_POSITIONS,
    SUCCESSORS,
    PRECEDENCE,
    LEHMER,
    FISHER_YATES,
    STREAMS,
    PERMUTATIONS,
    NEIGHBOURS,
    GAP,
    COUPON_COLLECTOR,
    POSITION_PAIRS,
    ALIKE_POSITIONS,
    FIVE_CARDS,
    SHOWDOWNS,
    THIRD_STREET_HANDS,
    ACES,
    PAIRED_HOLES,
    BETWEEN_DECKS,
    GUESSING,
)
"""All families whose counts are whole numbers that add up."""

BATTERY: tuple[Peer, ...] = (*FAMILIES, DUPLICATES)
"""All that is tested: the families, and what needs every deck's key."""

__all__ = ["BATTERY", "FAMILIES", "Family", "Peer"]
