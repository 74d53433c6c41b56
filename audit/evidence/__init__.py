"""One piece that somebody kept, checked offline by the checks of `audit.hand` and no others."""
