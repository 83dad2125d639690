"""Pairs of hosts that may be mirrors: their paths resemble each other.

A host's paths are sketched by 128 MinHash values over its 1,000 shortest paths (Broder 1997): the shortest are those
that a crawl finds first on each host. Hosts that share one of 16 bands of 8 values are compared: at a resemblance of
.9 they do with probability .9999, at .7 with .61. Hosts that the caller has other reasons to compare (the same home
page, the same texts) are compared whatever their bands say.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import Final

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray
from xxhash import xxh3_64_intdigest

from ...model import Site

MAX_PATHS: Final = 1000
"""Paths of a host that are sketched: the shortest."""
VALUES: Final = 128
_BANDS: Final = 16
_ROWS: Final = VALUES // _BANDS
_MAX_GROUP: Final = 32
"""Hosts of one band that are compared with each other; of larger groups (one program's standard pages) the first."""
_SEED: Final = 0x6D6972726F72
_RANDOM: Final = np.random.Generator(np.random.PCG64(_SEED))
_FACTORS: Final = _RANDOM.integers(0, 1 << 63, VALUES, np.uint64) * np.uint64(2) + np.uint64(1)
_SHIFTS: Final = _RANDOM.integers(0, 1 << 63, VALUES, np.uint64)
_HALF: Final = np.uint64(32)

PathSketch = NDArray[np.uint64]


class HostPaths(Struct, frozen=True):
    """A host and the sketch of its paths. `count` is the number of paths that were sketched."""

    site: Site
    count: int
    sketch: PathSketch


def path_sketch(site: Site, paths: Iterable[str]) -> HostPaths:
    """The sketch of the paths (with queries) of a host."""
    chosen = sorted(set(paths), key=lambda path: (len(path), path))[:MAX_PATHS]
    if not chosen:
        return HostPaths(site, 0, np.zeros(VALUES, np.uint64))
    hashes = np.array([xxh3_64_intdigest(path.encode()) for path in chosen], np.uint64)
    mixed = hashes[:, None] * _FACTORS + _SHIFTS
    mixed ^= mixed >> _HALF
    return HostPaths(site, len(chosen), (mixed * _FACTORS[::-1]).min(axis=0))


def resemblance(one: HostPaths, other: HostPaths) -> float:
    """The estimated share of common paths of two hosts; 0 if one has none."""
    if not one.count or not other.count:
        return 0.0
    return float(np.count_nonzero(one.sketch == other.sketch)) / VALUES


def candidate_pairs(
    hosts: Sequence[HostPaths],
    related: Iterable[tuple[Site, Site]] = (),
    *,
    least: float = 0.5,
    fewest: int = 5,
) -> list[tuple[Site, Site]]:
    """Pairs to verify, in order: hosts with `fewest` paths each and resemblance `least`, and the `related` ones.

    A related pair has a reason of its own (many of the same texts) and needs no resemblance of all its paths: one host
    may have a copy of a part of the other.
    """
    known = {host.site: host for host in hosts if host.count >= fewest}
    by_band: dict[tuple[int, bytes], list[Site]] = defaultdict(list)
    for host in known.values():
        for band in range(_BANDS):
            by_band[band, host.sketch[band * _ROWS : (band + 1) * _ROWS].tobytes()].append(host.site)
    pairs = {
        (min(pair), max(pair))
        for group in by_band.values()
        for pair in combinations(group[:_MAX_GROUP], 2)
        if resemblance(known[pair[0]], known[pair[1]]) >= least
    }
    pairs |= {(min(pair), max(pair)) for pair in related if pair[0] != pair[1] and {*pair} <= known.keys()}
    return sorted(pairs)
