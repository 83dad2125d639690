"""Chains without content: pages that each lead to one more page of their kind, and say nearly the same.

"Next day", "next result", "next slide": a program can write such pages without an end, and each of them may differ
enough from all others to count as new. A chain grows by a page that only its last page led to (it is one click
further), whose text resembles that of the last, and which has exactly one link of its template that the chain has not
seen. `Traps` throttles the template of a chain of 20 pages by one step, and by another for every 20 more.

Lists and photo albums that link to their pages from one place are not chains: all of their pages are equally far away.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from ...model import Url
from ..duplicates import brief_of, likenesses
from .templates import key_of, template_of

MAX_CHAINS: Final = 8
"""Chains that are followed on a site at a time; the one that grew longest ago is forgotten."""
MAX_LINKS: Final = 200
"""Links of a page beyond which it is not looked at: pages of a chain have few, and templates take time."""

_UP_TO_FOLDED: Final = re.compile("[^#*?]*")
"""What all paths of a template begin with: until something is folded."""


class PageChain(Struct, array_like=True):
    """Pages that each led to one more: what must come next, and the text of the last one.

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
    """Note a page that was read: the chain that it continues, or `None`. `least`: of the resemblance to the last."""
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
    start = url[: url.index("/", 8)] + _UP_TO_FOLDED.match(template)[0]  # type: ignore[index] # it matches anything
    found: Url | None = None
    for link in [link for link in links if link.startswith(start)]:
        if link.count("/") != slashes or template_of(link) != template:
            continue
        if link != found and key_of(link) not in known:
            if found is not None:
                return None
            found = link
    return found
