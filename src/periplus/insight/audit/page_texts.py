"""Checks of page metadata: titles, descriptions, amount of text, canonical URLs."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from .results import Finding
from .site_table import SiteTable, finding

_INDEXABLE: Final = "is_good and is_first and coalesce(mime, 'text/html') in ('text/html', 'application/xhtml+xml')"
_REPEATED: Final = """
select url, {field} as note, other as via, '' as kind, same as weight from (
    select url, {field}, count(*) over (partition by lower(trim({field}))) as same,
        first_value(url) over (partition by lower(trim({field})) order by length(url), url) as other
    from audited where {condition} and trim(coalesce({field}, '')) <> '')
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


def check_texts(table: SiteTable, limits: TextLimits) -> list[Finding]:
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


def _texts(table: SiteTable, field: str, longest: int, of: int) -> list[Finding]:
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


def _canonicals(table: SiteTable) -> list[Finding]:
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
    return [
        *finding("canonical-chains", table.found(chains), of),
        *finding("canonical-errors", table.found(errors), of),
    ]
