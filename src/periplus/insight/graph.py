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
from numpy.typing import NDArray

TOLERANCE: Final = 1e-8
FRAME: Final = 0.3
"""A link that more than this share of a site's pages have is of the site's frame, not of a page."""
_FEW: Final = 2
"""A site of two pages has no frame."""

Hashes = NDArray[np.uint64]
Numbers = NDArray[np.int32]

_FOLLOWED: Final = "(rel = '' or not regexp_matches(rel, '(^|\\s)nofollow(\\s|$)'))"
_NEWEST: Final = "join (select url as page, max(read_at) as read_at from pages group by url) using (page, read_at)"
_REDIRECTS: Final = (
    "select hash(url) as source, hash(target) as target from fetches where purpose = 'page' and target is not null"
)


def ranks_of(database: duckdb.DuckDBPyConnection) -> pa.Table:
    """For every URL that a link leads to or from: key, pagerank, inlinks, own_links, clicks.

    `own_links` are links to pages of the same site that are not of its frame; `clicks` are those from the nearest seed.
    The database has `links`, `pages`, `fetches`, `discoveries`, and `told`: the URLs that were seen, with their sites.
    """
    from periplus.graph import pagerank  # its libraries take a second to load

    edges = database.sql(f"{_links(database)} union all {_REDIRECTS}").to_arrow_table()
    sources, targets = _hashes(edges, "source"), _hashes(edges, "target")
    keys = np.unique(np.concatenate([np.unique(sources), np.unique(targets)]))
    heads, tails = (keys.searchsorted(ends).astype(np.int32) for ends in (sources, targets))
    ranks = pagerank(heads, tails, len(keys), tolerance=TOLERANCE) if len(keys) else np.empty(0)
    inlinks = np.bincount(tails, minlength=len(keys)).astype(np.int32)
    own = _own_links(heads, tails, inlinks, *_sites(database, keys))
    seeds = database.sql("select distinct hash(url) as seed from discoveries where source = 'seed'").to_arrow_table()
    clicks = _clicks(heads, tails, _places(keys, _hashes(seeds, "seed")), len(keys))
    columns = {"key": keys, "pagerank": ranks, "inlinks": inlinks, "own_links": own}
    return pa.table(columns | {"clicks": pa.array(clicks, mask=clicks < 0)})


def _links(database: duckdb.DuckDBPyConnection) -> str:
    """From where to where; where pages were read again, of the last time only."""
    was_read_again = database.execute("select count(*) > count(distinct url) from pages").fetchall()[0][0]
    newest = _NEWEST if was_read_again else ""
    return f"select hash(page) as source, hash(target) as target from links {newest} where {_FOLLOWED}"


def _sites(database: duckdb.DuckDBPyConnection, keys: Hashes) -> tuple[Numbers, NDArray[np.float64]]:
    """The number of each URL's site, -1 where it was not seen; and how many pages each site has."""
    rows = database.sql(
        "select hash(url) as key, dense_rank() over (order by site) - 1 as site, reading.url is not null as is_page"
        " from told left join reading using (url)"
    ).to_arrow_table()
    numbers = rows["site"].to_numpy().astype(np.int32)
    places = _places(keys, _hashes(rows, "key"))
    sites = np.full(len(keys), -1, np.int32)
    sites[places[places >= 0]] = numbers[places >= 0]
    pages = np.bincount(numbers, weights=rows["is_page"].to_numpy()).astype(np.float64)
    return sites, pages


def _own_links(heads: Numbers, tails: Numbers, inlinks: Numbers, sites: Numbers, pages: NDArray[np.float64]) -> Numbers:
    bound = np.maximum(_FEW, FRAME * pages[sites]) if len(pages) else np.zeros(len(sites))
    is_own = (inlinks <= bound) & (sites >= 0)
    kept = is_own[tails] & (sites[heads] == sites[tails])
    return np.bincount(heads[kept], minlength=len(sites)).astype(np.int32)


def _clicks(heads: Numbers, tails: Numbers, seeds: NDArray[np.intp], n: int) -> Numbers:
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


def site_ranks_of(database: duckdb.DuckDBPyConnection) -> pa.Table:
    """PageRank of sites, where a site passes its rank on in proportion to the number of its links to others."""
    from periplus.graph import pagerank

    pairs = database.execute(
        f"select site, target_site, count(*) as links from links where not is_internal and {_FOLLOWED} group by all"
    ).fetchall()
    known = [row[0] for row in database.execute("select distinct site from told").fetchall()]
    sites = sorted({*known, *(pair[0] for pair in pairs), *(pair[1] for pair in pairs)})
    place = {site: number for number, site in enumerate(sites)}
    heads, tails = ([place[pair[side]] for pair in pairs] for side in (0, 1))
    ranks = pagerank(heads, tails, len(sites), weights=[float(pair[2]) for pair in pairs], tolerance=TOLERANCE)
    return pa.table({"site": pa.array(sites, pa.string()), "pagerank": pa.array(ranks, pa.float64())})


def _places(keys: Hashes, wanted: Hashes) -> NDArray[np.intp]:
    """Where each stands among the sorted keys; -1 where it does not."""
    if not len(keys):
        return np.full(len(wanted), -1, np.intp)
    places = np.minimum(keys.searchsorted(wanted), len(keys) - 1)
    return np.where(keys[places] == wanted, places, -1)


def _hashes(table: pa.Table, name: str) -> Hashes:
    hashes: Hashes = table[name].to_numpy()
    return hashes
