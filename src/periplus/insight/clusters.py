"""Which pages of a collection say nearly the same, all at once: for each, the cluster that a crawl would put it into.

The rules are those of the crawl (`policy.duplicates`, `store.sketches`), on all pages in the order in which they were
read: a page joins the cluster whose first page it resembles most, if enough; pages that share a band of their briefs
are compared. A page with hardly a sentence is the copy only of one with the very same words (`crawl.copies`).

What takes the crawl a look-up for each page takes sorting here: the pages of each band by its key, so that those that
share it lie side by side. Each is compared with the first few of these: the first page of its cluster is among them,
however many copies it has. Memory is some 250 bytes a page.
"""

# ruff: noqa: S608 - SQL is put together from our own words here

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import duckdb
import numpy as np
import pyarrow as pa
from msgspec import Struct
from numpy.typing import NDArray

from periplus.policy.duplicates import BANDS, VALUES, DuplicateSettings, are_thin, band_keys

FIRST: Final = 16
"""With so many of those that share a band a page is compared, as in the crawl."""
_SKETCH: Final = 4 * VALUES
_PAIRS_AT_ONCE: Final = 1 << 17
_BY_CHANCE: Final = 1 / 256
"""Two bytes that have nothing to do with each other are equal so often (see `policy.duplicates.likeness`)."""
_NEWEST: Final = "semi join (select url, max(read_at) as read_at from pages group by url) using (url, read_at)"

Hashes = NDArray[np.uint64]
Places = NDArray[np.intp]


class _Pages(Struct, frozen=True):
    """Columns, by the order in which pages were read."""

    keys: Hashes
    sites: Hashes
    links: Hashes
    words: Hashes
    """Of the main text; 0 where there is none."""
    briefs: NDArray[np.uint8]


def clusters_of(database: duckdb.DuckDBPyConnection, settings: DuplicateSettings | None = None) -> pa.Table:
    """key, cluster: hashes of the URLs of pages in clusters of two and more, and of the first page of each.

    The database has the table `pages`.
    """
    settings = settings or DuplicateSettings()
    pages = _read(database)
    thin = are_thin(pages.briefs, settings)
    firsts = np.arange(len(pages.keys))
    _join_same(firsts, pages.words, np.flatnonzero(thin & (pages.words != 0)))
    _join_alike(firsts, pages, np.flatnonzero(~thin), settings)
    crowded = np.bincount(firsts, minlength=len(firsts))[firsts] > 1
    return pa.table({"key": pages.keys[crowded], "cluster": pages.keys[firsts[crowded]]})


def _read(database: duckdb.DuckDBPyConnection) -> _Pages:
    was_read_again = database.execute("select count(*) > count(distinct url) from pages").fetchall()[0][0]
    answer = database.sql(
        "select hash(url) as key, hash(site) as site, coalesce(links_digest, 0) as links,"
        " case when main_length > 0 then coalesce(main_digest, 0) else 0 end as words, epoch_us(read_at) as read_at,"
        f" coalesce(sketch, ''::blob) as sketch from pages {_NEWEST if was_read_again else ''}"
    ).to_arrow_reader(8192)
    columns: dict[str, list[NDArray[np.uint64]]] = {name: [] for name in ("key", "site", "links", "words", "read_at")}
    briefs = [np.empty((0, VALUES), np.uint8)]
    for batch in answer:
        for name, parts in columns.items():
            parts.append(batch[name].to_numpy().astype(np.uint64))
        briefs.append(_briefs(batch["sketch"]))
    joined = {name: np.concatenate([np.empty(0, np.uint64), *parts]) for name, parts in columns.items()}
    order = np.lexsort((joined["key"], joined["read_at"]))
    keys, sites, links, words = (joined[name][order] for name in ("key", "site", "links", "words"))
    return _Pages(keys, sites, links, words, np.concatenate(briefs)[order])


def _briefs(sketches: pa.Array) -> NDArray[np.uint8]:
    """The lowest byte of each value; all 0 for what is no sketch."""
    _, offsets, data = sketches.buffers()
    ends = np.frombuffer(offsets, np.int32, len(sketches) + 1, 4 * sketches.offset).astype(np.int64)
    whole = np.flatnonzero(np.diff(ends) == _SKETCH)
    briefs = np.zeros((len(sketches), VALUES), np.uint8)
    if len(whole):
        letters = np.frombuffer(data, np.uint8)
        briefs[whole] = letters[ends[whole, None] + np.arange(0, _SKETCH, 4)]
    return briefs


def _join_same(firsts: Places, texts: Hashes, pages: Places) -> None:
    """Pages of the same text belong to the first of them."""
    _, first, numbers = np.unique(texts[pages], return_index=True, return_inverse=True)
    firsts[pages] = pages[first[numbers]]


def _join_alike(firsts: Places, pages: _Pages, wordy: Places, settings: DuplicateSettings) -> None:
    """Pages with texts belong to the first page that they resemble most."""
    briefs = pages.briefs[wordy]
    _, first, numbers = np.unique(briefs.view(f"V{VALUES}").ravel(), return_index=True, return_inverse=True)
    order = np.argsort(first)  # the different briefs, as they came
    different = first[order]
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    joined = _leaders(_alike(pages, wordy[different], settings), len(different))
    firsts[wordy] = wordy[different[joined[place[numbers]]]]


def _leaders(pairs: tuple[Places, Places, NDArray[np.float32]], count: int) -> Places:
    """To whom each belongs: of the first pages that it resembles the most alike, else it is one itself."""
    earlier, later, likeness = pairs
    order = np.lexsort((earlier, -likeness, later))
    leader = list(range(count))
    for one, other in zip(earlier[order].tolist(), later[order].tolist(), strict=True):
        if leader[other] == other and leader[one] == one:
            leader[other] = one
    return np.array(leader, np.intp)


def _alike(pages: _Pages, chosen: Places, settings: DuplicateSettings) -> tuple[Places, Places, NDArray[np.float32]]:
    """The pairs that are alike enough, the earlier first, and how much."""
    briefs, sites, links = pages.briefs[chosen], pages.sites[chosen], pages.links[chosen]
    found: list[tuple[Places, Places, NDArray[np.float32]]] = []
    for earlier, later in _candidates(band_keys(briefs)):
        equal = (briefs[earlier] == briefs[later]).mean(axis=1, dtype=np.float32)
        likeness = (equal - _BY_CHANCE) / (1 - _BY_CHANCE)
        is_one_site = sites[earlier] == sites[later]
        has_same_links = (links[earlier] == links[later]) & (links[later] != 0)
        on_site = np.where(has_same_links, settings.least_likeness_reordered, settings.least_likeness_on_site)
        near = likeness >= np.where(is_one_site, on_site, settings.least_likeness)
        found.append((earlier[near], later[near], likeness[near].astype(np.float32)))
    nothing = (np.empty(0, np.intp), np.empty(0, np.intp), np.empty(0, np.float32))
    earlier, later, likeness = (np.concatenate(column) for column in zip(nothing, *found, strict=True))
    return earlier, later, likeness


def _candidates(keys: Hashes) -> Iterator[tuple[Places, Places]]:
    """Each page with the first few that share a band with it, of those before it."""
    for band in range(BANDS):
        order = np.argsort(keys[:, band], kind="stable")
        sorted_keys = keys[order, band]
        begins = np.append(True, sorted_keys[1:] != sorted_keys[:-1]) if len(order) else np.empty(0, np.bool_)
        run = np.maximum.accumulate(np.where(begins, np.arange(len(order)), 0))
        rank = np.arange(len(order)) - run
        for step in range(FIRST):
            places = np.flatnonzero(rank > step)
            if not len(places):
                break
            for start in range(0, len(places), _PAIRS_AT_ONCE):
                some = places[start : start + _PAIRS_AT_ONCE]
                yield order[run[some] + step], order[some]
