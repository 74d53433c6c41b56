"""The append-only log: Merkle tree, signed notes, checkpoints, tiles, receipts."""
