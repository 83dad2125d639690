"""Titles of pages, from the links to them and from the pages themselves.

Link texts are short and describe the target; the most common one wins. A page title often ends in the name of the site,
which is cut off.

A page counts if it was read, is not marked noindex, and is its own canonical URL. Priority and lastmod come from the
site's sitemaps.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from periplus.model.statements import Statements

from .choosing import Ulink
from .sampling import Listed

if TYPE_CHECKING:
    from periplus.insight.views import Views

SQL: Final = Statements(__file__)

_WWW: Final = "www."


def sites_of(views: Views) -> list[tuple[str, int]]:
    """Every site with how many pages of it were read."""
    return [(str(row["site"]), int(row["pages"])) for row in views.rows(SQL["sites"])]


def grouped(sites: Iterable[tuple[str, int]]) -> dict[str, list[str]]:
    """Sites that are one but for `www`, by the name without it; those with the most pages first, everywhere."""
    groups: dict[str, list[str]] = {}
    for site, _ in sorted(sites, key=lambda each: (-each[1], each[0])):
        groups.setdefault(site.removeprefix(_WWW), []).append(site)
    return groups


def pages_of(views: Views, sites: Sequence[str]) -> Iterator[Listed]:
    """Every page of some sites that may be a useful link, in alphabetical order."""
    for batch in views.ask(SQL["pages"], {"sites": list(sites)}):
        for url, priority, lastmod, title in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            yield Listed(url, priority, lastmod, title)


_LONGEST: Final = 60
_NOTHING: Final = frozenset({
    "here", "click", "more", "read", "link", "this", "next", "previous", "prev", "back", "home", "page", "go", "see",
    "continue", "view", "details", "all", "learn",
})  # fmt: skip
"""Link texts that do not describe their target."""
_SEPARATOR = re.compile(r"\s+[|\u2013\u2014\u00b7\u00bb:-]\s+")


def entitled(found: Sequence[Ulink], views: Views) -> list[Ulink]:
    """The same links by the URLs under which the collection knows the targets."""
    return entitled_sites([found], views)[0]


def entitled_sites(found: Sequence[Sequence[Ulink]], views: Views) -> list[list[Ulink]]:
    """The same for several sites, whose links are read once."""
    urls = [link.url for links in found for link in links if link.is_listed]
    anchors = anchors_of(
        (row["target"], row["anchor"], row["pages"]) for row in views.rows(SQL["anchors"], {"urls": urls})
    )
    titles = {row["url"]: row["title"] for row in views.rows(SQL["titles"], {"urls": urls})}
    return [_named(links, anchors, titles) for links in found]


def _named(found: Sequence[Ulink], anchors: Mapping[str, str], titles: Mapping[str, str]) -> list[Ulink]:
    bare = without_site({link.url: titles[link.url] for link in found if link.url in titles})
    return [
        replace(link, title=anchors.get(link.url) or bare.get(link.url) or link.title) if link.is_listed else link
        for link in found
    ]


def anchors_of(rows: Iterable[tuple[str, str, int]]) -> dict[str, str]:
    """For each target the most common descriptive link text."""
    counts: dict[str, Counter[str]] = {}
    for target, anchor, pages in rows:
        text = " ".join(anchor.split())
        if len(text) <= _LONGEST and describes_target(text):
            counts.setdefault(target, Counter())[text] += pages
    return {target: min(texts, key=lambda text: (-texts[text], len(text), text)) for target, texts in counts.items()}


def describes_target(text: str) -> bool:
    """Whether a link text describes its target."""
    words = re.findall(r"\w+", text.lower())
    return any(not word.isdigit() and word not in _NOTHING for word in words) and "://" not in text


def without_site(titles: Mapping[str, str]) -> dict[str, str]:
    """Titles without what most of them begin or end with."""
    parts = {url: _SEPARATOR.split(" ".join(title.split())) for url, title in titles.items()}
    shared = Counter(part for each in parts.values() if len(each) > 1 for part in {each[0], each[-1]})
    names = {part for part, count in shared.items() if count >= 2 and 2 * count >= len(parts)}
    return {url: _bare(each, names)[:_LONGEST] for url, each in parts.items()}


def _bare(parts: list[str], names: set[str]) -> str:
    kept = [part for part in parts if part not in names]
    return " - ".join(kept or parts)
