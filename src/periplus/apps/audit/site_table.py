"""Makes one table of a site's URLs with everything that the checks ask about, and makes findings from it.

`audited` has a row for every known URL of the site: the columns of `urls`, and

* `is_listed`: a sitemap lists it now (feeds do not count: they list what is new, not what there is);
* `forbidden_by`: the rule of robots.txt that kept the crawl from fetching it;
* `is_soft_error`: it answers 200 with a message that the page does not exist;
* `is_first`: of all URLs of one page, without those with another canonical URL that is believed, the listed, then the
  shortest; `same_as` is that URL, for the others;
* `is_copy`: it is not the first, and has the title or the main text of that: near-duplicates differ in what they are
  about;
* `is_error`, `is_redirect`, `is_good`: its last answer; a good page exists, is indexable, and is not a soft error;
* `description`: the meta description of its last reading.

The last answer counts, whatever it was: in `urls` a page survives a timeout or a 503, here it does not.
`audited_entries` has what sitemaps state about each listed URL (`sitemap_entries`), `audited_targets` the URLs that the
site's current pages link to.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

import pyarrow as pa
from msgspec import Struct

from periplus.model.statements import Statements
from periplus.store.tables import pandas_import  # noqa: F401 - before the first array is made
from periplus.urls import resolve_all
from periplus.view.findings import FaultyUrl, Severity

from .finding_kinds import KINDS
from .results import SiteFinding

if TYPE_CHECKING:
    import duckdb

    from periplus.insight.views import Views

SQL: Final = Statements(__file__)


_ROWS_AT_ONCE: Final = 50_000
"""Locations that are made canonical at once: some 10 MB of text."""


def make_listed(database: duckdb.DuckDBPyConnection, sites: Sequence[str]) -> None:
    """Make `audited_listed`: the URLs that the sitemaps of a site list, without URLs of other hosts.

    The last complete reading of every file counts; files that were removed do not. Of a file that was never read to its
    end, the URLs found so far count as listed.
    """
    database.execute(SQL["files"])
    database.execute(SQL["written"], {"sites": list(sites)})
    database.execute(SQL["locations"])
    database.execute(SQL["names"])
    _resolve(database, f"http://{sites[0]}/")
    database.execute(SQL["listed"], {"sites": list(sites)})


def make_entries(database: duckdb.DuckDBPyConnection) -> None:
    """Make `audited_entries`, after `audited_listed` and `audited`.

    A URL in several files, or in several spellings, is one row: its lastmod is the latest of all files, and its other
    fields are those beside it. URLs out of scope, which `audited` does not have, are left out.
    """
    database.execute(SQL["entries"])
    for name in ("audited_files", "audited_written", "audited_locations", "audited_names"):
        database.execute(f"drop table {name}")


def _resolve(database: duckdb.DuckDBPyConnection, base: str) -> None:
    """Fill `audited_names` with the canonical URL of every location; what is not a URL is left out."""
    [(total,)] = database.execute("select count(*) from audited_locations").fetchall()
    for start in range(0, total, _ROWS_AT_ONCE):
        rows = database.execute(SQL["batch"], {"start": start, "end": start + _ROWS_AT_ONCE}).fetchall()
        written = [text for (text,) in rows]
        pairs = [(text, url) for text, url in zip(written, resolve_all(written, base), strict=True) if url is not None]
        names = pa.table({"written": [text for text, _ in pairs], "url": [str(url) for _, url in pairs]})
        database.register("audited_some_names", names)
        database.execute("insert into audited_names select * from audited_some_names")
        database.unregister("audited_some_names")


# ruff: noqa: S608 - SQL is composed of constants of this package; everything else is a parameter


EXAMPLES: Final = 5
"""Examples of each finding, by default."""
_SOFT_ERROR: Final = (
    r"(?i)(^\W*404\b|\b(error|erreur|fehler|http|status|code)\W{0,3}404\b|\b404\W{1,3}(error|erreur|fehler|page|seite|file)"
    r"|(page|site|file|document|url|address|article|product|item|content)\b.{0,30}(is ?n.?t here|is not here"
    r"|does ?n.?t exist|does not exist|no longer (here|available|exists))"
    r"|not found|cannot be found|could ?n.?t be found|nicht gefunden|introuvable|no encontrad|non trovat|niet gevonden"
    r"|n[aã]o encontrad|ikke fundet|hittades inte|nie znaleziono|не найден)"
)
_LONGEST_SOFT_ERROR: Final = 3000
"""Characters of text. A longer page with such a title is an article about missing pages."""

_TABLES: Final = (
    "urls discoveries fetches current_links pages sitemap_entries sitemap_files changes listed_entries redirect_chains"
)


class Found(Struct, frozen=True):
    """The result of a check: how many rows, some of them, and how many of each kind."""

    count: int
    examples: tuple[FaultyUrl, ...] = ()
    parts: dict[str, int] = {}


class SiteTable:
    """The tables of one site, for queries."""

    def __init__(self, views: Views, sites: Sequence[str], *, examples: int = EXAMPLES) -> None:
        self.views = views
        self.sites = list(sites)
        self.examples = examples
        views.prepare(_TABLES)
        make_listed(views.database, self.sites)
        views.database.execute(SQL["last"], {"sites": self.sites})
        views.database.execute(
            SQL["audited"].format(longest_soft_error=_LONGEST_SOFT_ERROR),
            {"sites": self.sites, "soft_error": _SOFT_ERROR},
        )
        make_entries(views.database)
        views.database.execute(SQL["targets"])

    def number(self, sql: str, **parameters: object) -> int:
        """The number that a query returns; 0 if it returns nothing."""
        rows = self.views.database.execute(sql, self._given(sql, parameters)).fetchall()
        return int(rows[0][0] or 0) if rows else 0

    def row(self, sql: str, **parameters: object) -> dict[str, object]:
        """The first row of a query, by column name."""
        answer = self.views.database.execute(sql, self._given(sql, parameters))
        names = [column[0] for column in answer.description]
        rows = answer.fetchall()
        return dict(zip(names, rows[0], strict=True)) if rows else {}

    def count(self, condition: str) -> int:
        """How many URLs of the site satisfy a condition."""
        return self.number(f"select count(*) from audited where {condition}")

    def found(self, sql: str, **parameters: object) -> Found:
        """The result of a query for `url`, `note`, `via`, `kind` and `weight`; examples are those of highest weight."""
        given = self._given(sql, parameters)
        database = self.views.database
        [(count,)] = database.execute(f"create or replace temp table audited_found as {sql}", given).fetchall()
        if not count:  # most checks find nothing
            return Found(0)
        shown = database.execute(
            "select url, note, via from audited_found order by weight desc nulls last, url, note limit $most",
            {"most": self.examples},
        ).fetchall()
        parts = database.execute(
            "select kind, count(*) as urls from audited_found where kind <> '' group by kind order by urls desc, kind"
        ).fetchall()
        examples = tuple(FaultyUrl(url or "", note or "", at or "") for url, note, at in shown)
        return Found(count, examples, {str(kind): int(urls) for kind, urls in parts})

    def of_urls(self, condition: str, *, note: str = "''", kind: str = "''") -> Found:
        """The URLs of the site that satisfy a condition, those of the highest PageRank first."""
        sql = (
            f"select url, {note} as note, '' as via, {kind} as kind, pagerank as weight from audited where {condition}"
        )
        return self.found(sql)

    def _given(self, sql: str, parameters: dict[str, object]) -> dict[str, object]:
        return parameters | ({"sites": self.sites} if "$sites" in sql else {})


def finding(
    name: str, found: Found, of: int = 0, *, severity: Severity | None = None, **words: object
) -> list[SiteFinding]:
    """The finding of that name; nothing if the check found nothing."""
    if not found.count:
        return []
    kind = KINDS[name]
    filled = kind.filled(found.count, of, **words) | ({"severity": severity} if severity else {})
    filled |= {"sure": kind.sure, "fault": kind.fault, "fix": kind.fix}
    return [SiteFinding(**filled, area=kind.area, examples=found.examples, parts=found.parts)]


_REFERENCE_TABLES: Final = "current_links pages fetches discoveries sitemap_entries sitemap_files listed_entries"


def referred(views: Views, sites: Sequence[str], urls: Iterable[str]) -> list[str]:
    """Those of the URLs that a page which is there, a redirect or a sitemap of the sites refers to now.

    Links, canonical URLs, redirects and sitemaps count as they were last read. A missing page is a fault of the site
    only while something refers to it, so a repeated audit requests those pages again, and no other missing pages.
    """
    views.prepare(_REFERENCE_TABLES)
    make_listed(views.database, sites)
    views.database.register("audited_asked", pa.table({"url": list(urls)}))
    return [str(url) for (url,) in views.database.execute(SQL["referred"]).fetchall()]
