"""The lease in a storm: writers that stop at every point, callers that repeat or give up, every answer compared."""
