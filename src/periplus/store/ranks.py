"""Computes ranks of URLs: PageRank for the next crawl of the same web.

Ranks are stored by fingerprint (`KnownRanks`). nofollow links do not count, and a redirect is a link. The computation
takes about 40 bytes of memory a link and 100 a URL.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from xxhash import xxh3_64_intdigest

from periplus.model import CollectionDamaged, Url

from .durable import draft_of, replace_file
from .tables import Spooled, scan

Fingerprints = NDArray[np.uint64]

_ROW = np.dtype([("url", "<u8"), ("rank", "<f8")])
_TOLERANCE = 1e-6
"""An order needs no ten digits."""


class KnownRanks:
    """The rank of each known URL; 0 for any other.

    Two sorted columns, fingerprint and rank, are in one file that is mapped into memory: a lookup is a binary search,
    and all processes of a crawl share the pages they touch.
    """

    def __init__(self, rows: NDArray[np.void]) -> None:
        self._urls: Fingerprints = rows["url"]
        self._ranks: NDArray[np.float64] = rows["rank"]

    @classmethod
    def of(cls, urls: Fingerprints, ranks: NDArray[np.float64]) -> KnownRanks:
        """The ranks of URLs by their fingerprints, which are sorted."""
        rows = np.empty(len(urls), _ROW)
        rows["url"], rows["rank"] = urls, ranks
        return cls(rows)

    @classmethod
    def load(cls, path: Path) -> KnownRanks:
        """Read ranks that `save` wrote."""
        try:
            rows = np.load(path, mmap_mode="r", allow_pickle=False)
        except (OSError, ValueError) as error:
            raise CollectionDamaged(
                f"{path} cannot be read: {error}", hint="remove the file: it will be computed again"
            ) from error
        if rows.dtype != _ROW or rows.ndim != 1:
            raise CollectionDamaged(f"{path} has no ranks in it", hint="remove the file: it will be computed again")
        return cls(rows)

    def save(self, path: Path) -> None:
        """Write the ranks to a file, atomically."""
        rows = np.empty(len(self._urls), _ROW)
        rows["url"], rows["rank"] = self._urls, self._ranks
        draft = draft_of(path)
        with draft.open("wb") as file:
            np.save(file, rows, allow_pickle=False)
        replace_file(draft, path)

    def __call__(self, url: Url) -> float:
        """The rank of a URL."""
        return self.get(url) or 0.0

    def get(self, url: Url) -> float | None:
        """The rank of a URL, or `None` if it is not known."""
        wanted = np.uint64(xxh3_64_intdigest(url.encode()))
        place = int(self._urls.searchsorted(wanted))
        return float(self._ranks[place]) if place < len(self._urls) and self._urls[place] == wanted else None

    def __len__(self) -> int:
        return len(self._urls)


def known_ranks(tables: Path, spooled: Sequence[Spooled] = (), damping: float = 0.85) -> KnownRanks:
    """PageRank over all links of a collection, in multiples of the mean."""
    from periplus.graph import pagerank  # its libraries take a second to load, and few crawls ask

    sources, targets = known_links(tables, spooled)
    urls = np.unique(np.concatenate([np.unique(sources), np.unique(targets)]))
    if not len(urls):
        return KnownRanks.of(urls, np.empty(0))
    froms, tos = urls.searchsorted(sources).astype(np.int32), urls.searchsorted(targets).astype(np.int32)
    return KnownRanks.of(urls, pagerank(froms, tos, len(urls), damping, tolerance=_TOLERANCE) * len(urls))


def known_links(tables: Path, spooled: Sequence[Spooled] = ()) -> tuple[Fingerprints, Fingerprints]:
    """The sources and targets of all links and redirects of a collection."""
    pairs = [pair for pair in (*_links(tables, spooled), *_redirects(tables, spooled)) if len(pair[0])]
    nothing: Fingerprints = np.empty(0, np.uint64)
    sources = np.concatenate([nothing, *(source for source, _ in pairs)])
    return sources, np.concatenate([nothing, *(target for _, target in pairs)])


def _links(tables: Path, spooled: Sequence[Spooled]) -> Iterator[tuple[Fingerprints, Fingerprints]]:
    for batch in scan(tables, "links", spooled=spooled, columns=["page", "target", "rel"]):
        is_followed = pc.invert(pc.match_substring_regex(pc.cast(batch["rel"], pa.string()), r"(^|\s)nofollow(\s|$)"))
        yield _pair(batch.filter(is_followed), "page", "target")


def _redirects(tables: Path, spooled: Sequence[Spooled]) -> Iterator[tuple[Fingerprints, Fingerprints]]:
    for batch in scan(tables, "fetches", spooled=spooled, columns=["url", "target", "purpose"]):
        is_one = pc.and_(pc.is_valid(batch["target"]), pc.equal(pc.cast(batch["purpose"], pa.string()), "page"))
        yield _pair(batch.filter(is_one), "url", "target")


def _pair(batch: pa.RecordBatch, source: str, target: str) -> tuple[Fingerprints, Fingerprints]:
    return _fingerprints(batch[source]), _fingerprints(batch[target])


def _fingerprints(column: pa.Array) -> Fingerprints:
    """The fingerprint of every row; each distinct URL is hashed once."""
    if not isinstance(column, pa.DictionaryArray):
        column = column.dictionary_encode()
    distinct = [xxh3_64_intdigest(url.encode()) for url in column.dictionary.to_pylist()]
    found: Fingerprints = np.array(distinct, np.uint64)[column.indices.to_numpy(zero_copy_only=False)]
    return found
