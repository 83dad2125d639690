"""PageRank of a collection: of its pages and of its sites, from the tables `links` and `fetches`.

URLs are numbered by their hashes (64 bits, DuckDB's own `hash`), never by their texts. Links that ask not to be
followed pass nothing on, a redirect is a link, a link given twice counts twice, and of a page that was read several
times the last reading counts. Where the arithmetic lives: `periplus.graph`.
"""

# ruff: noqa: S608 - SQL is put together from our own words here; what others wrote is quoted

from __future__ import annotations

from typing import Final

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

TOLERANCE: Final = 1e-6
"""The sum of all errors, of ranks that sum to 1."""
FRAME: Final = 0.3
"""A link that more than this share of a site's pages have is of the site's frame, not of a page."""
_FEW: Final = 2
"""A site of two pages has no frame."""
_LINKS_AT_ONCE: Final = 1 << 20

Hashes = NDArray[np.uint64]
Numbers = NDArray[np.int32]

_FOLLOWED: Final = "(rel = '' or not regexp_matches(rel, '(^|\\s)nofollow(\\s|$)'))"
_NEWEST: Final = "join (select url as page, max(read_at) as read_at from pages group by url) using (page, read_at)"
_REDIRECTS: Final = (
    "select hash(url) as source, hash(target) as target from fetches where purpose = 'page' and target is not null"
)


def ranks_of(database: duckdb.DuckDBPyConnection) -> tuple[pa.Table, pa.Table]:
    """For every URL that a link leads to or from: key, pagerank, inlinks, own_links, clicks. For sites: key, pagerank.

    `own_links` are links to pages of the same site that are not of its frame; `clicks` are those from the nearest seed.
    The database has the tables `links`, `pages`, `fetches` and `discoveries`.
    """
    from periplus.graph import pagerank  # its libraries take a second to load

    keys, heads, tails = _edges(database)
    inlinks = np.bincount(tails, minlength=len(keys)).astype(np.int32)
    names, sites, pages = _sites(database, keys)
    own = _own_links(heads, tails, inlinks, sites, pages)
    seeds = database.sql("select distinct hash(url) as seed from discoveries where source = 'seed'").to_arrow_table()
    clicks = _clicks(heads, tails, _places(keys, _hashes(seeds, "seed")), len(keys))
    ranks = pagerank(heads, tails, len(keys), tolerance=TOLERANCE)
    columns = {"key": keys, "pagerank": ranks, "inlinks": inlinks, "own_links": own}
    of_sites = {"key": names, "pagerank": _site_ranks(heads, tails, sites, len(names))}
    return pa.table(columns | {"clicks": pa.array(clicks, mask=clicks < 0)}), pa.table(of_sites)


def _edges(database: duckdb.DuckDBPyConnection) -> tuple[Hashes, Numbers, Numbers]:
    """The hashes of all URLs, and from which to which of them every link leads: 8 bytes a link.

    A page's links lie side by side, so that pages are numbered a run at a time. Numbers are given by hashing (Arrow's
    dictionaries), not by sorting: of a hundred million ends that is a quarter of the time.
    """
    runs: list[tuple[Hashes, NDArray[np.int64]]] = []
    targets: list[pa.Array] = []
    for batch in database.sql(f"{_links(database)} union all {_REDIRECTS}").to_arrow_reader(_LINKS_AT_ONCE):
        sources = batch["source"].to_numpy()
        begins = np.flatnonzero(np.append(len(sources) > 0, sources[1:] != sources[:-1]))
        runs.append((sources[begins], np.diff(begins, append=len(sources))))
        targets.append(batch["target"])
    encoded = pa.chunked_array(targets, pa.uint64()).dictionary_encode()
    linked = encoded.chunk(0).dictionary if encoded.num_chunks else pa.array([], pa.uint64())
    pages = np.concatenate([np.empty(0, np.uint64), *(hashes for hashes, _ in runs)])
    counts = np.concatenate([np.empty(0, np.int64), *(lengths for _, lengths in runs)])
    keys = np.concatenate([linked.to_numpy(), np.setdiff1d(pages, linked.to_numpy())])
    tails = np.concatenate([np.empty(0, np.int32), *(chunk.indices.to_numpy() for chunk in encoded.chunks)])
    return keys, np.repeat(_places(keys, pages).astype(np.int32), counts), tails


def _links(database: duckdb.DuckDBPyConnection) -> str:
    """From where to where; where pages were read again, of the last time only."""
    was_read_again = database.execute("select count(*) > count(distinct url) from pages").fetchall()[0][0]
    newest = _NEWEST if was_read_again else ""
    return f"select hash(page) as source, hash(target) as target from links {newest} where {_FOLLOWED}"


def _sites(database: duckdb.DuckDBPyConnection, keys: Hashes) -> tuple[Hashes, Numbers, NDArray[np.float64]]:
    """The hashes of all sites; the number of each URL's site, -1 where it was not taken; how many pages a site has."""
    taken = database.sql("select distinct hash(url) as key, hash(site) as site from discoveries where refused is null")
    rows = taken.to_arrow_table()
    known, numbers = np.unique(_hashes(rows, "site"), return_inverse=True)
    places = _places(keys, _hashes(rows, "key"))
    sites = np.full(len(keys), -1, np.int32)
    sites[places[places >= 0]] = numbers[places >= 0]
    counted = database.sql("select hash(site) as site, count(distinct url) as pages from pages group by all")
    table = counted.to_arrow_table()
    at = _places(known, _hashes(table, "site"))
    pages = np.zeros(len(known))
    pages[at[at >= 0]] = table["pages"].to_numpy()[at >= 0]
    return known, sites, pages


def _own_links(heads: Numbers, tails: Numbers, inlinks: Numbers, sites: Numbers, pages: NDArray[np.float64]) -> Numbers:
    bound = np.maximum(_FEW, FRAME * pages[sites]) if len(pages) else np.zeros(len(sites))
    is_own = (inlinks <= bound) & (sites >= 0)
    kept = is_own[tails] & (sites[heads] == sites[tails])
    return np.bincount(heads[kept], minlength=len(sites)).astype(np.int32)


def _clicks(heads: Numbers, tails: Numbers, seeds: NDArray[np.int64], n: int) -> Numbers:
    """Breadth first, a pass over all links for each click: no path of the web is long, but for traps."""
    clicks = np.full(n, -1, np.int32)
    clicks[seeds[seeds >= 0]] = 0
    depth = 0
    while True:
        found = tails[clicks[heads] == depth]
        found = found[clicks[found] < 0]
        if not len(found):
            return clicks
        depth += 1
        clicks[found] = depth


def _site_ranks(heads: Numbers, tails: Numbers, sites: Numbers, count: int) -> NDArray[np.float64]:
    """PageRank of sites, where a site passes its rank on in proportion to the number of its links to others."""
    from periplus.graph import pagerank

    froms, tos = sites[heads], sites[tails]
    between = np.flatnonzero((froms != tos) & (froms >= 0) & (tos >= 0))
    pairs, links = np.unique(froms[between].astype(np.int64) * count + tos[between], return_counts=True)
    ends = np.divmod(pairs, max(count, 1))
    return pagerank(*ends, count, weights=links.astype(np.float64), tolerance=TOLERANCE)


def _places(keys: Hashes, wanted: Hashes) -> NDArray[np.int64]:
    """Where each stands among the keys; -1 where it does not."""
    found = pc.index_in(pa.array(wanted, pa.uint64()), value_set=pa.array(keys, pa.uint64()))
    return np.asarray(pc.fill_null(found, -1).to_numpy(zero_copy_only=False).astype(np.int64))


def _hashes(table: pa.Table | pa.RecordBatch, name: str) -> Hashes:
    hashes: Hashes = table[name].to_numpy()
    return hashes
