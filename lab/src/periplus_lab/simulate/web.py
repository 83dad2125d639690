"""A web as arrays: pages are numbers, and their properties are columns.

Millions of pages fit in memory this way. A scheduler needs URLs: pages without names get one made from the site and the
number.

A simulation of a thousand shards asks for the hash of every site and every shard, some hundred million of them. Names
made here are nine to sixteen bytes long, and for such short ones XXH3 is a handful of operations on two words (the
xxHash specification, section on inputs of 9 to 16 bytes), which arrays do for thousands of sites together. A test holds
the answers to `owner_of`, which is what crawls use.

Rendezvous hashing lets one pass serve every number of shards: the best of the first n shards, kept up as n grows.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from periplus.model import ConfigError, Site, Url

MOST_SITES = 10_000_000
MOST_SHARDS = 100_000
_BLOCK = 16_384
"""Sites that are placed together: as many as a core's cache holds."""
_LENGTH = 16
_FIRST_FLIP = 0x6782737BEA4239B9
_LAST_FLIP = 0xAF56BC3B0996523A
"""Words of XXH3's default secret, as they are combined for inputs of this length."""
_AVALANCHE = np.uint64(0x165667919E3779F9)
_WORD = 2**64
_HALF = np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)

Words = NDArray[np.uint64]


def site_name(number: int) -> Site:
    """The name of a generated site: sixteen bytes, whatever its number."""
    return Site(f"s{number:07d}.example")


def owners(sites: int, counts: Iterable[int]) -> dict[int, NDArray[np.int32]]:
    """For every number of shards: which of them has each site."""
    wanted = sorted(set(counts))
    if not (1 <= sites <= MOST_SITES and wanted and wanted[0] >= 1 and wanted[-1] <= MOST_SHARDS):
        raise ConfigError(
            f"{sites:,} sites on these numbers of shards cannot be placed",
            hint=f"1 to {MOST_SITES:,} sites, 1 to {MOST_SHARDS:,} shards",
        )
    found = {count: np.zeros(sites, np.int32) for count in wanted}
    for begin in range(0, sites, _BLOCK):
        end = min(begin + _BLOCK, sites)
        for count, block in _placed(*_words(begin, end), wanted):
            found[count][begin:end] = block
    return found


def _placed(first: Words, last: Words, wanted: list[int]) -> Iterable[tuple[int, NDArray[np.int32]]]:
    best = np.zeros(len(first), np.uint64)
    owner = np.zeros(len(first), np.int32)
    for shard in range(wanted[-1]):
        number = _hashed(first, last, shard)
        is_better = number > best
        best[is_better] = number[is_better]
        owner[is_better] = shard
        if shard + 1 in wanted:
            yield shard + 1, owner.copy()


def _words(begin: int, end: int) -> tuple[Words, Words]:
    """The first and the last eight bytes of each name."""
    names = b"".join(site_name(number).encode() for number in range(begin, end))
    words = np.frombuffer(names, "<u8").reshape(-1, 2).astype(np.uint64)
    return words[:, 0].copy(), words[:, 1].copy()


def _hashed(first: Words, last: Words, seed: int) -> Words:
    """XXH3, 64 bits, of sixteen bytes."""
    low = first ^ np.uint64((_FIRST_FLIP + seed) % _WORD)
    high = last ^ np.uint64((_LAST_FLIP - seed) % _WORD)
    mixed = low.byteswap() + high + _folded(low, high) + np.uint64(_LENGTH)
    mixed ^= mixed >> np.uint64(37)
    mixed *= _AVALANCHE
    return mixed ^ (mixed >> _HALF)


def _folded(one: Words, other: Words) -> Words:
    """The two halves of a product of 128 bits, one laid over the other."""
    a, b, c, d = one & _LOW, one >> _HALF, other & _LOW, other >> _HALF
    bottom, left, right = a * c, b * c, a * d
    middle = (bottom >> _HALF) + (left & _LOW) + right
    top = b * d + (left >> _HALF) + (middle >> _HALF)
    folded: Words = top ^ ((middle << _HALF) | (bottom & _LOW))
    return folded


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
