"""Signatures of WACZ packages (wacz-auth 0.1.0): made, read and verified.

What is signed is the text `sha256:HEX`, the digest of `datapackage.json`, which has the digests of all other members.
There are two forms. With a key alone, the public key is in the signature: it says that the package is as its writer
left it, and whoever knows the key knows the writer. With a certificate of a domain, the owner of that domain signs, and
an authority confirms when (RFC 3161): its timestamp is of the signature, and at most `MAX_DELAY` after it.

A signature is `valid`; `untrusted`, if it is right but a certificate of it leads to no authority that is trusted, or if
it cannot be verified here; or else `invalid`. None of them proves what a site has served. The packages `cryptography`
and `rfc3161-client` do the work (`pip install periplus[identity]`).
"""

from __future__ import annotations

import warnings
from base64 import b64decode, b64encode
from binascii import Error
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import certifi
import msgspec
from msgspec import Struct
from msgspec.structs import replace

from periplus.model import UsageError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey, EllipticCurvePublicKey
    from cryptography.x509 import Certificate

VERSION: Final = "0.1.0"
VALID, INVALID, UNTRUSTED = "valid", "invalid", "untrusted"
KEY, DOMAIN = "key", "domain"
MAX_DELAY: Final = timedelta(minutes=10)
"""Time between the creation of a package and the timestamp of its signature."""
TIMESTAMP_QUERY: Final = "application/timestamp-query"
_MAX_FIELD: Final = 1 << 18
"""Characters of a certificate chain or a timestamp that are read."""
_INSTALL: Final = "pip install 'periplus[identity]'"
_MAKE_KEY: Final = "openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-384 -out key.pem"


class SignedData(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True, rename="camel"):
    """`signedData` of `datapackage-digest.json`, with the names that it has there."""

    hash: str
    created: str
    signature: str
    software: str | None = None
    version: str | None = None
    public_key: str | None = None
    domain: str | None = None
    domain_cert: str | None = None
    time_signature: str | None = None
    timestamp_cert: str | None = None
    cross_signed_cert: str | None = None


class PackageSignature(Struct, frozen=True):
    """What is known of a signature: its state and form, who signed, when that was confirmed, why it is not valid."""

    state: str
    kind: str = ""
    identity: str | None = None
    public_key: str | None = None
    signed_at: str = ""
    reason: str = ""


class _WrongError(Exception):
    """The signature is not valid, for this reason."""


# verifying


def verify_signature(signed: object, digest: str, trusted: Sequence[Path] = ()) -> PackageSignature:
    """Verify the `signedData` of a package whose `datapackage.json` has this digest, as `sha256:HEX`.

    `trusted` are files of authorities (PEM) besides those of the web.
    """
    try:
        data = msgspec.convert(signed, SignedData)
    except msgspec.ValidationError as error:
        return PackageSignature(INVALID, reason=str(error)[:200])
    kind = KEY if data.public_key and not data.domain_cert else DOMAIN
    known = PackageSignature(VALID, KEY, public_key=data.public_key)
    if kind == DOMAIN:
        known = PackageSignature(VALID, DOMAIN, identity=data.domain)
    needed = ("cryptography",) if kind == KEY else ("cryptography", "rfc3161_client")
    if not all(map(find_spec, needed)):
        return replace(known, state=UNTRUSTED, reason=f"it is not verified: {_INSTALL}")
    try:
        if data.hash != digest:
            raise _WrongError("it is of another datapackage.json")
        if kind == KEY:
            _check_text(_public_key(data.public_key or ""), data)
            return known
        at, reason = _check_domain(data, trusted)
    except _WrongError as error:
        return replace(known, state=INVALID, reason=str(error))
    except (ValueError, TypeError, OverflowError) as error:  # certificates are only read when they are looked at
        return replace(known, state=INVALID, reason=f"it cannot be read: {error}"[:200])
    moment = at.isoformat(timespec="seconds").replace("+00:00", "Z")
    return replace(known, state=UNTRUSTED if reason else VALID, signed_at=moment, reason=reason)


def _check_domain(data: SignedData, trusted: Sequence[Path]) -> tuple[datetime, str]:
    """When a domain has signed, and why that is not trusted; empty if it is."""
    chain = _certificates(data.domain_cert, "domainCert")
    _check_text(_key_of(chain[0]), data)
    if data.domain not in _names(chain[0]):
        raise _WrongError("the certificate is of another domain")
    roots = _roots(trusted)
    at, is_trusted = _stamped(data, roots)
    created = _moment(data.created)
    if not timedelta(0) <= at - created.replace(microsecond=0) <= MAX_DELAY:
        raise _WrongError("the timestamp is not within 10 minutes of the creation")
    if not is_trusted:
        return at, "the authority of the timestamp is not trusted"
    is_of_web = partial(_is_of_web, domain=data.domain or "", roots=roots, at=at)
    if not is_of_web(chain):
        crossed = _certificates(data.cross_signed_cert, "crossSignedCert") if data.cross_signed_cert else []
        if not crossed or _key_of(crossed[0]) != _key_of(chain[0]) or not is_of_web(crossed):
            return at, "the certificate of the domain is not trusted"
    return at, ""


def _check_text(key: EllipticCurvePublicKey, data: SignedData) -> None:
    """The signature is r and s side by side, as browsers write it, or DER."""
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ec import ECDSA
    from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
    from cryptography.hazmat.primitives.hashes import SHA256

    signature, half = _decoded(data.signature, "signature"), (key.curve.key_size + 7) // 8
    if len(signature) == 2 * half:
        parts = int.from_bytes(signature[:half], "big"), int.from_bytes(signature[half:], "big")
        signature = encode_dss_signature(*parts)
    try:
        key.verify(signature, data.hash.encode(), ECDSA(SHA256()))
    except InvalidSignature:
        raise _WrongError("the signature does not fit the key") from None


def _stamped(data: SignedData, trusted: Sequence[Certificate]) -> tuple[datetime, bool]:
    """The time of a timestamp that fits the signature, and whether its authority is trusted."""
    from cryptography.x509 import load_der_x509_certificate
    from rfc3161_client import VerificationError, VerifierBuilder, decode_timestamp_response

    try:
        with _tolerance():
            response = decode_timestamp_response(_decoded(data.time_signature, "timeSignature"))
            inside = [load_der_x509_certificate(each) for each in response.signed_data.certificates]
            signers = {(each.issuer, each.serial_number) for each in response.signed_data.signer_infos}
            at, imprint = response.tst_info.gen_time, response.tst_info.message_imprint.message
        given = _certificates(data.timestamp_cert, "timestampCert") if data.timestamp_cert else []
        chain = given or sorted(inside, key=lambda each: (each.issuer, each.serial_number) not in signers)
        if not chain or (chain[0].issuer, chain[0].serial_number) not in signers:
            raise _WrongError("the timestamp has another certificate")
        is_trusted = _leads_to(chain, trusted, at)
        if not is_trusted and not _leads_to(chain, [each for each in chain if each.issuer == each.subject], at):
            if imprint != sha256(data.signature.encode()).digest():  # the certificates do not suffice for more
                raise _WrongError("the timestamp is of something else")
            return at, False
        roots = [root for root in trusted if is_trusted and any(root.subject == each.issuer for each in chain)]
        with _tolerance():
            verifier = VerifierBuilder(tsa_certificate=chain[0], intermediates=chain[1:], roots=roots or chain).build()
            verifier.verify_message(response, data.signature.encode())
    except (VerificationError, ValueError) as error:
        raise _WrongError(f"the timestamp is not of the signature: {error}"[:200]) from None
    return at, is_trusted


def _is_of_web(chain: Sequence[Certificate], domain: str, roots: Sequence[Certificate], at: datetime) -> bool:
    """Whether browsers would have trusted a server with these certificates then."""
    from cryptography.x509 import DNSName
    from cryptography.x509.verification import PolicyBuilder, Store, VerificationError

    try:
        builder = PolicyBuilder().store(Store(list(roots))).time(at.replace(tzinfo=None))
        builder.build_server_verifier(DNSName(domain)).verify(chain[0], list(chain[1:]))
    except (VerificationError, ValueError):
        return False
    return True


def _leads_to(chain: Sequence[Certificate], roots: Sequence[Certificate], at: datetime) -> bool:
    """Whether the first certificate leads over others of its chain to a root."""
    current, others = chain[0], list(chain[1:])
    known = {root.subject: root for root in roots}
    while current.not_valid_before_utc <= at <= current.not_valid_after_utc:
        if current in roots or ((root := known.get(current.issuer)) is not None and _is_issued(current, root)):
            return True
        above = next((each for each in others if _is_issued(current, each)), None)
        if above is None:
            return False
        others.remove(above)
        current = above
    return False


def _is_issued(certificate: Certificate, by: Certificate) -> bool:
    """Whether the other certificate is one of an authority, and has signed this one."""
    from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
    from cryptography.x509 import BasicConstraints, ExtensionNotFound

    try:
        certificate.verify_directly_issued_by(by)
        return by.extensions.get_extension_for_class(BasicConstraints).value.ca
    except (InvalidSignature, UnsupportedAlgorithm, ExtensionNotFound, ValueError, TypeError):
        return False


def _roots(trusted: Sequence[Path]) -> list[Certificate]:
    from cryptography.x509 import load_pem_x509_certificates

    found: list[Certificate] = []
    for path in (Path(certifi.where()), *trusted):
        try:
            with _tolerance():
                found += load_pem_x509_certificates(path.read_bytes())
        except (OSError, ValueError) as error:
            raise UsageError(f"{path}: {error}", hint="name a file of certificates in PEM") from error
    return found


def _certificates(text: str | None, name: str) -> list[Certificate]:
    from cryptography.x509 import load_pem_x509_certificates

    try:
        with _tolerance():
            return load_pem_x509_certificates((text or "")[:_MAX_FIELD].encode())
    except ValueError:
        raise _WrongError(f"{name} is no chain of certificates") from None


def _tolerance() -> warnings.catch_warnings[None]:
    """Old certificates have serial numbers that are not allowed any more; that is no reason to speak of it."""
    return warnings.catch_warnings(action="ignore")


def _names(certificate: Certificate) -> list[str]:
    """The domains of a certificate, the one that it is called by first."""
    from cryptography.x509 import DNSName, ExtensionNotFound, SubjectAlternativeName
    from cryptography.x509.oid import NameOID

    names = [str(each.value) for each in certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)]
    try:
        other = certificate.extensions.get_extension_for_class(SubjectAlternativeName).value
    except (ExtensionNotFound, ValueError):
        return names
    return [*names, *other.get_values_for_type(DNSName)]


def _public_key(text: str) -> EllipticCurvePublicKey:
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.serialization import load_der_public_key

    try:
        return _curve_key(load_der_public_key(_decoded(text, "publicKey")))
    except (ValueError, UnsupportedAlgorithm):
        raise _WrongError("publicKey is no public key") from None


def _key_of(certificate: Certificate) -> EllipticCurvePublicKey:
    from cryptography.exceptions import UnsupportedAlgorithm

    try:
        return _curve_key(certificate.public_key())
    except UnsupportedAlgorithm:
        raise _WrongError("the key is of an unknown kind") from None


def _curve_key(key: object) -> EllipticCurvePublicKey:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePublicKey

    if not isinstance(key, EllipticCurvePublicKey):
        raise _WrongError("the key is not one of ECDSA")
    return key


def _decoded(text: str | None, name: str) -> bytes:
    try:
        return b64decode((text or "")[:_MAX_FIELD], validate=True)
    except (Error, ValueError):
        raise _WrongError(f"{name} is not base64") from None


def _moment(text: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise _WrongError("created is no date") from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


# signing


class PackageSigner:
    """Signs packages with the key of a file: in PEM, not encrypted; with the certificates of a domain behind it or not.

    `stamp` sends a request to an authority for timestamps and returns its response. A domain needs one.
    """

    def __init__(self, key: Path, stamp: Callable[[bytes], bytes] | None = None) -> None:
        if find_spec("cryptography") is None or (stamp is not None and find_spec("rfc3161_client") is None):
            raise UsageError("to sign packages, more packages have to be installed", hint=_INSTALL)
        self._key, self._chain = _read_key(key)
        self._stamp = stamp
        if self._chain and stamp is None:
            raise UsageError(f"{key} has a certificate, and such signatures need a timestamp", hint="add --timestamp")
        if stamp is not None and not self._chain:
            raise UsageError(
                f"{key} has no certificate, and only signatures with one have timestamps",
                hint="add the certificates of a domain to the file, or leave out --timestamp",
            )

    def sign(self, digest: str, created: str, software: str) -> dict[str, Any]:
        """The `signedData` of a package whose `datapackage.json` has this digest, as `sha256:HEX`."""
        from cryptography.hazmat.primitives.asymmetric.ec import ECDSA
        from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
        from cryptography.hazmat.primitives.hashes import SHA256
        from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

        der = self._key.sign(digest.encode(), ECDSA(SHA256()))
        if self._stamp is None:
            half = (self._key.key_size + 7) // 8
            pair = b"".join(part.to_bytes(half, "big") for part in decode_dss_signature(der))
            public = self._key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
            data = SignedData(digest, created, _text(pair), software, VERSION, public_key=_text(public))
        else:
            signature = _text(der)
            stamp, certificates = _requested(signature, self._stamp)
            data = SignedData(
                digest,
                created,
                signature,
                software,
                VERSION,
                domain=_names(self._chain[0])[0],
                domain_cert=_pem(self._chain),
                time_signature=_text(stamp),
                timestamp_cert=_pem(certificates),
            )
        checked = verify_signature(msgspec.to_builtins(data), digest)
        if checked.state == INVALID:
            raise UsageError(f"the signature would not be valid: {checked.reason}", hint="use another key or authority")
        signed: dict[str, Any] = msgspec.to_builtins(data)
        return signed


def _requested(signature: str, stamp: Callable[[bytes], bytes]) -> tuple[bytes, list[Certificate]]:
    """The timestamp of a signature, and the certificates of the authority, its own first."""
    from cryptography.x509 import load_der_x509_certificate
    from rfc3161_client import HashAlgorithm, TimestampRequestBuilder, decode_timestamp_response

    request = TimestampRequestBuilder().data(signature.encode()).hash_algorithm(HashAlgorithm.SHA256).build()
    response = stamp(request.as_bytes())
    try:
        with _tolerance():
            read = decode_timestamp_response(response)
            signers = {(each.issuer, each.serial_number) for each in read.signed_data.signer_infos}
            found = [load_der_x509_certificate(each) for each in read.signed_data.certificates]
            nonce = read.tst_info.nonce
    except ValueError as error:
        raise UsageError(f"the answer is no timestamp: {error}", hint="use another authority") from error
    if nonce != request.nonce:
        raise UsageError("the timestamp is not of this request", hint="use another authority")
    found.sort(key=lambda each: (each.issuer, each.serial_number) not in signers)
    return response, found


def _read_key(path: Path) -> tuple[EllipticCurvePrivateKey, list[Certificate]]:
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key
    from cryptography.x509 import load_pem_x509_certificates

    try:
        text = path.read_bytes()
        key = load_pem_private_key(text, None)
        chain = load_pem_x509_certificates(text) if b"BEGIN CERTIFICATE" in text else []
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}", hint=f"make a key: {_MAKE_KEY}") from error
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise UsageError(f"{path} is no private key in PEM without a password", hint=_MAKE_KEY) from error
    if not isinstance(key, EllipticCurvePrivateKey) or (not chain and key.curve.name != "secp384r1"):
        raise UsageError(f"{path}: packages are signed with a key of the curve P-384", hint=_MAKE_KEY)
    if chain and chain[0].public_key() != key.public_key():
        raise UsageError(f"{path}: the first certificate is not of the key", hint="put that of the key first")
    if chain and not _names(chain[0]):
        raise UsageError(f"{path}: the certificate is of no domain", hint="use one that a server could use")
    return key, chain


def _pem(certificates: Sequence[Certificate]) -> str:
    from cryptography.hazmat.primitives.serialization import Encoding

    return "\n".join(each.public_bytes(Encoding.PEM).decode() for each in certificates)


def _text(data: bytes) -> str:
    return b64encode(data).decode()
