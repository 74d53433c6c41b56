"""The pure core: cards, seeds, decks, entries and the hand state machine."""
