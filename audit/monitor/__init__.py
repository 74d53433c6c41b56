"""A monitor: follows a log for years, and finds what `audit verify` of the whole log would (WITNESS.md section 9)."""
