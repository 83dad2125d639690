"""Is the sitemap complete, and is it clean? What links lead to and it leaves out; what it lists and should not.

That there is none is said only where one was looked for. What is missing in it is said only where all of it was read.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from periplus.formats.robots import parse
from periplus.model import RobotsFile
from periplus.urls import resolve_all, site_of

from .gathering import Found, Gathered, finding
from .values import Finding, Severity

_MOST: Final = 0.5
"""A sitemap that leaves out more than this share of a site is worse than incomplete."""
_OLD_DAYS: Final = 180
_UNFIT: Final = 0.1
"""A sitemap that misses this share of the pages, or lists this share in vain, no longer fits."""

_FILES: Final = """
select count(*) from sitemap_files where list_contains($sites, site)
    and (kind in ('urlset', 'index', 'text') or (kind is null and origin <> 'well-known'))
"""
_READABLE: Final = """
select count(*) from sitemap_files where list_contains($sites, site) and kind in ('urlset', 'index', 'text')
"""
_LISTS: Final = """
select count(*) from sitemap_files where list_contains($sites, site) and kind in ('urlset', 'text')
"""
_NAMED: Final = """
select count(*) from sitemap_files where list_contains($sites, site) and origin not in ('well-known', 'page')
"""
_LOOKED_FOR: Final = """
select count(*) from sitemap_files where list_contains($sites, site) and origin <> 'page'
"""
_CHILDREN: Final = """
select entries.url, entries.sitemap from sitemap_entries as entries join (
    select sitemap, max(read_at) as read_at from sitemap_entries where kind = 'summary' group by sitemap)
using (sitemap, read_at) where kind = 'sitemap' and list_contains($sites, site) order by entries.sitemap
"""
_VISITED: Final = "select url from sitemap_files where list_contains($sites, site)"
_UNREAD: Final = """
select url, coalesce(outcome, kind) as note, coalesce(parent, '') as via, coalesce(outcome, kind) as kind,
    0.0 as weight
from sitemap_files where list_contains($sites, site) and origin not in ('well-known', 'page')
    and ((outcome is not null and read_at is null) or kind in ('html', 'unknown'))
"""
_MISSHAPEN: Final = """
select url, array_to_string(problems, ', ') as note, '' as via, '' as kind, problem_count as weight
from sitemap_files where list_contains($sites, site) and kind in ('urlset', 'index', 'text') and len(problems) > 0
"""
_PROBLEMS: Final = """
select problem, count(*) as files from (
    select unnest(problems) as problem from sitemap_files
    where list_contains($sites, site) and kind in ('urlset', 'index', 'text'))
group by problem order by files desc, problem
"""
_NEWEST: Final = """
select (epoch(max(read_at)) - epoch(max(lastmod))) / 86400 from audited_entries
"""


class Standing(StrEnum):
    """What is known of the sitemap of a site.

    `READ`: there is one. `UNREADABLE`: one is named, and could not be read. `NONE`: it was looked for in vain.
    `UNASKED`: the crawl did not ask for it, because it was told so, or ended before.
    """

    READ = "read"
    UNREADABLE = "unreadable"
    NONE = "none"
    UNASKED = "unasked"


def standing(gathered: Gathered, robots: RobotsFile | None) -> Standing:
    """Whether there is a sitemap, as far as the crawl has looked."""
    if gathered.number(_READABLE) or gathered.count("is_listed"):
        return Standing.READ
    if gathered.number(_NAMED):
        return Standing.UNREADABLE
    is_named = robots is not None and robots.access == "rules" and bool(parse(robots.body).sitemaps)
    return Standing.NONE if gathered.number(_LOOKED_FOR) and not is_named else Standing.UNASKED


def unread_files(gathered: Gathered) -> int:
    """How many files of the site its sitemap indexes name that the crawl has not come to."""
    database = gathered.views.database
    by_index: dict[str, list[str]] = {}
    for url, index in database.execute(_CHILDREN, {"sites": gathered.sites}).fetchall():
        by_index.setdefault(index, []).append(url or "")
    if not by_index:
        return 0
    named = {url for index, urls in by_index.items() for url in resolve_all(urls, index) if url is not None}
    visited = {url for (url,) in database.execute(_VISITED, {"sites": gathered.sites}).fetchall()}
    return sum(1 for url in named if url not in visited and site_of(url) in gathered.sites)


def completeness(gathered: Gathered, stands: Standing, unread: int) -> list[Finding]:
    """What the sitemap leaves out, or that there is none. `unread`: files of it that the crawl has not come to."""
    if stands is Standing.NONE:
        return finding("no-sitemap", Found(1)) if gathered.count("is_page") else []
    if stands is not Standing.READ or unread or not (gathered.number(_LISTS) or gathered.count("is_listed")):
        return []
    good = gathered.count("is_good and is_first")
    missing = gathered.of_urls("is_good and is_first and not is_listed and by_discovery", note="coalesce(title, '')")
    severity = Severity.ERROR if missing.count > _MOST * good else None
    return [*finding("pages-unlisted", missing, good, severity=severity), *_stale(gathered, missing.count, good)]


def _stale(gathered: Gathered, missing: int, good: int) -> list[Finding]:
    days = gathered.number(_NEWEST)
    vain = gathered.count("is_listed and (is_error or is_apology or is_redirect)")
    visited = gathered.count("is_listed and is_crawled")
    is_unfit = missing > _UNFIT * good or vain > _UNFIT * visited
    return finding("sitemap-stale", Found(1), days=days) if days > _OLD_DAYS and is_unfit else []


def cleanliness(gathered: Gathered) -> list[Finding]:
    """What the sitemap lists and should not, and files that are not as they should be."""
    visited = gathered.count("is_listed and is_crawled")
    listed = gathered.count("is_listed")
    answered = (
        "case when is_apology then '200, but an apology' when outcome = 'failed' then reason else status::varchar end"
    )
    errors = gathered.of_urls("is_listed and (is_error or is_apology)", note=answered, kind=answered)
    leading = gathered.of_urls("is_listed and is_redirect and not is_error", note="'leads to ' || leads_to")
    hidden = gathered.of_urls("is_listed and is_page and not is_apology and noindex")
    elsewhere = "is_listed and is_page and not is_apology and not coalesce(noindex, false) and leads_to is null"
    others = gathered.of_urls(f"{elsewhere} and canonical <> url", note="'canonical: ' || canonical")
    copies = gathered.of_urls(
        f"{elsewhere} and coalesce(canonical = url, true) and not is_first", note="'as ' || same_as"
    )
    forbidden = gathered.of_urls("is_listed and forbidden_by is not null", note="'Disallow: ' || forbidden_by")
    return [
        *finding("listed-errors", errors, visited),
        *finding("listed-forbidden", forbidden, listed),
        *finding("listed-redirects", leading, visited),
        *finding("listed-noindex", hidden, visited),
        *finding("listed-canonical", others, visited),
        *finding("listed-duplicates", copies, visited),
        *_files(gathered),
    ]


def _files(gathered: Gathered) -> list[Finding]:
    files = gathered.number(_FILES)
    misshapen = gathered.found(_MISSHAPEN)
    if misshapen.count:
        rows = gathered.views.database.execute(_PROBLEMS, {"sites": gathered.sites}).fetchall()
        misshapen = Found(misshapen.count, misshapen.examples, {str(name): int(number) for name, number in rows})
    return [
        *finding("sitemap-errors", gathered.found(_UNREAD), files),
        *finding("sitemap-format", misshapen, files),
    ]
