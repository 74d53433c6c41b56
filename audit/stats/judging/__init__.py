"""From counts to tests, from tests to one verdict: every look paid for (STATISTICS.md section 2)."""
