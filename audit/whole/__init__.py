"""The whole log: every check of PROTOCOL.md section 10, stretch by stretch, and the report of what was found."""
