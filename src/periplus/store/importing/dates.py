"""Dates of WARC and ARC records as others write them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

EARLIEST: Final = 631_152_000.0
"""1990: there are no captures of the web from before."""


def seconds_of(date: str) -> float | None:
    """A date as POSIX seconds; `None` if it is not one, or before there was a web."""
    try:
        moment = datetime.fromisoformat(date)
    except ValueError:
        return None
    at = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    return at if at >= EARLIEST else None
