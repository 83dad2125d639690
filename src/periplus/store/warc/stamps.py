"""Dates and identifiers of records: a few of each a page, so each is made in about a microsecond."""

from __future__ import annotations

import re
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
