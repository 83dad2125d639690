"""The profile that does everything wrong, after the Berkeley survey of web site metadata.

An index that names both `.xml` and `.xml.gz` of the same list, indexes in indexes that lead back to where they began, a
file of 60,000 URLs, bytes that are not the UTF-8 they claim, gzip that ends too early, URLs of another host. Read with
care, it holds every page of the site. The angle brackets around its URL in robots.txt are in `exclusion`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from periplus.formats.sitemap import Child, Entry

from ..live import LiveSite
from .documents import Document
from .entries import Scribe, rows_where

HUGE = 60_000
"""URLs in one file: more than the 50,000 that the protocol permits, and few enough to crawl them in seconds."""
_THIRDS = 3


def dirty(live: LiveSite, scribe: Scribe, tick: int, foreign: Callable[[int], Iterable[str]]) -> Iterator[Document]:
    """The documents of the moment."""
    host = f"http://{live.site.host}"

    def third(number: int) -> Callable[[], Iterator[Entry]]:
        def entries() -> Iterator[Entry]:
            if number == 0:
                yield from scribe.fixed(range(live.site.first_article), tick)
            census = live.census(tick)
            yield from scribe.articles(census, rows_where(census.slots % _THIRDS == number))

        return entries

    def index(path: str, *names: str) -> Document:
        return Document(path, None, tuple(Child(host + name) for name in names))

    yield index(
        "/sitemap_index.xml", "/sitemap-a.xml", "/sitemap-a.xml.gz", "/sitemap-nested.xml", "/sitemap-cut.xml.gz",
        "/sitemap-huge.xml", "/sitemap-foreign.xml", "/sitemap-missing.xml",
    )  # fmt: skip
    yield Document("/sitemap-a.xml", entries=third(0))
    yield Document("/sitemap-a.xml.gz", entries=third(0), coat="gzip")
    yield index("/sitemap-nested.xml", "/sitemap-deeper.xml", "/sitemap-b.xml")
    yield index("/sitemap-deeper.xml", "/sitemap_index.xml", "/sitemap-deeper.xml", "/sitemap-c.xml")
    yield Document("/sitemap-b.xml", entries=third(1), coat="latin-1")
    yield Document("/sitemap-c.xml", entries=third(2))
    yield Document("/sitemap-cut.xml.gz", entries=third(2), coat="cut")
    yield Document("/sitemap-huge.xml", entries=lambda: _huge(live))
    yield Document("/sitemap-foreign.xml", entries=lambda: (Entry(url) for url in foreign(tick)))


def _huge(live: LiveSite) -> Iterator[Entry]:
    """Four times the maximum size of a file: the same few listings, repeated with a meaningless parameter."""
    site = live.site
    paths = [live.paths.fixed(slot).decode() for slot in range(site.first_article)]
    for number in range(HUGE):
        yield Entry(f"http://{site.host}{paths[number % len(paths)]}?from=sitemap&n={number}")
