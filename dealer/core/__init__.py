"""What the protocol derives: cards, seeds, shuffles, commitments and the hand state machine. Pure."""
