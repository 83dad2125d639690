"""The audit of one site: every area asked, findings in order of weight, a mark for each area."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from periplus.model import RobotsFile

from .catalogue import KINDS
from .costing import costs
from .dating import honesty
from .gathering import Gathered
from .hinting import hints
from .linking import linkage
from .listing import Standing, cleanliness, completeness, standing, unread_files
from .marking import marks_of
from .permitting import permissions
from .values import Audit, Dates

if TYPE_CHECKING:
    from periplus.insight.views import Views

_CUT_SHORT = "the crawl was not finished: what links lead to is not all known"
_UNASKED = "sitemaps were not asked for by this crawl"
_UNREADABLE = "no sitemap could be read"
_NOT_SEEN_AGAIN = "too few pages were visited again"
_UNREAD = """
select url, '' as note, '' as via, coalesce(reason, status::varchar, outcome) as kind, 0.0 as weight
from fetches where purpose in ('page', 'robots') and list_contains($sites, site)
    and (outcome in ('failed', 'excluded') or (purpose = 'page' and coalesce(status, 0) <> 200))
"""


class AuditSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """What an audit finds fault with."""

    slow: float = 2.0
    """Seconds that a page may take."""
    examples: int = 5
    """Examples of each finding."""
    pause: float = 60.0
    """Seconds; visits to a page that follow each other faster are one, made twice to learn what is noise."""


def audit(
    views: Views,
    sites: Sequence[str],
    robots: RobotsFile | None,
    *,
    is_whole: bool,
    settings: AuditSettings | None = None,
) -> Audit:
    """What an owner should know of a site, given by all its names, the first to be shown.

    `is_whole`: nothing waits to be fetched, so that a page that no link led to has none.
    """
    settings = settings or AuditSettings()
    gathered = Gathered(views, sites, examples=settings.examples)
    stands, unread_lists = standing(gathered, robots), unread_files(gathered)
    about_dates, dates = honesty(gathered)
    about_cost, cost = costs(gathered, pause=settings.pause)
    about_links, (linked, followed) = linkage(gathered, is_whole=is_whole, slow=settings.slow)
    findings = [
        *completeness(gathered, stands, unread_lists),
        *cleanliness(gathered),
        *about_dates,
        *hints(gathered),
        *about_links,
        *permissions(robots, f"http://{sites[0]}/", has_sitemap=stands is Standing.READ),
        *about_cost,
    ]
    order = list(KINDS)
    findings.sort(key=lambda found: (found.severity.rank, order.index(found.name)))
    listed, pages = gathered.count("is_listed"), gathered.count("is_page")
    found = Audit(
        site=sites[0],
        sites=tuple(sites),
        pages=pages,
        listed=listed,
        visited=gathered.count("is_listed and is_crawled"),
        linked=linked,
        followed=followed,
        is_whole=is_whole,
        marks=(),
        findings=tuple(findings),
        cost=cost,
        dates=dates,
        unjudged=_about_lists(stands, unread_lists) | _unjudged(dates, is_whole=is_whole, has_list=bool(listed)),
    )
    return replace(found, marks=marks_of(found, stands, "" if pages else _why_unread(gathered)))


def _about_lists(stands: Standing, unread: int) -> dict[str, str]:
    if stands is Standing.UNASKED:
        return {"no-sitemap": _UNASKED}
    if stands is Standing.UNREADABLE:
        return {"pages-unlisted": _UNREADABLE}
    files = "1 file of the sitemap was" if unread == 1 else f"{unread:,} files of the sitemap were"
    return {"pages-unlisted": f"{files} not read yet"} if unread else {}


def _unjudged(dates: Dates, *, is_whole: bool, has_list: bool) -> dict[str, str]:
    unjudged = {} if is_whole or not has_list else {"orphans": _CUT_SHORT}
    if has_list and dates.precision is None:
        unjudged["lastmod-wrong"] = _NOT_SEEN_AGAIN
    if has_list and dates.recall is None:
        unjudged["lastmod-misses"] = _NOT_SEEN_AGAIN
    return unjudged


def _why_unread(gathered: Gathered) -> str:
    reasons = gathered.found(_UNREAD).parts
    return "No page could be read" + (f" ({', '.join(reasons)})" if reasons else "")
