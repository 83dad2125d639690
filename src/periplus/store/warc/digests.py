"""SHA-1 in base 32 (RFC 4648), the form in which archives name payloads.

There are four digests a page, all of 20 bytes, and `base64.b32encode` is written for any length. Here all 32 letters
are made at once, as arithmetic on one integer: the digest is split in halves that are moved apart, and so are the
halves of the halves, until every five bits stand in a byte of their own, which a table turns into its letter.
"""

from __future__ import annotations

from hashlib import sha1
from typing import Final

_LETTERS: Final = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".ljust(256)


def _step(bits: int) -> tuple[int, int, int]:
    """The masks of the lower and upper halves when each has `bits` of payload, and how far apart they are moved."""
    room = bits * 8 // 5
    low = sum((1 << bits) - 1 << lane for lane in range(0, 256, 2 * room))
    return low, low << bits, room - bits


_STEPS: Final = tuple(map(_step, (80, 40, 20, 10, 5)))


def base32(digest: bytes) -> str:
    """A digest of 20 bytes as 32 letters, which need no padding."""
    number = int.from_bytes(digest, "big")
    for low, high, apart in _STEPS:
        number = (number & high) << apart | number & low
    return number.to_bytes(32, "big").translate(_LETTERS).decode()


def sha1_base32(*parts: bytes) -> str:
    """The digest of these bytes, one after the other."""
    digest = sha1(parts[0], usedforsecurity=False)
    for part in parts[1:]:
        digest.update(part)
    return base32(digest.digest())
