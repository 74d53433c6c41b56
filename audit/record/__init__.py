"""What one entry says: canonical JSON, its members in their forms, its events (PROTOCOL.md section 6)."""
