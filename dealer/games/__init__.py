"""How each game deals, as data, and who opens. Pure."""
