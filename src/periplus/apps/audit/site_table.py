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

from periplus.store.tables import pandas_import  # noqa: F401 - before the first array is made
from periplus.urls import resolve_all
from periplus.view.findings import FaultyUrl, Severity

from .finding_kinds import KINDS
from .results import SiteFinding

if TYPE_CHECKING:
    import duckdb

    from periplus.insight.views import Views


_ROWS_AT_ONCE: Final = 50_000
"""Locations that are made canonical at once: some 10 MB of text."""
_FILES: Final = """
create or replace temp table audited_files as
select url as sitemap from sitemap_files where kind in ('urlset', 'text')
    and coalesce(retired, '') not in ('gone', 'not-a-sitemap', 'unlisted', 'moved')
"""
_WRITTEN: Final = """
create or replace temp table audited_written as
select entries.* from listed_entries as entries join audited_files using (sitemap) where list_contains($sites, site)
"""
_LOCATIONS: Final = """
create or replace temp table audited_locations as select distinct url from audited_written where url is not null
"""
_BATCH: Final = "select url from audited_locations where rowid >= $start and rowid < $end"
_NAMES: Final = "create or replace temp table audited_names (written varchar, url varchar)"
_LISTED: Final = """
create or replace temp table audited_listed as
select url from audited_names union
select url from discoveries where source = 'sitemap' and list_contains($sites, site) and (referrer is null
    or referrer not in (select sitemap from sitemap_entries where kind = 'summary' and sitemap is not null))
"""
_ENTRIES: Final = """
create or replace temp table audited_entries as
with named as (
    select names.url, entries.* exclude (url), coalesce(epoch_us(lastmod), -(1::bigint << 62)) as said
    from audited_written as entries join audited_names as names on names.written = entries.url
    semi join (select url from audited where is_listed) as listed on listed.url = names.url)
select url, max(read_at) as read_at, max(lastmod) as lastmod, arg_max(lastmod_granularity, said) as lastmod_granularity,
    arg_max(changefreq, said) as changefreq, arg_max(priority, said) as priority
from named group by url
"""


def make_listed(database: duckdb.DuckDBPyConnection, sites: Sequence[str]) -> None:
    """Make `audited_listed`: the URLs that the sitemaps of a site list, without URLs of other hosts.

    The last complete reading of every file counts; files that were removed do not. Of a file that was never read to its
    end, the URLs found so far count as listed.
    """
    database.execute(_FILES)
    database.execute(_WRITTEN, {"sites": list(sites)})
    database.execute(_LOCATIONS)
    database.execute(_NAMES)
    _resolve(database, f"http://{sites[0]}/")
    database.execute(_LISTED, {"sites": list(sites)})


def make_entries(database: duckdb.DuckDBPyConnection) -> None:
    """Make `audited_entries`, after `audited_listed` and `audited`.

    A URL in several files, or in several spellings, is one row: its lastmod is the latest of all files, and its other
    fields are those beside it. URLs out of scope, which `audited` does not have, are left out.
    """
    database.execute(_ENTRIES)
    for name in ("audited_files", "audited_written", "audited_locations", "audited_names"):
        database.execute(f"drop table {name}")


def _resolve(database: duckdb.DuckDBPyConnection, base: str) -> None:
    """Fill `audited_names` with the canonical URL of every location; what is not a URL is left out."""
    [(total,)] = database.execute("select count(*) from audited_locations").fetchall()
    for start in range(0, total, _ROWS_AT_ONCE):
        rows = database.execute(_BATCH, {"start": start, "end": start + _ROWS_AT_ONCE}).fetchall()
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
_LAST: Final = """
create or replace temp table audited_last as
select url, max(ended_at) filter (where outcome <> 'failed') as answered_at,
    arg_max(status, ended_at) as last_status, arg_max(reason, ended_at) as last_reason,
    coalesce(arg_max(outcome, ended_at) = 'failed', false)
        and arg_max(coalesce(reason, ''), ended_at) <> 'unwanted-type'
        or coalesce(arg_max(coalesce(status, 0), ended_at) >= 500, false) as fails_now
from fetches where purpose = 'page' and outcome <> 'excluded' and list_contains($sites, site) group by url
"""
_AUDITED: Final = f"""
create or replace temp table audited as
with forbidden as (
    select url, any_value(rule) as rule from fetches
    where purpose = 'page' and outcome = 'excluded' and reason = 'robots' and list_contains($sites, site) group by url),
described as (
    select url, arg_max(description, read_at) as description, arg_max(main_digest, read_at) as main_digest
    from pages where list_contains($sites, site) group by url),
known as (
    select urls.* replace (
            is_page and not coalesce(fails_now, false) as is_page,
            is_indexable and not coalesce(fails_now, false) as is_indexable,
            case when fails_now then last_status else status end as status,
            case when fails_now then last_reason else reason end as reason,
            case when fails_now then 'failed' else outcome end as outcome),
        coalesce(fails_now, false) as fails_now, answered_at,
        description, main_digest, audited_listed.url is not null as is_listed,
        case when not is_crawled then forbidden.rule end as forbidden_by,
        is_page and not coalesce(fails_now, false) and coalesce(text_length, 0) <= {_LONGEST_SOFT_ERROR}
            and regexp_matches(coalesce(title, ''), $soft_error) as is_soft_error
    from urls left join audited_listed using (url) left join forbidden using (url) left join audited_last using (url)
        left join described using (url)
    where list_contains($sites, site)),
groups as (
    select cluster, arg_min(url, row(believed_canonical is not null, not is_listed, length(url), url)) as first
    from known where is_page group by cluster)
select * exclude (same_as, first_title, first_digest),
    is_page and not is_first and coalesce(
        contains(lower(trim(title)), nullif(first_title, '')) or contains(first_title, nullif(lower(trim(title)), ''))
        or main_digest = first_digest, false) as is_copy,
    case when not is_page then null when believed_canonical is not null then believed_canonical
        when not is_first then first end as same_as,
    is_crawled and (fails_now or (coalesce(status, 0) >= 400 and coalesce(reason, '') <> 'unwanted-type')) as is_error,
    is_crawled and not fails_now and (outcome = 'redirected' or (leads_to is not null and leads_to <> url))
        as is_redirect,
    is_page and not is_soft_error and is_indexable and leads_to is null as is_good
from (
    select known.*, first, first_title, first_digest, is_page and first = url as is_first
    from known left join groups using (cluster)
        left join (select url as first, lower(trim(title)) as first_title, main_digest as first_digest from known)
        using (first))
"""
_TARGETS: Final = """
create or replace temp table audited_targets as
select target as url, target_site as site, min(page) as page, count(distinct page) as pages
from current_links semi join (select url as page from audited where is_page) using (page)
where page <> target group by target, target_site
"""


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
        views.database.execute(_LAST, {"sites": self.sites})
        views.database.execute(_AUDITED, {"sites": self.sites, "soft_error": _SOFT_ERROR})
        make_entries(views.database)
        views.database.execute(_TARGETS)

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
_REFERRED: Final = """
with last as (
    select url, arg_max(status, ended_at) as status,
        arg_max_null(target, ended_at) filter (where outcome <> 'failed') as target
    from fetches where purpose = 'page' and outcome <> 'excluded' group by url),
present as (select * from last where coalesce(status, 0) not in (404, 410)),
read as (
    select pages.url, canonical, refresh, script_redirect from pages semi join present using (url)
    qualify row_number() over (partition by pages.url order by read_at desc) = 1),
named as (
    select target as url from current_links semi join present on present.url = page where page <> target
    union all select target from present
    union all select canonical from read where canonical <> url
    union all select refresh from read
    union all select script_redirect from read
    union all select url from audited_listed)
select url from audited_asked semi join named using (url) order by url
"""


def referred(views: Views, sites: Sequence[str], urls: Iterable[str]) -> list[str]:
    """Those of the URLs that a page which is there, a redirect or a sitemap of the sites refers to now.

    Links, canonical URLs, redirects and sitemaps count as they were last read. A missing page is a fault of the site
    only while something refers to it, so a repeated audit requests those pages again, and no other missing pages.
    """
    views.prepare(_REFERENCE_TABLES)
    make_listed(views.database, sites)
    views.database.register("audited_asked", pa.table({"url": list(urls)}))
    return [str(url) for (url,) in views.database.execute(_REFERRED).fetchall()]
