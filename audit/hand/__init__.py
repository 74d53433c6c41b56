"""Every check of one hand: values in, findings out (PROTOCOL.md section 10)."""
