"""Entries are written the quick way, and that gives the same bytes as RFC 8785 asks for."""

from hypothesis import given
from hypothesis import strategies as st

from dealer.core import entries

text = st.text(st.characters(min_codepoint=0x20, max_codepoint=0x7E))
values = st.recursive(
    st.one_of(text, st.integers(0, 2**53 - 1)),
    lambda inner: st.one_of(st.lists(inner, max_size=5), st.dictionaries(text, inner, max_size=5)),
    max_leaves=20,
)


@given(st.dictionaries(text, values, max_size=8))
def test_the_quick_way_gives_the_canonical_bytes(entry: dict[str, object]) -> None:
    assert entries._written(entry) == entries.canonical(entry)
