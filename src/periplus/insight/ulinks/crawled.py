"""What a collection knows of a site's pages, as useful links are chosen from: only those that may stand for it.

A page counts if it was read, does not ask to stay out of indexes, and is known by its own URL. Priority and lastmod are
what the site's sitemaps say of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

from .sampling import Listed

if TYPE_CHECKING:
    import duckdb

_TABLES: Final = ("pages", "discoveries", "links")
_AT_ONCE: Final = 10_000

_SITES: Final = """
select site, count(distinct url) as pages from pages group by site order by pages desc, site
"""
_PAGES: Final = """
with seen as (
    select url, arg_max(coalesce(title, ''), read_at) as title, arg_max(coalesce(noindex, false), read_at) as noindex,
           arg_max(coalesce(canonical, url), read_at) as canonical
    from pages where list_contains($sites, site) group by url
), told as (
    select url, max(priority) as priority, max(epoch(lastmod)) as lastmod
    from discoveries where source = 'sitemap' and refused is null and list_contains($sites, site) group by url
)
select seen.url, priority, lastmod, title from seen left join told using (url)
where not noindex and canonical = seen.url order by seen.url
"""


@contextmanager
def asked(tables: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection on the tables of a collection, in bounded memory; nothing is written but to a folder that goes."""
    import duckdb  # here, since a crawl freezes what is imported before it, and DuckDB complains of that at the end

    with (
        TemporaryDirectory(prefix="periplus-ulinks-") as scratch,
        duckdb.connect(config={"memory_limit": "1GB", "threads": 2, "temp_directory": scratch}) as connection,
    ):
        for table in _TABLES:
            files = sorted(str(path) for path in (tables / table).glob("*.parquet"))
            if files:
                connection.read_parquet(files).create_view(table)
        yield connection


def sites_of(connection: duckdb.DuckDBPyConnection) -> list[tuple[str, int]]:
    """Every site with how many pages of it were read, the largest first."""
    return [(str(site), int(pages)) for site, pages in connection.execute(_SITES).fetchall()]


def pages_of(connection: duckdb.DuckDBPyConnection, sites: Sequence[str]) -> Iterator[Listed]:
    """Every page of some sites that may stand for itself, by the alphabet."""
    found = connection.execute(_PAGES, {"sites": list(sites)})
    while rows := found.fetchmany(_AT_ONCE):
        for url, priority, lastmod, title in rows:
            yield Listed(url, priority, lastmod, title)
