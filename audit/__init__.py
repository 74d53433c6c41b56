"""Cutcard's auditor: trusts nobody, re-derives every revealed deck, and checks the log and the dealing."""
