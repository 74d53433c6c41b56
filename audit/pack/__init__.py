"""A pack for laboratories and regulators: each clause with its status, the tests that show it, and a log's record."""
