"""Checks of what the sitemap lists: pages it leaves out, and URLs it should not list.

A missing sitemap is a finding only where the crawl looked for one; missing pages only where all files were read.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from periplus.formats.robots import parse
from periplus.model import RobotsFile
from periplus.model.statements import Statements
from periplus.urls import resolve_all, site_of
from periplus.view.findings import Severity

from .results import SiteFinding
from .site_table import Found, SiteTable, finding

SQL: Final = Statements(__file__)

_MAX_MISSING: Final = 0.5
"""Share of the pages that a sitemap may leave out before that is an error, not a warning."""
_OLD_DAYS: Final = 180
"""Age of the newest lastmod from which on a sitemap may be outdated: half a year without any change is rare."""
_MISMATCH: Final = 0.1
"""Share of pages missing, or of listed URLs without a page, from which on a sitemap no longer matches the site."""


class SitemapStatus(StrEnum):
    """What is known about the sitemap of a site.

    `READ`: it exists. `UNREADABLE`: one is named, but could not be read. `NONE`: the crawl looked for one and found
    none. `UNASKED`: the crawl did not ask for it, because of its settings or because it ended before.
    """

    READ = "read"
    UNREADABLE = "unreadable"
    NONE = "none"
    UNASKED = "unasked"


def sitemap_status(table: SiteTable, robots: RobotsFile | None) -> SitemapStatus:
    """Whether the site has a sitemap, as far as the crawl has looked."""
    if table.number(SQL["readable"]) or table.count("is_listed"):
        return SitemapStatus.READ
    if table.number(SQL["named"], dropped=dropped_files(table, robots)):
        return SitemapStatus.UNREADABLE
    is_named = robots is not None and robots.access == "rules" and bool(parse(robots.body).sitemaps)
    return SitemapStatus.NONE if table.number(SQL["looked_for"]) and not is_named else SitemapStatus.UNASKED


def dropped_files(table: SiteTable, robots: RobotsFile | None) -> list[str]:
    """Files that could not be read, and that robots.txt named before, but does not name any more."""
    if robots is None or robots.access not in ("rules", "all"):
        return [""]
    written = parse(robots.body).sitemaps if robots.access == "rules" else ()
    bases = (f"http://{robots.site}/robots.txt", f"https://{robots.site}/robots.txt")
    named = {url for base in bases for url in resolve_all(list(written), base)}
    rows = table.views.database.execute(SQL["once_named"], {"site": robots.site}).fetchall()
    return ["", *(url for (url,) in rows if url not in named)]


def unread_files(table: SiteTable) -> int:
    """How many files that the site's sitemap indexes name were not fetched yet."""
    database = table.views.database
    by_index: dict[str, list[str]] = {}
    for url, index in database.execute(SQL["children"], {"sites": table.sites}).fetchall():
        by_index.setdefault(index, []).append(url or "")
    if not by_index:
        return 0
    named = {url for index, urls in by_index.items() for url in resolve_all(urls, index) if url is not None}
    visited = {url for (url,) in database.execute(SQL["visited"], {"sites": table.sites}).fetchall()}
    return sum(1 for url in named if url not in visited and site_of(url) in table.sites)


def check_completeness(table: SiteTable, status: SitemapStatus, unread: int) -> list[SiteFinding]:
    """Check whether there is a sitemap with all pages. `unread` files of it were not fetched yet."""
    if status is SitemapStatus.NONE:
        return finding("no-sitemap", Found(1)) if table.count("is_page") else []
    if status is not SitemapStatus.READ or unread or not (table.number(SQL["lists"]) or table.count("is_listed")):
        return []
    good = table.count("is_good and is_first")
    missing = table.of_urls("is_good and is_first and not is_listed and by_discovery", note="coalesce(title, '')")
    severity = Severity.ERROR if missing.count > _MAX_MISSING * good else None
    return [*finding("pages-unlisted", missing, good, severity=severity), *_stale(table, missing.count, good)]


def _stale(table: SiteTable, missing: int, good: int) -> list[SiteFinding]:
    days = table.number(SQL["newest"])
    useless = table.count("is_listed and (is_error or is_soft_error or is_redirect)")
    visited = table.count("is_listed and is_crawled")
    no_longer_matches = missing > _MISMATCH * good or useless > _MISMATCH * visited
    return finding("sitemap-stale", Found(1), days=days) if days > _OLD_DAYS and no_longer_matches else []


def check_cleanliness(table: SiteTable, robots: RobotsFile | None) -> list[SiteFinding]:
    """Check for listed URLs that should not be listed, and for files that are not valid."""
    visited = table.count("is_listed and is_crawled")
    listed = table.count("is_listed")
    answered = "case when is_soft_error then '200, but a soft error' else coalesce(status::varchar, reason) end"
    errors = table.of_urls("is_listed and (is_error or is_soft_error)", note=answered, kind=answered)
    leading = table.of_urls("is_listed and is_redirect and not is_error", note="'leads to ' || leads_to")
    hidden = table.of_urls("is_listed and is_page and not is_soft_error and noindex")
    elsewhere = "is_listed and is_page and not is_soft_error and not coalesce(noindex, false) and leads_to is null"
    others = table.of_urls(f"{elsewhere} and believed_canonical is not null", note="'canonical: ' || canonical")
    copies = table.of_urls(f"{elsewhere} and believed_canonical is null and is_copy", note="'as ' || same_as")
    forbidden = table.of_urls("is_listed and forbidden_by is not null", note="'Disallow: ' || forbidden_by")
    return [
        *finding("listed-errors", errors, visited),
        *finding("listed-forbidden", forbidden, listed),
        *finding("listed-redirects", leading, visited),
        *finding("listed-noindex", hidden, visited),
        *finding("listed-canonical", others, visited),
        *finding("listed-duplicates", copies, visited),
        *finding("listed-twice", table.found(SQL["repeated"]), listed),
        *_files(table, dropped_files(table, robots)),
    ]


def _files(table: SiteTable, dropped: list[str]) -> list[SiteFinding]:
    files = table.number(SQL["files"], dropped=dropped)
    invalid = table.found(SQL["invalid"])
    if invalid.count:
        rows = table.views.database.execute(SQL["problems"], {"sites": table.sites}).fetchall()
        invalid = Found(invalid.count, invalid.examples, {str(name): int(number) for name, number in rows})
    return [
        *finding("sitemap-errors", table.found(SQL["unread"], dropped=dropped), files),
        *finding("sitemap-format", invalid, files),
    ]
