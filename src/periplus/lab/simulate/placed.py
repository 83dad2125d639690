"""Places very many generated sites in shards: `crawl.placement.owner_of`, a thousand times as fast.

A simulation of a thousand shards asks for the hash of every site and every shard, some hundred million of them. Names
made here are nine to sixteen bytes long, and for such short ones XXH3 is a handful of operations on two words (the
xxHash specification, section on inputs of 9 to 16 bytes), which arrays do for thousands of sites together. A test holds
the answers to `owner_of`, which is what crawls use.

Rendezvous hashing lets one pass serve every number of shards: the best of the first n shards, kept up as n grows.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from periplus.model import ConfigError, Site

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
