"""SHA-1 in base 32 (RFC 4648), the form in which archives name payloads.

`base64.b32encode` is written for any length; there are four digests a page, all of 20 bytes, and a table of three
letters takes half its time.
"""

from __future__ import annotations

from hashlib import sha1
from typing import Final

_ALPHABET: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
_TRIPLES: Final = [a + b + c for a in _ALPHABET for b in _ALPHABET for c in _ALPHABET]
_SHIFTS: Final = tuple(range(150, -1, -15))


def base32(digest: bytes) -> str:
    """A digest of 20 bytes as 32 letters, which need no padding."""
    number = int.from_bytes(digest, "big") << 5  # 160 bits and five more: eleven times 15
    return "".join([_TRIPLES[number >> shift & 0x7FFF] for shift in _SHIFTS])[:32]


def sha1_base32(*parts: bytes) -> str:
    """The digest of these bytes, one after the other."""
    digest = sha1(parts[0], usedforsecurity=False)
    for part in parts[1:]:
        digest.update(part)
    return base32(digest.digest())
