"""Reads webs from link files, in the common formats.

* Edge list: `from to` on each line, separated by tab, blanks or comma; further fields (a weight) are not read. Ends are
  names (URLs, hosts) or whole numbers; lines that begin with `#` or `%` are comments (SNAP, KONECT), and a first line
  with the names of the columns is left out.
* Nodes and edges: a file `nodes.*` with a name on each line, beside an edge list `edges.*` of these names. Pages
  without any link are in the first file only.
* `.dat`: `pages links ...` in the first line, then `number name` for each page from 1, then `from to` for each link.
* `*.adj.*`: line i holds the targets of page i, ascending, as gaps: a running sum gives the pages. The graphs of the
  Laboratory for Web Algorithmics (Boldi & Vigna 2004) are sorted by URL, so that gaps are small.

A URL belongs to the site of its host; a host is a site with one page. Pages without names are all on one site, with a
warning, unless a file of hosts is given (line i: the host of page i) or neighbours are grouped. With a site for each
page every page would be a home page and all orderings alike. All pages have one size and all sites one speed
(`web_from_edges`).

Seeds: of sites with several pages, the shortest URL of each (the home page), or the first page of each group; else the
page with the most links. Where these do not reach everything, one page of every part they do not reach is added.

Files in another format raise a `ConfigError` with the line. Files may be compressed (`text_files`).

Columns are `.npy` files, which every process maps into memory and the system keeps once; names are one file of text.
The PageRank of every page is stored beside them. The format is temporary: see `graph_files` for others.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import Struct, msgpack
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from periplus.graph import depths, pagerank
from periplus.model import ConfigError, Site, Url
from periplus.urls import canonical, site_of

from .edge_lists import HINT, Graph, edge_list, gaps, is_numbered, numbered, read_bytes, read_lines
from .web import OK, Web, web_from_edges

_COLUMNS = ("site", "starts", "targets", "size", "status", "latency", "bandwidth", "seeds")


class RankedWeb(Struct, frozen=True):
    """A web, and the oracle's data: the PageRank of every page, and which pages a crawl can fetch."""

    web: Web
    rank: NDArray[np.float64]
    is_fetchable: NDArray[np.bool_]

    @property
    def fetchable(self) -> int:
        """How many pages a crawl that goes on to the end has."""
        return int(np.count_nonzero(self.is_fetchable))

    @property
    def mass(self) -> float:
        """The PageRank of these pages together."""
        return float(self.rank[self.is_fetchable].sum())


def ranked(web: Web) -> RankedWeb:
    """PageRank over all links of the web. A page can be fetched if its status is OK and a crawl finds it.

    As in `SimulatedCrawl`, pages that are there lead to all their links, and redirects to the first.
    """
    sources, targets = web.edges
    rank = pagerank(sources, targets, len(web))
    is_first = np.diff(sources, prepend=-1) > 0
    hundreds = web.status[sources] // 100
    follows = (hundreds == 2) | ((hundreds == 3) & is_first)
    depth = depths(sources[follows], targets[follows], len(web), web.seeds)
    return RankedWeb(web, rank, (depth >= 0) & (web.status == OK))


def store_web(ranked_web: RankedWeb, folder: Path) -> None:
    """Write it to a folder, which must be there."""
    web = ranked_web.web
    for name in _COLUMNS:
        np.save(folder / f"{name}.npy", getattr(web, name))
    np.save(folder / "rank.npy", ranked_web.rank)
    np.save(folder / "is_fetchable.npy", ranked_web.is_fetchable)
    if web.took is not None:
        np.save(folder / "took.npy", web.took)
    (folder / "names.msgpack").write_bytes(msgpack.encode((web.sites, web.urls)))


def stored_web(folder: Path) -> RankedWeb:
    """Read a stored web; columns stay on disk until they are used."""
    sites, urls = msgpack.decode((folder / "names.msgpack").read_bytes(), type=tuple[list[Site], list[Url] | None])
    took = _column(folder, "took") if (folder / "took.npy").exists() else None
    columns = {name: _column(folder, name) for name in _COLUMNS}
    web = Web(sites=sites, urls=urls, took=took, **columns)
    return RankedWeb(web, _column(folder, "rank"), _column(folder, "is_fetchable"))


def _column(folder: Path, name: str) -> NDArray[Any]:
    column: NDArray[Any] = np.load(folder / f"{name}.npy", mmap_mode="r")
    return column


_BESIDE = ("readme", "license", "hosts.")
"""Names of files beside graphs that are not graphs."""
ONE_SITE = (
    "{path}: the {pages:,} pages have no names, so all are put on one site; --hosts or --pages-per-site makes more"
)
"""The warning for a graph of bare numbers."""

Ints = NDArray[np.int64]


def read_graph(
    path: Path,
    *,
    hosts: Path | None = None,
    pages_per_site: int = 0,
    warn: Callable[[str], None] = lambda _: None,
) -> Web:
    """The web of a link file, or of a folder that holds one.

    `hosts` is a file with the host of each page. `pages_per_site` is the number of neighbours on each site, for graphs
    that are sorted by URL and have lost their hosts; 0 puts all pages without names on one site, and calls `warn`.
    """
    graph = _graph(_found(path))
    if hosts is not None:
        lines = read_lines(hosts)
        if len(lines) != graph.pages:
            raise ConfigError(f"{hosts} has {len(lines)} lines for {graph.pages} pages", hint="line i: host of page i")
        site, sites = _sites([site_of(_url(line.strip(), page)) for page, line in enumerate(lines)])
        return _web(graph, site, sites, None)
    if graph.names is not None:
        urls = _urls(graph.names)
        site, sites = _sites([site_of(url) for url in urls])
        return _web(graph, site, sites, urls)
    if not pages_per_site:
        warn(ONE_SITE.format(path=path, pages=graph.pages))
    each = pages_per_site or max(1, graph.pages)
    site = np.arange(graph.pages, dtype=np.int64) // each
    return _web(graph, site, [Site(f"site-{number}.example") for number in range(-(-graph.pages // each))], None)


def read_ranks(path: Path) -> NDArray[np.float64] | None:
    """The PageRank of each page from a file `*.pagerank.*` beside a graph; `None` without one."""
    if ".pagerank." in path.name:
        return _ranks(path)
    folder = path if path.is_dir() else path.parent
    graph = path.name if not path.is_dir() else ""
    for beside in sorted(folder.glob("*.pagerank.*")):
        if not graph or graph.startswith(beside.name.partition(".pagerank.")[0] + "."):
            return _ranks(beside)
    return None


def _ranks(path: Path) -> NDArray[np.float64]:
    try:
        return np.array(read_bytes(path).split(), np.float64)
    except ValueError as error:
        raise ConfigError(
            f"{path} is not a list of ranks: {error}", hint="write one number on each line, in the order of pages"
        ) from error


def _found(path: Path) -> Path:
    """The link file of a path: the only one of a folder, or the edges that belong to nodes."""
    if path.is_dir():
        inside = [file for file in sorted(path.iterdir()) if file.is_file() and _may_be_graph(file.name)]
        inside = [file for file in inside if _partner(file, "nodes", "edges") is None]
        if len(inside) != 1:
            names = ", ".join(file.name for file in inside[:5]) or "none"
            raise ConfigError(f"{path}: expected one link file, found {names}", hint="name the file itself")
        return inside[0]
    return _partner(path, "nodes", "edges") or path


def _may_be_graph(name: str) -> bool:
    name = name.lower()
    return not (
        name.startswith((".", *_BESIDE)) or ".pagerank." in name or name.endswith((".properties", ".md", ".json"))
    )


def _partner(path: Path, ours: str, theirs: str) -> Path | None:
    """The file of edges beside one of nodes, or the other way round."""
    if ours not in path.name:
        return None
    before, _, after = path.name.rpartition(ours)
    beside = sorted(path.parent.glob(f"{before}{theirs}{after.partition('.')[0]}.*"))
    exact = path.with_name(f"{before}{theirs}{after}")
    return exact if exact.is_file() else next((file for file in beside if file.is_file()), None)


def _graph(path: Path) -> Graph:
    """The graph of a file, in any of the formats."""
    text = read_bytes(path)
    if ".adj." in f"{path.name}.":
        return gaps(text, str(path))
    if b"\0" in text[:4096]:
        raise ConfigError(f"{path} is not a text file", hint=HINT)
    if is_numbered(text):
        return numbered(text, str(path))
    nodes = _partner(path, "edges", "nodes")
    lines = [] if nodes is None else [line for line in read_lines(nodes) if line.strip() and line[0] not in "#%"]
    return edge_list(text, str(path), lines)


def _url(name: str, page: int) -> Url:
    """The URL of a name, which may be a URL or a host; anything else becomes a host of its own."""
    return canonical(name if "://" in name else f"http://{name}") or Url(f"http://page-{page}.example/")


def _urls(names: list[str]) -> list[Url]:
    """A URL for each page. Where two names have the same canonical URL, the later page gets its number."""
    urls: dict[Url, None] = {}
    for page, name in enumerate(names):
        url = _url(name, page)
        while url in urls:
            url = Url(f"{url}{'&' if '?' in url else '?'}page={page}")
        urls[url] = None
    return list(urls)


def _sites(of_pages: list[Site]) -> tuple[Ints, list[Site]]:
    places: dict[Site, int] = {}
    site = np.fromiter((places.setdefault(name, len(places)) for name in of_pages), np.int64, len(of_pages))
    return site, list(places)


def _web(graph: Graph, site: Ints, sites: list[Site], urls: list[Url] | None) -> Web:
    return web_from_edges(
        graph.sources, graph.targets, site, sites, seeds=seeds_of(graph, _homes(site, len(sites), urls)), urls=urls
    )


def _homes(site: Ints, sites: int, urls: list[Url] | None) -> Ints:
    """The home page of every site: its shortest URL or its first page.

    None where every page is a site, and where pages without names are all on one: there the first is not special.
    """
    pages = len(site)
    if sites == pages or (urls is None and sites == 1):
        return np.zeros(0, np.int64)
    length = np.zeros(pages, np.int64) if urls is None else np.array([len(url) for url in urls])
    order = np.lexsort((np.arange(pages), length, site))
    return order[np.searchsorted(site[order], np.arange(sites))]


def seeds_of(graph: Graph, homes: Ints) -> Ints:
    """The seeds that reach everything: home pages, and a page of every part that nothing else links to.

    Parts are strongly connected components; of each, the page with the most links. Without home pages, the page with
    the most links of all is a seed as well.
    """
    ones = np.ones(len(graph.sources), np.int8)
    matrix = csr_array((ones, (graph.sources, graph.targets)), shape=(graph.pages, graph.pages))
    parts, part = connected_components(matrix, directed=True, connection="strong")
    is_led_to = np.zeros(parts, np.bool_)
    across = part[graph.sources] != part[graph.targets]
    is_led_to[part[graph.targets[across]]] = True
    order = np.argsort(-np.bincount(graph.sources, minlength=graph.pages), kind="stable")
    homes = homes if len(homes) else order[:1]
    is_led_to[part[homes]] = True
    best = np.zeros(parts, np.int64)
    best[part[order[::-1]]] = order[::-1]
    return np.unique(np.concatenate((homes, best[~is_led_to])))
