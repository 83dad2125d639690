"""The parts of a page for `content.blocks`, each by the way to it: names and classes of elements from the body down.

All items of a list have one way, on all pages of a site. Elements inside a line do not count, nor do digits in classes,
nor classes that look generated: they differ from page to page.
"""

from __future__ import annotations

import re
from collections import defaultdict
from typing import Final, NamedTuple
from zlib import crc32

from .folding import Folded
from .markup import IN_ARTICLE, IN_MAIN, Tag
from .state import Page
from .tags import NUMBERS, numbers_of

MAX_ELEMENTS: Final = 20_000
"""Elements of a page whose parts are told apart; a page with more has none."""
_WAY_BITS: Final = 0xFFFFFF
_MAX_CLASSES: Final = 200
"""Bytes of a class attribute that are looked at."""
_GENERATED: Final = re.compile(rb"(?=.*[0-9])(?s:.{12,})|(?s:.{40,})", re.DOTALL)
"""Classes that no person wrote."""
_WORDS: Final = re.compile(rb"[^\t\n\f\r ]+")
_ASIDE: Final = numbers_of("nav", "footer", "aside", "form")
_SILENT: Final = numbers_of("svg", "option")
_HEADER: Final = NUMBERS["header"]
_INLINE: Final = NUMBERS["label"]


class _Way(NamedTuple):
    number: int = 0
    region: int = 0
    is_aside: bool = False
    is_silent: bool = False


def contents_by_way(page: Page, folded: Folded) -> list[tuple[int, bytes]]:
    """Texts and then targets of links under each way, in ascending order of the ways.

    Of navigation, footers, forms, and headers outside of the main part only the links.
    """
    if len(page.elements) > MAX_ELEMENTS + 1:
        return []
    ways = _ways(page)
    contents: defaultdict[int, list[bytes]] = defaultdict(list)
    for element, start, end in zip(folded.elements, folded.starts, folded.ends, strict=True):
        way = ways[element]
        if not way.is_aside and not way.is_silent:
            contents[way.number].append(folded.text[start:end])
    for link, (element, href) in enumerate(zip(page.link_elements, page.hrefs, strict=True)):
        if href and link not in page.kinds and not ways[element].is_silent:
            contents[ways[element].number].append(href)
    return [(way, b"\n".join(parts)) for way, parts in sorted(contents.items())]


def _ways(page: Page) -> list[_Way]:
    ways = [_Way()]
    for parent, tag in page.elements[1:]:
        if tag is not None:
            ways.append(_next_way(ways[parent], tag))
    return ways


def _next_way(above: _Way, tag: Tag) -> _Way:
    """One element further."""
    number = tag.number
    is_header = number == _HEADER and not above.region & (IN_MAIN | IN_ARTICLE)
    way = above.number
    if number != _INLINE:
        way = crc32(_step(tag), way) & _WAY_BITS or 1
    return _Way(
        way,
        above.region | tag.region,
        above.is_aside or number in _ASIDE or is_header,
        above.is_silent or number in _SILENT,
    )


def _step(tag: Tag) -> bytes:
    if tag.step is None:
        words = _WORDS.findall((tag.raw.get(b"class") or b"")[:_MAX_CLASSES])
        lasting = sorted(word.translate(None, b"0123456789_-") for word in words if not _GENERATED.fullmatch(word))
        tag.step = tag.name.encode() + b"." + b" ".join(lasting)
    return tag.step
