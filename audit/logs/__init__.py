"""Where a log comes from: a static folder, a web server, or a dealer over gRPC. Nothing here judges."""
