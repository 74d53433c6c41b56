"""TLS to a dealer: its certificate is checked against a CA and its name, and a room shows its own."""

from pathlib import Path

import grpc

from dealer.client.errors import UsageError


def tls_credentials(
    ca: Path | str | None = None, certificate: Path | str | None = None, key: Path | str | None = None
) -> grpc.ChannelCredentials:
    """Returns what `Client` takes as `credentials`.

    The dealer's certificate must lead to the CA and bear the name or address that the client connects to: rooms have
    certificates of the same CA, and none of them may pose as the dealer.

    Args:
        ca: CA certificates in PEM; None: the system's.
        certificate: the room's certificate chain in PEM; None for the public listener.
        key: its key in PEM.

    Raises:
        UsageError: a file cannot be read, or one of certificate and key is missing.
    """
    if (certificate is None) != (key is None):
        raise UsageError("a certificate comes with its key")
    try:
        roots, chain, secret = (None if path is None else Path(path).read_bytes() for path in (ca, certificate, key))
    except OSError as error:
        raise UsageError(f"{error.filename} cannot be read: {error.strerror}") from None
    return grpc.ssl_channel_credentials(roots, secret, chain)
