"""Pages that list others (an index, an archive, the pages of a tag): links, and little text of their own."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

_LEAST_LINKS: Final = 8
"""Links in the text of a listing."""
_SHARE: Final = 0.7
"""Share of the text of a listing that is in links."""
_AHEAD: Final = 500
"""Characters in which the next link is looked for: one that is farther away is in the navigation."""


def is_listing(text: str, anchors: Iterable[str]) -> bool:
    """Whether the text of a page consists of the texts of links, given in the order of the page."""
    place = links = linked = 0
    for anchor in anchors:
        if anchor and (at := text.find(anchor, place, place + _AHEAD)) >= 0:
            place = at + len(anchor)
            links += 1
            linked += len(anchor) - anchor.count(" ")
    return links >= _LEAST_LINKS and linked >= _SHARE * sum(map(len, text.split()))
