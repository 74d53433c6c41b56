"""`make demo`: a real dealer, a room that deals hands on it, the audit, a forgery that it refuses, and a fork."""
