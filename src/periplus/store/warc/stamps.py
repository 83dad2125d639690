"""Dates and identifiers of records: a few of each a page, so each is made in about a microsecond."""

from __future__ import annotations

from os import urandom
from time import gmtime, strftime


class Dates:
    """Times as WARC 1.1 writes them: UTC with microseconds. Most of one second's share all but the fraction."""

    def __init__(self) -> None:
        self._second = -1
        self._text = ""

    def __call__(self, at: float) -> str:
        """`2026-01-02T03:04:05.678901Z`."""
        second, fraction = divmod(round(at * 1_000_000), 1_000_000)
        if second != self._second:
            self._second, self._text = second, strftime("%Y-%m-%dT%H:%M:%S", gmtime(second))
        return f"{self._text}.{fraction:06d}Z"


def identifiers() -> tuple[str, str, str]:
    """Three random UUIDs (RFC 9562, version 4, of which 120 bits are chance)."""
    random = urandom(48).hex()
    return _uuid(random[:32]), _uuid(random[32:64]), _uuid(random[64:])


def _uuid(random: str) -> str:
    return f"{random[:8]}-{random[8:12]}-4{random[13:16]}-8{random[17:20]}-{random[20:]}"
