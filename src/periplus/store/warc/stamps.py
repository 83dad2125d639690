"""Dates, identifiers and digests of records: a few of each a page, so each is made in about a microsecond.

Archives name payloads by SHA-1 in base 32 (RFC 4648). There are four digests a page, all of 20 bytes, and
`base64.b32encode` is written for any length. `base32` makes all 32 letters at once, as arithmetic on one integer: the
digest is split in halves that are moved apart, and so are the halves of the halves, until every five bits are in a byte
of their own, which a table turns into its letter.
"""

from __future__ import annotations

import re
from hashlib import sha1
from os import urandom
from time import gmtime, strftime
from typing import Final

_NO_DIGIT: Final = re.compile(r"\D+", re.ASCII)


class Dates:
    """Times as WARC 1.1 and CDXJ write them, in UTC. Those of one second share all but the fraction."""

    def __init__(self) -> None:
        self._second = -1
        self._text = ""

    def date(self, at: float) -> str:
        """For WARC, with microseconds: `2026-01-02T03:04:05.678901Z`."""
        second, fraction = divmod(round(at * 1_000_000), 1_000_000)
        if second != self._second:
            self._second, self._text = second, strftime("%Y-%m-%dT%H:%M:%S", gmtime(second))
        return f"{self._text}.{fraction:06d}Z"


def timestamp(date: str) -> str:
    """A date of WARC for CDXJ: the 14 digits down to the second."""
    digits = date[:19].replace("-", "").replace("T", "").replace(":", "")
    return digits if digits.isascii() and digits.isdigit() else _NO_DIGIT.sub("", date)[:14]


def identifiers() -> tuple[str, str, str]:
    """Three UUIDs (RFC 9562, version 4) for the records of one exchange: 116 bits of chance, and the last digit."""
    random = urandom(16).hex()
    stem = f"{random[:8]}-{random[8:12]}-4{random[13:16]}-8{random[17:20]}-{random[20:31]}"
    return stem + "0", stem + "1", stem + "2"


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
