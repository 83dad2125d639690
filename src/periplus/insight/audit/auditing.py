"""The audit of one site: every area asked, findings in order of weight, a mark for each area."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from periplus.model import RobotsFile

from .catalogue import KINDS
from .costing import costs
from .dating import honesty
from .gathering import Gathered
from .hinting import hints
from .linking import linkage
from .listing import cleanliness, completeness, has_sitemap
from .permitting import permissions
from .values import QUESTIONS, Area, Audit, Cost, Dates, Finding, Mark

if TYPE_CHECKING:
    from periplus.insight.views import Views

_CUT_SHORT = "the crawl was not finished: what links lead to is not all known"
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
    has_list = has_sitemap(gathered)
    about_dates, dates = honesty(gathered)
    about_cost, cost = costs(gathered, pause=settings.pause)
    findings = [
        *completeness(gathered),
        *cleanliness(gathered),
        *about_dates,
        *hints(gathered),
        *linkage(gathered, is_whole=is_whole, slow=settings.slow),
        *permissions(robots, f"http://{sites[0]}/", has_sitemap=has_list),
        *about_cost,
    ]
    order = list(KINDS)
    findings.sort(key=lambda found: (found.severity.rank, order.index(found.name)))
    listed, pages = gathered.count("is_listed"), gathered.count("is_page")
    unread = "" if pages else _why_unread(gathered)
    return Audit(
        site=sites[0],
        sites=tuple(sites),
        pages=pages,
        listed=listed,
        visited=gathered.count("is_listed and is_crawled"),
        is_whole=is_whole,
        marks=tuple(_mark(area, findings, unread, listed, dates, cost) for area in Area),
        findings=tuple(findings),
        cost=cost,
        dates=dates,
        unjudged=_unjudged(dates, is_whole=is_whole, has_list=bool(listed)),
    )


def _unjudged(dates: Dates, *, is_whole: bool, has_list: bool) -> dict[str, str]:
    unjudged = {} if is_whole or not has_list else {"orphans": _CUT_SHORT}
    if has_list and dates.precision is None:
        unjudged["lastmod-wrong"] = _NOT_SEEN_AGAIN
    if has_list and dates.recall is None:
        unjudged["lastmod-misses"] = _NOT_SEEN_AGAIN
    return unjudged


def _mark(area: Area, findings: list[Finding], unread: str, listed: int, dates: Dates, cost: Cost) -> Mark:
    """Of a site of which no page was read (`unread` says why), nothing is good."""
    mine = [found for found in findings if found.area is area]
    if mine:
        more = f" (and {len(mine) - 1} more)" if len(mine) > 1 else ""
        return Mark(area, QUESTIONS[area], mine[0].severity.value, mine[0].title + more)
    why = unread or _unknown(area, listed, dates)
    return Mark(area, QUESTIONS[area], "unknown" if why else "good", why or _good(area, listed, dates, cost))


def _why_unread(gathered: Gathered) -> str:
    reasons = gathered.found(_UNREAD).parts
    return "No page could be read" + (f" ({', '.join(reasons)})" if reasons else "")


def _unknown(area: Area, listed: int, dates: Dates) -> str:
    """Why nothing can be said of an area; empty if something can."""
    if not listed and area in (Area.CLEAN, Area.LASTMOD, Area.HINTS):
        return "There is no sitemap to judge"
    return "No listed page has one" if area is Area.LASTMOD and not dates.dated else ""


def _good(area: Area, listed: int, dates: Dates, cost: Cost) -> str:
    trusted = (
        "nothing speaks against it" if dates.precision is None else f"{dates.precision:.0%} of its moves are right"
    )
    return {
        Area.COMPLETE: "Every page that may be indexed is listed",
        Area.CLEAN: f"All {listed:,} listed URLs are pages to be indexed",
        Area.LASTMOD: f"{dates.dated:,} of {dates.entries:,} listed pages have one, and {trusted}",
        Area.HINTS: "They are left out, or tell pages apart",
        Area.LINKS: "Every link leads to a page, and every page has one name",
        Area.ROBOTS: "Nothing is wrong with it",
        Area.COST: f"{cost.requests:,} requests for {cost.pages:,} pages",
    }[area]
