"""Which pages of a collection say nearly the same, all at once: for each, the cluster that a crawl would put it into.

The rules are those of the crawl (`policy.duplicates`, `store.sketches`), on all pages in the order in which they were
read: a page joins the cluster whose first page it resembles most, if enough; pages that share a band of their briefs
are compared. A page with hardly a sentence is the copy only of one with the very same words (`crawl.copies`).

What takes the crawl a look-up for each page takes sorting here: the pages of each band by its key, so that those that
share it lie side by side. Each is compared with the first few of these: the first page of its cluster is among them,
however many copies it has. Memory is some 250 bytes a page.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Struct
from numpy.typing import NDArray

from periplus.policy.duplicates import BANDS, VALUES, DuplicateSettings, are_thin
from periplus.store.tables import Spooled, scan
from periplus.urls import fingerprints

from .columns import codes, moments

FIRST: Final = 16
"""With so many of those that share a band a page is compared, as in the crawl."""
_ROUNDS: Final = 6
"""After so many it is good enough: a crowd of which the order is still in dispute has nothing to tell apart."""
_FACTOR: Final = np.uint64(0x9E3779B97F4A7C15)
_SHIFT: Final = np.uint64(29)
_SKETCH: Final = 4 * VALUES
_PAIRS_AT_ONCE: Final = 1 << 17
_BY_CHANCE: Final = 1 / 256
"""Two bytes that have nothing to do with each other are equal so often (see `policy.duplicates.likeness`)."""
_COLUMNS: Final = ("url", "site", "read_at", "links_digest", "main_digest", "main_length", "sketch")

Hashes = NDArray[np.uint64]
Places = NDArray[np.intp]


class _Pages(Struct, frozen=True):
    """Columns, by the order in which pages were read."""

    keys: Hashes
    """The fingerprints of their URLs."""
    sites: NDArray[np.int64]
    links: Hashes
    words: Hashes
    """Of the main text; 0 where there is none."""
    briefs: NDArray[np.uint8]

    def chosen(self, at: Places) -> _Pages:
        """Some of them, in order; without a copy if that is all."""
        if len(at) == len(self.keys):
            return self
        return _Pages(self.keys[at], self.sites[at], self.links[at], self.words[at], self.briefs[at])


def clusters_of(
    tables: Path, spooled: Sequence[Spooled] = (), settings: DuplicateSettings | None = None
) -> tuple[Hashes, Hashes]:
    """The fingerprints of all pages in clusters of two and more, and for each that of the first page of its cluster."""
    settings = settings or DuplicateSettings()
    pages = _read(tables, spooled)
    thin = are_thin(pages.briefs, settings)
    firsts = np.arange(len(pages.keys))
    _join_same(firsts, pages.words, np.flatnonzero(thin & (pages.words != 0)))
    _join_alike(firsts, pages, np.flatnonzero(~thin), settings)
    crowded = np.bincount(firsts, minlength=len(firsts))[firsts] > 1
    return pages.keys[crowded], pages.keys[firsts[crowded]]


def _read(tables: Path, spooled: Sequence[Spooled]) -> _Pages:
    """The last version of each page."""
    parts: list[tuple[NDArray[np.uint64], ...]] = [(np.empty(0, np.uint64),) * 5]
    briefs = [np.empty((0, VALUES), np.uint8)]
    numbers: dict[str | None, int] = {}
    for batch in scan(tables, "pages", spooled=spooled, columns=_COLUMNS):
        parts.append(_facts(batch, numbers))
        briefs.append(_briefs(batch["sketch"]))
    keys, sites, links, words, times = (np.concatenate(column) for column in zip(*parts, strict=True))
    versions = np.lexsort((times, keys))
    is_last = np.append(keys[versions][1:] != keys[versions][:-1], True)[: len(keys)]
    last = versions[is_last]
    order = last[np.lexsort((keys[last], times[last]))]
    whole = np.concatenate(briefs)
    briefs.clear()
    return _Pages(keys[order], sites[order].astype(np.int64), links[order], words[order], whole[order])


def _facts(batch: pa.RecordBatch, numbers: dict[str | None, int]) -> tuple[NDArray[np.uint64], ...]:
    """Key, number of the site, digest of the links, that of the main text where there is one, when it was read."""
    rows, names = codes(batch["site"])
    sites = np.array([numbers.setdefault(name, len(numbers)) for name in names])[rows]
    keys = np.array(fingerprints(batch["url"].to_pylist()), np.uint64)
    links, words, length = (
        pc.fill_null(batch[name], 0).to_numpy(zero_copy_only=False)
        for name in ("links_digest", "main_digest", "main_length")
    )
    words = np.where(length > 0, words, 0).astype(np.uint64)
    return keys, sites.astype(np.uint64), links.astype(np.uint64), words, moments(batch["read_at"]).astype(np.uint64)


def _briefs(sketches: pa.Array) -> NDArray[np.uint8]:
    """The lowest byte of each value; all 0 for what is no sketch."""
    _, offsets, data = pc.fill_null(sketches, b"").buffers()
    ends = np.frombuffer(offsets, np.int32, len(sketches) + 1, 4 * sketches.offset).astype(np.int64)
    is_whole = np.diff(ends) == _SKETCH
    if is_whole.all() and len(sketches):
        return np.ascontiguousarray(np.frombuffer(data, np.uint8)[ends[0] : ends[-1]].reshape(-1, _SKETCH)[:, ::4])
    briefs = np.zeros((len(sketches), VALUES), np.uint8)
    for row in np.flatnonzero(is_whole).tolist():
        briefs[row] = np.frombuffer(data, np.uint8, _SKETCH, ends[row])[::4]
    return briefs


def _join_same(firsts: Places, texts: Hashes, pages: Places) -> None:
    """Pages of the same text belong to the first of them."""
    _, first, numbers = np.unique(texts[pages], return_index=True, return_inverse=True)
    firsts[pages] = pages[first[numbers]]


def _join_alike(firsts: Places, pages: _Pages, wordy: Places, settings: DuplicateSettings) -> None:
    """Pages with texts belong to the first page that they resemble most."""
    texts = pages.chosen(wordy)
    first, numbers = _same(texts)
    order = np.argsort(first)  # those that differ, as they came
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    different = first[order]
    leaders = _leaders(texts.chosen(different), settings)
    firsts[wordy] = wordy[different[leaders[place[numbers]]]]


def _same(pages: _Pages) -> tuple[Places, Places]:
    """Where each that differs in anything from those before stands first; and for each page which of them it is."""
    prints = np.zeros(len(pages.keys), np.uint64)
    for column in (*pages.briefs.view(np.uint64).T, pages.sites.astype(np.uint64), pages.links):
        prints = (prints ^ column) * _FACTOR
        prints ^= prints >> _SHIFT
    _, first, numbers = np.unique(prints, return_index=True, return_inverse=True)
    return first, numbers


def _leaders(pages: _Pages, settings: DuplicateSettings) -> Places:
    """To whom each page belongs, by its place among them: to itself if it begins a cluster.

    In a crowd the page that begins a cluster may come late, behind many of other clusters. So each page is compared
    with the first of its crowd, and then with the first of those that were found to begin something.
    """
    is_leader = np.ones(len(pages.keys), np.bool_)
    alike = _alike(pages, _candidates(pages.briefs, is_leader), settings)
    for _ in range(_ROUNDS):
        leaders = _led(alike, len(pages.keys))
        was_leader, is_leader = is_leader, leaders == np.arange(len(leaders))
        if (was_leader == is_leader).all():
            break
        again = _alike(pages, _candidates(pages.briefs, is_leader, FIRST), settings)
        alike = tuple(np.concatenate(both) for both in zip(alike, again, strict=True))
    return leaders


def _led(pairs: tuple[NDArray[Any], ...], count: int) -> Places:
    """Each belongs to the most alike of the pages that begin clusters and that it resembles; of equals, the oldest."""
    earlier, later, likeness = pairs
    order = np.lexsort((earlier, -likeness, later))
    leader = list(range(count))
    for start in range(0, len(order), _PAIRS_AT_ONCE):
        some = order[start : start + _PAIRS_AT_ONCE]
        for one, other in zip(earlier[some].tolist(), later[some].tolist(), strict=True):
            if leader[other] == other and leader[one] == one:
                leader[other] = one
    return np.array(leader, np.intp)


def _alike(
    pages: _Pages, candidates: Iterator[tuple[Places, Places]], settings: DuplicateSettings
) -> tuple[NDArray[Any], ...]:
    """Of pairs of pages, the earlier first, those that are alike enough, and how much."""
    briefs, sites, links = pages.briefs, pages.sites, pages.links
    found: list[tuple[NDArray[Any], ...]] = [(np.empty(0, np.intp), np.empty(0, np.intp), np.empty(0, np.float32))]
    for earlier, later in candidates:
        equal = (briefs[earlier] == briefs[later]).mean(axis=1, dtype=np.float32)
        likeness = (equal - _BY_CHANCE) / (1 - _BY_CHANCE)
        is_one_site = sites[earlier] == sites[later]
        has_same_links = (links[earlier] == links[later]) & (links[later] != 0)
        on_site = np.where(has_same_links, settings.least_likeness_reordered, settings.least_likeness_on_site)
        near = likeness >= np.where(is_one_site, on_site, settings.least_likeness)
        found.append((earlier[near], later[near], likeness[near].astype(np.float32)))
    return tuple(np.concatenate(column) for column in zip(*found, strict=True))


def _candidates(
    briefs: NDArray[np.uint8], is_first: NDArray[np.bool_], behind: int = 0
) -> Iterator[tuple[Places, Places]]:
    """Each page with the first few of those before it that share a band with it and `is_first` holds of.

    `behind`: only where more than so many share it.
    """
    for keys in np.hsplit(briefs.view(np.uint64), BANDS):
        order = np.argsort(keys.ravel(), kind="stable")
        run, rank = _runs(keys.ravel()[order])
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
