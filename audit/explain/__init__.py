"""One hand with the input of every hash, for a person who follows it with other tools."""
