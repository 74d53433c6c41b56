"""The one thread that changes state, and what can be done to it. No gRPC, no generated code."""
