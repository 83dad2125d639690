"""Makes `urls`: one row for every URL that was seen, from the tables, the graph and the clusters.

*Seen* leaves out what the crawl was not asked for: URLs that are out of scope, excluded, too far away, over a budget,
or that end like a picture. What was refused because its kind had yielded nothing (`low-yield` and the like) still
counts as seen: it is the noise that a source makes. A URL is refused when it is discovered (`discoveries`), or when
its turn comes: by robots.txt, or by what its kind has yielded since (`fetches`, excluded). `refused` is either.

The status of a URL is that of its last visit with a lasting answer: a timeout today does not remove the page of
yesterday. A page that names another URL as its canonical is not indexable if that is believed (`believed` in
`making.sql`).

Clusters and PageRank come from `insight.clusters` and `insight.graph`, which know URLs by fingerprints; the tables are
joined by the MD5 of URLs, because DuckDB's own hash gives many that differ in two places the same number.
"""

# ruff: noqa: S608 - SQL is put together from our own words here; what others wrote is quoted

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import duckdb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from periplus.model.statements import Statements
from periplus.store.tables import count_rows
from periplus.urls import domain_of, fingerprints

from ..clusters import clusters_of
from ..executors import ProcessExecutor, Workplace
from ..graph import Ranked, Seen, places, ranked

if TYPE_CHECKING:
    from .connection import Views

SQL: Final = Statements(__file__)

BYTES_A_LINK: Final = 30
BYTES_A_URL: Final = 100
BYTES_A_PAGE: Final = 250
"""Bytes that a row takes while all is computed in one memory, about."""
_ROWS_AT_ONCE: Final = 100_000
_NOTHING: Final = (
    np.empty(0, np.int64),
    np.empty(0, np.uint64),
    np.empty(0, np.int32),
    np.empty(0, np.bool_),
    np.empty(0, np.bool_),
)


def make(views: Views) -> None:
    """Compute `urls` and `site_ranks`, and keep them."""
    views.prepare("discoveries fetches pages sitemaps verdicts")
    database = views.database
    told = _quoted(views.scratch / "told.parquet")
    discovered = SQL["discovered"].format(listing=SQL["listing"], not_asked=SQL["not_asked"])
    database.execute(f"copy ({discovered}) to {told}")  # out of the way while PageRank needs the memory
    database.execute(f"create or replace temp view told as select * from read_parquet({told})")
    views.kept.begin()
    seen, sites = _seen(database)
    with _workplace(views, "links", BYTES_A_LINK, len(seen.keys) * BYTES_A_URL) as workplace:
        ranks = ranked(views.tables, views.spooled, seen, workplace)
    pa.default_memory_pool().release_unused()
    with _workplace(views, "pages", BYTES_A_PAGE) as workplace:
        clusters = clusters_of(views.tables, views.spooled, workplace=workplace)
    pa.default_memory_pool().release_unused()
    database.register("facts", _facts(seen, ranks, clusters))
    database.register("domains", _domains(sites, ranks))
    for name in ("visited", "kept_out", "read", "crowds", "named"):
        database.execute(SQL[name].format(is_page=SQL["is_page"]))
    _write(views, "urls", SQL["urls"].format(is_page=SQL["is_page"], believed=SQL["believed"]))
    _write(views, "site_ranks", SQL["site_ranks"].format(urls=_quoted(views.kept.draft("urls"))))
    views.kept.publish(["urls", "site_ranks"])
    for name in ("table visited", "table kept_out", "table reading", "table crowds", "table named", "view told"):
        database.execute(f"drop {name}")
    for name in ("facts", "domains"):
        database.unregister(name)


@contextmanager
def _workplace(views: Views, table: str, bytes_a_row: int, besides: int = 0) -> Iterator[Workplace | None]:
    """Where to process a table: in this memory (`None`) if it fits and no executor was given."""
    needed = count_rows(views.tables, table, spooled=views.spooled) * bytes_a_row + besides
    allowed = views.settings.memory_bytes
    if views.executor is not None:
        yield Workplace(views.executor, views.kept.folder)
    elif needed <= allowed:
        yield None
    else:
        with closing(ProcessExecutor()) as executor:
            yield Workplace(executor, views.kept.folder, allowed // (2 * executor.workers))


def _seen(database: duckdb.DuckDBPyConnection) -> tuple[Seen, list[str]]:
    """The discovered URLs, by their numbers; and the names of their sites."""
    numbers: dict[str, int] = {}
    parts: list[tuple[NDArray[Any], ...]] = [_NOTHING]
    for batch in database.sql(
        "select id, url, site, reading.key is not null as is_page, is_seed"
        " from told left join (select distinct md5_number_lower(url) as key from pages) as reading using (key)"
    ).to_arrow_reader(_ROWS_AT_ONCE):
        keys = np.array(fingerprints(batch["url"].to_pylist()), np.uint64)
        sites = [numbers.setdefault(site, len(numbers)) for site in batch["site"].to_pylist()]
        claims = (batch[name].to_numpy(zero_copy_only=False) for name in ("is_page", "is_seed"))
        parts.append((batch["id"].to_numpy(), keys, np.array(sites, np.int32), *claims))
    ids, *columns = (np.concatenate(column) for column in zip(*parts, strict=True))
    order = np.argsort(ids)
    return Seen(*(column[order] for column in columns)), list(numbers)


def _facts(seen: Seen, ranks: Ranked, clusters: tuple[NDArray[np.uint64], NDArray[np.uint64]]) -> pa.Table:
    """The computed columns of each URL, by its number. A URL in no cluster is a cluster of its own."""
    members, firsts = clusters
    at = places(members, seen.keys)
    return pa.table(
        {
            "id": np.arange(len(seen.keys)),
            "pagerank": ranks.pagerank,
            "inlinks": ranks.inlinks,
            "own_links": ranks.own_links,
            "clicks": pa.array(ranks.clicks, mask=ranks.clicks < 0),
            "cluster": np.where(at >= 0, np.append(firsts, np.uint64(0))[at], seen.keys),
            "is_crowded": at >= 0,
        }
    )


def _domains(sites: list[str], ranks: Ranked) -> pa.Table:
    """The registrable domain of every site (an address is its own), and its PageRank."""
    domains = [domain_of(site) or site for site in sites]
    columns = {"site": pa.array(sites, pa.string()), "domain": pa.array(domains, pa.string())}
    return pa.table(columns | {"site_pagerank": pa.array(ranks.of_sites, pa.float64())})


def _write(views: Views, name: str, sql: str) -> None:
    views.database.execute(f"copy ({sql}) to {_quoted(views.kept.draft(name))} (format parquet)")


def _quoted(path: Path) -> str:
    return "'" + str(path).replace("'", "''") + "'"
