"""`dealer play`: a table to look at. One person plays against simple seats over the real service."""
