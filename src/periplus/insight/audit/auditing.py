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


class AuditSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """What an audit finds fault with."""

    slow: float = 2.0
    """Seconds that a page may take."""
    examples: int = 5
    """Examples of each finding."""


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
    about_cost, cost = costs(gathered)
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
    listed = gathered.count("is_listed")
    return Audit(
        site=sites[0],
        sites=tuple(sites),
        pages=gathered.count("is_page"),
        listed=listed,
        visited=gathered.count("is_listed and is_crawled"),
        is_whole=is_whole,
        marks=tuple(_mark(area, findings, listed, dates, cost) for area in Area),
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


def _mark(area: Area, findings: list[Finding], listed: int, dates: Dates, cost: Cost) -> Mark:
    mine = [found for found in findings if found.area is area]
    if mine:
        more = f" (and {len(mine) - 1} more)" if len(mine) > 1 else ""
        return Mark(area, QUESTIONS[area], mine[0].severity.value, mine[0].title + more)
    is_unknown = not listed and area in (Area.CLEAN, Area.LASTMOD, Area.HINTS)
    is_unknown = is_unknown or (area is Area.LASTMOD and not dates.dated)
    return Mark(area, QUESTIONS[area], "unknown" if is_unknown else "good", _good(area, listed, dates, cost))


def _good(area: Area, listed: int, dates: Dates, cost: Cost) -> str:
    if not listed and area in (Area.CLEAN, Area.LASTMOD, Area.HINTS):
        return "There is no sitemap to judge"
    if not dates.dated and area is Area.LASTMOD:
        return "No listed page has one"
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
