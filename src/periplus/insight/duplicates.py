"""Texts that say nearly the same: all pairs of some texts, and the clusters of a collection's pages.

`pairs` has the texts at hand. It finds likely pairs by sketches (`policy.duplicates.neighbours`) and then counts their
common shingles, so that what it says of a pair is exact: the resemblance of Broder (1997) over shingles of 4 words. It
holds 512 bytes for each text, 8 for each pair that seems to be one, and the shingles of some texts.

`clusters` has only the sketches that a crawl wrote into its table `pages`. It puts page by page where the crawl itself
would have put it, with the same code on a disk, in a folder of its own that is removed afterwards; so it sees pages of
all shards together, which no shard does, and knows what sitemaps said until the end.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations, islice, pairwise
from math import sqrt
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray
from xxhash import xxh3_128_digest

from periplus.content import shingles_of, sketches_of
from periplus.model import Sketched, Sketches, Source, Url, UsageError
from periplus.policy.duplicates import VALUES, DuplicateSettings, neighbours
from periplus.store import DiskState
from periplus.store.tables import Spooled, scan
from periplus.urls import fingerprints

THRESHOLD: Final = 0.9
MAX_PAIRS: Final = 10_000_000
"""A text that is there five thousand times makes twelve million pairs: whoever has such wants clusters."""
_TEXTS_AT_ONCE: Final = 64
_PAIRS_AT_ONCE: Final = 1 << 20
_OTHERS_AT_ONCE: Final = 4_096
_SHINGLES_AT_ONCE: Final = 1 << 17
_REMEMBERED: Final = 128 << 20
"""Bytes of shingles that are held at a time."""
_PLACES: Final = 1 << 17
_LAST_BITS: Final = np.uint64(_PLACES - 1)
_DEVIATIONS: Final = 5
"""How far below the truth an estimate may lie and its pair is still looked at: one pair in 3 million lies lower."""
_CHANGES_BETWEEN_COMMITS: Final = 50_000


class PageCluster(Struct, frozen=True):
    """Pages that say nearly the same: the URL by which to know them, and all of them, sorted."""

    canonical: Url
    urls: tuple[Url, ...]


# texts at hand


def pairs(texts: Mapping[str, str], threshold: float = THRESHOLD) -> list[tuple[str, str, float]]:
    """All pairs of names whose texts resemble each other at least so much, with their resemblance.

    Each pair once, its smaller name first, sorted. A text without words resembles none. A pair is found with a
    probability of more than .999 (among up to 2,048 texts, all but one in a million are); what is said of it is exact.
    """
    if not 0 < threshold <= 1:
        raise UsageError(f"a resemblance is more than 0 and at most 1, not {threshold}", hint="try 0.9")
    groups, sketches = _groups(texts)
    compared = _Compared(lambda number: shingles_of(texts[groups[number][0]]))
    found: list[tuple[str, str, float]] = []
    for group in groups:
        _note(found, combinations(group, 2), len(group) * (len(group) - 1) // 2, 1.0)
    for first, seconds in _likely(sketches, threshold):
        shares = compared.with_others(first, seconds)
        for place in np.flatnonzero(shares >= threshold).tolist():
            one, other = groups[first], groups[seconds[place]]
            _note(found, ((a, b) for a in one for b in other), len(one) * len(other), float(shares[place]))
    return sorted(found)


def _groups(texts: Mapping[str, str]) -> tuple[list[list[str]], NDArray[np.uint32]]:
    """Names by what their texts say, texts of the same shingles together; and a sketch for each group."""
    alike: defaultdict[bytes, list[str]] = defaultdict(list)
    items = iter(texts.items())
    while portion := list(islice(items, _TEXTS_AT_ONCE)):
        sketches = sketches_of([text.encode("utf-8", "replace") for _, text in portion])
        for (name, _), sketch in zip(portion, sketches, strict=True):
            if sketch:
                alike[sketch].append(name)
    groups, rows = [], []
    for sketch, names in alike.items():
        for group in _same(names, texts):
            groups.append(group)
            rows.append(sketch)
    return groups, np.frombuffer(b"".join(rows), "<u4").reshape(-1, VALUES)


def _likely(sketches: NDArray[np.uint32], threshold: float) -> Iterator[tuple[int, list[int]]]:
    """The pairs that are worth counting, each once and in order; those of one text together, some at a time."""
    slack = _DEVIATIONS * sqrt(threshold * (1 - threshold) / VALUES)
    kept, portions, size = np.empty(0, np.int64), [], 0
    for firsts, seconds in neighbours(sketches, threshold, slack):
        portions.append(_distinct(firsts * len(sketches) + seconds))
        size += len(portions[-1])
        if size > len(kept) + _PAIRS_AT_ONCE:  # one pair comes once for each band that it shares
            kept, portions, size = _distinct(np.concatenate((kept, *portions))), [], 0
    kept = _distinct(np.concatenate((kept, *portions)))
    for start in range(0, len(kept), _PAIRS_AT_ONCE):
        firsts, seconds = np.divmod(kept[start : start + _PAIRS_AT_ONCE], len(sketches))
        edges = np.flatnonzero(np.diff(firsts, prepend=-1, append=-1)).tolist()
        for begin, end in pairwise(edges):
            for part in range(begin, end, _OTHERS_AT_ONCE):
                yield int(firsts[begin]), seconds[part : min(end, part + _OTHERS_AT_ONCE)].tolist()


def _distinct(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """Sorted, each once; in place, and several times as fast as `numpy.unique`, which looks them up in a table."""
    numbers.sort()
    distinct: NDArray[np.int64] = numbers[np.diff(numbers, prepend=-1) != 0]
    return distinct


def _same(names: list[str], texts: Mapping[str, str]) -> list[list[str]]:
    """Of texts with one sketch, those together that have the same shingles."""
    if len(names) == 1:
        return [names]
    same: defaultdict[bytes, list[str]] = defaultdict(list)
    for name in names:
        same[xxh3_128_digest(shingles_of(texts[name]).tobytes())].append(name)
    return list(same.values())


def _note(
    found: list[tuple[str, str, float]], names: Iterator[tuple[str, str]], count: int, resemblance: float
) -> None:
    if len(found) + count > MAX_PAIRS:
        raise UsageError(
            f"more than {MAX_PAIRS} pairs of these texts resemble each other", hint="put equal texts together before"
        )
    found += [(one, other, resemblance) if one < other else (other, one, resemblance) for one, other in names]


class _Compared:
    """The resemblance of one text and several others at once: the shares of common shingles.

    The shingles of the one lie in a table by their last bits; what the others have in common with it is found there.
    As many texts as fit into `_REMEMBERED` bytes are kept as shingles.
    """

    def __init__(self, shingles: Callable[[int], NDArray[np.uint64]]) -> None:
        self._shingles = shingles
        self._kept: dict[int, NDArray[np.uint64]] = {}
        self._size = 0
        self._table = ~np.arange(_PLACES, dtype=np.uint64)  # no number lies at its place

    def with_others(self, first: int, others: Sequence[int]) -> NDArray[np.float64]:
        """The resemblance of a text with each of the others."""
        own = self._of(first)
        places = (own & _LAST_BITS).view(np.int64)  # other numbers would be copied into such before they are used
        self._table[places] = own
        hidden = own[self._table[places] != own]  # another has its place
        shares, some, size = [], [], 0
        for other in others:
            some.append(self._of(other))
            size += len(some[-1])
            if size >= _SHINGLES_AT_ONCE:
                shares.append(self._shares(len(own), hidden, some))
                some, size = [], 0
        if some:
            shares.append(self._shares(len(own), hidden, some))
        self._table[places] = (~places).view(np.uint64)
        return np.concatenate(shares)

    def _shares(self, size: int, hidden: NDArray[np.uint64], others: list[NDArray[np.uint64]]) -> NDArray[np.float64]:
        """What these have in common with the text in the table."""
        sizes, every = np.array([len(other) for other in others]), np.concatenate(others)
        is_common = self._table.take((every & _LAST_BITS).view(np.int64)) == every
        if len(hidden):
            is_common |= np.isin(every, hidden)
        common = np.add.reduceat(is_common, np.cumsum(sizes) - sizes, dtype=np.int64)
        shares: NDArray[np.float64] = common / (size + sizes - common)
        return shares

    def _of(self, number: int) -> NDArray[np.uint64]:
        found = self._kept.get(number)
        if found is None:
            found = self._kept[number] = self._shingles(number)
            self._size += found.nbytes
            while self._size > _REMEMBERED and len(self._kept) > 1:
                self._size -= self._kept.pop(next(iter(self._kept))).nbytes
        return found


# tables at hand


def clusters(
    folder: Path,
    *,
    spooled: Sequence[Spooled] = (),
    worth: Callable[[Url], float] | None = None,
    settings: DuplicateSettings | None = None,
) -> Iterator[PageCluster]:
    """The clusters of two or more pages, from the tables in a folder; the largest first.

    Of a page that was read several times the last version counts. `worth` is what links make of a URL, for instance
    `store.KnownRanks`. Memory grows with the URLs that sitemaps list (8 bytes each) and with the pages that are
    near-duplicates of others, not with the others.
    """
    listed = _listed(folder, spooled)
    with TemporaryDirectory(prefix="periplus-duplicates-") as name:
        state = DiskState(Path(name), duplicates=settings)
        try:
            for pages in _sketched(folder, spooled, listed, worth):
                state.sketches.add(pages)
                if state.uncommitted > _CHANGES_BETWEEN_COMMITS:
                    state.commit()
            yield from _gathered(_urls(folder, spooled), state.sketches)
        finally:
            state.close()


def _listed(folder: Path, spooled: Sequence[Spooled]) -> NDArray[np.uint64]:
    """The fingerprints of all URLs that sitemaps told of, sorted."""
    parts = [np.empty(0, np.uint64)]
    for batch in scan(folder, "discoveries", spooled=spooled, columns=["url", "source"]):
        rows = batch.to_pydict()
        told = zip(rows["url"], rows["source"], strict=True)
        urls = [Url(url) for url, source in told if source == Source.SITEMAP.value]
        if urls:
            parts.append(np.unique(np.array(fingerprints(urls), np.uint64)))
    return np.unique(np.concatenate(parts))


def _sketched(
    folder: Path, spooled: Sequence[Spooled], listed: NDArray[np.uint64], worth: Callable[[Url], float] | None
) -> Iterator[list[Sketched]]:
    for batch in scan(folder, "pages", spooled=spooled, columns=["url", "canonical", "sketch", "links_digest"]):
        urls, canonicals, sketches, links = (column.to_pylist() for column in batch.columns)
        marks = np.array(fingerprints(urls), np.uint64)
        places = np.searchsorted(listed, marks)
        is_listed = (np.take(listed, places, mode="clip") == marks) if len(listed) else np.zeros(len(marks), np.bool_)
        yield [
            Sketched(url, sketch or b"", is_known, worth(url) if worth else 0.0, canonical, digest or 0)
            for url, canonical, sketch, digest, is_known in zip(
                urls, canonicals, sketches, links, is_listed.tolist(), strict=True
            )
        ]


def _urls(folder: Path, spooled: Sequence[Spooled]) -> Iterator[list[Url]]:
    for batch in scan(folder, "pages", spooled=spooled, columns=["url"]):
        yield batch.column(0).to_pylist()


def _gathered(portions: Iterator[list[Url]], sketches: Sketches) -> list[PageCluster]:
    members: defaultdict[int, set[Url]] = defaultdict(set)
    names: dict[int, Url] = {}
    for urls in portions:
        for url, placement in zip(urls, sketches.get(urls), strict=True):
            if placement is not None and placement.size > 1:
                members[placement.cluster].add(url)
                names[placement.cluster] = placement.canonical
    found = [PageCluster(names[number], tuple(sorted(urls))) for number, urls in members.items()]
    return sorted(found, key=lambda each: (-len(each.urls), each.canonical))
