"""What is durable: one small interface and its backends."""
