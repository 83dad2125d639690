"""What a program's own filter or ordering learns about a URL: the second argument of `want=` and `score=`."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from periplus.model import Discovery, Source, Url, UsageError


class FoundUrl(Struct, frozen=True, gc=False):
    """How a URL was found.

    `source` is `seed`, `link`, `sitemap`, `feed`, `ping`, `archive`, `form` or `redirect`; `depth` the number of links
    from a seed; `referrer` the page or file that names it. `anchor` is the text of the link and `title` what a feed or
    sitemap calls the page, empty if there is none; `lastmod` is a POSIX time.
    """

    source: str
    depth: int = 0
    referrer: Url | None = None
    anchor: str = ""
    title: str = ""
    lastmod: float | None = None

    @property
    def is_seed(self) -> bool:
        """Whether it is a seed, or where a seed redirects to."""
        return self.depth == 0 and self.source in (Source.SEED.value, Source.REDIRECT.value)


Want = Callable[[Url, FoundUrl], object]
"""A filter: whether a URL is wanted (any true value)."""
Score = Callable[[Url, FoundUrl], float]
"""An ordering: how much a URL is wanted, from 0 (last) to 1 (first)."""


def found_of(discovery: Discovery) -> FoundUrl:
    """How a URL was found, for a program's own function."""
    hints = discovery.hints
    return FoundUrl(
        source=discovery.source.value,
        depth=discovery.depth,
        referrer=discovery.referrer,
        anchor=hints.anchor or "",
        title=hints.title or "",
        lastmod=None if hints.lastmod is None else hints.lastmod.at,
    )


def failed_call(name: str, url: Url, error: Exception) -> UsageError:
    """An exception of a program's own function, as an error that ends a crawl. Nothing stored is lost."""
    return UsageError(
        f"{name}= raised {type(error).__name__} for {url}: {error}",
        hint="fix the function and run the same again: a crawl continues where it stopped",
    )
