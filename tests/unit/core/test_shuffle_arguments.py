"""A shuffle takes seed, entropy and deck kind, and nothing else: no stake, no table, no time can reach it."""

import inspect
from types import CodeType, MappingProxyType

from dealer.core import deck
from dealer.core.cards import DECK_KINDS


def test_a_deck_comes_from_deck_kind_hand_entropy_digest_and_seed_alone() -> None:
    assert list(inspect.signature(deck.derive_deck).parameters) == ["kind", "hand", "digest", "seed"]
    assert list(inspect.signature(deck.shuffle).parameters) == ["reference", "material"]


def names_of(code: CodeType) -> set[str]:
    """Every global and attribute that a function, with those inside it, looks at."""
    inner = [constant for constant in code.co_consts if isinstance(constant, CodeType)]
    return set(code.co_names).union(*map(names_of, inner))


def test_it_looks_at_nothing_else_either() -> None:
    of_python = {"list", "len", "range", "tuple", "struct", "unpack", "hashlib", "shake_256", "digest"}
    constants = {"_LIMITS", "_SHUFFLE", "_WORDS"}
    assert names_of(deck.derive_deck.__code__) == {"value", "commit_deck", "shuffle", "DECK_KINDS"}
    assert names_of(deck.shuffle.__code__) - of_python == constants
    assert not deck.shuffle.__code__.co_freevars
    assert not deck.derive_deck.__code__.co_freevars
    assert isinstance(DECK_KINDS, MappingProxyType)
    assert all(isinstance(getattr(deck, name), int | bytes | tuple) for name in constants), "nobody changes these"
