"""Which pages are compared with what a browser gets: few, and where it matters most.

A comparison costs a site one request, and a second one where the first was suspicious. A site's home page is compared
once some of its pages were fetched, then pages that redirect their readers, pages that are probably spam, and pages
that are worth more than most. At most 1 % of the requests to a site, and of the crawl, are probes.
"""

from __future__ import annotations

from enum import Enum
from typing import Final

from msgspec import Struct, field

from ...model import Url
from .comparison import CloakingFound, CloakingSettings, Copy, compare

BROWSER_PROBE: Final = "cloaking-browser"
"""The kind of a probe that is sent with a browser's name."""
CRAWLER_PROBE: Final = "cloaking-crawler"
"""The kind of a probe that is sent with our own."""


class SiteProbes(Struct, array_like=True):
    """The comparisons of a site: how many pages, how many requests they took, and the one under way.

    `url` is the page under way, `crawlers` and `browsers` are the copies of it that have come. `worth` is the highest
    worth of a page so far, `offences` counts cloaked pages.
    """

    compared: int = 0
    requests: int = 0
    is_home_done: bool = False
    url: Url | None = None
    crawlers: list[Copy] = field(default_factory=list)
    browsers: list[Copy] = field(default_factory=list)
    worth: float = 0.0
    offences: int = 0


def may_compare(probes: SiteProbes, pages: int, settings: CloakingSettings) -> bool:
    """Whether another page of a site of which so many pages were fetched may be compared now."""
    if not settings.enabled or probes.url is not None or probes.compared >= settings.max_per_site:
        return False
    if not probes.is_home_done:
        return pages >= settings.first_after
    return probes.requests + 2 <= settings.share * pages


def wants_comparison(probes: SiteProbes, *, worth: float, is_suspect: bool) -> bool:
    """Whether a page of a site whose home page was compared is one of those to compare: suspect, or of high worth."""
    is_best = worth > probes.worth
    probes.worth = max(probes.worth, worth)
    return is_suspect or is_best


def begin_comparison(probes: SiteProbes, url: Url, copy: Copy | None, *, is_home: bool) -> None:
    """A page is about to be requested: with a browser's name, or first as ourselves if there is no copy of it."""
    probes.url, probes.crawlers, probes.browsers = url, [] if copy is None else [copy], []
    probes.compared += 1
    probes.requests += 1
    probes.is_home_done = probes.is_home_done or is_home


def end_comparison(probes: SiteProbes) -> None:
    """The page is decided, or a request for it failed."""
    probes.url, probes.crawlers, probes.browsers = None, [], []


class Step(Enum):
    """What comes next in a comparison."""

    ASK_AS_BROWSER = "browser"
    ASK_AS_CRAWLER = "crawler"
    DECIDED = "decided"


def next_step(
    probes: SiteProbes, settings: CloakingSettings, suffixes: tuple[str, ...] = ()
) -> tuple[Step, CloakingFound | None]:
    """After a copy came: whether the page is acquitted, accused, or fetched once more, and as what."""
    if not probes.browsers:
        return Step.ASK_AS_BROWSER, None
    found = compare(probes.crawlers, probes.browsers, settings, suffixes)
    if found is None or min(len(probes.crawlers), len(probes.browsers)) >= settings.copies:
        return Step.DECIDED, found
    if len(probes.crawlers) <= len(probes.browsers):
        return Step.ASK_AS_CRAWLER, found
    return Step.ASK_AS_BROWSER, found
