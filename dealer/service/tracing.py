"""Traces of calls, where the OpenTelemetry API is there (extra `tracing`) and somebody has set a provider up.

Without the API, or without a provider, everything here does nothing.
"""

import logging
from collections.abc import Iterable, Iterator, MutableMapping
from contextlib import contextmanager
from typing import Any

try:
    from opentelemetry import propagate, trace
except ImportError:
    _TRACER: Any = None
else:
    _TRACER = trace.get_tracer("cutcard")
    # They warn of each odd `traceparent` and `tracestate`, and so anybody who calls could fill the log.
    for _reader in ("propagation", "span"):
        logging.getLogger(f"opentelemetry.trace.{_reader}").setLevel(logging.CRITICAL)
_NO_TRACE = ("baggage",)
"""What propagators read besides a trace's context."""


@contextmanager
def traced(method: str, metadata: Iterable[tuple[str, Any]] | None) -> Iterator[None]:
    """Holds one call as a span, below the one that the caller's metadata names.

    Args:
        method: SERVICE/NAME.
        metadata: of the call; only a trace's context is taken from it, never an identity.
    """
    if _TRACER is None:
        yield
        return
    carrier = {key: value for key, value in metadata or () if isinstance(value, str) and key not in _NO_TRACE}
    service, _, name = method.partition("/")
    attributes = {"rpc.system": "grpc", "rpc.service": service, "rpc.method": name}
    with _TRACER.start_as_current_span(
        method, context=propagate.extract(carrier), kind=trace.SpanKind.SERVER, attributes=attributes
    ):
        yield


def add_trace_id(logger: Any, name: str, line: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Adds the current trace's id to a log line; a processor for structlog."""
    if _TRACER is not None:
        context = trace.get_current_span().get_span_context()
        if context.is_valid:
            line["trace_id"] = format(context.trace_id, "032x")
    return line
