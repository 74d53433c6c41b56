"""What the README and the documents quote, measured again by one command: `python -m benchmarks NAME`."""
