"""The properties of a slot, from its number and key alone: its place in the tree and its flaws.

Everything about a slot is drawn from 64 bits, its key, and every fact has bits of its own, so that no two depend on
each other: 0-3 the span of its pages (`life`), 4-15 how often they change (`change`), 16-22 sickness, 23-27 which
sickness or noindex, 28-35 whether hubs link to it, 36-43 duplicates, 44-63 when its pages are born (`life`).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .life import Ticks
from .randomness import Words, at, at_all
from .sites import Site

ORPHAN_EVERY = 16
_SICK = (401, 403, 404, 451, 500, 502, 503)
_TOLD = 244  # of 256; with the orphans left out, nine of ten new pages are told by hubs
_EXACT, _PRINT = 15, 44  # of 256


def sickness(key: int) -> int:
    """The status of a slot's pages: one of 128 has something wrong with it."""
    return 200 if key >> 16 & 127 else _SICK[(key >> 23 & 31) % len(_SICK)]


def are_well(keys: Words) -> NDArray[np.bool_]:
    """Of many slots, those without sickness."""
    well: NDArray[np.bool_] = (keys >> np.uint64(16) & np.uint64(127)) != 0
    return well


def has_noindex(key: int) -> bool:
    """One page of 32 is marked noindex."""
    return key >> 23 & 31 == 7


def has_exact_alias(key: int) -> bool:
    """Whether links also use a second spelling of the page's URL."""
    return key >> 36 & 255 < _EXACT


def has_print_version(key: int) -> bool:
    """Whether a printable version is linked."""
    return _EXACT <= key >> 36 & 255 < _PRINT


class Slots:
    """The slots of one site: home page, hubs, listings, articles."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._has_orphans = site.has_orphans
        self.first_listing = site.first_listing
        self.first_article = site.first_article

    def key(self, slot: int) -> int:
        """What everything about a slot is drawn from."""
        return at(self._site.key, slot)

    def articles(self) -> tuple[Ticks, Words]:
        """Every slot that holds articles, and its key."""
        slots = np.arange(self.first_article, self._site.size, dtype=np.int64)
        return slots, at_all(self._site.key, slots)

    def is_orphan(self, slot: int) -> bool:
        """Whether no link leads to the slot's pages."""
        place = slot - self.first_article
        return self._has_orphans and place >= 0 and place % ORPHAN_EVERY == ORPHAN_EVERY - 1

    def told_by(self, hub: int, slots: Ticks, keys: Words) -> NDArray[np.bool_]:
        """All article slots whose new pages a hub lists."""
        told: NDArray[np.bool_] = (slots % self._site.hubs == hub) & ((keys >> np.uint64(28) & np.uint64(255)) < _TOLD)
        if self._has_orphans:
            told &= (slots - self.first_article) % ORPHAN_EVERY != ORPHAN_EVERY - 1
        return told

    def shown_by(self, listing: int) -> list[int]:
        """The articles that a listing shows."""
        shown = range(self.first_article + listing - self.first_listing, self._site.size, self._site.listings)
        return [article for article in shown if not self.is_orphan(article)]

    def below(self, listing: int) -> range:
        """The listings below a listing, or below the home page: a tree of three a node, twelve at the root."""
        first, roots = self.first_listing, len(self._site.sections)
        if listing == 0:
            return range(first, first + roots)
        start = first + roots + 3 * (listing - first)
        return range(min(start, self.first_article), min(start + 3, self.first_article))
