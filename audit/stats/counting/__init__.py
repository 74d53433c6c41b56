"""From sources of decks to one counted corpus, in this process, in several, or in parts."""
