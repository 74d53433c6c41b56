"""The only place that knows gRPC: requests in, commands to the writer, answers and statuses out."""
