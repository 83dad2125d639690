"""Which shard owns which site: rendezvous hashing (Thaler & Ravishankar 1998).

Every shard has a hash for every site, and the highest owns it. No table is kept, all shards agree without
communication, and when the number of shards changes only the sites of the added or removed shard move.
"""

from __future__ import annotations

from xxhash import xxh3_64_intdigest

from periplus.model import Site

_REMEMBERED = 50_000


def owner_of(site: Site, shards: int) -> int:
    """The shard that visits a site."""
    if shards == 1:
        return 0
    name = site.encode()
    return max(range(shards), key=lambda shard: xxh3_64_intdigest(name, shard))


class Placement:
    """`owner_of`, with the last results cached."""

    def __init__(self, shards: int) -> None:
        self._shards = shards
        self._owners: dict[Site, int] = {}

    def owner(self, site: Site) -> int:
        """The shard that visits a site."""
        owner = self._owners.get(site)
        if owner is None:
            if len(self._owners) >= _REMEMBERED:
                self._owners.clear()
            owner = self._owners[site] = owner_of(site, self._shards)
        return owner
