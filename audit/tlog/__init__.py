"""C2SP formats that know no card: trees, tiles, keys, signed notes, checkpoints, receipts (PROTOCOL.md section 9)."""
