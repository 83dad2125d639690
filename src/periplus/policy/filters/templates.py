"""Groups the URLs of a site by template, and detects endless chains of pages of one template.

`template_of` folds the variable parts of a path: numbers and dates (`/2026/01/` is `/#/#/`), a number behind a word
(`/list-12/` is `/list-#/`), identifiers and long slugs (`/a/how-to-sail-round-the-world` is `/a/*`). Extensions stay,
and so do the names of parameters, each once and in order, without values. A template is shown as a string and stored as
64 bits. The idea is that of rules for duplicate URLs (Bar-Yossef, Keidar & Schonfeld, "Do not crawl in the DUST",
2007), without a log to learn from.

"Next day", "next result", "next slide": a program can produce such pages without an end, each different enough to count
as new. `follow` detects them; `Traps` throttles the template of a chain of 20 pages by one step, and by another for
every 20 more.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from msgspec import Struct
from xxhash import xxh3_64_intdigest

from periplus.model import Url

from ..duplicates import brief_of, likenesses

MAX_PARAMETERS = 16
"""Parameters of a query that are looked at."""

MADE_UP: Final = re.compile(
    r"/(?:[A-Za-z]{1,12}[-_=.])?(?=[a-z]*\d|[A-Z]*\d)([0-9a-f]{8,64}|[0-9A-F]{8,64})(?=/)", re.ASCII
)
"""A segment within a path that may be a session: a hexadecimal number, perhaps behind a name."""
_NUMBERED = re.compile(r"([A-Za-z]{0,16}[-_]?)\d+", re.ASCII)
_FIGURE = re.compile(r"\d", re.ASCII)
_SLUG_JOINTS = 3
_LONGEST_WORD = 40
_LONGEST_EXTENSION = 5


@lru_cache(maxsize=8192)
def template_of(url: Url) -> str:
    """The template of a URL: its path and the names of its parameters, with what varies folded.

    Remembered, because pages of a site link to the same URLs: about 3 MB.
    """
    path, names = _cut(url)
    return _folded_path(path) + names


def path_template_of(url: Url) -> str:
    """The template of a URL without its parameters."""
    return _folded_path(url[url.index("/", 8) :].partition("?")[0])


def directory_of(template: str) -> str:
    """The template of the directory that holds pages of this template; empty if no part of that is folded."""
    directory = template.partition("?")[0].rpartition("/")[0] + "/"
    return directory if "#" in directory or "*" in directory else ""


def parameters_of(url: Url) -> list[tuple[str, str]]:
    """Names and values of the query as they are spelt, at most `MAX_PARAMETERS`."""
    query = url.partition("?")[2]
    if not query:
        return []
    return [parameter.partition("=")[::2] for parameter in query.split("&", MAX_PARAMETERS)[:MAX_PARAMETERS]]


def key_of(text: str) -> int:
    """The 64-bit hash of a text in stored data."""
    return xxh3_64_intdigest(text.encode())


def _cut(url: Url) -> tuple[str, str]:
    """The path, and the names of the parameters behind a question mark."""
    if "?" not in url:
        return url[url.index("/", 8) :], ""
    path = url[url.index("/", 8) :].partition("?")[0]
    names = sorted({name for name, _ in parameters_of(url)})
    return path, "?" + "&".join(names) if names else ""


def _folded_path(path: str) -> str:
    directory, slash, name = path.rpartition("/")
    return _folded_directory(directory) + slash + _folded(name)


@lru_cache(maxsize=4096)
def _folded_directory(path: str) -> str:
    """Remembered, because the URLs of a site share few directories."""
    return "/".join([_folded(segment) for segment in path.split("/")])


def _extension(segment: str) -> str:
    extension = segment.rpartition(".")[2] if "." in segment else ""
    return "." + extension if extension.isalpha() and len(extension) <= _LONGEST_EXTENSION else ""


def _folded(segment: str) -> str:
    if segment.isalpha() and len(segment) <= _LONGEST_WORD:
        return segment
    extension = _extension(segment)
    stem = segment[: len(segment) - len(extension)]
    if numbered := _NUMBERED.fullmatch(stem):
        return numbered[1] + "#" + extension
    joints = stem.count("-") + stem.count("_") + stem.count("+") + stem.count("%20")
    if joints >= _SLUG_JOINTS or len(stem) > _LONGEST_WORD or _FIGURE.search(stem):
        return "*" + extension
    return segment


MAX_CHAINS: Final = 8
"""Chains that are followed on a site at a time; the one that grew longest ago is forgotten."""
MAX_LINKS: Final = 200
"""Links of a page beyond which it is not looked at: pages of a chain have few, and templates take time."""

_UP_TO_FOLDED: Final = re.compile("[^#*?]*")
"""What all paths of a template begin with: until something is folded."""


class PageChain(Struct, array_like=True):
    """Pages that each linked to one more: the URL that would continue the chain, and the text of the last page.

    `next`: the key of the next URL, `depth`: its distance from the seeds; `first`, `last`: keys of the first and the
    last page; `brief`: the short sketch of the last; `length`: pages since the chain began or was throttled.
    """

    next: int
    depth: int
    first: int
    last: int
    brief: bytes
    length: int = 1


def follow(
    chains: list[PageChain], url: Url, depth: int, sketch: bytes, links: Sequence[Url], least: float
) -> PageChain | None:
    """Note a page that was read: the chain that it continues, or `None`. `least`: of the resemblance to the last page.

    A chain grows by the page that its last page links to, if it is one link further from the seeds, its text resembles
    that of the last, and it has exactly one link of its template besides itself and the first and last page. Lists and
    photo albums that link to their pages from one place are not chains: all their pages are equally far away.
    """
    key = key_of(url)
    chain = next((each for each in chains if each.next == key), None) if chains else None
    if chain is not None:
        chains.remove(chain)
        if chain.depth != depth or likenesses(brief_of(sketch), [chain.brief])[0] < least:
            chain = None
    known = (key,) if chain is None else (key, chain.first, chain.last)
    link = _only_link(url, links, known)
    if link is None:
        return None
    brief = brief_of(sketch)
    if chain is None:
        grown = PageChain(key_of(link), depth + 1, key, key, brief)
    else:
        grown = PageChain(key_of(link), depth + 1, chain.first, key, brief, chain.length + 1)
    if len(chains) >= MAX_CHAINS:
        del chains[0]
    chains.append(grown)
    return None if chain is None else grown


def _only_link(url: Url, links: Sequence[Url], known: Sequence[int]) -> Url | None:
    """The only link of a page to another one of its template that is not known; `None` if there is none, or several."""
    if len(links) > MAX_LINKS:
        return None
    template, slashes = template_of(url), url.count("/")
    unfolded = _UP_TO_FOLDED.match(template)[0]  # type: ignore[index] # it matches anything
    if unfolded == template:
        return None  # nothing is folded: it is the template of this URL alone
    start = url[: url.index("/", 8)] + unfolded
    found: Url | None = None
    for link in [link for link in links if link.startswith(start) and link != url]:
        if link.count("/") != slashes or template_of(link) != template:
            continue
        if link != found and key_of(link) not in known:
            if found is not None:
                return None
            found = link
    return found
