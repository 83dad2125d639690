"""All links of a page at once."""

from __future__ import annotations

from collections.abc import Iterable

from ..model import Url
from .canonical import canonical, without_fragment


def resolve_all(hrefs: Iterable[str], base: str) -> list[Url | None]:
    """The canonical URL of each href, aligned with `hrefs`; `None` for what we do not fetch."""
    known: dict[str, Url | None] = {}
    urls = []
    for href in hrefs:
        href = without_fragment(href)
        if href not in known:
            known[href] = canonical(href, base)
        urls.append(known[href])
    return urls
