"""Keys of agents: the public ones of a directory (JWK), and the private one of a crawler (PKCS 8).

A key is known by its thumbprint (RFC 7638), which is computed and never taken from a directory.

| key | algorithm of RFC 9421 |
|---|---|
| OKP, Ed25519 (RFC 8037) | `ed25519` |
| EC, P-256 | `ecdsa-p256-sha256` |
| RSA, 2048 to 8192 bits | `rsa-pss-sha512` |
"""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error
from collections.abc import Mapping
from hashlib import sha256
from json import dumps
from math import inf
from typing import Any, Final

from msgspec import Struct

from periplus.model import ConfigError

ED25519: Final = "ed25519"
ECDSA: Final = "ecdsa-p256-sha256"
RSA: Final = "rsa-pss-sha512"
_LABELS: Final = {
    ED25519: ("EdDSA", "Ed25519", ED25519),
    ECDSA: ("ES256", ECDSA),
    RSA: ("PS512", RSA),
}
"""What a key may say of its algorithm (`alg`); a key for another one is not used."""
TEST_KEYS: Final = frozenset({
    "poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U",  # RFC 9421 B.1.4, and the drafts
    "oD0HwocPBSfpNy5W3bpJeyFGY_IQ_YpqxSjQ3Yd-CLA",  # RFC 9421 B.1.2
    "BHj8s0GPnMEQtkaULIM-PLgEhLBbuGUQ1vMxmBWZzEo",  # RFC 9421 B.1.1
    "ydQXMtvbsOsZyFir-Y7A8t7fKEM1gbKPvyFkdpu4fvI",  # RFC 9421 B.1.3
    "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k",  # RFC 8037 appendix A
    "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs",  # RFC 7638 section 3.1
})  # fmt: skip
"""Thumbprints of keys whose private halves are printed in standards."""
_MEMBERS: Final = {"OKP": ("crv", "kty", "x"), "EC": ("crv", "kty", "x", "y"), "RSA": ("e", "kty", "n")}
_MAX_MEMBER: Final = 2048
"""Characters of a member of a key: those of 8192 bits take 1366."""
_RSA_BITS: Final = (2048, 8192)


def thumbprint(jwk: Mapping[str, Any]) -> str | None:
    """The RFC 7638 thumbprint of a key; `None` if it is not a public key of a known kind."""
    names = _MEMBERS.get(str(jwk.get("kty")))
    if names is None or not all(isinstance(jwk.get(name), str) and len(jwk[name]) <= _MAX_MEMBER for name in names):
        return None
    text = dumps({name: jwk[name] for name in names}, separators=(",", ":"), sort_keys=True, ensure_ascii=False)
    return _written(sha256(text.encode("utf-8", "replace")).digest())


class PublicKey(Struct, frozen=True):
    """A public key that signatures can be checked with, between moments that its agent may give."""

    thumbprint: str
    algorithm: str
    key: Any
    since: float = -inf
    until: float = inf

    def date_problem(self, at: float, skew: float) -> str:
        """`key-expired` or `key-not-yet-valid`; empty if the key may be used at a time."""
        if self.until <= at:
            return "key-expired"
        return "key-not-yet-valid" if self.since > at + skew else ""

    def verifies(self, signature: bytes, signed: bytes) -> bool:
        """Whether this is a signature of these bytes by the holder of the private key."""
        from cryptography.exceptions import InvalidSignature

        try:
            self._check(signature, signed)
        except (InvalidSignature, ValueError):
            return False
        return True

    def _check(self, signature: bytes, signed: bytes) -> None:
        if self.algorithm == ED25519:
            self.key.verify(signature, signed)
            return
        from cryptography.hazmat.primitives import hashes
        from cryptography.hazmat.primitives.asymmetric import ec, padding, utils

        if self.algorithm == RSA:
            pss = padding.PSS(padding.MGF1(hashes.SHA512()), padding.PSS.DIGEST_LENGTH)
            self.key.verify(signature, signed, pss, hashes.SHA512())
            return
        if len(signature) != 64:
            raise ValueError("not two numbers of 32 bytes")
        pair = int.from_bytes(signature[:32]), int.from_bytes(signature[32:])
        self.key.verify(utils.encode_dss_signature(*pair), signed, ec.ECDSA(hashes.SHA256()))


def read_key(jwk: Mapping[str, Any]) -> PublicKey | None:
    """The key of a JWK; `None` if it is not one that signatures can be checked with."""
    print_ = thumbprint(jwk)
    if print_ is None:
        return None
    try:
        algorithm, key = _READERS[jwk["kty"]](jwk)
    except (ValueError, KeyError):
        return None
    is_for_signing = jwk.get("use", "sig") == "sig" and jwk.get("alg", algorithm) in _LABELS[algorithm]
    since, until = jwk.get("nbf"), jwk.get("exp")  # used as they are: an int may be too large for a float
    since = since if isinstance(since, int | float) else -inf
    until = until if isinstance(until, int | float) else inf
    return PublicKey(print_, algorithm, key, since, until) if is_for_signing else None


def _ed25519(jwk: Mapping[str, Any]) -> tuple[str, Any]:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    if jwk["crv"] != "Ed25519":
        raise ValueError("another curve")
    return ED25519, Ed25519PublicKey.from_public_bytes(_read(jwk["x"]))


def _p256(jwk: Mapping[str, Any]) -> tuple[str, Any]:
    from cryptography.hazmat.primitives.asymmetric import ec

    if jwk["crv"] != "P-256":
        raise ValueError("another curve")
    x, y = (int.from_bytes(_read(jwk[name])) for name in ("x", "y"))
    return ECDSA, ec.EllipticCurvePublicNumbers(x, y, ec.SECP256R1()).public_key()


def _rsa(jwk: Mapping[str, Any]) -> tuple[str, Any]:
    from cryptography.hazmat.primitives.asymmetric import rsa

    modulus, exponent = (int.from_bytes(_read(jwk[name])) for name in ("n", "e"))
    if not _RSA_BITS[0] <= modulus.bit_length() <= _RSA_BITS[1] or exponent.bit_length() > 32:
        raise ValueError("too small or too large")
    return RSA, rsa.RSAPublicNumbers(exponent, modulus).public_key()


_READERS: Final = {"OKP": _ed25519, "EC": _p256, "RSA": _rsa}


def _read(text: str) -> bytes:
    """Bytes in base64url without padding. Raises `ValueError`."""
    try:
        found = urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except (Error, ValueError):
        raise ValueError("not base64url") from None
    if _written(found) != text:  # decoding skips what is not in the alphabet
        raise ValueError("not base64url")
    return found


def _written(octets: bytes) -> str:
    return urlsafe_b64encode(octets).rstrip(b"=").decode()


class PrivateKey:
    """The Ed25519 key of a crawler. It is never shown: `repr` has the thumbprint."""

    __slots__ = ("_key", "jwk", "thumbprint")

    def __init__(self, key: Any) -> None:
        from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

        self._key = key
        octets = key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
        self.jwk = {"kty": "OKP", "crv": "Ed25519", "x": _written(octets)}
        """The public half."""
        self.thumbprint = thumbprint(self.jwk) or ""

    def __repr__(self) -> str:
        return f"PrivateKey({self.thumbprint})"

    def sign(self, signed: bytes) -> bytes:
        """The signature of these bytes."""
        return bytes(self._key.sign(signed))

    def pem(self) -> bytes:
        """The key as a file has it: PKCS 8, in PEM."""
        from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

        return bytes(self._key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))


def new_key() -> PrivateKey:
    """A new key."""
    needs_cryptography()
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    return PrivateKey(Ed25519PrivateKey.generate())


def read_private_key(pem: bytes) -> PrivateKey:
    """The key of a file. Raises `ConfigError`, which never has anything of the file."""
    needs_cryptography()
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    try:
        key = load_pem_private_key(pem, None)
    except (ValueError, TypeError):
        key = None
    except Exception as error:
        if type(error).__name__ != "UnsupportedAlgorithm":
            raise
        key = None
    if not isinstance(key, Ed25519PrivateKey):
        raise ConfigError(
            "identity.key: the file is not an Ed25519 key in PKCS 8 without a password",
            hint="periplus identity new FILE makes one",
        )
    return PrivateKey(key)


def needs_cryptography() -> None:
    """Raise `ConfigError` if the package that signatures need is not installed."""
    try:
        import cryptography  # noqa: F401
    except ImportError:
        raise ConfigError(
            "signatures need the package cryptography, which is not installed",
            hint="Run pip install 'periplus[identity]'",
        ) from None
