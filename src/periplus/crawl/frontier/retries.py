"""What a failure means: whether the URL is tried again, after how long, and whether the whole site is left alone.

One table, by reason. Waiting doubles with every failure in a row, up to a cap, and is spread by chance so that what
failed together does not come back together. `Retry-After` is obeyed up to that cap (RFC 9110 section 10.2.3).
"""

from __future__ import annotations

from random import Random

from msgspec import Struct

from periplus.formats.headers import read_retry_after
from periplus.model import Failed, Fetched, FetchOutcome

_SPREAD = 0.25


class RetrySettings(Struct, frozen=True, forbid_unknown_fields=True):
    """How often and how soon to try again.

    `max_attempts`: so often a URL is tried. `backoff`: seconds before the second attempt; each further wait is twice as
    long. `max_backoff`: no wait is longer, whatever a server asks for. `max_site_failures`: after so many failures in a
    row a site is given up.
    """

    max_attempts: int = 3
    backoff: float = 10.0
    max_backoff: float = 900.0
    max_site_failures: int = 12


class Retry(Struct, frozen=True):
    """A row of the table.

    `again`: the URL may be tried again. `is_of_site`: it says something about the whole server, which then is left
    alone for as long as the URL.
    """

    again: bool
    is_of_site: bool = False


_NEVER = Retry(again=False)
_PAGE = Retry(again=True)
_SITE = Retry(again=True, is_of_site=True)

TABLE: dict[str, Retry] = {
    "dns-not-found": _SITE,
    "dns-unavailable": _SITE,
    "dns-timeout": _SITE,
    "connect-refused": _SITE,
    "connect-timeout": _SITE,
    "connect-failed": _SITE,
    "tls": _SITE,
    "timeout": _PAGE,
    "too-slow": _PAGE,
    "reset": _PAGE,
    "closed-early": _PAGE,
    "http2": _PAGE,
    "over-budget": _PAGE,
    "proxy": _SITE,
    "lost": _PAGE,
    "cancelled": _PAGE,
    "http-408": _PAGE,
    "http-425": _PAGE,
    "http-429": _SITE,
    "http-500": _PAGE,
    "http-502": _PAGE,
    "http-503": _SITE,
    "http-504": _PAGE,
}
"""What is not here is final: most answers of 4xx, unwanted types, broken protocols.

`lost`: nobody said what became of the task before its lease ended. `cancelled` is no failure: we stopped, and nothing
is counted against anybody. The other reasons are those of the wire.
"""


OUR_OWN = frozenset({"cancelled", "over-budget"})
"""Reasons that are nobody's fault but ours: they count as no attempt."""


def reason_of(outcome: FetchOutcome) -> str:
    """Why an outcome is none that we wanted; empty if it is."""
    if isinstance(outcome, Fetched):
        return f"http-{outcome.status}" if outcome.status >= 400 else ""
    return outcome.reason if isinstance(outcome, Failed) else ""


def retry_for(reason: str) -> Retry:
    """The row of the table for a reason."""
    return TABLE.get(reason, _NEVER)


def is_of_the_moment(reason: str) -> bool:
    """Whether a URL was given up because somebody could not be reached, which may be otherwise some other time."""
    return reason == "robots-unreachable" or retry_for(reason).again


def is_tried_again(settings: RetrySettings, reason: str, failures: int) -> bool:
    """Whether a URL whose attempts failed so often, the last for this reason, gets another."""
    return retry_for(reason).again and 0 < failures < settings.max_attempts


def back_off(settings: RetrySettings, outcome: FetchOutcome, failures: int, now: float, random: Random) -> float:
    """How many seconds to wait after the `failures`-th failure in a row."""
    asked = _asked_for(outcome, now)
    wait = asked if asked is not None else settings.backoff * 2.0 ** min(max(failures - 1, 0), 30)
    wait *= 1 + _SPREAD * random.random()
    return min(wait, settings.max_backoff)


def _asked_for(outcome: FetchOutcome, now: float) -> float | None:
    if not isinstance(outcome, Fetched) or outcome.status not in (429, 503):
        return None
    for name, value in outcome.headers:
        if name.lower() == "retry-after":
            return read_retry_after(value, now)
    return None
