"""Checks of page metadata: titles, descriptions, amount of text, canonical URLs.

Only links of the last reading of each page count, and only of pages that exist.
"""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from .results import SiteFinding
from .site_table import SiteTable, finding

_LINKED: Final = """
create or replace temp table audited_links as
select url, page, pages from audited_targets where list_contains($sites, site)
"""
_REACHED: Final = """
create or replace temp table audited_reached as
select distinct target as url from current_links where list_contains($sites, target_site) and page <> target
    and (not list_contains($sites, site) or page in (select url from audited where is_page))
union select ends_at from redirect_chains join audited_links using (url)
union select leads_to from audited join audited_links using (url) where leads_to is not null
"""
"""Targets of links, also of links on other sites, and where redirects lead from there."""
_FOLLOWED: Final = "select count(*) from audited join audited_links using (url) where is_crawled"
_UNFETCHED: Final = """
select count(*) from audited join audited_links using (url)
where not is_crawled and refused is null and forbidden_by is null
"""
_DEAD: Final = """
create or replace temp table audited_dead as
select url, coalesce(status::varchar, reason) as answer, '' as way from audited where is_error
union all
select chains.url, case when is_loop then 'redirect loop'
        else coalesce(coalesce(last.status, end_status)::varchar, last.reason, 'no answer') end,
    ' after ' || array_to_string(path, ' → ')
from redirect_chains as chains semi join (select url from audited where is_redirect and not is_error) using (url)
    left join audited as last on last.url = ends_at
where is_broken or last.is_error
"""
"""URLs that return an error, by themselves or where they redirect to."""
_BROKEN: Final = """
select url, answer || way || ', linked from ' || case when pages = 1 then 'one page' else pages || ' pages' end as note,
    page as via, answer as kind, pages as weight
from audited_dead join audited_links using (url)
"""
_REDIRECTED: Final = """
select url, 'leads to ' || leads_to as note, page as via, '' as kind, pages as weight
from audited join audited_links using (url) anti join audited_dead using (url) where is_redirect
"""
_CHAINS: Final = """
select url, case when is_loop then 'loop: ' else hops || ' hops: ' end || array_to_string(path, ' → ') as note,
    coalesce(page, '') as via, case when is_loop then 'loop' else hops || ' hops' end as kind, hops as weight
from redirect_chains left join audited_links using (url)
where list_contains($sites, site) and (hops > 1 or is_loop) and is_start
"""
_ORPHANS: Final = """
is_listed and is_good and is_first and first_source <> 'seed' and cluster not in (
    select audited.cluster from audited join audited_reached using (url))
"""
"""Condition for a page without links to it, or to another URL of the same page."""
_COPIES: Final = "is_copy and not is_soft_error and believed_canonical is null and not noindex"
_COPY_KIND: Final = "case when is_parameter_of_same then 'by a parameter' else 'by another path' end"


class LinkChecks(Struct, frozen=True):
    """The findings, and how many URLs of the site are linked to, were fetched, and are still to fetch."""

    findings: list[SiteFinding]
    linked: int
    followed: int
    waiting: int


def check_links(table: SiteTable, *, is_whole: bool, slow: float, deep: int) -> LinkChecks:
    """Check the links within the site. Orphans and deep pages need a complete crawl (`is_whole`)."""
    for sql in (_LINKED, _REACHED, _DEAD):
        table.views.database.execute(sql, {"sites": table.sites} if "$sites" in sql else {})
    linked, followed = table.number("select count(*) from audited_links"), table.number(_FOLLOWED)
    pages = table.count("is_page")
    redirects = table.number("select count(*) from redirect_chains where list_contains($sites, site)")
    slow_pages = table.of_urls(f"is_page and seconds > {slow:f}", note="printf('%.1f s', seconds)")
    findings = [
        *(_of_whole_site(table, deep) if is_whole else ()),
        *finding("broken-links", table.found(_BROKEN), followed),
        *finding("soft-errors", table.of_urls("is_soft_error", note="title")),
        *finding("redirected-links", table.found(_REDIRECTED), followed),
        *finding("redirect-chains", table.found(_CHAINS), redirects),
        *finding("duplicate-pages", table.of_urls(_COPIES, note="'as ' || same_as", kind=_COPY_KIND), pages),
        *finding("slow-pages", slow_pages, pages, limit=f"{slow:g}"),
    ]
    return LinkChecks(findings, linked, followed, table.number(_UNFETCHED))


def _of_whole_site(table: SiteTable, deep: int) -> list[SiteFinding]:
    listed = table.count("is_listed and is_good")
    far = table.of_urls(f"is_good and clicks > {deep:d}", note="clicks || ' clicks'")
    return [
        *finding("orphans", table.of_urls(_ORPHANS), listed),
        *finding("deep-pages", far, table.count("is_good"), limit=deep),
    ]


_INDEXABLE: Final = "is_good and is_first and coalesce(mime, 'text/html') in ('text/html', 'application/xhtml+xml')"
_REPEATED: Final = """
select url, {field} as note, other as via, '' as kind, same as weight from (
    select url, {field}, count(*) over alike as same,
        case when row_number() over ordered = 1 then lead(url) over ordered else first_value(url) over ordered end
            as other
    from audited where {condition} and trim(coalesce({field}, '')) <> ''
    window alike as (partition by lower(trim({field}))),
        ordered as (partition by lower(trim({field})) order by length(url), url))
where same > 1
"""
_CANONICALS: Final = """
select page.url, 'canonical ' || page.canonical || {note} as note, '' as via, {kind} as kind, page.pagerank as weight
from audited as page join audited as target on target.url = page.canonical
where page.is_page and not page.is_soft_error and page.canonical <> page.url and {condition}
"""


class TextLimits(Struct, frozen=True):
    """What titles, descriptions and main text may measure, in characters."""

    title: int
    description: int
    thin: int


def check_texts(table: SiteTable, limits: TextLimits) -> list[SiteFinding]:
    """Check titles, descriptions, text and canonical URLs of the pages."""
    of = table.count(_INDEXABLE)
    thin = f"{_INDEXABLE} and coalesce(main_length, 0) < {limits.thin:d}"
    return [
        *_texts(table, "title", limits.title, of),
        *_texts(table, "description", limits.description, of),
        *finding(
            "thin-pages",
            table.of_urls(thin, note="coalesce(main_length, 0) || ' characters'"),
            of,
            limit=limits.thin,
        ),
        *_canonicals(table),
    ]


def _texts(table: SiteTable, field: str, longest: int, of: int) -> list[SiteFinding]:
    missing = table.of_urls(f"{_INDEXABLE} and trim(coalesce({field}, '')) = ''")
    repeated = table.found(_REPEATED.format(field=field, condition=_INDEXABLE))
    long = table.of_urls(
        f"{_INDEXABLE} and length({field}) > {longest:d}", note=f"length({field}) || ' characters: ' || {field}"
    )
    return [
        *finding(f"{field}-missing", missing, of),
        *finding(f"{field}-duplicate", repeated, of),
        *finding(f"{field}-long", long, of, limit=longest),
    ]


def _canonicals(table: SiteTable) -> list[SiteFinding]:
    of = table.count("is_page and canonical <> url")
    is_chain = "not target.is_error and (target.is_redirect or (target.is_page and target.canonical <> target.url))"
    chains = _CANONICALS.format(
        condition=is_chain,
        note="case when target.is_redirect then ' redirects to ' || target.leads_to"
        " else ' has the canonical ' || target.canonical end",
        kind="case when target.is_redirect then 'redirect' else 'chain' end",
    )
    errors = _CANONICALS.format(
        condition="target.is_error",
        note="' returns ' || coalesce(target.status::varchar, target.reason)",
        kind="coalesce(target.status::varchar, target.reason)",
    )
    others = _CANONICALS.format(condition="target.is_good and page.believed_canonical is null", note="''", kind="''")
    return [
        *finding("canonical-others", table.found(others), of),
        *finding("canonical-chains", table.found(chains), of),
        *finding("canonical-errors", table.found(errors), of),
    ]
