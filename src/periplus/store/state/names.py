"""Sites by number: four bytes instead of a host name in every key, and a site's rows side by side.

Numbers count up from 0 and are never used again. Both directions are on disk; what was read or written lately is in
memory, in two generations: when the young one is full it becomes the old one, and what was the old one is forgotten.
That bounds memory and costs no bookkeeping on a hit, as an order of use would; what is always in use is read again once
in two generations.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256
from typing import Generic, TypeVar

from periplus.model import CollectionDamaged, Site

from .environment import MAX_KEY, Environment

K = TypeVar("K")
V = TypeVar("V")

ID_LENGTH = 4
REMEMBERED = 32_768


class Recent(Generic[K, V]):
    """A dict of truthy values with bounded size: it holds at most twice `size`."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._young: dict[K, V] = {}
        self._old: dict[K, V] = {}

    def get(self, key: K) -> V | None:
        """What is remembered."""
        return self._young.get(key) or self._old.get(key)

    def get_all(self, keys: Iterable[K]) -> list[V | None]:
        """What is remembered of each."""
        young, old = self._young, self._old
        return [young.get(key) or old.get(key) for key in keys]

    def __setitem__(self, key: K, value: V) -> None:
        if len(self._young) >= self._size:
            self._old, self._young = self._young, {}
        self._young[key] = value

    def __len__(self) -> int:
        return len(self._young) + len(self._old)


class SiteNames:
    """A number for each site, and back."""

    def __init__(self, environment: Environment, remembered: int = REMEMBERED) -> None:
        self._ids = environment.table("site-ids")
        self._names = environment.table("site-names")
        self._recent_ids: Recent[Site, bytes] = Recent(remembered)
        self._recent_names: Recent[bytes, Site] = Recent(remembered)

    def find(self, site: Site) -> bytes | None:
        """The number of a site that has one."""
        number = self._recent_ids.get(site)
        if number is None:
            number = self._ids.get(name_key(site))
            if number is not None:
                self._recent_ids[site] = number
        return number

    def number(self, site: Site) -> bytes:
        """The number of a site, assigned now if it has none."""
        number = self._recent_ids.get(site) or self.find(site)
        if number is None:
            number = len(self._names).to_bytes(ID_LENGTH, "big")
            self._ids.put(name_key(site), number)
            self._names.put(number, site.encode())
            self._recent_ids[site] = number
        return number

    def name(self, number: bytes) -> Site:
        """The site of a number that was given."""
        site = self._recent_names.get(number)
        if site is None:
            name = self._names.get(number)
            if name is None:
                raise CollectionDamaged(f"no site has the number {int.from_bytes(number, 'big')}")
            site = self._recent_names[number] = Site(name.decode())
        return site


def name_key(name: str) -> bytes:
    """A name as a key: itself, or its digest where it is longer than a key may be."""
    encoded = b"=" + name.encode()
    return encoded if len(encoded) <= MAX_KEY else b"#" + sha256(encoded).digest()
