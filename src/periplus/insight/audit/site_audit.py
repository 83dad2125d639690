"""The audit of one site: all checks, findings by severity, and a verdict on each area."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from periplus.model import RobotsFile

from .crawl_cost import check_cost
from .embedded_files import Embedded, check_embedded, read_embedded
from .finding_kinds import KINDS
from .internal_links import LinkChecks, check_links
from .lastmod import check_lastmod
from .page_texts import TextLimits, check_texts
from .results import Audit, Dates
from .robots_txt import check_robots
from .site_table import SiteTable
from .sitemap_contents import SitemapStatus, check_cleanliness, check_completeness, sitemap_status, unread_files
from .sitemap_hints import check_hints
from .url_checks import Checks
from .verdicts import marks_of

if TYPE_CHECKING:
    from periplus.insight.views import Views

_NOT_FINISHED = "the crawl was not finished, so not all links are known"
_UNASKED = "this crawl did not ask for sitemaps"
_UNREADABLE = "no sitemap could be read"
_FEW_VISITS = "too few pages were visited again"
_WAITING = "not is_crawled and refused is null and forbidden_by is null"
_SEEN = "select epoch(min(answered_at)) as first, epoch(max(answered_at)) as last from audited"
_WHY = """
select url, '' as note, '' as via, coalesce(reason, status::varchar, outcome) as kind, 0.0 as weight
from fetches where purpose in ('page', 'robots') and list_contains($sites, site)
    and (outcome in ('failed', 'excluded') or (purpose = 'page' and coalesce(status, 0) <> 200))
"""


class AuditSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """Limits of an audit."""

    slow: float = 2.0
    """Seconds that a page may take: visitors leave after two to three."""
    examples: int = 5
    """Examples of each finding."""
    pause: float = 60.0
    """Seconds; visits to a page closer together are a pair, made to learn what differs every time."""
    deep: int = 5
    """Clicks from the home page that a page may be away."""
    title: int = 70
    """Characters of a title: search results show about 60 to 70."""
    description: int = 160
    """Characters of a description: search results show about 155 to 160."""
    thin: int = 200
    """Characters of main text that a page should have: two or three sentences."""


class Judged(Struct, frozen=True):
    """An audit, and the URLs to request for a complete one: files and external links, the most used first."""

    audit: Audit
    files: list[str]
    external: list[str]


def audit(
    views: Views,
    sites: Sequence[str],
    robots: RobotsFile | None,
    *,
    is_whole: bool,
    settings: AuditSettings | None = None,
    checks: Checks | None = None,
) -> Audit:
    """Audit a site, given by all its host names, the first of which is shown.

    `is_whole`: nothing is left to fetch, so a page without a known link has none.
    """
    return judge(views, sites, robots, is_whole=is_whole, settings=settings, checks=checks).audit


def judge(
    views: Views,
    sites: Sequence[str],
    robots: RobotsFile | None,
    *,
    is_whole: bool,
    settings: AuditSettings | None = None,
    checks: Checks | None = None,
    embedded: Embedded | None = None,
) -> Judged:
    """Audit a site, and list what could be requested for a more complete audit."""
    settings, checks = settings or AuditSettings(), checks or Checks()
    table = SiteTable(views, sites, examples=settings.examples)
    status, unread = sitemap_status(table, robots), unread_files(table)
    lastmod = check_lastmod(table, checks.looks)
    cost_findings, cost = check_cost(table, pause=settings.pause)
    links = check_links(table, is_whole=is_whole, slow=settings.slow, deep=settings.deep)
    files = check_embedded(table, embedded or read_embedded(views, sites), checks)
    findings = [
        *check_completeness(table, status, unread),
        *check_cleanliness(table),
        *lastmod.findings,
        *check_hints(table),
        *links.findings,
        *check_texts(table, TextLimits(settings.title, settings.description, settings.thin)),
        *files.findings,
        *check_robots(robots, f"http://{sites[0]}/", has_sitemap=status is SitemapStatus.READ),
        *cost_findings,
    ]
    order = list(KINDS)
    findings.sort(key=lambda found: (found.severity.rank, order.index(found.name)))
    listed, pages, seen = table.count("is_listed"), table.count("is_page"), table.row(_SEEN)
    waiting = 0 if is_whole else table.count(_WAITING)
    found = Audit(
        site=sites[0],
        sites=tuple(sites),
        pages=pages,
        listed=listed,
        visited=table.count("is_listed and is_crawled"),
        linked=links.linked,
        followed=links.followed,
        is_whole=is_whole,
        marks=(),
        findings=tuple(findings),
        cost=cost,
        dates=lastmod.dates,
        unjudged=_sitemap_unjudged(status, unread)
        | _unjudged(lastmod.dates, is_whole=is_whole, has_list=bool(listed))
        | lastmod.unjudged
        | _unfollowed(links)
        | files.unjudged,
        waiting=waiting,
        seen_from=_time(seen.get("first")),
        seen_until=_time(seen.get("last")),
    )
    why = "" if pages else _why_unread(table)
    return Judged(replace(found, marks=marks_of(found, status, why)), files.files, files.external)


def _time(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) else None


def _sitemap_unjudged(status: SitemapStatus, unread: int) -> dict[str, str]:
    if status is SitemapStatus.UNASKED:
        return {"no-sitemap": _UNASKED}
    if status is SitemapStatus.UNREADABLE:
        return {"pages-unlisted": _UNREADABLE}
    files = "1 file of the sitemap was" if unread == 1 else f"{unread:,} files of the sitemap were"
    return {"pages-unlisted": f"{files} not read yet"} if unread else {}


def _unjudged(dates: Dates, *, is_whole: bool, has_list: bool) -> dict[str, str]:
    unjudged = {} if is_whole else {"deep-pages": _NOT_FINISHED}
    if has_list and not is_whole:
        unjudged["orphans"] = _NOT_FINISHED
    if has_list and dates.precision is None:
        unjudged["lastmod-wrong"] = _FEW_VISITS
    if has_list and dates.recall is None:
        unjudged["lastmod-misses"] = _FEW_VISITS
    return unjudged


def _unfollowed(links: LinkChecks) -> dict[str, str]:
    """Broken links among targets that were not fetched are not known."""
    missing = links.waiting
    return {"broken-links": f"{missing:,} of {links.linked:,} linked URLs were not fetched"} if missing else {}


def _why_unread(table: SiteTable) -> str:
    reasons = table.found(_WHY).parts
    return "No page could be read" + (f" ({', '.join(reasons)})" if reasons else "")
