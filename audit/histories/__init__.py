"""Hand histories of any room: what an outsider can test of its dealing without trusting it (`audit histories`)."""
