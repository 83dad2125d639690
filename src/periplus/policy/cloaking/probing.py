"""Which pages are compared with what a browser gets: few, and where it matters most.

A comparison costs a site one request, and up to five where the first was suspicious. A site's home page is compared
once some of its pages were fetched, then pages that redirect their readers, pages that are worth more than those before
and some by chance, until the site is judged. At most 1 % of the pages of a crawl are requested so.
"""

from __future__ import annotations

from enum import Enum

from msgspec import Struct, field

from ...model import Url
from .comparison import CloakingFound, Copy, compare
from .settings import CloakingSettings


class SiteProbes(Struct, array_like=True):
    """The comparisons of a site: how many pages, and the one under way.

    `home` is the crawl's copy of the home page until that is compared. `url` is the page under way, `crawlers` and
    `browsers` are the copies of it that have come, after `asked` requests. `worth` is the highest worth of
    a page so far, `offences` counts cloaked pages. `is_noted`: the site waits for its first comparison, or has had it.
    """

    compared: int = 0
    home: Copy | None = None
    is_noted: bool = False
    url: Url | None = None
    crawlers: list[Copy] = field(default_factory=list)
    browsers: list[Copy] = field(default_factory=list)
    asked: int = 0
    worth: float = 0.0
    offences: int = 0
    is_judged: bool = False


def is_due(probes: SiteProbes, pages: int, settings: CloakingSettings) -> bool:
    """Whether a site of which this many pages were fetched is to have its first comparison."""
    return not probes.is_noted and pages >= settings.first_after


def wants_comparison(
    probes: SiteProbes, pages: int, settings: CloakingSettings, *, worth: float, is_suspect: bool
) -> bool:
    """Whether a page of a site that had its first comparison is compared, too: it is suspect, or of high worth."""
    if probes.is_judged or not probes.compared or probes.url is not None:
        return False
    is_best = worth > probes.worth
    probes.worth = max(probes.worth, worth)
    is_within = probes.compared < settings.max_per_site and probes.compared <= settings.share * pages
    return is_within and (is_suspect or is_best)


def begin_comparison(probes: SiteProbes, url: Url, copy: Copy | None) -> None:
    """A page is about to be requested: with a browser's name, or first as ourselves if there is no copy of it."""
    probes.url, probes.crawlers, probes.browsers = url, [] if copy is None else [copy], []
    probes.home = None
    probes.asked = 0
    probes.compared += 1


def end_comparison(probes: SiteProbes) -> None:
    """The page is decided, or a request for it failed."""
    probes.url, probes.crawlers, probes.browsers = None, [], []


def most_requests(settings: CloakingSettings) -> int:
    """The requests of a comparison that ends with an accusation."""
    return 2 * settings.copies


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
