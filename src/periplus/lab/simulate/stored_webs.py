"""A web on disk for as long as an experiment lasts, so that several processes read one copy of it.

Columns are `.npy` files, which every process maps into memory and the system keeps once; names are one file of text.
The PageRank of every page is stored beside them. The format is temporary: see `graph_files` for others.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from msgspec import Struct, msgpack
from numpy.typing import NDArray

from periplus.graph import depths, pagerank
from periplus.model import Site, Url

from .web import OK, Web

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
    """PageRank over all links of the web. A page can be fetched if it answers well and such pages lead to it."""
    sources, targets = web.edges
    rank = pagerank(sources, targets, len(web))
    is_ok = web.status == OK
    follows = is_ok[sources]
    depth = depths(sources[follows], targets[follows], len(web), web.seeds)
    return RankedWeb(web, rank, (depth >= 0) & is_ok)


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
    """Read it back; columns stay on disk until they are looked at."""
    sites, urls = msgpack.decode((folder / "names.msgpack").read_bytes(), type=tuple[list[Site], list[Url] | None])
    took = _column(folder, "took") if (folder / "took.npy").exists() else None
    columns = {name: _column(folder, name) for name in _COLUMNS}
    web = Web(sites=sites, urls=urls, took=took, **columns)
    return RankedWeb(web, _column(folder, "rank"), _column(folder, "is_fetchable"))


def _column(folder: Path, name: str) -> NDArray[Any]:
    column: NDArray[Any] = np.load(folder / f"{name}.npy", mmap_mode="r")
    return column
