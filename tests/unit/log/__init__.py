"""The log: tree, notes, checkpoints, receipts, acknowledgements, static files."""
