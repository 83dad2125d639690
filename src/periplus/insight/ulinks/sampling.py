"""What a site lists, in bounded memory: a sample of its URLs, and the fingerprints of all of them.

The report put a random sample of 20,000 URLs of a site into its tree: heavy prefixes are heavy in any sample. A
reservoir draws them in one pass without knowing how many there are. Whether a prefix is a page is asked of all URLs,
not of the sample: their fingerprints take 8 bytes each.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from itertools import islice
from random import Random
from typing import Final

import numpy as np
from msgspec import Struct

from periplus.model import Url
from periplus.urls import canonical, fingerprints

from .names import repaired

SAMPLE: Final = 20_000
_MOST_PRINTS: Final = 20_000_000
"""In a larger site, pages beyond these are known to exist only if they were sampled."""
_AT_ONCE: Final = 4096
_LONGEST: Final = 2048
"""Characters of a URL, by the protocol of sitemaps."""


class Listed(Struct, frozen=True, gc=False):
    """A URL with its metadata in the sitemap. `lastmod` is POSIX time."""

    url: str
    priority: float | None = None
    lastmod: float | None = None
    title: str = ""


class Sample:
    """A random sample of the URLs of a site, by a seed, and a filter of all of them.

    `total` is how many there were, `unreadable` how many more were no URLs, or longer than the protocol lets them be.
    """

    def __init__(
        self, urls: Iterable[str | Listed], *, size: int = SAMPLE, seed: int = 0, repairs: bool = True
    ) -> None:
        self.total = 0
        self.unreadable = 0
        self._prints = array("Q")
        self._drawn: list[Listed] = []
        random = Random(seed)  # noqa: S311 - chance, not secrets
        for url, listed in self._read(urls, repairs):
            self.total += 1
            drawn = Listed(url, listed.priority, listed.lastmod, listed.title)
            if len(self._drawn) < size:
                self._drawn.append(drawn)
            elif (place := int(random.random() * self.total)) < size:
                self._drawn[place] = drawn
        self._known = np.unique(np.frombuffer(self._prints, np.uint64))

    def _read(self, urls: Iterable[str | Listed], repairs: bool) -> Iterator[tuple[Url, Listed]]:
        """Every URL in canonical form, a few thousand at a time."""
        each = iter(urls)
        while some := list(islice(each, _AT_ONCE)):
            listed = [one if isinstance(one, Listed) else Listed(one) for one in some]
            found = [repaired(one.url) if repairs else canonical(one.url) for one in listed]
            pairs = [
                (url, one) for url, one in zip(found, listed, strict=True) if url is not None and len(url) < _LONGEST
            ]
            self.unreadable += len(some) - len(pairs)
            if len(self._prints) < _MOST_PRINTS:
                self._prints.extend(fingerprints(url for url, _ in pairs))
            yield from pairs

    @property
    def urls(self) -> list[Listed]:
        """What was drawn, each URL once, in canonical form."""
        return list({one.url: one for one in self._drawn}.values())

    def holds(self, urls: Iterable[Url]) -> list[bool]:
        """Whether the site lists each of some URLs."""
        prints = np.array(fingerprints(urls), np.uint64)
        if not len(self._known):
            return [False] * len(prints)
        places = np.minimum(np.searchsorted(self._known, prints), len(self._known) - 1)
        return list((self._known[places] == prints).tolist())
