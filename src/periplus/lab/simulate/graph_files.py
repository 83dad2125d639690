"""Webs from files of links, in the forms that people keep them.

* Edge list: `from to` a line, parted by tab, blanks or comma; what follows (a weight) is not read. Ends are names
  (URLs, hosts) or whole numbers from 0 or 1; lines that begin with `#` or `%` are comments (SNAP, KONECT).
* Nodes and edges: a file `nodes.*` of names, a line each, beside an edge list `edges.*` of these names. Pages without
  any link are in the first alone.
* `.dat`: `pages links ...` in the first line, then `number name` for each page from 1, then `from to` for each link.
* `*.adj.*`: line i holds where page i links to, ascending, as gaps: a running sum gives the pages. The graphs of the
  Laboratory for Web Algorithmics (Boldi & Vigna 2004) are sorted by URL, so that gaps are small.

A name that is a URL lies on the site of its host; a name that is a host is a site with one page; numbers are sites of
their own, unless a file of hosts (line i: that of page i) is given, or neighbours are to be grouped. Pages have one
size and sites one speed: a file of links knows no more (`web_from_edges`).

Seeds: with sites of several pages, the shortest URL of each (the home page), or the first page of each where pages have
no names; otherwise, pages that nobody links to, and the one that links most. Pages that no seed leads to would never be
found, so the first of them becomes a seed as well, and again, until everything can be reached.

What is none of these is a `ConfigError` that says where. Every form may be plain or compressed (`text_files`).
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from periplus.model import ConfigError, Site, Url
from periplus.urls import canonical, site_of

from .edge_lists import HINT, Graph, edge_list, gaps, is_numbered, numbered
from .text_files import read_bytes, read_lines
from .web import Web, web_from_edges

_BESIDE = ("readme", "license", "hosts.")
"""What lies beside graphs and is none."""

Ints = NDArray[np.int64]


def read_graph(path: Path, *, hosts: Path | None = None, pages_per_site: int = 0) -> Web:
    """The web of a file of links, or of a folder that holds one.

    `hosts` names the host of each page, a line each. `pages_per_site` puts so many neighbours on a site: a rough
    stand-in where pages are sorted by URL but their hosts are lost.
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
    each = max(1, pages_per_site)
    site = np.arange(graph.pages, dtype=np.int64) // each
    return _web(graph, site, [Site(f"site-{number}.example") for number in range(-(-graph.pages // each))], None)


def read_ranks(path: Path) -> NDArray[np.float64] | None:
    """The PageRank that came with a graph, in a file `*.pagerank.*` beside it, a page a line; `None` without one."""
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
            f"{path} is no list of ranks: {error}", hint="a number a line, in the order of pages"
        ) from error


def _found(path: Path) -> Path:
    """The one file of links that is meant: that of a folder, or the edges that belong to nodes."""
    if path.is_dir():
        inside = [file for file in sorted(path.iterdir()) if file.is_file() and _may_be_graph(file.name)]
        inside = [file for file in inside if _partner(file, "nodes", "edges") is None]
        if len(inside) != 1:
            names = ", ".join(file.name for file in inside[:5]) or "none"
            raise ConfigError(f"{path}: which file of links is meant? ({names})", hint="name the file itself")
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
    """What a file says, in whichever form."""
    text = read_bytes(path)
    if ".adj." in f"{path.name}.":
        return gaps(text, str(path))
    if b"\0" in text[:4096]:
        raise ConfigError(f"{path} is no text", hint=HINT)
    if is_numbered(text):
        return numbered(text, str(path))
    nodes = _partner(path, "edges", "nodes")
    lines = [] if nodes is None else [line for line in read_lines(nodes) if line.strip() and line[0] not in "#%"]
    return edge_list(text, str(path), lines)


def _url(name: str, page: int) -> Url:
    """The URL of a name, which may be a URL or a host; what is neither gets a host of its own."""
    return canonical(name if "://" in name else f"http://{name}") or Url(f"http://page-{page}.example/")


def _urls(names: list[str]) -> list[Url]:
    """A URL for each page. Where two names are one URL to us, the later page is known by its number."""
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
    """The home page of every site: its shortest URL, or else its first page; none where every page is a site."""
    pages = len(site)
    if sites == pages:
        return np.zeros(0, np.int64)
    length = np.zeros(pages, np.int64) if urls is None else np.array([len(url) for url in urls])
    order = np.lexsort((np.arange(pages), length, site))
    return order[np.searchsorted(site[order], np.arange(sites))]


def seeds_of(graph: Graph, homes: Ints) -> Ints:
    """Where a crawl must begin to find everything: home pages, and a page of every part that nobody leads to.

    Parts are strongly connected components; of each, the page with most links. Without home pages, the page of all
    that has most links is a seed as well.
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
