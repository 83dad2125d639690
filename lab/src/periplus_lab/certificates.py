"""Certificates for the lab: one authority created at start, and a certificate for each name on first use.

The authority's key is fresh in every run and never leaves the process; it may sign only names below
`lab.test` (name constraints, RFC 5280 section 4.2.1.10), so that trusting it in a test harms nothing. Certificates
follow the real clock, not the virtual one, because TLS clients do. Needs the `cryptography` package (the extra `tls`):
Python itself cannot make a certificate.
"""

from __future__ import annotations

import re
import ssl
from collections import OrderedDict
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from .channel import server_context
from .hostile.connections import EXPIRED, SELF_SIGNED, WRONG_NAME
from .sites import DOMAIN

_BELOW = re.compile(rf"(?:[a-z0-9-]{{1,63}}\.){{0,4}}{re.escape(DOMAIN)}")
_A_DAY = timedelta(days=1)
_LIFE = timedelta(days=30)
_MOST_CONTEXTS = 256


def _named(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name[:64])])


def _wildcard(host: str) -> str:
    """The name that a certificate for `host` is made out to: siblings share one, and strangers get the lab's."""
    parent = host.partition(".")[2]
    return f"*.{parent}" if _BELOW.fullmatch(parent) else f"*.{DOMAIN}"


class Authority:
    """Signs for every name of the lab, and badly where a hostile host wants it so."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _named("Periplus lab (only for *.lab.test)")
        self._certificate = self._sign_itself()
        self._contexts: OrderedDict[str, ssl.SSLContext] = OrderedDict()
        self.path = folder / "ca.pem"
        self.pem = self._certificate.public_bytes(Encoding.PEM)
        self.path.write_bytes(self.pem)

    def context(self, host: str) -> ssl.SSLContext:
        """What to serve `host` with; made on first use, the least used forgotten."""
        name = host if host in (EXPIRED, WRONG_NAME, SELF_SIGNED) else _wildcard(host)
        found = self._contexts.get(name) or self._make(name)
        self._contexts[name] = found
        self._contexts.move_to_end(name)
        if len(self._contexts) > _MOST_CONTEXTS:
            self._contexts.popitem(last=False)
        return found

    def _make(self, name: str) -> ssl.SSLContext:
        key = ec.generate_private_key(ec.SECP256R1())
        certificate = self._issue(name, key)
        path = self._folder / "leaf.pem"
        private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        path.write_bytes(private + certificate.public_bytes(Encoding.PEM) + self.pem)
        try:
            return server_context(path)
        finally:
            path.unlink()

    def _issue(self, name: str, key: ec.EllipticCurvePrivateKey) -> x509.Certificate:
        subject = f"somebody-else.{DOMAIN}" if name == WRONG_NAME else name
        now = datetime.now(UTC)
        until = now - _A_DAY if name == EXPIRED else now + _LIFE
        signs_itself = name == SELF_SIGNED
        return (
            x509.CertificateBuilder()
            .subject_name(_named(subject))
            .issuer_name(_named(subject) if signs_itself else self._name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(until - _LIFE - _A_DAY)
            .not_valid_after(until)
            .add_extension(x509.SubjectAlternativeName([x509.DNSName(subject)]), critical=False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()), critical=False)
            .sign(key if signs_itself else self._key, SHA256())
        )

    def _sign_itself(self) -> x509.Certificate:
        now = datetime.now(UTC)
        usage = x509.KeyUsage(
            digital_signature=True,
            key_cert_sign=True,
            crl_sign=True,
            content_commitment=False,
            key_encipherment=False,
            data_encipherment=False,
            key_agreement=False,
            encipher_only=False,
            decipher_only=False,
        )
        public = self._key.public_key()
        return (
            x509.CertificateBuilder()
            .subject_name(self._name)
            .issuer_name(self._name)
            .public_key(public)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - _A_DAY)
            .not_valid_after(now + _LIFE)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(usage, critical=True)
            .add_extension(x509.NameConstraints([x509.DNSName(DOMAIN)], None), critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
            .sign(self._key, SHA256())
        )
