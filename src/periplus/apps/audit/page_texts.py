"""Checks of page metadata: titles, descriptions, amount of text, canonical URLs.

Only links of the last reading of each page count, and only of pages that exist.
"""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from periplus.model.statements import Statements

from .results import SiteFinding
from .site_table import SiteTable, finding

SQL: Final = Statements(__file__)

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
    for sql in (SQL["linked"], SQL["reached"], SQL["dead"]):
        table.views.database.execute(sql, {"sites": table.sites} if "$sites" in sql else {})
    linked, followed = table.number("select count(*) from audited_links"), table.number(SQL["followed"])
    pages = table.count("is_page")
    redirects = table.number("select count(*) from redirect_chains where list_contains($sites, site)")
    slow_pages = table.of_urls(f"is_page and seconds > {slow:f}", note="printf('%.1f s', seconds)")
    findings = [
        *(_of_whole_site(table, deep) if is_whole else ()),
        *finding("broken-links", table.found(SQL["broken"]), followed),
        *finding("soft-errors", table.of_urls("is_soft_error", note="title")),
        *finding("redirected-links", table.found(SQL["redirected"]), followed),
        *finding("redirect-chains", table.found(SQL["chains"]), redirects),
        *finding("duplicate-pages", table.of_urls(_COPIES, note="'as ' || same_as", kind=_COPY_KIND), pages),
        *finding("slow-pages", slow_pages, pages, limit=f"{slow:g}"),
    ]
    return LinkChecks(findings, linked, followed, table.number(SQL["unfetched"]))


def _of_whole_site(table: SiteTable, deep: int) -> list[SiteFinding]:
    listed = table.count("is_listed and is_good")
    far = table.of_urls(f"is_good and clicks > {deep:d}", note="clicks || ' clicks'")
    return [
        *finding("orphans", table.of_urls(SQL["orphans"]), listed),
        *finding("deep-pages", far, table.count("is_good"), limit=deep),
    ]


_INDEXABLE: Final = "is_good and is_first and coalesce(mime, 'text/html') in ('text/html', 'application/xhtml+xml')"


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
    repeated = table.found(SQL["repeated"].format(field=field, condition=_INDEXABLE))
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
    chains = SQL["canonicals"].format(
        condition=is_chain,
        note="case when target.is_redirect then ' redirects to ' || target.leads_to"
        " else ' has the canonical ' || target.canonical end",
        kind="case when target.is_redirect then 'redirect' else 'chain' end",
    )
    errors = SQL["canonicals"].format(
        condition="target.is_error",
        note="' returns ' || coalesce(target.status::varchar, target.reason)",
        kind="coalesce(target.status::varchar, target.reason)",
    )
    others = SQL["canonicals"].format(
        condition="target.is_good and page.believed_canonical is null", note="''", kind="''"
    )
    return [
        *finding("canonical-others", table.found(others), of),
        *finding("canonical-chains", table.found(chains), of),
        *finding("canonical-errors", table.found(errors), of),
    ]
