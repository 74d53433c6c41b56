"""The test double: the real services with decks that a test chooses (PROTOCOL.md, section 11). Not for production."""
