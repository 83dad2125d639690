"""Which of many pages are alike: candidates by what they share, and how much of two briefs is equal.

Pages that share a band of their briefs are candidates (`policy.duplicates.likeness`). What takes the crawl a look-up
for each page takes sorting here: the pages of each band by its key, so that those that share it lie side by side. Each
is compared with the first few of these.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from periplus.policy.duplicates import DuplicateSettings

from .sketched_pages import Briefs, Hashes, Places

FIRST: Final = 16
"""With so many of those that share a band a page is compared, as in the crawl."""
_PAIRS_AT_ONCE: Final = 1 << 17
_BY_CHANCE: Final = 1 / 256
"""Two bytes that have nothing to do with each other are equal so often (see `policy.duplicates.likeness`)."""

Claims = NDArray[np.bool_]


class Pairs(Struct, frozen=True):
    """Pairs of pages that are alike, the earlier first, and how much; each once."""

    earlier: Places
    later: Places
    likeness: NDArray[np.float32]


def all_pairs(parts: list[Pairs], count: int) -> Pairs:
    """All of them, each once: copies share most of their bands. `count` is how many pages there are."""
    earlier = np.concatenate([np.empty(0, np.intp), *(part.earlier for part in parts)])
    later = np.concatenate([np.empty(0, np.intp), *(part.later for part in parts)])
    likeness = np.concatenate([np.empty(0, np.float32), *(part.likeness for part in parts)])
    _, first = np.unique(later * count + earlier, return_index=True)
    return Pairs(earlier[first], later[first], likeness[first])


def candidates(keys: Hashes, is_first: Claims, behind: int = 0) -> Iterator[tuple[Places, Places]]:
    """Places of pages: each page with the first few of those before it that have the same key and `is_first` holds of.

    `keys` are those of one band. `behind`: only where more than so many share it.
    """
    order = np.argsort(keys, kind="stable")
    run, rank = _runs(keys[order])
    counted: Places = np.cumsum(is_first[order]) - is_first[order]  # of whom it holds, before each
    firsts = np.flatnonzero(is_first[order])
    base: Places = counted[run]
    many = np.minimum(counted - base, FIRST) * (rank > behind)
    for step in range(int(many.max(initial=0))):
        at = np.flatnonzero(many > step)
        for start in range(0, len(at), _PAIRS_AT_ONCE):
            some = at[start : start + _PAIRS_AT_ONCE]
            yield order[firsts[base[some] + step]], order[some]


def _runs(keys: Hashes) -> tuple[Places, Places]:
    """For each of sorted keys where those that are equal to it begin, and which of them it is."""
    at = np.arange(len(keys))
    begins = np.append(True, keys[1:] != keys[:-1])[: len(keys)]
    run = np.maximum.accumulate(np.where(begins, at, 0))
    return run, at - run


def alike(
    pairs: tuple[Places, Places], briefs: Briefs, sites: Hashes, links: Hashes, settings: DuplicateSettings
) -> Pairs:
    """Of pairs of pages those that are alike enough; pages by their places in the columns."""
    earlier, later = pairs
    equal = (briefs[earlier] == briefs[later]).mean(axis=1, dtype=np.float32)
    likeness = (equal - _BY_CHANCE) / (1 - _BY_CHANCE)
    is_one_site = sites[earlier] == sites[later]
    has_same_links = (links[earlier] == links[later]) & (links[later] != 0)
    on_site = np.where(has_same_links, settings.least_likeness_reordered, settings.least_likeness_on_site)
    near = likeness >= np.where(is_one_site, on_site, settings.least_likeness)
    return Pairs(earlier[near], later[near], likeness[near].astype(np.float32))
