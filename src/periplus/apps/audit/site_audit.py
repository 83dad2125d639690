"""The audit of one site: all checks, findings by severity, and a verdict on each area.

The checks of priority and changefreq, which carry no information if they are the same for all pages, of headers, and of
what a crawl of the site costs are here; the others have their own files. This module knows none of the declared checks
by name.

A sentence about "all" or "every" names how many were checked, where that is not everything.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pyarrow as pa
from msgspec import Struct
from msgspec.structs import replace

from periplus.collection.config.settings import AuditBudgets
from periplus.formats.headers import Headers
from periplus.model import RobotsFile
from periplus.model.statements import Statements
from periplus.store.warc import read_records
from periplus.store.warc.reading import WarcRecord
from periplus.view.findings import FaultyUrl, in_order
from periplus.view.values import TableRow

from .budgets import check_budgets
from .embedded_files import Checks, check_embedded
from .finding_kinds import KINDS
from .lastmod import check_lastmod
from .page_checks import PAGE_CHECKS
from .page_facts import SECURITY_HEADERS, AuditedFacts, read_facts
from .page_grid import grid_rows, make_grid
from .page_texts import LinkChecks, TextLimits, check_links, check_texts
from .results import QUESTIONS, Area, Audit, Cost, Dates, Mark, SiteFinding
from .robots_file import check_robots, check_rules
from .site_checks import SITE_CHECKS
from .site_table import Found, SiteTable, finding
from .sitemap_contents import SitemapStatus, check_cleanliness, check_completeness, sitemap_status, unread_files

if TYPE_CHECKING:
    from periplus.insight.views import Views

SQL: Final = Statements(__file__)

_MIN_ENTRIES: Final = 10
"""Entries with the field below which a constant value may be chance."""


def check_hints(table: SiteTable) -> list[SiteFinding]:
    """Check whether the fields are constant."""
    row = table.row(SQL["hints"])
    found = []
    for name, field, fields in (
        ("priority-constant", "priority", "priorities"),
        ("changefreq-constant", "changefreq", "changefreqs"),
    ):
        number = int(str(row.get(fields) or 0))
        if number >= _MIN_ENTRIES and row.get(f"different_{fields}") == 1:
            found += finding(name, Found(number, (FaultyUrl("", f"{field} {row.get(field)}"),)), number)
    return found


_MAX_NEEDLESS: Final = 0.2
"""Share of the requests for pages that may return nothing new: sound sites stay below a fifth."""
_MIN_VISITS: Final = 20
"""Requests for pages below which a share proves nothing."""
_MIN_UNCHANGED: Final = 10
"""Unchanged pages sent in full from which on missing validators are a finding."""
_MAX_FULL: Final = 0.5
"""Share of unchanged pages that may be sent in full: a crawl itself omits validators now and then to verify them."""

_WASTED: Final = ("redirects", "errors", "duplicates", "soft_errors", "unchanged")
_MAX_ASKED: Final = 1000
"""Answers whose requests are looked up."""
_VALIDATORS: Final = ("etag", "last-modified")
_CONDITIONS: Final = ("if-none-match", "if-modified-since")


def _keep_well_asked(table: SiteTable) -> None:
    """Leave out full answers that the server could not help.

    It could have answered 304 if the request had a condition; without one it is at fault if it sends no validators:
    then no conditional request is possible. A crawl leaves conditions out now and then, to check the validators.
    """
    database = table.views.database
    archive = table.views.folder / "warc"
    asked = [
        row
        for row in database.execute(SQL["stored"], {"most": _MAX_ASKED}).fetchall()
        if _could_be_304(archive / row[0], row[1])
    ]
    columns = {"warc_file": pa.array([file for file, _ in asked], pa.string())}
    columns["warc_offset"] = pa.array([offset for _, offset in asked], pa.int64())
    database.register("audited_asked_well", pa.table(columns))
    database.execute(SQL["unasked_rows"])


def _could_be_304(path: Path, offset: int) -> bool:
    try:
        records = [each for each in islice(read_records(path, offset=offset), 2) if isinstance(each, WarcRecord)]
    except OSError:
        return False
    if len(records) < 2 or records[1].type != "request":
        return False
    answer, request = (Headers(record.message().fields) for record in records)
    return any(request.get(name) for name in _CONDITIONS) or not any(answer.get(name) for name in _VALIDATORS)


def check_cost(table: SiteTable, *, pause: float, since: float = 0.0) -> tuple[list[SiteFinding], Cost]:
    """Compute the cost, and what of it was wasted. Visits less than `pause` seconds apart count as one."""
    table.views.database.execute(SQL["again"], {"sites": table.sites, "pause": pause, "since": since})
    row = table.row(SQL["requests"], since=since)
    requests, size, visits = (int(str(row.get(name) or 0)) for name in ("requests", "bytes", "visits"))
    _keep_well_asked(table)
    again, unchanged = table.number("select count(*) from audited_again"), table.found(SQL["full"])
    rows = table.views.database.execute(SQL["needless"], {"sites": table.sites, "since": since}).fetchall()
    counts = {str(kind): int(number) for kind, number in rows}
    cost = Cost(
        requests=requests,
        bytes=size,
        visits=visits,
        pages=table.count("is_good and is_first"),
        needless=sum(counts.values()),
        wasted={name: counts[name] for name in _WASTED if name in counts},
    )
    found: list[SiteFinding] = []
    if visits >= _MIN_VISITS and cost.share >= _MAX_NEEDLESS:
        found += finding("needless-requests", Found(cost.needless, parts=cost.wasted), visits)
    if unchanged.count >= _MIN_UNCHANGED and unchanged.count > _MAX_FULL * again:
        found += finding("no-validators", unchanged, again)
    return found, cost


_MOST: Final = 0.5
"""Share of the pages from which on a fault is the way of the site."""
_MIN_GROUP: Final = 3
"""Pages that are compared with each other, at least."""


def check_declared(table: SiteTable, facts: AuditedFacts, *, is_whole: bool) -> list[SiteFinding]:
    """Run the declared checks: the queries, then those of single pages."""
    table.views.database.execute(SQL["judged"])
    found: list[SiteFinding] = []
    for site_check in SITE_CHECKS:
        if (is_whole or not site_check.needs_whole) and (facts.pages or not site_check.needs_pages):
            rows = table.found(site_check.sql)
            found += finding(site_check.kind.name, rows, table.number(site_check.of) if rows.count else 0)
    judged = table.row("select count(*) as pages, count(*) filter (where is_index) as indexed from audited_judged")
    for page_check in PAGE_CHECKS:
        words = {"name": page_check.kind.name, "of_all": page_check.of_all}
        is_relative = page_check.kind.is_relative
        rows = _relative(table, facts, words) if is_relative else table.found(SQL["faults"], **words)
        of = judged["pages"] if page_check.of_all else judged["indexed"]
        found += finding(page_check.kind.name, rows, int(str(of)))
    return found


def _relative(table: SiteTable, facts: AuditedFacts, words: dict[str, object]) -> Found:
    """The pages with a fault that most pages of the site do not have.

    A fault of most pages of a group is one example; what most of all pages go without, the site does not use.
    """
    kinds = table.views.database.execute(SQL["faults_by_kind"], words).fetchall()
    usual = {
        kind: (group, n)
        for kind, group, n in kinds
        if n > max(_MIN_GROUP if group else 0, _MOST * facts.groups.get(group, 0))
    }
    rows = table.found(
        SQL["faults"]
        + " and not list_contains($usual, kind) qualify row_number() over (partition by url order by kind) = 1",
        **words,
        usual=list(usual),
    )
    shared = {kind: pages for kind, (group, pages) in usual.items() if group}
    notes = tuple(
        FaultyUrl("", f"{kind or 'most pages'}: on {pages:,} pages, nearly all") for kind, pages in shared.items()
    )
    return Found(max(rows.count, *shared.values(), 0), (*notes, *rows.examples), rows.parts)


_LOCAL: Final = (".test", ".local", ".localhost", ".internal", ".example", ".invalid")


def check_safety(table: SiteTable, facts: AuditedFacts) -> list[SiteFinding]:
    """Check how the site is served: HTTPS, and headers that protect visitors."""
    host = table.sites[0].partition(":")[0]
    is_local = host == "localhost" or host.endswith(_LOCAL) or host.replace(".", "").isdigit() or host.startswith("[")
    is_open = table.count("is_page") > 0 and not table.count("is_page and starts_with(url, 'https:')")
    headers = tuple(FaultyUrl("", name) for name in facts.unsent)
    return [
        *(finding("no-https", Found(1)) if is_open and not is_local else []),
        *finding("security-headers", Found(len(headers), headers), len(SECURITY_HEADERS)),
    ]


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
    Area.DATA: lambda audit: f"Nothing is wrong with it on {audit.pages:,} pages",
    Area.MEDIA: lambda audit: f"Those of {audit.pages:,} pages are in order",
    Area.SAFETY: lambda _: "Nothing is embedded or sent insecurely",
    Area.ROBOTS: lambda _: "It is valid",
    Area.COST: lambda audit: f"{audit.cost.requests:,} requests for {audit.cost.pages:,} pages",
}


_NOT_FINISHED = "the crawl was not finished, so not all links are known"
_UNASKED = "this crawl did not ask for sitemaps"
_UNREADABLE = "no sitemap could be read"
_FEW_VISITS = "too few pages were visited again"
_WAITING = "not is_crawled and refused is null and forbidden_by is null"


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
    since: float = 0.0
    """Unix time: the cost is that of requests from then on. An audit that crawls judges its own requests."""
    budgets: AuditBudgets = AuditBudgets()
    """Budgets that the site must keep."""
    has_grid: bool = False
    """Also return the grid of all pages."""


class JudgedAudit(Struct, frozen=True):
    """An audit, and the URLs to request for a complete one: files and external links, the most used first.

    `grid` has the rows of `page_grid`, if they were asked for.
    """

    audit: Audit
    files: list[str]
    external: list[str]
    facts: AuditedFacts
    grid: list[TableRow] = []


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
    facts: AuditedFacts | None = None,
) -> JudgedAudit:
    """Audit a site, and list what could be requested for a more complete audit. `facts`: if they are known already."""
    settings, checks = settings or AuditSettings(), checks or Checks()
    table = SiteTable(views, sites, examples=settings.examples)
    facts = facts or read_facts(views, sites)
    for name, rows in facts.tables.items():
        views.database.register(name, rows)
    status, unread = sitemap_status(table, robots), unread_files(table)
    lastmod = check_lastmod(table, checks.looks)
    cost_findings, cost = check_cost(table, pause=settings.pause, since=settings.since)
    links = check_links(table, is_whole=is_whole, slow=settings.slow, deep=settings.deep)
    files = check_embedded(table, facts, checks)
    findings = [
        *check_completeness(table, status, unread),
        *check_cleanliness(table, robots),
        *lastmod.findings,
        *check_hints(table),
        *links.findings,
        *check_texts(table, TextLimits(settings.title, settings.description, settings.thin)),
        *files.findings,
        *check_declared(table, facts, is_whole=is_whole),
        *check_safety(table, facts),
        *check_robots(robots, f"http://{sites[0]}/", has_sitemap=status is SitemapStatus.READ),
        *check_rules(robots, table, is_whole=is_whole),
        *cost_findings,
    ]
    findings = in_order(findings, KINDS)
    if settings.has_grid or settings.budgets != AuditBudgets():
        make_grid(views.database, sites)
    listed, pages, seen = table.count("is_listed"), table.count("is_page"), table.row(SQL["seen"])
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
        budgets=check_budgets(table, settings.budgets, findings),
    )
    why = "" if pages else _why_unread(table)
    grid = grid_rows(views.database) if settings.has_grid else []
    return JudgedAudit(replace(found, marks=marks_of(found, status, why)), files.files, files.external, facts, grid)


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
    reasons = table.found(SQL["why"]).parts
    return "No page could be read" + (f" ({', '.join(reasons)})" if reasons else "")
