"""A dealer behind TLS in another process, the certificates of its callers, and calls in anybody's name."""

import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import grpc
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, load_pem_private_key
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from tests.integration.running import Running, run_tool

DOMAIN = "example.com"
SERVER = ("--server", "localhost", "--server", "127.0.0.1")


def made(*words: object) -> None:
    done = run_tool("dealer", "certs", *map(str, words))
    assert done.returncode == 0, done.stderr


@dataclass
class Certificates:
    """A folder of certificates, by name."""

    folder: Path
    made: set[str] = field(default_factory=set)

    def path(self, name: str, end: str = "pem") -> Path:
        return self.folder / f"{name}.{end}"

    def ca(self, name: str = "ca") -> None:
        self.folder.mkdir(exist_ok=True)
        made("ca", self.folder / name)

    def issue(self, name: str, *words: str, ca: str = "ca") -> None:
        if name not in self.made:
            domain = () if "--server" in words else ("--trust-domain", DOMAIN)
            made("issue", self.folder / name, "--ca", self.folder / ca, *words, *domain)
            self.made.add(name)

    def odd(
        self,
        name: str,
        names: list[x509.GeneralName],
        *,
        ca: str | None = "ca",
        days: tuple[float, float] = (-1, 10),
        authority: bool = False,
        use: Any = ExtendedKeyUsageOID.CLIENT_AUTH,
        subject: str = "odd",
    ) -> None:
        """Issues a certificate that `dealer certs` would not, without a CA by its own key."""
        key, now = ec.generate_private_key(ec.SECP256R1()), datetime.now(UTC)
        named = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, subject)])
        signer = key if ca is None else load_pem_private_key(self.path(ca, "key").read_bytes(), None)
        builder = (
            x509.CertificateBuilder()
            .subject_name(named)
            .issuer_name(named if ca is None else self.certificate(ca).subject)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now + timedelta(days=days[0]))
            .not_valid_after(now + timedelta(days=days[1]))
            .add_extension(x509.BasicConstraints(authority, None), critical=True)
        )
        if use is not None:
            builder = builder.add_extension(x509.ExtendedKeyUsage([use]), critical=False)
        if names:
            builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
        self.path(name).write_bytes(builder.sign(signer, hashes.SHA256()).public_bytes(Encoding.PEM))  # type: ignore[arg-type]
        private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        self.path(name, "key").write_bytes(private)

    def certificate(self, name: str) -> x509.Certificate:
        return x509.load_pem_x509_certificate(self.path(name).read_bytes())

    def credentials(self, name: str | None, ca: str = "ca") -> grpc.ChannelCredentials:
        own = () if name is None else (self.path(name, "key").read_bytes(), self.path(name).read_bytes())
        return grpc.ssl_channel_credentials(self.path(ca).read_bytes(), *own)

    def options(self, server: str = "server") -> list[str]:
        return [
            *("--tls-cert", str(self.path(server)), "--tls-key", str(self.path(server, "key"))),
            *("--client-ca", str(self.path("ca")), "--trust-domain", DOMAIN),
        ]


class TlsDealer(Running):
    """A `dealer serve` behind TLS."""

    public: str = ""
    unix: str = ""

    def start(self) -> "TlsDealer":
        super().start()
        assert self.process is not None
        assert self.process.stdout is not None
        for _ in range(sum(option in ("--public-listen", "--listen") for option in self.options)):
            line = self.process.stdout.readline().strip()
            if line.startswith("listening on "):
                self.unix = line.removeprefix("listening on ")
            else:
                self.public = line.removeprefix("the public calls ")
        return self


@contextmanager
def behind_tls(data: Path, certificates: Certificates, *options: str) -> Iterator[TlsDealer]:
    more = ("--public-listen", "127.0.0.1:0", *certificates.options(), *options)
    dealer = TlsDealer(data, more)
    dealer.start()
    try:
        yield dealer
    finally:
        if dealer.process is not None and dealer.process.poll() is None:
            dealer.kill()


@contextmanager
def channel_to(address: str, credentials: grpc.ChannelCredentials | None) -> Iterator[grpc.Channel]:
    made = grpc.insecure_channel(address) if credentials is None else grpc.secure_channel(address, credentials)
    with made as channel:
        yield channel


def status(call: Callable[[], Any]) -> tuple[str, str]:
    """A call's status code and reason; ("OK", "") of one that is answered."""
    from tests.integration.running import refusal

    try:
        call()
    except grpc.RpcError as error:
        try:
            code, reason = refusal(error)
        except (AssertionError, AttributeError, StopIteration, IndexError, TypeError, ValueError):
            return error.code().name, ""
        return code.name, reason
    return "OK", ""


def openssl(*words: str) -> str:
    done = subprocess.run(["openssl", *words], input="", capture_output=True, text=True, timeout=30, check=False)
    return done.stdout + done.stderr
