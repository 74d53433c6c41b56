"""Cutcard's dealer: certified shuffling and dealing for online card rooms."""
