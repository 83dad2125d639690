"""URLs that files list and that are not queued yet, in memory: a queue of slices for each level of a site."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence

from periplus.model import Site


class MemoryListings:
    """`Listings` in memory."""

    def __init__(self) -> None:
        self._slices: dict[Site, dict[int, deque[bytes]]] = {}
        self._count = 0

    def add(self, site: Site, level: int, slices: Sequence[bytes]) -> None:
        """Keep slices at the end of a level."""
        if slices:
            self._slices.setdefault(site, {}).setdefault(level, deque()).extend(slices)
            self._count += len(slices)

    def take(self, site: Site) -> bytes | None:
        """The first slice of a site, lowest level first."""
        levels = self._slices.get(site)
        if levels is None:
            return None
        level = min(levels)
        first = levels[level].popleft()
        if not levels[level]:
            del levels[level]
        if not levels:
            del self._slices[site]
        self._count -= 1
        return first

    def has(self, site: Site) -> bool:
        """Whether something is listed of a site."""
        return site in self._slices

    def sites(self) -> Iterator[Site]:
        """Every site with listed URLs."""
        return iter(list(self._slices))

    def __len__(self) -> int:
        return self._count
