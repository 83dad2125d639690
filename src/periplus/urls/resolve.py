"""All links of a page at once: the hot path of reading a page.

Pages repeat themselves: of the 200 links of a documentation page, some 40 differ once fragments are cut. So fragments
go first, each different link is resolved once, and most of those are plain enough to need no parser (see `plain`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import cast

from ..model import Url
from .canonical import canonical, parsed
from .plain import MAX_PAGE, Starts, are_canonical, joined, split_plain

_OTHER_SCHEME = re.compile(r"(?!https?:)[a-z][a-z0-9+.-]*+:", re.IGNORECASE | re.ASCII)
"""`mailto:`, `javascript:` and similar: the result is never a URL to crawl."""

_MANY = 16
"""Number of links from which it pays to check whether a list needs no resolving at all."""


def resolve_all(hrefs: Iterable[str], base: str, encoding: str = "utf-8") -> list[Url | None]:
    """The canonical URL of each link of a page, aligned with `hrefs`; `None` for what we do not fetch.

    Equal to `[canonical(href, base, encoding) for href in hrefs]`.
    """
    hrefs = list(hrefs)
    page = canonical(base) if len(base) <= MAX_PAGE else None
    if page is not None and len(hrefs) >= _MANY and are_canonical(hrefs):
        return cast("list[Url | None]", hrefs)
    links = [href.partition("#")[0] if "#" in href else href for href in hrefs]
    known: dict[str, Url | None] = dict.fromkeys(links)
    odd = list(known) if page is None else _resolve_plain(known, page)
    for link in odd:
        known[link] = None if _OTHER_SCHEME.match(link) else parsed(link, base, encoding)
    urls = [known[link] for link in links]
    ragged = {link for link in odd if link and link[-1] <= " "}
    return _repaired(urls, hrefs, base, encoding, ragged) if ragged else urls


def _resolve_plain(known: dict[str, Url | None], page: Url) -> list[str]:
    """Fill in the plain links among the keys of `known`; return the others."""
    odd = []
    starts = Starts(page)
    for link, (start, rest) in zip(known, split_plain(known), strict=True):
        if not (start or rest):
            odd.append(link)
        elif (meaning := starts[start]) is not None:
            if "%" not in rest and "/." not in rest:
                known[link] = meaning + rest  # type: ignore[assignment] # a call of Url() costs as much as this line
            elif (url := joined(meaning, rest)) is not None:
                known[link] = url
            else:
                odd.append(link)
    if "" in known:
        known[""] = page
        odd.remove("")
    return odd


def _repaired(urls: list[Url | None], hrefs: list[str], base: str, encoding: str, ragged: set[str]) -> list[Url | None]:
    """Resolve again what ended in white space once its fragment was cut, and so would have lost it to the parser."""
    return [
        canonical(href, base, encoding) if "#" in href and href.partition("#")[0] in ragged else url
        for href, url in zip(hrefs, urls, strict=True)
    ]
