"""The server's certificate, the callers' CA and the revoked list: files that are read again when they change.

What a new file has wrong with it leaves the old one in use. A caller's certificate is judged here, each time that it is
asked for, against what holds now: the chain, the dates, the list (docs/access.md, sections 1 and 2).
"""

import hashlib
import re
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Generic, TypeVar

import grpc
from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_private_key
from cryptography.x509.oid import ExtendedKeyUsageOID
from cryptography.x509.verification import Criticality, ExtensionPolicy, PolicyBuilder, Store, VerificationError

from dealer.errors import CutcardError, Reason, Refused
from dealer.service.rpc.roles import LOCAL_OWNER, Caller, Role

T = TypeVar("T")
_DOMAIN = re.compile(r"[a-z0-9._-]{1,255}", re.ASCII)
_IDENTITY = re.compile(r"spiffe://([^/]+)/cutcard/(room|operator)/([A-Za-z0-9._-]{1,64})", re.ASCII)
_NO_NAMES = (".", "..", LOCAL_OWNER)
_HEX = re.compile(r"[0-9a-f]+", re.ASCII)
_FINGERPRINT_DIGITS = 64
_SERIAL_DIGITS = 40
_MOST_KNOWN = 4096


class CertificateError(CutcardError):
    """A file of certificates or keys that cannot be used."""


@dataclass(frozen=True, slots=True)
class Pair:
    """The server's certificate chain and key, as they are handed to gRPC. The key is not printed."""

    chain: bytes
    key: bytes = field(repr=False)
    expires: datetime


@dataclass(frozen=True, slots=True)
class Authorities:
    """The CA certificates that callers' certificates must lead to."""

    pem: bytes
    certificates: tuple[x509.Certificate, ...]


@dataclass(frozen=True, slots=True)
class Revoked:
    """Certificates that hold no more: SHA-256 fingerprints, and serial numbers of any issuer."""

    fingerprints: frozenset[str] = frozenset()
    serials: frozenset[int] = frozenset()


class Watched(Generic[T]):
    """Something that is read from files, and read again when one of them has changed.

    Attributes:
        value: what was read last that can be used.
        failed: why the files as they are now cannot be used; None while they can.
    """

    def __init__(self, paths: tuple[Path, ...], read: Callable[[], T]) -> None:
        """Reads the files.

        Raises:
            CertificateError: they cannot be used.
        """
        self._paths, self._read = paths, read
        self._lock = threading.Lock()
        self._seen = self._stamps()
        self.value = read()
        self.failed: str | None = None

    def _stamps(self) -> tuple[object, ...]:
        stamps: list[object] = []
        for path in self._paths:
            try:
                found = path.stat()
                stamps.append((found.st_mtime_ns, found.st_size, found.st_ino))
            except OSError as error:
                stamps.append(error.errno)
        return tuple(stamps)

    def look(self) -> bool:
        """Reads the files anew if they have changed; on any thread. Tells whether there is other content in use."""
        with self._lock:
            stamps = self._stamps()
            if stamps == self._seen:
                return False
            self._seen = stamps
            try:
                self.value, self.failed = self._read(), None
            except CertificateError as error:
                self.failed = str(error)
                return False
            return True


def read_pair(certificate: Path, key: Path) -> Pair:
    """Reads the server's pair.

    Raises:
        CertificateError: a file cannot be read, the two do not belong together, or the certificate does not hold now.
    """
    chain, secret = _read(certificate), _read(key)
    leaf = _certificates(certificate, chain)[0]
    try:
        private = load_pem_private_key(secret, None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        raise CertificateError(f"{key} holds no private key in PEM without a password") from None
    if _public(private.public_key()) != _public(leaf.public_key()):
        raise CertificateError(f"{key} is not the key of the certificate in {certificate}")
    _require_now(leaf, certificate)
    return Pair(chain, secret, leaf.not_valid_after_utc)


def read_authorities(path: Path) -> Authorities:
    """Reads the CA certificates of callers.

    Raises:
        CertificateError: the file cannot be read, or holds none.
    """
    pem = _read(path)
    return Authorities(pem, tuple(_certificates(path, pem)))


def read_revoked(path: Path) -> Revoked:
    """Reads the revoked list: a fingerprint or a serial number in hex on each line; `#` begins a remark.

    Raises:
        CertificateError: the file cannot be read, or a line is neither.
    """
    fingerprints, serials = set(), set()
    for number, line in enumerate(_read(path).decode("utf-8", "replace").splitlines(), 1):
        text = line.partition("#")[0].strip().replace(":", "").lower()
        if not text:
            continue
        serial = text.lstrip("0")
        if not _HEX.fullmatch(text) or (len(text) != _FINGERPRINT_DIGITS and len(serial) > _SERIAL_DIGITS):
            # What is too long for a serial number is a fingerprint cut short, and would revoke nothing.
            raise CertificateError(f"{path}, line {number}: neither a SHA-256 fingerprint nor a serial number in hex")
        if len(text) == _FINGERPRINT_DIGITS:
            fingerprints.add(text)
        else:
            serials.add(int(text, 16))
    return Revoked(frozenset(fingerprints), frozenset(serials))


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise CertificateError(f"{path} cannot be read: {error.strerror}") from None


def _certificates(path: Path, pem: bytes) -> list[x509.Certificate]:
    try:
        return x509.load_pem_x509_certificates(pem)
    except ValueError:
        raise CertificateError(f"{path} holds no certificate in PEM") from None


def _public(key: object) -> bytes:
    encoded: bytes = key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)  # type: ignore[attr-defined]
    return encoded


def _require_now(certificate: x509.Certificate, path: Path) -> None:
    now = datetime.now(UTC)
    if now > certificate.not_valid_after_utc:
        raise CertificateError(f"the certificate in {path} expired at {certificate.not_valid_after_utc:%Y-%m-%d %H:%M}")
    if now < certificate.not_valid_before_utc:
        raise CertificateError(
            f"the certificate in {path} holds from {certificate.not_valid_before_utc:%Y-%m-%d %H:%M}"
        )


def credentials(
    pair: Watched[Pair], callers: "Callers | None", begun: Callable[[], None] = lambda: None
) -> grpc.ServerCredentials:
    """Returns what a secure port is opened with; each new connection is given the newest files.

    Args:
        pair: the server's own.
        callers: who must show a certificate; None for a listener that asks for none.
        begun: is told of each handshake, on a thread of the library's; of one that fails nothing else is heard.
    """
    made: list[tuple[object, object, grpc.ServerCertificateConfiguration]] = []

    def configuration() -> grpc.ServerCertificateConfiguration:
        begun()
        pair.look()
        authorities = None if callers is None else callers.authorities()
        if not made or made[-1][0] is not pair.value or made[-1][1] is not authorities:
            own = [(pair.value.key, pair.value.chain)]
            pem = None if authorities is None else authorities.pem
            made[:] = [(pair.value, authorities, grpc.ssl_server_certificate_configuration(own, pem))]
        return made[-1][2]

    return grpc.dynamic_ssl_server_credentials(
        configuration(), configuration, require_client_authentication=callers is not None
    )


def _require_authority(policy: object, certificate: x509.Certificate, found: x509.ExtensionType | None) -> None:
    if not (isinstance(found, x509.BasicConstraints) and found.ca):
        raise ValueError("an issuer that is no CA")


def _require_signing(policy: object, certificate: x509.Certificate, found: x509.ExtensionType | None) -> None:
    if isinstance(found, x509.KeyUsage) and not found.key_cert_sign:
        raise ValueError("an issuer whose key signs no certificates")


def _require_no_authority(policy: object, certificate: x509.Certificate, found: x509.ExtensionType | None) -> None:
    if isinstance(found, x509.BasicConstraints) and found.ca:
        raise ValueError("a CA's certificate")


def _require_client(policy: object, certificate: x509.Certificate, found: x509.ExtensionType | None) -> None:
    if isinstance(found, x509.ExtendedKeyUsage) and ExtendedKeyUsageOID.CLIENT_AUTH not in found:
        raise ValueError("a certificate that is not for clients")


# What private CAs leave out is not asked for; what they say is held to.
_ISSUERS = (
    ExtensionPolicy.permit_all()
    .require_present(x509.BasicConstraints, Criticality.AGNOSTIC, _require_authority)
    .may_be_present(x509.KeyUsage, Criticality.AGNOSTIC, _require_signing)
)
_LEAVES = (
    ExtensionPolicy.permit_all()
    .require_present(x509.SubjectAlternativeName, Criticality.AGNOSTIC, None)
    .may_be_present(x509.BasicConstraints, Criticality.AGNOSTIC, _require_no_authority)
    .may_be_present(x509.ExtendedKeyUsage, Criticality.AGNOSTIC, _require_client)
)


@dataclass(frozen=True, slots=True)
class _Examined:
    """A caller's certificate that leads to a CA.

    Attributes:
        caller: whom it names.
        fingerprints: of each certificate from it to the CA's: a CA that is revoked has no callers.
        serials: of those but the CA's own, which small CAs number as they do a caller's.
        since, until: when all of them hold.
    """

    caller: Caller
    fingerprints: frozenset[str]
    serials: frozenset[int]
    since: datetime
    until: datetime


class Callers:
    """Judges callers' certificates."""

    def __init__(self, domain: str, authorities: Watched[Authorities], revoked: Watched[Revoked] | None) -> None:
        """Takes certificates that lead to one of the authorities, are not revoked, and name this trust domain."""
        self._domain, self._authorities, self._revoked = domain, authorities, revoked
        self._known: dict[bytes, _Examined] = {}
        self._of: Authorities | None = None

    def authorities(self) -> Authorities:
        """Returns the CA certificates as they are now."""
        self._authorities.look()
        return self._authorities.value

    def look(self) -> list[str]:
        """Reads files that have changed, and returns what is wrong with those that cannot be used."""
        self._authorities.look()
        failed = [self._authorities.failed]
        if self._revoked is not None:
            self._revoked.look()
            failed.append(self._revoked.failed)
        return [why for why in failed if why is not None]

    def judge(self, own: bytes, between: bytes = b"") -> Caller:
        """Returns who shows a certificate.

        Args:
            own: the certificate whose key the caller holds, in PEM.
            between: what else it sent, in PEM: those between its own and the CA, or anybody's. They name nobody.

        Raises:
            Refused: it leads to no CA of ours, does not hold now, is revoked, or names nobody.
        """
        authorities = self.authorities()
        if self._of is not authorities:
            self._known, self._of = {}, authorities
        sent = hashlib.sha256(own + b"\0" + between).digest()  # what a caller sends may be long
        known = self._known.get(sent)
        if known is None:
            if len(self._known) >= _MOST_KNOWN:
                self._known = {}
            known = self._known[sent] = self._examined(own, between, authorities)
        if not known.since <= datetime.now(UTC) <= known.until:
            raise _nobody("the certificate has expired, or holds later only")
        if self._revoked is not None:
            self._revoked.look()
            revoked = self._revoked.value
            if not known.fingerprints.isdisjoint(revoked.fingerprints) or not known.serials.isdisjoint(revoked.serials):
                raise _nobody("the certificate is revoked")
        return known.caller

    def _examined(self, own: bytes, between: bytes, authorities: Authorities) -> _Examined:
        try:
            leaf = x509.load_pem_x509_certificate(own)
            others = x509.load_pem_x509_certificates(between) if between else []
            builder = PolicyBuilder().store(Store(list(authorities.certificates))).time(datetime.now(UTC))
            verifier = builder.extension_policies(ca_policy=_ISSUERS, ee_policy=_LEAVES).build_client_verifier()
            path = verifier.verify(leaf, others).chain
        except (ValueError, VerificationError):
            raise _nobody(
                "the certificate does not lead to a CA that this dealer takes, or does not hold now"
            ) from None
        return _Examined(
            caller=self._named(leaf),
            fingerprints=frozenset(each.fingerprint(hashes.SHA256()).hex() for each in path),
            serials=frozenset(each.serial_number for each in path[:-1] or path),
            since=max(each.not_valid_before_utc for each in path),
            until=min(each.not_valid_after_utc for each in path),
        )

    def _named(self, leaf: x509.Certificate) -> Caller:
        names = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        uris = names.get_values_for_type(x509.UniformResourceIdentifier)
        found = _IDENTITY.fullmatch(uris[0]) if len(uris) == 1 else None
        if found is None or found[1] != self._domain or found[3] in _NO_NAMES:
            raise _nobody("the certificate's URI is not spiffe://DOMAIN/cutcard/ROLE/NAME of this dealer's domain")
        return Caller(Role(found[2]), found[3])


def check_domain(domain: str) -> str:
    """Returns a trust domain.

    Raises:
        CertificateError: it is none: lower-case letters, digits, dots, hyphens, underscores.
    """
    if not _DOMAIN.fullmatch(domain):
        raise CertificateError(f"{domain!a} is no trust domain: lower-case letters, digits, dots, hyphens, underscores")
    return domain


def _nobody(why: str) -> Refused:
    return Refused(Reason.NO_IDENTITY, why)
