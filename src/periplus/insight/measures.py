"""How good each source of URLs is: the measures of Schonfeld & Shivakumar (2009), of a collection or any part of it.

`measures` and `measures_by` compute all of them at once, for a `UrlSelection`: a domain, a site, a prefix, a span of
time. `measures_sql` returns the query, which returns the same numbers in `periplus query DIR`. What each measure means
is in `docs/measures.md`; what the paper's figures show are views (`insight.views`).

A span of time selects URLs by when a source first listed them, from `since` up to `until`, as they were known at its
end: a source that listed a URL later does not count, nor does a later visit. So SeenDelta is over the URLs first seen
within the span by both, as in the paper. Page contents are those of the last visit.
"""

# ruff: noqa: S608 - the SQL is made of our own words; values from users are quoted

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final, Literal

import msgspec
from msgspec import Struct

from .views import MEASURES, Views, columns_of

By = Literal["site", "domain", "prefix"]
CLASSES: Final = {
    "error": "the server answers with an error, or not at all",
    "redirect": "it leads to another URL",
    "duplicate-parameter": "the same content as another URL of the same path, with other parameters",
    "duplicate-other": "the same content as another URL, or that URL is its canonical",
    "noindex": "it is marked noindex",
    "media": "an image or other medium with hardly any text",
    "table-of-contents": "it is a list of links to other pages of its site",
    "missing": "a unique page that Sitemaps should have listed",
}
"""What a URL can be that Sitemaps missed, after Schonfeld & Shivakumar (2009, table 2)."""
_PREFIX: Final = "regexp_extract(url, '^[a-z]+://[^/]+/([^/?]+/)?')"


class UrlMeasures(Struct, frozen=True):
    """Every measure of some URLs (`views.MEASURES` defines each); `None` where the divisor would be 0."""

    seen: int
    seen_sitemaps: int
    seen_discovery: int
    seen_both: int
    crawled: int
    crawled_sitemaps: int
    crawled_discovery: int
    unique: int
    unique_sitemaps: int
    unique_discovery: int
    indexed: int
    indexed_sitemaps: int
    indexed_discovery: int
    coverage: float | None
    unique_coverage: float | None
    index_coverage: float | None
    pagerank_coverage: float | None
    signal_to_noise_sitemaps: float | None
    signal_to_noise_discovery: float | None
    efficiency_sitemaps: float | None
    efficiency_discovery: float | None
    utility: float | None
    seen_delta: float | None
    seen_delta_mean: float | None
    first_seen_share: float | None
    first_seen_share_pinged: float | None
    first_seen_share_unpinged: float | None
    ping_share: float | None


class UrlSelection(Struct, frozen=True):
    """Some of the URLs of a collection; all conditions must hold. Times are POSIX seconds."""

    domain: str = ""
    site: str = ""
    prefix: str = ""
    since: float | None = None
    until: float | None = None


EVERYTHING = UrlSelection()


def measures_sql(part: UrlSelection = EVERYTHING, by: By | None = None) -> str:
    """The query of `measures` or, with `by`, of `measures_by`."""
    key = {None: "", "site": "site, ", "domain": "domain, ", "prefix": f"{_PREFIX} as prefix, "}[by]
    order = f" group by {by} order by seen desc, {by}" if by else ""
    return f"select {key}\n{columns_of(MEASURES)}\nfrom {urls_of(part)}{order}"


def measures(views: Views, part: UrlSelection = EVERYTHING) -> UrlMeasures:
    """All measures of a part of the collection."""
    (row,) = views.rows(measures_sql(part))
    return msgspec.convert(row, UrlMeasures)


def measures_by(views: Views, by: By, part: UrlSelection = EVERYTHING) -> dict[str, UrlMeasures]:
    """All measures of each site, domain, or first folder of a site; those with the most URLs first."""
    rows = views.rows(measures_sql(part, by))
    return {str(row.pop(by)): msgspec.convert(row, UrlMeasures) for row in rows}


def urls_of(part: UrlSelection) -> str:
    """The table `urls` or a part of it, for the `from` of a query."""
    wheres = [
        *([f"domain = {_text(part.domain)}"] if part.domain else []),
        *([f"site = {_text(part.site)}"] if part.site else []),
        *([f"starts_with(url, {_text(part.prefix)})"] if part.prefix else []),
        *([f"first_seen_at >= {_moment(part.since)}"] if part.since is not None else []),
        *([f"first_seen_at < {_moment(part.until)}"] if part.until is not None else []),
    ]
    if not wheres:
        return "urls"
    columns = "*" if part.until is None else f"* replace ({_as_of(_moment(part.until))})"
    return f"(select {columns} from urls where {' and '.join(wheres)})"


def _as_of(end: str) -> str:
    """The columns, without what became known after the end of the span."""
    times = [
        f"case when {source}_at < {end} then {source}_at end as {source}_at,"
        f" coalesce({source}_at < {end}, false) as by_{source}"
        for source in ("sitemaps", "discovery")
    ]
    made = [f"{claim} and first_visited_at < {end} as {claim}" for claim in ("is_crawled", "is_page", "is_indexable")]
    return ", ".join([*times, *made])


def _moment(at: float) -> str:
    """A time in SQL, to the microsecond."""
    return f"timestamptz '{datetime.fromtimestamp(at, UTC).isoformat(sep=' ')}'"


def _text(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
