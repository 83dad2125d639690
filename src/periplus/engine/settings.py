"""Settings of a crawl: its loop, politeness and retries, reading, watching. Cheap to import."""

from __future__ import annotations

from typing import Annotated

from msgspec import Struct

from periplus.model.flags import REQUESTS, Flag


class EngineSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """How often everything is made durable."""

    checkpoint_interval: float = 1.0
    """Minimum seconds between two commits."""
    checkpoint_share: float = 0.05
    """Maximum share of the time for commits: the interval grows if they take longer..."""
    checkpoint_outcomes: int = 2_000
    """...but there is a commit after this many outcomes..."""
    checkpoint_rows: int = 20_000
    """...or this many changed rows of the state."""


class ReadingSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """How pages are read and which of their links are followed."""

    max_decoded_bytes: int = 32 * 2**20
    """Maximum bytes of a page after decompression; the rest is cut off."""
    follow_links: bool = True
    """Follow links; otherwise only seeds, redirects and sitemaps."""
    follow_nofollow: bool = False
    """Follow links marked `nofollow`, too."""
    remembered_links: int = 200_000
    """Recently seen links that are not looked up again."""


_SLOW_FACTOR = 5.0
"""Response times of a site between two visits: a server that needs longer to answer gets longer to rest."""


class PolitenessSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """How gently sites are treated.

    `delay`: minimum seconds between two visits of a site. `slow_factor`: minimum delay as a multiple of the site's last
    response time; negative: 5, and 0 where `delay` is 0. `ip_delay`: minimum seconds between two requests of a worker
    to one address, times the number of workers that have sites there; negative: a quarter of `delay`.
    `pages_per_visit`: pages fetched over one connection. `max_parallel`: maximum requests to a site at once.
    `max_bytes_per_site`: maximum bytes from one site. `lease`: seconds after which a task without a result is granted
    again.
    """

    delay: Annotated[
        float,
        Flag(
            "--delay",
            "Delay between two requests to a site: 2s, 250ms. robots.txt may ask for more.",
            "TIME",
            verbs=REQUESTS,
        ),
    ] = 1.0
    slow_factor: float = -1.0
    ip_delay: float = -1.0
    pages_per_visit: int = 1
    max_parallel: int = 1
    max_bytes_per_site: int = 100 * 2**30
    lease: float = 300.0

    @property
    def between_requests_to_an_address(self) -> float:
        """`ip_delay`, or its default."""
        return self.ip_delay if self.ip_delay >= 0 else self.delay / 4

    @property
    def response_times_between_visits(self) -> float:
        """`slow_factor`, or its default: a person who asks for no delay wants no rest."""
        if self.slow_factor >= 0:
            return self.slow_factor
        return _SLOW_FACTOR if self.delay else 0.0


class RetrySettings(Struct, frozen=True, forbid_unknown_fields=True):
    """How often and how soon to try again.

    `max_attempts`: maximum attempts for a URL. `backoff`: seconds before the second attempt; each further wait is twice
    as long. `max_backoff`: maximum wait, also for `Retry-After`. `max_site_failures`: consecutive failures after which
    a site is given up.
    """

    max_attempts: int = 3
    backoff: float = 10.0
    max_backoff: float = 900.0
    max_site_failures: int = 12


class FrontierSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """How many sites are active."""

    max_sites: int = 50_000
    """Maximum active sites; others wait until one is finished."""


class WatchSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """What `periplus watch` may spend."""

    visits_a_day: int = 0
    """Requests a day, over all sites; 0: a seventh of the pages."""
    per_site: Annotated[
        int,
        Flag("--per-site", "Maximum requests a day to one site; 0: no limit.", "VISITS", verbs=("watch",), least=0),
    ] = 0
    """Maximum requests a day to one site; 0: as many as politeness allows."""
