"""Remembers the last failure of sites, to show what a crawl is waiting for.

Every wait after a failure is decided here, by `politeness.back_off`; when the request has been reported, the failure is
kept with the time of the next attempt until a request to its site succeeds. Nothing else depends on it, so it is not
committed.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from msgspec import Struct

from periplus.model import Excluded, Fetched, FetchOutcome, Purpose, Site, Url
from periplus.urls import site_of

from .politeness import OUR_OWN, back_off, reason_of
from .settings import RetrySettings

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
    """Decides how long to wait after failures, and remembers them by site."""

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
        """A request was reported, and every wait that follows from it was decided."""
        site, reason, retry_at = site_of(outcome.task.url), reason_of(outcome), self._retry_at
        self._retry_at = None
        if reason in OUR_OWN or isinstance(outcome, Excluded):
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
