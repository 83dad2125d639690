"""What the sitemaps of a site say of its pages: `audited_entries`, one row for every URL that is listed.

A page that stands in several files, or is written in several ways, is one page here: counts of it and of listed URLs
(`audited.is_listed`) are of the same kind. Of several dates the latest counts, as in `dating`; of other fields those
that stand beside it. What files list and the crawl was not asked for (other hosts, out of scope) is left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from periplus.urls import resolve_all

if TYPE_CHECKING:
    import duckdb

_ROWS_AT_ONCE: Final = 50_000
_WRITTEN: Final = """
create or replace temp table audited_written as
select entries.* from listed_entries as entries join (
    select url as sitemap from sitemap_files where kind in ('urlset', 'text')) using (sitemap)
where list_contains($sites, site)
"""
_LOCATIONS: Final = """
create or replace temp table audited_locations as select distinct url from audited_written where url is not null
"""
_SOME: Final = "select url from audited_locations where rowid >= $start and rowid < $end"
_NAMES: Final = "create or replace temp table audited_names (written varchar, url varchar)"
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


def gather_entries(database: duckdb.DuckDBPyConnection, sites: Sequence[str]) -> None:
    """Make `audited_entries`; `audited` is there already."""
    database.execute(_WRITTEN, {"sites": list(sites)})
    database.execute(_LOCATIONS)
    database.execute(_NAMES)
    _name(database, f"http://{sites[0]}/")
    database.execute(_ENTRIES)
    for name in ("audited_written", "audited_locations", "audited_names"):
        database.execute(f"drop table {name}")


def _name(database: duckdb.DuckDBPyConnection, base: str) -> None:
    """Put down what every location that is written in a file is known as; what is no URL has no name."""
    [(total,)] = database.execute("select count(*) from audited_locations").fetchall()
    for start in range(0, total, _ROWS_AT_ONCE):
        rows = database.execute(_SOME, {"start": start, "end": start + _ROWS_AT_ONCE}).fetchall()
        written = [text for (text,) in rows]
        pairs = [(text, url) for text, url in zip(written, resolve_all(written, base), strict=True) if url is not None]
        names = pa.table({"written": [text for text, _ in pairs], "url": [str(url) for _, url in pairs]})
        database.register("audited_some_names", names)
        database.execute("insert into audited_names select * from audited_some_names")
        database.unregister("audited_some_names")
