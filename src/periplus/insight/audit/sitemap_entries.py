"""What the sitemaps of a site list now: `audited_listed`, the URLs, and `audited_entries`, the fields of each.

The last complete reading of every file counts; files that were removed count no more. Of a file that was never read
to its end, the URLs found so far count as listed. A URL in several files, or in several spellings, is one row. Its
lastmod is the latest of all files, its other fields are those beside it. URLs of other hosts or out of scope are left
out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from periplus.urls import resolve_all

if TYPE_CHECKING:
    import duckdb

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
    """Make `audited_listed`."""
    database.execute(_FILES)
    database.execute(_WRITTEN, {"sites": list(sites)})
    database.execute(_LOCATIONS)
    database.execute(_NAMES)
    _resolve(database, f"http://{sites[0]}/")
    database.execute(_LISTED, {"sites": list(sites)})


def make_entries(database: duckdb.DuckDBPyConnection) -> None:
    """Make `audited_entries`, after `audited_listed` and `audited`."""
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
