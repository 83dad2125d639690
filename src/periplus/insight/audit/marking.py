"""A mark for each area of an audit: the gravest finding, or what is good there, or why nothing can be said.

What was not looked at is not claimed: each sentence that says "all" or "every" says of what, where that is not all
there is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from .listing import Standing
from .values import QUESTIONS, Area, Audit, Mark

_OF_SITEMAPS: Final = (Area.COMPLETE, Area.CLEAN, Area.LASTMOD, Area.HINTS)
NOT_THERE: Final = {
    Standing.NONE: "There is no sitemap to judge",
    Standing.UNREADABLE: "No sitemap could be read",
    Standing.UNASKED: "Sitemaps were not read",
}


def marks_of(audit: Audit, stands: Standing, unread: str) -> tuple[Mark, ...]:
    """All of them, of an audit without marks.

    Of a site of which no page was read (`unread` says why), nothing is good.
    """
    return tuple(_mark(area, audit, stands, unread) for area in Area)


def _mark(area: Area, audit: Audit, stands: Standing, unread: str) -> Mark:
    mine = [found for found in audit.findings if found.area is area]
    if mine:
        more = f" (and {len(mine) - 1} more)" if len(mine) > 1 else ""
        return Mark(area, QUESTIONS[area], mine[0].severity.value, mine[0].title + more)
    why = unread or _unknown(area, audit, stands)
    return Mark(area, QUESTIONS[area], "unknown" if why else "good", why or _GOOD[area](audit))


def _unknown(area: Area, audit: Audit, stands: Standing) -> str:
    """Why nothing can be said of an area; empty if something can."""
    if area not in _OF_SITEMAPS:
        return ""
    if stands is not Standing.READ:
        return NOT_THERE[stands]
    if area is Area.COMPLETE:
        return audit.unjudged.get("pages-unlisted", "").capitalize()
    if not audit.listed:
        return "No sitemap that was read lists a page"
    if area is Area.CLEAN and not audit.visited:
        return f"None of {audit.listed:,} listed URLs was visited"
    return "No listed page has one" if area is Area.LASTMOD and not audit.dates.dated else ""


def _complete(audit: Audit) -> str:
    return "Every page that may be indexed is listed" + (
        "" if audit.is_whole else f", of {audit.pages:,} that were read"
    )


def _clean(audit: Audit) -> str:
    if audit.visited < audit.listed:
        return f"All {audit.visited:,} of {audit.listed:,} listed URLs that were visited are pages to be indexed"
    return f"All {audit.listed:,} listed URLs are pages to be indexed"


def _dated(audit: Audit) -> str:
    dates = audit.dates
    trusted = (
        "nothing speaks against it" if dates.precision is None else f"{dates.precision:.0%} of its moves are right"
    )
    return f"{dates.dated:,} of {dates.entries:,} listed pages have one, and {trusted}"


def _linked(audit: Audit) -> str:
    if audit.followed < audit.linked:
        looked = f"All {audit.followed:,} of {audit.linked:,} linked URLs that were visited are pages"
    else:
        looked = "Every link within the site leads to a page"
    return f"{looked}, and every page has one name"


_GOOD: Final[dict[Area, Callable[[Audit], str]]] = {
    Area.COMPLETE: _complete,
    Area.CLEAN: _clean,
    Area.LASTMOD: _dated,
    Area.HINTS: lambda _: "They are left out, or tell pages apart",
    Area.LINKS: _linked,
    Area.ROBOTS: lambda _: "Nothing is wrong with it",
    Area.COST: lambda audit: f"{audit.cost.requests:,} requests for {audit.cost.pages:,} pages",
}
