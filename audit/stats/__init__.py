"""Statistics strong enough to catch crooked shuffles, and calibrated not to cry wolf (STATISTICS.md)."""
