"""Keys, certificates and an authority for timestamps, made for tests."""

from __future__ import annotations

import shutil
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import chain
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

DOMAIN = "signer.example.org"
_TSA = """
[ tsa ]
default_tsa = tsa1
[ tsa1 ]
serial = {folder}/serial
crypto_device = builtin
signer_cert = {folder}/tsa.crt
signer_key = {folder}/tsa.key
signer_digest = sha256
default_policy = 1.2.3.4.1
digests = sha256
accuracy = secs:1
ess_cert_id_alg = sha256
"""


def pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def new_key(path: Path, curve: ec.EllipticCurve | None = None) -> Path:
    """A file with a key, of P-384 if nothing else is asked for."""
    path.write_bytes(pem(ec.generate_private_key(curve or ec.SECP384R1())))
    return path


class Authorities:
    """A root, a certificate of a domain with its key, and one for timestamps, as files in a folder."""

    def __init__(self, folder: Path, *, is_expired: bool = False) -> None:
        self.folder = folder
        self.root = folder / "root.crt"
        self.domain = folder / "domain.pem"
        self._now = datetime.now(UTC)
        root_key = ec.generate_private_key(ec.SECP256R1())
        root = self._certificate("Root of the tests", root_key, None, root_key)
        self.root.write_bytes(root.public_bytes(Encoding.PEM))
        self._root = root, root_key
        key = ec.generate_private_key(ec.SECP256R1())
        leaf = self._certificate(DOMAIN, key, root, root_key, ExtendedKeyUsageOID.SERVER_AUTH, is_expired=is_expired)
        self.domain.write_bytes(pem(key) + leaf.public_bytes(Encoding.PEM) + root.public_bytes(Encoding.PEM))
        key = ec.generate_private_key(ec.SECP256R1())
        leaf = self._certificate("Time of the tests", key, root, root_key, ExtendedKeyUsageOID.TIME_STAMPING)
        self._give_time(key, leaf)
        (folder / "serial").write_text("01\n")
        (folder / "tsa.cnf").write_text(_TSA.format(folder=folder))

    def _give_time(self, key: ec.EllipticCurvePrivateKey, certificate: x509.Certificate) -> None:
        (self.folder / "tsa.key").write_bytes(pem(key))
        (self.folder / "tsa.crt").write_bytes(certificate.public_bytes(Encoding.PEM))

    def issued(self, name: str, key: ec.EllipticCurvePrivateKey) -> x509.Certificate:
        """A certificate of a domain, from the root."""
        return self._certificate(name, key, *self._root, ExtendedKeyUsageOID.SERVER_AUTH)

    def self_issued(self, name: str, key: ec.EllipticCurvePrivateKey) -> x509.Certificate:
        """A certificate of a domain that nobody vouches for."""
        root = self._certificate("Root of nobody", key, None, key)
        return self._certificate(name, key, root, key, ExtendedKeyUsageOID.SERVER_AUTH)

    def give_time_by_leaf(self) -> x509.Certificate:
        """Have timestamps given by what a certificate of a domain has issued, which may issue none."""
        above, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
        leaf = self.issued("other.example.org", above)
        self._give_time(key, self._certificate("False time", key, leaf, above, ExtendedKeyUsageOID.TIME_STAMPING))
        return leaf

    def _certificate(
        self,
        name: str,
        key: ec.EllipticCurvePrivateKey,
        issuer: x509.Certificate | None,
        by: ec.EllipticCurvePrivateKey,
        use: x509.ObjectIdentifier | None = None,
        *,
        is_expired: bool = False,
    ) -> x509.Certificate:
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        days = timedelta(days=40 if is_expired else 1)
        builder = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(subject if issuer is None else issuer.subject)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(self._now - days)
            .not_valid_after(self._now - days + timedelta(days=30))
            .add_extension(x509.BasicConstraints(ca=issuer is None, path_length=None), critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(by.public_key()), critical=False)
        )
        is_root = issuer is None
        usage = {"digital_signature": not is_root, "key_cert_sign": is_root, "crl_sign": is_root}
        others = dict.fromkeys(
            ("content_commitment", "key_encipherment", "data_encipherment", "key_agreement", "encipher_only",
             "decipher_only"), False,
        )  # fmt: skip
        builder = builder.add_extension(x509.KeyUsage(**usage, **others), critical=True)
        if use is not None:
            is_time = use == ExtendedKeyUsageOID.TIME_STAMPING
            builder = builder.add_extension(x509.ExtendedKeyUsage([use]), critical=is_time)
            if not is_time:
                builder = builder.add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        return builder.sign(by, SHA256())

    def stamp(self, request: bytes) -> bytes:
        """The response to a request for a timestamp, made by openssl."""
        (self.folder / "query").write_bytes(request)
        names = (self.folder / name for name in ("tsa.cnf", "query", "reply"))
        options = zip(("-config", "-queryfile", "-out"), map(str, names), strict=True)
        command = [shutil.which("openssl") or "openssl", "ts", "-reply", *chain.from_iterable(options)]
        done = subprocess.run(command, capture_output=True, check=True)
        assert done.returncode == 0
        return (self.folder / "reply").read_bytes()

    @contextmanager
    def served(self) -> Iterator[str]:
        """The URL at which timestamps are given."""
        stamp = self.stamp

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                request = self.rfile.read(int(self.headers["Content-Length"]))
                assert self.headers["Content-Type"] == "application/timestamp-query"
                body = stamp(request)
                self.send_response(200)
                self.send_header("Content-Type", "application/timestamp-reply")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/tsr"
        finally:
            server.shutdown()
            thread.join()
            server.server_close()
