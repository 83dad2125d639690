"""PageRank of a collection: of its pages and of its sites, from the tables `links` and `fetches`.

URLs are numbered by their fingerprints (`periplus.urls`), and of the texts in a row group of `links` each is looked at
once. Links that ask not to be followed pass nothing on, a redirect is a link, a link given twice counts twice, and of a
page that was read several times the last reading counts. A link counts for the URL that it names, also where the crawl
knows that page by another. Where the arithmetic lives: `periplus.graph`.

Memory is some 30 bytes a link and 100 a URL while PageRank is reckoned.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from msgspec import Struct
from numpy.typing import NDArray

from periplus.model import CollectionDamaged
from periplus.store.tables import Spooled, scan
from periplus.store.tables.reader import files_of
from periplus.urls import fingerprints

from .columns import moments, plain

TOLERANCE: Final = 1e-6
"""The sum of all errors, of ranks that sum to 1."""
FRAME: Final = 0.3
"""A link that more than this share of a site's pages have is of the site's frame, not of a page."""
_FEW: Final = 2
"""A site of two pages has no frame."""
_NOFOLLOW: Final = re.compile(r"(?:^|\s)nofollow(?:\s|$)")
_PORTIONS_AT_ONCE: Final = 128
_LINK_COLUMNS: Final = ["page", "target", "rel", "read_at"]

Counts = TypeVar("Counts", bound=NDArray[Any])
Hashes = NDArray[np.uint64]
Numbers = NDArray[np.int32]
Ranks = NDArray[np.float64]


class Seen(Struct, frozen=True):
    """The URLs that are to be ranked: fingerprints, the numbers of their sites, which were read, which are seeds."""

    keys: Hashes
    sites: Numbers
    is_page: NDArray[np.bool_]
    is_seed: NDArray[np.bool_]

    @property
    def site_count(self) -> int:
        """Sites are numbered from 0."""
        return int(self.sites.max(initial=-1)) + 1


class Ranked(Struct, frozen=True):
    """What links make of each of these URLs, and of each site.

    `own_links` are links to pages of the same site that are not of its frame. `clicks` are those from the nearest seed;
    -1: no path leads there.
    """

    pagerank: Ranks
    inlinks: Numbers
    own_links: Numbers
    clicks: Numbers
    of_sites: Ranks


class _Edges(Struct, frozen=True):
    """The fingerprints of all ends, and from which to which of them every link leads."""

    keys: Hashes
    heads: Numbers
    tails: Numbers


def ranked(tables: Path, spooled: Sequence[Spooled], seen: Seen) -> Ranked:
    """Rank URLs by all links and redirects of a collection."""
    from periplus.graph import pagerank  # its libraries take a second to load

    edges = _edges(tables, spooled)
    at = places(edges.keys, seen.keys)
    is_there = at >= 0
    sites = np.full(len(edges.keys), -1, np.int32)
    sites[at[is_there]] = seen.sites[is_there]
    inlinks = np.bincount(edges.tails, minlength=len(edges.keys)).astype(np.int32)
    own = _own_links(edges, inlinks, sites, np.bincount(seen.sites[seen.is_page], minlength=seen.site_count))
    clicks = _clicks(edges, at[is_there & seen.is_seed])
    of_sites = _site_ranks(edges, sites, seen.site_count)
    ranks = pagerank(edges.heads, edges.tails, len(edges.keys), tolerance=TOLERANCE)

    def of(values: NDArray[Any], nothing: int) -> NDArray[Any]:
        return np.where(is_there, np.append(values, nothing)[at], nothing).astype(values.dtype)

    return Ranked(of(ranks, 0), of(inlinks, 0), of(own, 0), of(clicks, -1), of_sites)


def places(keys: Hashes, wanted: Hashes) -> NDArray[np.int64]:
    """Where each stands among the keys, which are all different; -1 where it does not."""
    found = pc.index_in(pa.array(wanted, pa.uint64()), value_set=pa.array(keys, pa.uint64()))
    return np.asarray(pc.fill_null(found, -1).to_numpy(zero_copy_only=False).astype(np.int64))


# from tables to numbers


def _edges(tables: Path, spooled: Sequence[Spooled]) -> _Edges:
    linking: list[tuple[Hashes, NDArray[np.int64]]] = []
    linked: list[tuple[Hashes, Numbers]] = []
    newest = _newest(tables, spooled)
    for batch in _links(tables, spooled):
        batch = _current(batch, newest)
        pages, numbers = _coded(batch["page"])
        begins = np.flatnonzero(np.append(True, numbers[1:] != numbers[:-1])[: len(numbers)])  # a page's lie together
        linking.append((pages[numbers[begins]], np.diff(begins, append=len(numbers))))
        linked.append(_coded(batch["target"]))
    sources, targets = _redirects(tables, spooled)
    linking.append((sources, np.ones(len(sources), np.int64)))
    linked.append((targets, np.arange(len(targets), dtype=np.int32)))
    keys = _distinct([hashes for hashes, _ in (*linking, *linked)])
    heads = [np.repeat(at, counts) for at, counts in _numbered(keys, linking)]
    linking.clear()
    tails = [at[numbers] for at, numbers in _numbered(keys, linked)]
    linked.clear()
    pa.default_memory_pool().release_unused()  # PageRank needs all there is
    return _Edges(keys, np.concatenate(heads), np.concatenate(tails))


def _numbered(keys: Hashes, portions: Sequence[tuple[Hashes, Counts]]) -> Iterator[tuple[Numbers, Counts]]:
    """With places among the keys instead of hashes; many at once, because the keys are filed anew each time."""
    for start in range(0, len(portions), _PORTIONS_AT_ONCE):
        some = portions[start : start + _PORTIONS_AT_ONCE]
        at = places(keys, np.concatenate([hashes for hashes, _ in some])).astype(np.int32)
        ends = np.cumsum([len(hashes) for hashes, _ in some])[:-1]
        yield from zip(np.split(at, ends), [counts for _, counts in some], strict=True)


def _links(tables: Path, spooled: Sequence[Spooled]) -> Iterator[pa.RecordBatch]:
    """A row group at a time: that is how long a dictionary lives."""
    for path in files_of(tables, "links", spooled):
        try:
            with pq.ParquetFile(path) as file:
                for number in range(file.num_row_groups):
                    group = file.read_row_group(number, columns=_LINK_COLUMNS)
                    yield from group.unify_dictionaries().combine_chunks().to_batches()
        except pa.ArrowException as error:
            raise CollectionDamaged(f"{path} is no whole Parquet file", hint="restore it, or remove it") from error
    yield from scan(tables / "nowhere", "links", spooled=spooled, columns=_LINK_COLUMNS)  # the spools alone


def _current(batch: pa.RecordBatch, newest: tuple[Hashes, NDArray[np.int64]] | None) -> pa.RecordBatch:
    """Without what asks not to be followed and, where pages were read again, what they said before."""
    rels = batch["rel"].dictionary.to_pylist()
    is_followed = np.array([not _NOFOLLOW.search(rel or "") for rel in rels], np.bool_)
    kept = is_followed[batch["rel"].indices.to_numpy()] if len(rels) else np.ones(len(batch), np.bool_)
    if newest is not None:
        pages, numbers = _coded(batch["page"])
        at = places(newest[0], pages)
        kept = kept & (moments(batch["read_at"]) >= np.where(at >= 0, newest[1][at], 0)[numbers])
    return batch if kept.all() else batch.filter(pa.array(kept))


def _newest(tables: Path, spooled: Sequence[Spooled]) -> tuple[Hashes, NDArray[np.int64]] | None:
    """When each page was last read, if any was read twice."""
    keys, times = [np.empty(0, np.uint64)], [np.empty(0, np.int64)]
    for batch in scan(tables, "pages", spooled=spooled, columns=["url", "read_at"]):
        keys.append(np.array(fingerprints(batch["url"].to_pylist()), np.uint64))
        times.append(moments(batch["read_at"]))
    every, when = np.concatenate(keys), np.concatenate(times)
    order = np.lexsort((when, every))
    is_last = np.append(every[order][1:] != every[order][:-1], True)[: len(every)]
    return None if is_last.all() else (every[order][is_last], when[order][is_last])


def _redirects(tables: Path, spooled: Sequence[Spooled]) -> tuple[Hashes, Hashes]:
    ends: tuple[list[int], list[int]] = ([], [])
    for batch in scan(tables, "fetches", spooled=spooled, columns=["url", "target", "purpose"]):
        moved = batch.filter(pc.and_(pc.is_valid(batch["target"]), pc.equal(plain(batch["purpose"]), "page")))
        for side, column in zip(ends, ("url", "target"), strict=True):
            side.extend(fingerprints(plain(moved[column]).to_pylist()))
    return np.array(ends[0], np.uint64), np.array(ends[1], np.uint64)


def _coded(column: pa.DictionaryArray) -> tuple[Hashes, Numbers]:
    """The fingerprint of each different text of a column, and for each row which of them it is.

    Texts of rows that were left out are still in the dictionary, and are no ends of links.
    """
    numbers: Numbers = column.indices.to_numpy(zero_copy_only=False)
    is_used = np.bincount(numbers, minlength=len(column.dictionary)) > 0
    texts = column.dictionary.filter(pa.array(is_used)).to_pylist()
    return np.array(fingerprints(texts), np.uint64), (np.cumsum(is_used, dtype=np.int32) - 1)[numbers]


def _distinct(portions: Sequence[Hashes]) -> Hashes:
    found: Hashes = pc.unique(pa.chunked_array(portions, pa.uint64())).to_numpy()
    return found


# from numbers to answers


def _own_links(edges: _Edges, inlinks: Numbers, sites: Numbers, pages: NDArray[np.int64]) -> Numbers:
    bound = np.maximum(_FEW, FRAME * np.append(pages, 0)[sites])
    is_own = (inlinks <= bound) & (sites >= 0)
    kept = is_own[edges.tails]
    kept &= sites[edges.heads] == sites[edges.tails]
    return np.bincount(edges.heads[kept], minlength=len(sites)).astype(np.int32)


def _clicks(edges: _Edges, seeds: NDArray[np.int64]) -> Numbers:
    """Breadth first, a pass over all links for each click: no path of the web is long, but for traps."""
    clicks = np.full(len(edges.keys), -1, np.int32)
    clicks[seeds] = 0
    depth = 0
    while True:
        found = edges.tails[clicks[edges.heads] == depth]
        found = found[clicks[found] < 0]
        if not len(found):
            return clicks
        depth += 1
        clicks[found] = depth


def _site_ranks(edges: _Edges, sites: Numbers, count: int) -> Ranks:
    """PageRank of sites, where a site passes its rank on in proportion to the number of its links to others."""
    from periplus.graph import pagerank

    froms, tos = sites[edges.heads], sites[edges.tails]
    between = np.flatnonzero((froms != tos) & (froms >= 0) & (tos >= 0))
    pairs, links = np.unique(froms[between].astype(np.int64) * count + tos[between], return_counts=True)
    heads, tails = np.divmod(pairs, max(count, 1))
    return pagerank(heads, tails, count, weights=links.astype(np.float64), tolerance=TOLERANCE)
