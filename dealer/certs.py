"""`dealer certs`: a small CA and certificates for trying TLS out (docs/access.md, section 1). A room runs a real one.

P-256, 30 days. Rooms and operators get client authentication alone and no name that a server could pose with.
"""

import ipaddress
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import click
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from dealer.errors import CutcardError
from dealer.store.datadir import write_secret

_DAYS = 30
_CLOCKS_APART = timedelta(minutes=5)
_NAME = re.compile(r"[A-Za-z0-9._-]{1,64}", re.ASCII)
_DOMAIN = re.compile(r"[a-z0-9._-]{1,255}", re.ASCII)
_HOST = re.compile(r"(\*\.)?[A-Za-z0-9_]([A-Za-z0-9_-]{0,62})(\.[A-Za-z0-9_][A-Za-z0-9_-]{0,62})*", re.ASCII)
_MOST_HOST = 253
_PATH = click.Path(path_type=Path)


class CertsError(CutcardError):
    """A certificate that cannot be made."""


@click.group()
def certs() -> None:
    """Make a small CA and certificates for trying TLS out; use a real CA for real rooms."""


@certs.command()
@click.argument("out", type=_PATH)
def ca(out: Path) -> None:
    """Make a CA: OUT.pem, to be given to servers and callers, and OUT.key, which signs."""
    key = _new_key()
    name = _subject("Cutcard trial CA")
    usage = _usage(key_cert_sign=True)
    builder = (
        _builder(name, name, key.public_key())
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(usage, critical=True)
    )
    _write(out, key, builder.sign(key, hashes.SHA256()))


@certs.command()
@click.argument("out", type=_PATH)
@click.option("--ca", "authority", type=_PATH, required=True, help="The CA: the path that `dealer certs ca` was given.")
@click.option(
    "--server", multiple=True, metavar="HOST", help="For a dealer: a DNS name or IP address; may be repeated."
)
@click.option("--room", default=None, metavar="NAME", help="For a room.")
@click.option("--operator", default=None, metavar="NAME", help="For an operator.")
@click.option("--trust-domain", default=None, help="The DOMAIN of a room's or operator's id.")
@click.option("--days", type=click.IntRange(1, 30), default=_DAYS, show_default=True, help="How long it holds.")
def issue(
    out: Path,
    authority: Path,
    server: tuple[str, ...],
    room: str | None,
    operator: str | None,
    trust_domain: str | None,
    days: int,
) -> None:
    """Issue one certificate: OUT.pem and OUT.key, for a server, a room or an operator."""
    if sum(map(bool, (server, room, operator))) != 1:
        raise click.UsageError("give one of --server, --room and --operator")
    if bool(server) == bool(trust_domain):
        raise click.UsageError("--trust-domain goes with --room and --operator, and with them alone")
    if server:
        names: list[x509.GeneralName] = [_host(each) for each in server]
        use = ExtendedKeyUsageOID.SERVER_AUTH
    else:
        role, name = ("room", room) if room is not None else ("operator", operator)
        names, use = [_identity(str(trust_domain), role, str(name))], ExtendedKeyUsageOID.CLIENT_AUTH
    signer, issuer = _authority(authority)
    key = _new_key()
    identifier = x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key())
    builder = (
        _builder(_subject(server[0] if server else f"{room or operator}"), issuer.subject, key.public_key(), days)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(), critical=True)
        .add_extension(x509.ExtendedKeyUsage([use]), critical=False)
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(identifier, critical=False)
    )
    _write(out, key, builder.sign(signer, hashes.SHA256()))


def _host(text: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(text))
    except ValueError:
        pass
    if len(text) > _MOST_HOST or not _HOST.fullmatch(text):
        raise click.BadParameter(f"{text!a} is neither a DNS name nor an address", param_hint="--server")
    return x509.DNSName(text)


def _identity(domain: str, role: str, name: str) -> x509.GeneralName:
    if not _DOMAIN.fullmatch(domain):
        raise click.BadParameter(f"{domain!a} is no trust domain", param_hint="--trust-domain")
    if not _NAME.fullmatch(name) or name in (".", "..", "local"):
        raise click.BadParameter(f"{name!a}: 1 to 64 of A-Z a-z 0-9 . _ -, and not `local`", param_hint=f"--{role}")
    return x509.UniformResourceIdentifier(f"spiffe://{domain}/cutcard/{role}/{name}")


def _authority(path: Path) -> tuple[ec.EllipticCurvePrivateKey, x509.Certificate]:
    certificate, key = _places(path)
    try:
        signer = load_pem_private_key(key.read_bytes(), None)
        issuer = x509.load_pem_x509_certificate(certificate.read_bytes())
    except OSError as error:
        raise CertsError(f"{error.filename} cannot be read: {error.strerror}") from None
    except (ValueError, TypeError):
        raise CertsError(f"{certificate} and {key.name} are no CA that `dealer certs ca` made") from None
    if not isinstance(signer, ec.EllipticCurvePrivateKey) or signer.public_key() != issuer.public_key():
        raise CertsError(f"{key} is not the key of {certificate} that `dealer certs ca` made")
    if not _is_ca(issuer):
        raise CertsError(f"{certificate} is no CA's certificate: what it issued, nobody would take")
    return signer, issuer


def _is_ca(certificate: x509.Certificate) -> bool:
    try:
        return bool(certificate.extensions.get_extension_for_class(x509.BasicConstraints).value.ca)
    except x509.ExtensionNotFound:
        return False


def _new_key() -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


def _subject(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name[:64])])


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, days: int = _DAYS
) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _CLOCKS_APART)
        .not_valid_after(now + timedelta(days=days))
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
    )


def _usage(*, key_cert_sign: bool = False) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not key_cert_sign,
        key_cert_sign=key_cert_sign,
        crl_sign=key_cert_sign,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _places(out: Path) -> tuple[Path, Path]:
    if not out.name:
        raise CertsError(f"{out} is a folder: name the files in it without their ends, as {out / 'ca'}")
    return out.with_name(f"{out.name}.pem"), out.with_name(f"{out.name}.key")


def _write(out: Path, key: ec.EllipticCurvePrivateKey, certificate: x509.Certificate) -> None:
    public, private = _places(out)
    secret = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode("ascii")
    try:
        if public.exists():
            raise FileExistsError(17, "File exists")
        write_secret(private, secret)
        public.write_bytes(certificate.public_bytes(Encoding.PEM))
    except OSError as error:
        raise CertsError(f"{public} and {private.name} cannot be written: {error.strerror}") from None
    click.echo(f"{public}, and its key {private.name}: for {_DAYS} days at most, and for trying out alone")
