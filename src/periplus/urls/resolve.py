"""All links of a page at once: the hot path of reading a page.

Pages repeat themselves: of the 200 links of a documentation page, some 40 differ once fragments are cut. So fragments
go first, each different link is resolved once, and most of those are plain enough to need no parser (see `plain`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from ..model import Url
from .canonical import canonical, parsed
from .plain import CLIMBING, FULL, LINK, ROOTED, below_origin, joined
from .spelling import without_fragment

_MAX_PLACE = 8192
"""On a page with a longer URL no link is plain: page and plain link together must be shorter than a URL may be."""


def resolve_all(hrefs: Iterable[str], base: str) -> list[Url | None]:
    """The canonical URL of each link of a page, aligned with `hrefs`; `None` for what we do not fetch.

    Equal to `[canonical(href, base) for href in hrefs]`.
    """
    hrefs = list(hrefs)
    page = canonical(base) if len(base) <= _MAX_PLACE else None
    links = _Links(base) if page is None else _PlainLinks(base, page)
    urls = [links[href.partition("#")[0] if "#" in href else href] for href in hrefs]
    if links.has_ragged:
        urls = [links[without_fragment(href)] for href in hrefs]
    return urls


class _Links(dict[str, Url | None]):
    """The links of one page without their fragments, resolved when first asked for.

    One that ends in white space is resolved but not remembered, and `has_ragged` tells: with the fragment that was cut
    behind it, the white space would not have been at the end, and so not stripped.
    """

    __slots__ = ("base", "has_ragged")

    def __init__(self, base: str) -> None:
        self.base = base
        self.has_ragged = False

    def __missing__(self, href: str) -> Url | None:
        url = parsed(href, self.base)
        if href[-1:] <= " " and href:
            self.has_ragged = True
        else:
            self[href] = url
        return url


class _PlainLinks(_Links):
    """The same where links are relative to a canonical URL, taken apart once."""

    __slots__ = ("_directories", "_directory", "_origin", "_path")

    def __init__(self, base: str, page: Url) -> None:
        super().__init__(base)
        self[""] = page
        self._origin = page[: page.index("/", 8)]
        self._path = page.partition("?")[0]
        self._directory = self._path[: self._path.rindex("/") + 1]
        self._directories: dict[str, str] = {}

    def __missing__(self, href: str) -> Url | None:
        match = LINK.fullmatch(href)
        url = None if match is None else self._plain(href, match)
        if url is None:
            return super().__missing__(href)
        self[href] = url
        return url

    def _plain(self, href: str, match: re.Match[str]) -> Url | None:
        """The URL of a link of one of the plain shapes, or `None`: ask the parser."""
        shape = match.lastindex
        if shape is None:
            return joined(self._directory, href)
        if shape == CLIMBING:
            climb = match[1]
            return joined(self._directories.get(climb) or self._climb(climb), href[len(climb) :])
        if shape == ROOTED:
            return joined(self._origin, href)
        if shape == FULL:
            return below_origin(match[3], href[match.end(3) :])
        return joined(self._path, href)

    def _climb(self, climb: str) -> str:
        """The directory that a run of `../` and `./` leads to; there is nothing above the root."""
        directory, root = self._directory, len(self._origin)
        end = len(directory)
        for _ in range(climb.count("../")):
            end = directory.rfind("/", root, end - 1) + 1 or end
        self._directories[climb] = directory[:end]
        return directory[:end]
