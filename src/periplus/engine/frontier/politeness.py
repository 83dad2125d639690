"""How long a site rests after a visit, and whether and when a failed request is retried.

After a visit a site rests for the longest of three times: our own delay, the delay that its robots.txt asks for, and a
multiple of its response time, so that a slow site gets fewer requests (Mercator: Najork & Heydon 2001; Olston & Najork
2010 section 2.2). A visit may take several pages over one kept-alive connection (Castillo et al. 2004: k pages a
connection, w seconds between connections); by default it takes one. The delay between requests to one IP address is in
`addresses`.

`RETRIES` has, for each reason of a failure, whether the URL is retried and whether its whole site rests too. The wait
doubles with every failure in a row, up to a cap, and is extended at random, so that requests that failed together are
not retried together. `Retry-After` is obeyed up to the cap (RFC 9110 section 10.2.3).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from random import Random
from typing import Final

from msgspec import Struct

from periplus.formats.headers import read_retry_after
from periplus.model import Excluded, Failed, Fetched, FetchOutcome, Located, Purpose, Redirected, Site, Url
from periplus.urls import site_of

from ..settings import PolitenessSettings, RetrySettings

MAX_DELAY = 3600.0
"""Maximum delay in seconds that robots.txt can ask for."""
_SPREAD = 0.25
"""Maximum random extension of a back-off, as a share of it."""


def delay_after(settings: PolitenessSettings, asked: float | None, last_duration: float) -> float:
    """Seconds to the next visit: the longest of our delay, the site's, and a multiple of its answer time."""
    return max(
        settings.delay,
        min(asked or 0.0, MAX_DELAY),
        min(settings.response_times_between_visits * last_duration, MAX_DELAY),
    )


def seconds_for(settings: PolitenessSettings, pages: int, rest: float) -> float:
    """How many seconds the pages of a site take that rests so long between two visits."""
    return math.ceil(pages / max(settings.pages_per_visit * settings.max_parallel, 1)) * rest


_FREE_REQUESTS = 10
"""Requests of a rendered page to its own site that belong to the visit."""
_REQUESTS_PER_VISIT = 10
"""Further ones that count as much as a visit: they ask for files and data, which cost a server less than pages."""


def visits_of(outcome: FetchOutcome) -> float:
    """How many visits an answer counts for: more than one if its page asked its site for much in the browser."""
    rendering = outcome.rendering if isinstance(outcome, Fetched) else None
    return 1.0 if rendering is None else 1.0 + max(0, rendering.same_site - _FREE_REQUESTS) / _REQUESTS_PER_VISIT


def received_in_browser(outcome: Fetched | Redirected) -> int:
    """Bytes that the scripts of a page received."""
    return outcome.rendering.received if isinstance(outcome, Fetched) and outcome.rendering is not None else 0


class Retry(Struct, frozen=True):
    """A row of the table.

    `again`: the URL may be tried again. `is_of_site`: the failure says something about the whole server, which then is
    left alone for as long as the URL.
    """

    again: bool
    is_of_site: bool = False


_NEVER = Retry(again=False)
_PAGE = Retry(again=True)
_SITE = Retry(again=True, is_of_site=True)

NO_ANSWER: Final = "no-answer"
"""Another shard, which was to ask a site for a robots.txt, did not answer in time."""

RETRIES: dict[str, Retry] = {
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
    "bad-delta": _PAGE,
    "over-budget": _PAGE,
    "proxy": _SITE,
    "lost": _PAGE,
    "cancelled": _PAGE,
    NO_ANSWER: _PAGE,
    "http-408": _PAGE,
    "http-425": _PAGE,
    "http-429": _SITE,
    "http-500": _PAGE,
    "http-502": _PAGE,
    "http-503": _SITE,
    "http-504": _PAGE,
}
"""Reasons that are not here are final: most answers of 4xx, unwanted types, broken protocols.

`lost`: no result before the lease expired. `cancelled` is not a failure: we stopped. The other reasons are those of the
wire (`engine.fetch.reasons`).
"""


OUTAGE: Final = "outage"
"""A site answers, but not with its pages (`outages`)."""

NO_SERVER = frozenset({"dns-not-found", "dns-unavailable", "connect-refused", "connect-failed", "tls", "proxy"})
"""Reasons that mean that the server does not exist, mostly a mistyped host or port. If all seeds fail for one of them,
the crawl ends without retries. A timeout is not one of them: a slow server may answer the next time."""

NO_CONNECTION = frozenset({"connect-refused", "connect-timeout", "connect-failed", "tls"})
"""Reasons that concern one address of a host: no request was sent, and another address may work."""

OUR_OWN = frozenset({"cancelled", "over-budget"})
"""Reasons on our side: they do not count as an attempt."""


def reason_of(outcome: FetchOutcome) -> str:
    """The reason why an outcome is a failure; empty if it is not."""
    if isinstance(outcome, Fetched):
        return f"http-{outcome.status}" if outcome.status >= 400 else ""
    return outcome.reason if isinstance(outcome, Failed) else ""


def retry_for(reason: str) -> Retry:
    """The row of the table for a reason."""
    return RETRIES.get(reason, _NEVER)


def seconds_of(outcome: FetchOutcome, failures: int) -> float | None:
    """How long an address took for an answer: infinitely long if it failed; `None` if that is not known.

    A site that has failed `failures` times before says nothing new about its address, nor does a URL that has.
    """
    if isinstance(outcome, Excluded):
        return None
    reason = reason_of(outcome)
    if isinstance(outcome, Located) or retry_for(reason).again:
        return None if reason in OUR_OWN or failures or is_known_to_fail(outcome) else math.inf
    return outcome.duration


def is_temporary(reason: str) -> bool:
    """Whether a URL was given up because a site could not be reached, which may be different another time.

    A private address may have been allowed since.
    """
    return reason in ("robots-unreachable", "private-address", OUTAGE) or retry_for(reason).again


def is_tried_again(settings: RetrySettings, reason: str, failures: int) -> bool:
    """Whether a URL that failed this often in a row, the last time for this reason, gets another attempt."""
    return retry_for(reason).again and 0 < failures < settings.max_attempts


def is_known_to_fail(outcome: FetchOutcome) -> bool:
    """Whether a URL that had failed before was answered: if it failed again, that says nothing new of its site."""
    return isinstance(outcome, Fetched) and outcome.task.attempt > 1


def back_off(settings: RetrySettings, random: Random, outcome: FetchOutcome, failures: int, now: float) -> float:
    """How many seconds to wait after the `failures`-th failure in a row."""
    asked = asked_for(outcome, now)
    wait = asked if asked is not None else settings.backoff * 2.0 ** min(max(failures - 1, 0), 30)
    wait *= 1 + _SPREAD * random.random()
    return min(wait, settings.max_backoff)


def asked_for(outcome: FetchOutcome, now: float) -> float | None:
    """How many seconds a server asks to be left alone (`Retry-After`), if it does."""
    if not isinstance(outcome, Fetched) or outcome.status not in (429, 503):
        return None
    for name, value in outcome.headers:
        if name.lower() == "retry-after":
            return read_retry_after(value, now)
    return None


MAX_SETBACKS = 20
"""Maximum number of failing sites that are kept for display. The latest replace the earliest."""
_FILES = (Purpose.ROBOTS, Purpose.SITEMAP, Purpose.FEED, Purpose.ARCHIVE)
_MAX_DETAIL = 200
"""Characters of an error message that are kept: one line on a terminal."""


class Setback(Struct, frozen=True):
    """The last failure of a site. `retry_at` is POSIX time, `None` if the URL is not tried again."""

    site: Site
    url: Url
    reason: str
    detail: str = ""
    retry_at: float | None = None


class Setbacks:
    """Decides every wait after a failure, and keeps the last failure of each site until a request to it succeeds.

    The failures show what a crawl is waiting for; nothing else depends on them, so they are not committed.
    """

    def __init__(self, settings: RetrySettings, random: Random) -> None:
        self._settings = settings
        self._random = random
        self._retry_at: float | None = None
        self._by_site: dict[Site, Setback] = {}

    def wait(self, outcome: FetchOutcome, failures: int, now: float) -> float:
        """How many seconds to wait after the `failures`-th failure in a row."""
        seconds = back_off(self._settings, self._random, outcome, failures, now)
        self._retry_at = max(self._retry_at or 0.0, now + seconds)
        return seconds

    def ended(self, outcome: FetchOutcome) -> None:
        """Record that a request was reported, and every wait that follows from it was decided."""
        site, reason, retry_at = site_of(outcome.task.url), reason_of(outcome), self._retry_at
        self._retry_at = None
        if reason in OUR_OWN or isinstance(outcome, Excluded | Located):
            return
        self._by_site.pop(site, None)
        if not reason or _is_missing_file(outcome):
            return
        detail = getattr(outcome, "detail", "")[:_MAX_DETAIL]
        self._by_site[site] = Setback(site, outcome.task.url, reason, detail, retry_at)
        if len(self._by_site) > MAX_SETBACKS:
            del self._by_site[next(iter(self._by_site))]

    def __iter__(self) -> Iterator[Setback]:
        return iter(self._by_site.values())


def _is_missing_file(outcome: FetchOutcome) -> bool:
    """Whether a site has no robots.txt or sitemap, which is usual."""
    is_file = outcome.task.purpose in _FILES
    return is_file and isinstance(outcome, Fetched) and 400 <= outcome.status < 500 and outcome.status != 429
