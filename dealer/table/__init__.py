"""The referee: betting, pots, reading hands, payouts. Pure."""
