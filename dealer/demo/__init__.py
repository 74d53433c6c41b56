"""`make demo`: a real dealer, a room that deals hands on it, the audit, and a forgery that the audit refuses."""
