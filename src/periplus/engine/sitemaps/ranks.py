"""Ranks of the pages that sitemaps list, from the tables of a collection: for their order, and for visits.

The computation takes about 40 bytes of memory a link, 100 a URL, and 50 an entry of a sitemap.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Struct
from numpy.typing import NDArray
from xxhash import xxh3_64_intdigest

from periplus.model import Site, Url
from periplus.store import KnownRanks
from periplus.store.ranks import Fingerprints, known_links
from periplus.store.tables import Spooled, scan
from periplus.urls import canonical, resolve_all, site_of

from .scores import DEFAULT_PRIORITY, Priorities, entry_ranks
from .settings import ScoreSettings

if TYPE_CHECKING:
    from periplus.graph import SitemapVertex

_COLUMNS = ["url", "kind", "sitemap", "read_at", "priority"]


class _File(Struct):
    """The entries of a file at its last complete reading."""

    url: Url
    root: int
    pages: list[Fingerprints]
    priorities: list[NDArray[np.float64]]
    names: list[str]


def listed_ranks(tables: Path, spooled: Sequence[Spooled], settings: ScoreSettings) -> KnownRanks:
    """The ranks of all pages that are linked or listed, by the score that the settings name.

    It is PageRank, or PriorityRank: PageRank with every sitemap as an additional page, which the root of its site links
    to, and which links to its entries (Schonfeld & Shivakumar 2009, section 6). The last complete reading of each file
    counts.
    """
    sources, targets = known_links(tables, spooled)
    files = _files(tables, spooled) if settings.score == "priority_rank" else []
    listed = [column for file in files for column in (*file.pages, np.array([file.root], np.uint64))]
    urls = np.unique(np.concatenate([sources, targets, *listed]))
    if not len(urls):
        return KnownRanks.of(urls, np.empty(0))
    ranks = entry_ranks(
        settings.score,
        urls.searchsorted(sources).astype(np.int32),
        urls.searchsorted(targets).astype(np.int32),
        len(urls),
        _nodes(files, urls, settings),
        tolerance=1e-6,
    )
    return KnownRanks.of(urls, ranks)


def listed_priorities(tables: Path, spooled: Sequence[Spooled], settings: ScoreSettings) -> KnownRanks:
    """The priorities of pages relative to the mean of their site, for sites whose priorities differ between pages."""
    files = _files(tables, spooled)
    priorities = _site_priorities(files)
    columns = [
        (pages, np.where((given >= 0.0) & (given <= 1.0), given, DEFAULT_PRIORITY) / priorities[site_of(file.url)].mean)
        for file in files
        if settings.is_informative(priorities[site_of(file.url)])
        for pages, given in zip(file.pages, file.priorities, strict=True)
    ]
    if not columns:
        return KnownRanks.of(np.empty(0, np.uint64), np.empty(0))
    urls, first = np.unique(np.concatenate([pages for pages, _ in columns]), return_index=True)
    return KnownRanks.of(urls, np.concatenate([given for _, given in columns])[first])


def _nodes(files: Sequence[_File], urls: Fingerprints, settings: ScoreSettings) -> list[SitemapVertex]:
    """The files as nodes of the graph; priorities count only for sites whose priorities differ between pages."""
    from periplus.graph import SitemapVertex  # its libraries take a second to load, and few crawls ask

    priorities = _site_priorities(files)
    place = {file.url: number for number, file in enumerate(files)}
    index_of = {name: number for number, file in enumerate(files) for name in file.names if name in place}
    nodes = []
    for number, file in enumerate(files):
        pages = np.concatenate(file.pages) if file.pages else np.empty(0, np.uint64)
        given = np.concatenate(file.priorities) if file.priorities else np.empty(0)
        is_informative = settings.is_informative(priorities[site_of(file.url)])
        index = index_of.get(file.url)
        nodes.append(
            SitemapVertex(
                int(urls.searchsorted(np.uint64(file.root))),
                urls.searchsorted(pages).tolist(),
                np.where(np.isnan(given), DEFAULT_PRIORITY, given).tolist() if is_informative else None,
                index if index != number else None,
            )
        )
    return nodes


def _site_priorities(files: Sequence[_File]) -> dict[Site, Priorities]:
    """The priority statistics of each site."""
    priorities: dict[Site, Priorities] = {}
    for file in files:
        of_site = priorities.setdefault(site_of(file.url), Priorities())
        for some in file.priorities:
            of_site.observe([None if np.isnan(value) else value for value in some.tolist()])
    return priorities


def _files(tables: Path, spooled: Sequence[Spooled]) -> list[_File]:
    """Every file, as it was last read to its end."""
    last: dict[str, int] = {}
    for sitemap, read_at, rows in _by_file(tables, spooled):
        if "summary" in rows["kind"].to_pylist():
            last[sitemap] = max(read_at, last.get(sitemap, read_at))
    files: dict[str, _File] = {}
    for sitemap, read_at, rows in _by_file(tables, spooled):
        if last.get(sitemap) != read_at:
            continue
        file = files.get(sitemap) or files.setdefault(sitemap, _File(Url(sitemap), _print("/", sitemap), [], [], []))
        pages = rows.filter(pc.equal(rows["kind"], "page"))
        found = resolve_all(pages["url"].to_pylist(), sitemap)
        is_url = np.array([url is not None for url in found], np.bool_)
        file.pages.append(np.array([xxh3_64_intdigest(url.encode()) for url in found if url is not None], np.uint64))
        file.priorities.append(pages["priority"].to_numpy(zero_copy_only=False).astype(np.float64)[is_url])
        file.names += [str(url) for url in rows.filter(pc.equal(rows["kind"], "sitemap"))["url"].to_pylist()]
    return list(files.values())


def _by_file(tables: Path, spooled: Sequence[Spooled]) -> Iterator[tuple[str, int, pa.RecordBatch]]:
    """The rows of each reading, as they were written: a reading may come in several parts."""
    for batch in scan(tables, "sitemap_entries", spooled=spooled, columns=_COLUMNS):
        plain = pa.RecordBatch.from_arrays(
            [pc.cast(batch[name], pa.string()) if name in ("kind", "sitemap") else batch[name] for name in _COLUMNS],
            names=_COLUMNS,
        )
        times = pc.cast(plain["read_at"], pa.int64()).to_numpy(zero_copy_only=False)
        names = plain["sitemap"].dictionary_encode()
        codes = names.indices.to_numpy(zero_copy_only=False)
        for code, at in {*zip(codes.tolist(), times.tolist(), strict=True)}:
            yield names.dictionary[code].as_py(), at, plain.filter(pa.array((codes == code) & (times == at)))


def _print(path: str, base: str) -> int:
    url = canonical(path, Url(base))
    return xxh3_64_intdigest((url or base).encode())
