"""The generated wire contract `dealer.v1`; made from proto/ by `make generate`, never edited."""
