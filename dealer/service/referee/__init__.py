"""The referee's hands on certified hands: their records, their steps, their clocks and who watches."""
