"""Tells a change of a site's template from changes of its pages: the same parts change on page after page.

A new link in the navigation, another footer or another list of news changes every page of a site, and is news about
none of them. A change of a page is a set of blocks (`churn`) with their new contents. Once a few pages of a site have
changed to the same contents, these belong to the template, and a page on which nothing else changed has changed in its
template only. The first of these pages cannot be told apart, and count as changed.

Where the blocks of the version before were not kept (pages that were fetched once, by a crawl that did not watch), all
that is known of a change around the main text is that the links differ: such pages are counted as one kind of change.
"""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from .churn import OTHERS, unpack

TEMPLATE_PAGES: Final = 5
"""Pages of a site that changed to the same content of a part, before it counts as template."""
TEMPLATE_MOST: Final = 0.5
"""Share of the words of a page that may have changed with its template; where more has, it is the page that changed."""
NEW_PART: Final = (0.02, 0.25)
"""The share of a page's words, at least and at most, that a block has whose replacement makes a change major."""
_LINKS: Final = (OTHERS, 0)
"""Stands for the links around the main text, where blocks are not known."""
_LASTS: Final = 86_400.0
"""Seconds without such a change after which the parts that changed are forgotten: a new template has new ones."""
_MAX_PARTS: Final = 64
_DIGEST_BITS: Final = 24

Part = tuple[int, int]
"""A block with its new content; 0: it is gone."""


class TemplateChange(Struct, array_like=True):
    """The parts that changed lately on pages of a site, with the number of pages; `at` is when the last was seen."""

    at: float = 0.0
    pages: dict[int, int] = {}

    def explains(self, parts: list[Part], now: float) -> bool:
        """Whether a page changed with the template of its site alone. Learns from the page."""
        if not 0.0 <= now - self.at <= _LASTS:
            self.pages.clear()
        self.at = now
        keys = [way << _DIGEST_BITS | content for way, content in parts]
        is_known = bool(keys) and all(self.pages.get(key, 0) >= TEMPLATE_PAGES for key in keys)
        for key in keys:
            self.pages[key] = self.pages.get(key, 0) + 1
        if len(self.pages) > _MAX_PARTS:
            ranked = sorted(self.pages.items(), key=lambda item: -item[1])
            self.pages = dict(ranked[:_MAX_PARTS])
        return is_known


def changed_parts(old: bytes, new: bytes, *, is_main_same: bool) -> list[Part]:
    """The blocks of a page that have another content now; none if they are too much of it to be the template's."""
    if not old or not new:
        return [_LINKS] if is_main_same else []
    before = {block.way: block for block in unpack(old)}
    after = {block.way: block for block in unpack(new)}
    parts, words = [], 0
    for way in sorted(before.keys() | after.keys()):
        one, other = before.get(way), after.get(way)
        if one is None or other is None or one.content != other.content:
            parts.append((way, 0 if other is None else other.content))
            words += 0 if other is None else other.words
    is_most = words > TEMPLATE_MOST * sum(block.words for block in after.values())
    return [] if is_most or any(way == OTHERS for way, _ in parts) else parts


def has_new_part(old: bytes, new: bytes) -> bool:
    """Whether a part of a page was replaced: the sketch of a whole page is too coarse to detect that.

    Of 128 values two may differ by chance where a twenty-fifth of a page is new.
    """
    before = {block.way: block for block in unpack(old)}
    blocks = unpack(new)
    least, most = (share * sum(block.words for block in blocks) for share in NEW_PART)
    return any(
        block.way in before and block.drawn != before[block.way].drawn and least <= block.words <= most
        for block in blocks
    )
