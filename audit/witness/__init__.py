"""A witness: remembers the greatest tree of each log that it has seen, and cosigns only what extends it (WITNESS.md).

Of the auditor it takes the formats of `audit.tlog` and the errors, nothing else.
"""
