"""What sitemaps were found to say, counted from the rows of `sitemap_entries` without holding any of them.

A reading is the rows of one sitemap up to its `summary`; of several readings the last counts. Rows of several sitemaps
may be mixed, those of one are in order. The table may have hundreds of millions of rows: they are counted a batch at a
time with array operations, and only a few numbers for each sitemap stay, besides the files that indexes name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Struct
from numpy.typing import NDArray

from periplus.store.tables import Spooled, scan

from .facts import counted

_COLUMNS: Final = (
    "url", "kind", "sitemap", "lastmod", "changefreq", "priority", "entries", "children", "problems"
)  # fmt: skip
MOST_CHILDREN: Final = 50_000
"""Children of one index that are known by name, as many as the protocol allows; all of them are counted."""


class FileReading(Struct, gc=False):
    """A sitemap as it was last read. Until its summary comes, the numbers grow."""

    entries: int = 0
    with_lastmod: int = 0
    with_changefreq: int = 0
    with_priority: int = 0
    named: int = 0
    problems: tuple[tuple[str, int], ...] = ()
    is_closed: bool = False


class Readings:
    """The last reading of every sitemap, and the children of every index, in order, by the key of a URL."""

    def __init__(self, folder: Path, spooled: Sequence[Spooled], key_of: Callable[[str], str]) -> None:
        self.files: dict[str, FileReading] = {}
        self.children: dict[str, dict[str, str]] = {}
        """Of an index: the URL of each child by its key. What any reading named is a child."""
        self._key_of = key_of
        for batch in scan(folder / "tables", "sitemap_entries", spooled=spooled, columns=_COLUMNS):
            if batch.num_rows:
                self._count(batch)

    def _count(self, batch: pa.RecordBatch) -> None:
        names, codes = self._coded(batch["sitemap"])
        kinds = _plain(batch["kind"])
        is_summary, is_child = _mask(pc.equal(kinds, "summary")), _mask(pc.equal(kinds, "sitemap"))
        is_page = ~(is_summary | is_child)
        self._note_children(batch, names, codes, np.flatnonzero(is_child))
        order = np.argsort(codes, kind="stable")
        closes = is_summary[order]
        starts = _segments(codes[order], closes)
        sums = [np.add.reduceat(column[order].astype(np.int64), starts) for column in _claims(batch, is_page, is_child)]
        ends = np.append(starts[1:], len(order)) - 1
        for start, end, *numbers in zip(starts.tolist(), ends.tolist(), *(one.tolist() for one in sums), strict=True):
            reading = self._open(names[codes[order[start]]])
            reading.entries += numbers[0]
            reading.with_lastmod += numbers[1]
            reading.with_changefreq += numbers[2]
            reading.with_priority += numbers[3]
            reading.named += numbers[4]
            if closes[end]:
                _close(reading, batch.slice(int(order[end]), 1).to_pylist()[0])

    def _coded(self, sitemaps: pa.Array) -> tuple[list[str], NDArray[np.intp]]:
        """The keys of the sitemaps of a batch, and for each row which of them: a dictionary may hold many others."""
        encoded = sitemaps if pa.types.is_dictionary(sitemaps.type) else sitemaps.dictionary_encode()
        used, codes = np.unique(encoded.indices.to_numpy(zero_copy_only=False), return_inverse=True)
        return [self._key_of(name) for name in encoded.dictionary.take(pa.array(used)).to_pylist()], codes

    def _open(self, key: str) -> FileReading:
        """The reading that goes on, or a new one in place of one that was closed."""
        reading = self.files.get(key)
        if reading is None or reading.is_closed:
            reading = self.files[key] = FileReading()
        return reading

    def _note_children(
        self, batch: pa.RecordBatch, names: list[str], codes: NDArray[np.intp], places: NDArray[np.intp]
    ) -> None:
        if not len(places):
            return
        urls = batch["url"].take(pa.array(places)).to_pylist()
        for place, url in zip(places.tolist(), urls, strict=True):
            children = self.children.setdefault(names[codes[place]], {})
            if len(children) < MOST_CHILDREN:
                children.setdefault(self._key_of(url or ""), url or "")


def _close(reading: FileReading, row: dict[str, Any]) -> None:
    """The end of a file: what its reader counted holds."""
    if row["entries"] is not None:
        reading.entries = row["entries"]
    if row["children"] is not None:
        reading.named = row["children"]
    reading.problems = counted(row["problems"] or ())
    reading.is_closed = True


def _claims(batch: pa.RecordBatch, is_page: NDArray[np.bool_], is_child: NDArray[np.bool_]) -> list[NDArray[np.bool_]]:
    """Which rows are pages, have a lastmod, a changefreq, a priority; and which are sitemaps."""
    said = [_mask(batch[name].is_valid()) & is_page for name in ("lastmod", "changefreq", "priority")]
    return [is_page, *said, is_child]


def _segments(codes: NDArray[np.intp], closes: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Where readings begin: at another sitemap, or behind a summary."""
    begins = np.ones(len(codes), np.bool_)
    begins[1:] = (codes[1:] != codes[:-1]) | closes[:-1]
    return np.flatnonzero(begins)


def _mask(column: pa.Array) -> NDArray[np.bool_]:
    mask: NDArray[np.bool_] = pc.fill_null(column, False).to_numpy(zero_copy_only=False)
    return mask.astype(np.bool_)


def _plain(column: pa.Array) -> pa.Array:
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column
