"""The verdict on each area of an audit: the worst finding, what is good, or why there is no verdict.

A sentence about "all" or "every" names how many were checked, where that is not everything.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from .results import QUESTIONS, Area, Audit, Mark
from .sitemap_contents import SitemapStatus

_OF_SITEMAPS: Final = (Area.COMPLETE, Area.CLEAN, Area.LASTMOD, Area.HINTS)
NOT_THERE: Final = {
    SitemapStatus.NONE: "There is no sitemap to judge",
    SitemapStatus.UNREADABLE: "No sitemap could be read",
    SitemapStatus.UNASKED: "Sitemaps were not read",
}


def marks_of(audit: Audit, status: SitemapStatus, unread: str) -> tuple[Mark, ...]:
    """The verdicts on all areas. If no page was read (`unread` is the reason), no area is good."""
    return tuple(_mark(area, audit, status, unread) for area in Area)


def _mark(area: Area, audit: Audit, status: SitemapStatus, unread: str) -> Mark:
    mine = [found for found in audit.findings if found.area is area]
    if mine:
        more = f" (and {len(mine) - 1} more)" if len(mine) > 1 else ""
        return Mark(area, QUESTIONS[area], mine[0].severity.value, mine[0].title + more)
    why = unread or _unknown(area, audit, status)
    return Mark(area, QUESTIONS[area], "unknown" if why else "good", why or _GOOD[area](audit))


def _unknown(area: Area, audit: Audit, status: SitemapStatus) -> str:
    """Why there is no verdict on an area; empty if there is one."""
    if area not in _OF_SITEMAPS:
        return ""
    if status is not SitemapStatus.READ:
        return NOT_THERE[status]
    if area is Area.COMPLETE:
        return audit.unjudged.get("pages-unlisted", "").capitalize()
    if not audit.listed:
        return "No sitemap that was read lists a page"
    if area is Area.CLEAN and not audit.visited:
        return f"None of {audit.listed:,} listed URLs was fetched"
    return "No listed page has one" if area is Area.LASTMOD and not audit.dates.dated else ""


def _complete(audit: Audit) -> str:
    return "Every indexable page is listed" + ("" if audit.is_whole else f", of {audit.pages:,} that were read")


def _clean(audit: Audit) -> str:
    if audit.visited < audit.listed:
        return f"All {audit.visited:,} of {audit.listed:,} listed URLs that were visited are indexable pages"
    return f"All {audit.listed:,} listed URLs are indexable pages"


def _dated(audit: Audit) -> str:
    dates = audit.dates
    trusted = "nothing contradicts it" if dates.precision is None else f"{dates.precision:.0%} of its updates are right"
    return f"{dates.dated:,} of {dates.entries:,} listed pages have one, and {trusted}"


def _linked(audit: Audit) -> str:
    if audit.followed < audit.linked:
        looked = f"All {audit.followed:,} of {audit.linked:,} linked URLs that were visited work"
    else:
        looked = "Every link within the site works"
    return f"{looked}, and every page has one URL"


_GOOD: Final[dict[Area, Callable[[Audit], str]]] = {
    Area.COMPLETE: _complete,
    Area.CLEAN: _clean,
    Area.LASTMOD: _dated,
    Area.HINTS: lambda _: "They are left out, or differ between pages",
    Area.LINKS: _linked,
    Area.PAGES: lambda audit: f"Titles, descriptions and canonical URLs of {audit.pages:,} pages are in order",
    Area.ROBOTS: lambda _: "It is valid",
    Area.COST: lambda audit: f"{audit.cost.requests:,} requests for {audit.cost.pages:,} pages",
}
