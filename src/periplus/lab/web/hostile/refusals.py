"""Servers that are too busy, in ways that a polite crawler must understand. Their hours follow virtual time alone."""

from __future__ import annotations

from periplus.formats.dates import write_http

from ..exchange import Answer, Request
from .script import HTML, answer_page, hostile, page

PERIOD = 600
"""Virtual seconds; each of these hosts is open for a part of every ten minutes."""
OPEN_FOR = 60
BURST = 180


def _opens_in(at: float) -> int:
    """Seconds until the next period begins, when the host is open again; 0 while it is open."""
    phase = int(at) % PERIOD
    return 0 if phase < OPEN_FOR else PERIOD - phase


def _busy(status: int, *fields: tuple[str, str]) -> Answer:
    return Answer(status, (HTML, *fields), page("Busy", "<p>Come back later.</p>"))


_OPEN = answer_page("Open", '<p>You came at the right time. <a href="/next">next</a></p>')


@hostile("busy-retry-after")
def busy_retry_after(request: Request) -> Answer:
    """429 for nine minutes of every ten, with a true Retry-After: in seconds, or as a date under `/date`.

    Leave the whole host alone until then; the URL is not dead.
    """
    wait = _opens_in(request.at)
    if not wait:
        return _OPEN
    until = write_http(int(request.at) + wait) if request.target == "/date" else str(wait)
    return _busy(429, ("Retry-After", until))


@hostile("busy")
def busy(request: Request) -> Answer:
    """429 for nine minutes of every ten, and no word on when to come back.

    Back off for the whole host, longer each time, with some chance in it.
    """
    return _busy(429) if _opens_in(request.at) else _OPEN


@hostile("bursts-of-503")
def bursts_of_503(request: Request) -> Answer:
    """Healthy for seven minutes, then 503 to everything for three, again and again.

    Slow down, try again later, and forget no page because of a passing storm.
    """
    return _busy(503) if int(request.at) % PERIOD >= PERIOD - BURST else _OPEN
