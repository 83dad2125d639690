"""A web as arrays: pages are numbers, and their properties are columns.

Millions of pages fit in memory this way. A scheduler needs URLs: pages without names get one made from the site and the
number.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from periplus.model import Site, Url

OK = 200
NO_ANSWER = 0


class Web(Struct, frozen=True):
    """Page `p` lies at `sites[site[p]]` and links to `targets[starts[p]:starts[p + 1]]`, each once.

    `size` is in bytes and `status` an HTTP status, or `NO_ANSWER`. A site answers after `latency` seconds and then
    sends `bandwidth` bytes a second. Crawls begin at `seeds`. `urls` are the names of pages that have some; `took` is
    how long each fetch lasted where that was measured, and counts instead of latency and size.
    """

    sites: list[Site]
    site: NDArray[np.int32]
    starts: NDArray[np.int64]
    targets: NDArray[np.int32]
    size: NDArray[np.int32]
    status: NDArray[np.int16]
    latency: NDArray[np.float64]
    bandwidth: NDArray[np.float64]
    seeds: NDArray[np.int64]
    urls: list[Url] | None = None
    took: NDArray[np.float64] | None = None

    def __len__(self) -> int:
        return len(self.site)

    @property
    def edges(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Every link as its two ends: sources, targets."""
        sources = np.repeat(np.arange(len(self), dtype=np.int64), np.diff(self.starts))
        return sources, self.targets.astype(np.int64)

    def url(self, page: int) -> Url:
        """The name of a page."""
        if self.urls is not None:
            return self.urls[page]
        return Url(f"http://{self.sites[self.site[page]]}/{page}")

    def names(self) -> list[Url]:
        """The names of all pages, in order."""
        if self.urls is not None:
            return self.urls
        prefixes = [f"http://{site}/" for site in self.sites]
        return [Url(f"{prefixes[at]}{page}") for page, at in enumerate(self.site.tolist())]


def web_from_edges(
    sources: NDArray[Any],
    targets: NDArray[Any],
    site: NDArray[Any],
    sites: list[Site],
    *,
    seeds: NDArray[Any],
    urls: list[Url] | None = None,
    size: int = 13_000,
    latency: float = 1.0,
    bandwidth: float = 1e6,
) -> Web:
    """A web of which only the links are known: pages of one size, sites of one speed. Repeated links count once."""
    pages, count = len(site), len(sites)
    key = distinct(sources.astype(np.int64) * pages + targets.astype(np.int64))
    starts = np.zeros(pages + 1, np.int64)
    np.cumsum(np.bincount(key // pages, minlength=pages), out=starts[1:])
    return Web(
        sites,
        site.astype(np.int32),
        starts,
        (key % pages).astype(np.int32),
        np.full(pages, size, np.int32),
        np.full(pages, OK, np.int16),
        np.full(count, latency),
        np.full(count, bandwidth),
        seeds.astype(np.int64),
        urls,
    )


def distinct(keys: NDArray[np.int64]) -> NDArray[np.int64]:
    """The different ones among the keys, ascending. `np.unique` hashes them, which takes twenty times as long."""
    keys = np.sort(keys)
    is_first = np.ones(len(keys), np.bool_)
    np.not_equal(keys[1:], keys[:-1], out=is_first[1:])
    return keys[is_first]
