"""The columns by which pages are compared, and which pairs of pages are alike.

The columns come from the table `pages`: the brief of a sketch (`policy.duplicates`) has 128 bytes, the rest
of a page 50. Pages that share a band of their briefs are candidates. The crawl looks each page's bands up; here the
pages of each band are sorted by its key, so that those that share it are neighbours, and each is compared with the
first few of them. Not here: which page is whose copy (`clusters`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Struct
from numpy.typing import NDArray

from periplus.model import Url
from periplus.policy.duplicates import are_thin
from periplus.policy.settings import VALUES, DuplicateSettings
from periplus.urls import fingerprints

from .columns import codes, moments

COLUMNS: Final = ("url", "site", "read_at", "links_digest", "main_digest", "main_length", "sketch")
_FACTOR: Final = np.uint64(0x9E3779B97F4A7C15)
_SHIFT: Final = np.uint64(29)
_SKETCH: Final = 4 * VALUES
FIRST: Final = 16
"""Number of pages with which a page is compared, of those that share a band with it: the same as in the crawl."""
_PAIRS_AT_ONCE: Final = 1 << 17
"""Number of pairs that are compared in one array operation: 32 MB of briefs."""
_BY_CHANCE: Final = 1 / 256
"""Probability that two unrelated bytes are equal (see `policy.duplicates`)."""

Briefs = NDArray[np.uint8]
Hashes = NDArray[np.uint64]
Places = NDArray[np.intp]
Claims = NDArray[np.bool_]


class Facts(Struct, frozen=True):
    """Columns of pages, without their briefs."""

    keys: Hashes
    """The fingerprints of their URLs."""
    sites: Hashes
    links: Hashes
    words: Hashes
    """Of the main text; 0 if there is none."""
    prints: Hashes
    """Of all that is compared: brief, site and links. Pages with the same print are copies."""
    is_thin: NDArray[np.bool_]
    times: NDArray[np.int64]

    def chosen(self, at: Places) -> Facts:
        """The facts at some places, in order."""
        return Facts(*(column[at] for column in self._columns()))

    def _columns(self) -> tuple[NDArray[Any], ...]:
        return self.keys, self.sites, self.links, self.words, self.prints, self.is_thin, self.times


def joined(parts: list[Facts]) -> Facts:
    """Concatenate the facts of all parts."""
    columns = zip(*(part._columns() for part in [_NONE, *parts]), strict=True)
    return Facts(*(np.concatenate(column) for column in columns))


def last_versions(facts: Facts) -> Places:
    """The index of the last version of each page, in the order in which they were read."""
    versions = np.lexsort((facts.times, facts.keys))
    keys = facts.keys[versions]
    last: Places = versions[np.append(keys[1:] != keys[:-1], True)[: len(keys)]]
    return last[np.lexsort((facts.keys[last], facts.times[last]))]


def facts_of(batch: pa.RecordBatch, settings: DuplicateSettings) -> tuple[Facts, Briefs]:
    """What is compared of the pages of a batch."""
    rows, names = codes(batch["site"])
    sites = np.array(fingerprints([Url(name or "") for name in names]), np.uint64)[rows]
    keys = np.array(fingerprints(batch["url"].to_pylist()), np.uint64)
    links, words, length = (
        pc.fill_null(batch[name], 0).to_numpy(zero_copy_only=False)
        for name in ("links_digest", "main_digest", "main_length")
    )
    links = links.astype(np.uint64)
    words = np.where(length > 0, words, 0).astype(np.uint64)
    briefs = _briefs(batch["sketch"])
    prints = _prints(briefs, sites, links)
    return Facts(keys, sites, links, words, prints, are_thin(briefs, settings), moments(batch["read_at"])), briefs


def _briefs(sketches: pa.Array) -> Briefs:
    """The lowest byte of each value; all 0 for what is not a sketch."""
    if not len(sketches):
        return np.zeros((0, VALUES), np.uint8)
    filled = pc.fill_null(sketches, b"")  # a new array, with an offset of its own, if there was a null
    _, offsets, data = filled.buffers()
    ends = np.frombuffer(offsets, np.int32, len(filled) + 1, 4 * filled.offset).astype(np.int64)
    is_whole = np.diff(ends) == _SKETCH
    if is_whole.all():
        return np.ascontiguousarray(np.frombuffer(data, np.uint8)[ends[0] : ends[-1]].reshape(-1, _SKETCH)[:, ::4])
    briefs = np.zeros((len(sketches), VALUES), np.uint8)
    for row in np.flatnonzero(is_whole).tolist():
        briefs[row] = np.frombuffer(data, np.uint8, _SKETCH, ends[row])[::4]
    return briefs


def _prints(briefs: Briefs, sites: Hashes, links: Hashes) -> Hashes:
    prints = np.zeros(len(briefs), np.uint64)
    for column in (*briefs.view(np.uint64).T, sites, links):
        prints = (prints ^ column) * _FACTOR
        prints ^= prints >> _SHIFT
    return prints


class Pairs(Struct, frozen=True):
    """Pairs of similar pages, the earlier first, with their similarity; each once."""

    earlier: Places
    later: Places
    likeness: NDArray[np.float32]


def all_pairs(parts: list[Pairs], count: int) -> Pairs:
    """All pairs, each once: copies share most of their bands. `count` is how many pages there are."""
    earlier = np.concatenate([np.empty(0, np.intp), *(part.earlier for part in parts)])
    later = np.concatenate([np.empty(0, np.intp), *(part.later for part in parts)])
    likeness = np.concatenate([np.empty(0, np.float32), *(part.likeness for part in parts)])
    _, first = np.unique(later * count + earlier, return_index=True)
    return Pairs(earlier[first], later[first], likeness[first])


def candidates(keys: Hashes, is_first: Claims, behind: int = 0) -> Iterator[tuple[Places, Places]]:
    """Places of pages: each page with the first few of those before it that have the same key and `is_first` holds of.

    `keys` are those of one band. `behind`: only where more than this number of pages share it.
    """
    order = np.argsort(keys, kind="stable")
    run, rank = _runs(keys[order])
    counted: Places = np.cumsum(is_first[order]) - is_first[order]  # how many first pages come before each
    firsts = np.flatnonzero(is_first[order])
    base: Places = counted[run]
    many = np.minimum(counted - base, FIRST) * (rank > behind)
    for step in range(int(many.max(initial=0))):
        at = np.flatnonzero(many > step)
        for start in range(0, len(at), _PAIRS_AT_ONCE):
            some = at[start : start + _PAIRS_AT_ONCE]
            yield order[firsts[base[some] + step]], order[some]


def _runs(keys: Hashes) -> tuple[Places, Places]:
    """For each of sorted keys, where the run of keys equal to it begins, and its index in that run."""
    at = np.arange(len(keys))
    begins = np.append(True, keys[1:] != keys[:-1])[: len(keys)]
    run = np.maximum.accumulate(np.where(begins, at, 0))
    return run, at - run


def alike(
    pairs: tuple[Places, Places], briefs: Briefs, sites: Hashes, links: Hashes, settings: DuplicateSettings
) -> Pairs:
    """The pairs that are similar enough; pages by their index in the columns."""
    earlier, later = pairs
    equal = (briefs[earlier] == briefs[later]).mean(axis=1, dtype=np.float32)
    likeness = (equal - _BY_CHANCE) / (1 - _BY_CHANCE)
    is_one_site = sites[earlier] == sites[later]
    has_same_links = (links[earlier] == links[later]) & (links[later] != 0)
    on_site = np.where(has_same_links, settings.least_likeness_reordered, settings.least_likeness_on_site)
    near = likeness >= np.where(is_one_site, on_site, settings.least_likeness)
    return Pairs(earlier[near], later[near], likeness[near].astype(np.float32))


_HASH: Final = np.empty(0, np.uint64)
_NONE: Final = Facts(_HASH, _HASH, _HASH, _HASH, _HASH, np.empty(0, np.bool_), np.empty(0, np.int64))
