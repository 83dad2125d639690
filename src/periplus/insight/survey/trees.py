"""The trees that indexes make of sitemap files, rebuilt from which file names which, and the domain of each tree.

A file stands where the shortest way from a robots.txt leads to it, once: so loops end. One that several domains name is
of a domain on whose hosts it lies, if one of them does, else of the first of the list. A file that no robots.txt and no
index names (a guess, a submission) begins a tree of its own, and is of the domain on whose host it lies.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping

from msgspec import Struct


class Place(Struct, frozen=True, gc=False):
    """The position of a file: `key` is shared by its twins; `tree` and `parent` are URLs."""

    key: str
    url: str
    domain: str
    tree: str
    parent: str | None = None
    depth: int = 0


class Roots:
    """Sitemaps that robots.txt files name, with the domains that name them."""

    def __init__(self) -> None:
        self._places: dict[str, Place] = {}

    def add(self, key: str, url: str, domain: str) -> None:
        """A domain names a sitemap."""
        known = self._places.get(key)
        if known is None or (is_of(url, domain) and not is_of(known.url, known.domain)):
            self._places[key] = Place(key, url, domain, url)

    def __iter__(self) -> Iterator[Place]:
        return iter(self._places.values())


def grown(roots: Iterable[Place], children: Callable[[str], Mapping[str, str]], known: set[str]) -> Iterator[Place]:
    """Every file of the trees, level by level; `known` has the keys that are already placed, and grows.

    `children` returns the URLs that a file names, by their keys.
    """
    level: deque[Place] = deque()
    for root in roots:
        if root.key not in known:
            known.add(root.key)
            level.append(root)
    while level:
        place = level.popleft()
        yield place
        for key, url in children(place.key).items():
            if key not in known:
                known.add(key)
                level.append(Place(key, url, place.domain, place.tree, place.url, place.depth + 1))


def is_of(url: str, domain: str) -> bool:
    """Whether a URL is on a host of a domain."""
    host, name = _host(url.partition("://")[2].partition("/")[0]), _host(domain)
    return host == name or host.endswith(f".{name}")


def _host(site: str) -> str:
    return site.partition(":")[0] if not site.startswith("[") else site
