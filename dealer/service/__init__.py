"""The gRPC face of the dealer; the only place that knows gRPC."""
