"""Clusters of near-duplicate pages, computed for a whole collection at once.

The rules are those of the crawl (`policy.duplicates`, `store.sketches`), applied to all pages in the order in which
they were read: a page joins the cluster whose first page it resembles most, if that is enough; pages that share a band
of their briefs are compared (`sketched_pages`). A page with hardly a sentence is a copy only of a page with exactly the
same words.

Each page is compared with the first few of those that share a band: the first page of its cluster is among them,
however many copies it has. Memory is about 250 bytes a page; where that is too much, briefs and bands are in partitions
(`parted_pages`), and about 100 bytes a page remain here.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final, Protocol

import numpy as np
from msgspec import Struct

from periplus.policy.settings import VALUES, DuplicateSettings
from periplus.store.tables import Spooled, scan

from .executors import Workplace
from .parted_pages import parted_pages
from .sketched_pages import (
    COLUMNS,
    FIRST,
    Briefs,
    Claims,
    Facts,
    Hashes,
    Pairs,
    Places,
    alike,
    all_pairs,
    candidates,
    facts_of,
    joined,
    last_versions,
)

_ROUNDS: Final = 6
"""Maximum number of rounds: if leaders still change after that, the pages are too similar for it to matter."""
_PAIRS_AT_ONCE: Final = 1 << 17


class Compared(Protocol):
    """Some pages, numbered from 0, to be compared with each other."""

    def pairs(self, is_first: Claims, behind: int = 0) -> Pairs:
        """Pairs of similar pages: each page and the first few for which `is_first` holds that share a band with it."""


class Pages(Protocol):
    """The last version of each page, by the order in which these were read."""

    @property
    def facts(self) -> Facts:
        """Their columns."""

    def compared(self, at: Places) -> Compared:
        """Some of these pages."""


def clusters_of(
    tables: Path,
    spooled: Sequence[Spooled] = (),
    settings: DuplicateSettings | None = None,
    workplace: Workplace | None = None,
) -> tuple[Hashes, Hashes]:
    """The fingerprints of all pages in clusters of two and more, and for each that of the first page of its cluster."""
    settings = settings or DuplicateSettings()
    if workplace is None:
        return _clusters(WholePages(tables, spooled, settings))
    with parted_pages(tables, spooled, settings, workplace) as pages:
        return _clusters(pages)


class WholePages:
    """`Pages` in this memory."""

    def __init__(self, tables: Path, spooled: Sequence[Spooled], settings: DuplicateSettings) -> None:
        parts: list[Facts] = []
        briefs = [np.empty((0, VALUES), np.uint8)]
        for batch in scan(tables, "pages", spooled=spooled, columns=COLUMNS):
            some, some_briefs = facts_of(batch, settings)
            parts.append(some)
            briefs.append(some_briefs)
        facts = joined(parts)
        order = last_versions(facts)
        whole = np.concatenate(briefs)
        briefs.clear()
        self.facts = facts.chosen(order)
        self._briefs = whole[order]
        self._settings = settings

    def compared(self, at: Places) -> Compared:
        """These, side by side."""
        briefs = self._briefs if len(at) == len(self._briefs) else self._briefs[at]
        return WholeCompared(self.facts.sites[at], self.facts.links[at], briefs, self._settings)


class WholeCompared(Struct, frozen=True):
    """`Compared` in this memory."""

    sites: Hashes
    links: Hashes
    briefs: Briefs
    settings: DuplicateSettings

    def pairs(self, is_first: Claims, behind: int = 0) -> Pairs:
        """Band by band."""
        found = [
            alike(some, self.briefs, self.sites, self.links, self.settings)
            for keys in self.briefs.view(np.uint64).T
            for some in candidates(np.ascontiguousarray(keys), is_first, behind)
        ]
        return all_pairs(found, len(self.briefs))


def _clusters(pages: Pages) -> tuple[Hashes, Hashes]:
    facts = pages.facts
    firsts = np.arange(len(facts.keys))
    _join_same(firsts, facts.words, np.flatnonzero(facts.is_thin & (facts.words != 0)))
    _join_alike(firsts, pages, np.flatnonzero(~facts.is_thin))
    crowded = np.bincount(firsts, minlength=len(firsts))[firsts] > 1
    return facts.keys[crowded], facts.keys[firsts[crowded]]


def _join_same(firsts: Places, texts: Hashes, pages: Places) -> None:
    """Pages of the same text belong to the first of them."""
    _, first, numbers = np.unique(texts[pages], return_index=True, return_inverse=True)
    firsts[pages] = pages[first[numbers]]


def _join_alike(firsts: Places, pages: Pages, wordy: Places) -> None:
    """Pages with texts belong to the first page that they resemble most; those that differ in nothing go together."""
    _, first, numbers = np.unique(pages.facts.prints[wordy], return_index=True, return_inverse=True)
    order = np.argsort(first)  # those that differ, as they came
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    different = first[order]
    leaders = _leaders(pages.compared(wordy[different]), len(different))
    firsts[wordy] = wordy[different[leaders[place[numbers]]]]


def _leaders(pages: Compared, count: int) -> Places:
    """The leader of each page, by its number: itself if it begins a cluster.

    In a crowd the page that begins a cluster may come late, behind many of other clusters. So each page is compared
    with the first of its crowd, and then with the first of those that were found to begin something.
    """
    is_leader = np.ones(count, np.bool_)
    found = pages.pairs(is_leader)
    for _ in range(_ROUNDS):
        leaders = _led(found, count)
        was_leader, is_leader = is_leader, leaders == np.arange(count)
        if (was_leader == is_leader).all():
            break
        found = all_pairs([found, pages.pairs(is_leader, FIRST)], count)
    return leaders


def _led(pairs: Pairs, count: int) -> Places:
    """The first page of each page's cluster: the most similar that begins one; of equals, the oldest."""
    order = np.lexsort((pairs.earlier, -pairs.likeness, pairs.later))
    leader = list(range(count))
    for start in range(0, len(order), _PAIRS_AT_ONCE):
        some = order[start : start + _PAIRS_AT_ONCE]
        for one, other in zip(pairs.earlier[some].tolist(), pairs.later[some].tolist(), strict=True):
            if leader[other] == other and leader[one] == one:
                leader[other] = one
    return np.array(leader, np.intp)
