"""Every URL that the sitemaps of a collection list, each once, in the order of the lists, in constant memory.

A site may list ten million URLs, many of them in several files. So they are deduplicated outside of memory, in three
passes over the table `sitemap_entries`: the fingerprints of all entries are partitioned by their first bits into files
on disk; each of these is small enough to be sorted, which yields the first row of each URL and how many files list it;
then the rows are read once more, and the first ones are returned. This takes some 21 bytes an entry of temporary disk
space, in a folder that the caller names.

Only readings that came to their end count, the last of each file (see `survey.readings`). A URL whose files disagree on
whether they may list it (`Judge`) counts as listed by the first that may.

Reason of its own: `not-a-url`, where an entry cannot be read as one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Struct
from numpy.typing import NDArray

from periplus.model import Url
from periplus.store.tables import Spooled, scan
from periplus.urls import fingerprints, resolve_all

from .columns import moments, plain

NOT_A_URL: Final = "not-a-url"
_COLUMNS: Final = (
    "url", "kind", "sitemap", "read_at", "lastmod", "lastmod_granularity", "changefreq", "priority", "size"
)  # fmt: skip
_PARTS: Final = 64
"""Files that fingerprints are dealt out into: of ten million entries each has 3 MB."""
_NOTE: Final = np.dtype([("print", "<u8"), ("row", "<u8"), ("file", "<u4"), ("is_refused", "u1")])

Judge = Callable[[str, Sequence[Url]], Sequence[tuple[Url, str]]]
"""For a sitemap and URLs it lists: the canonical form of each, and why the sitemap may not list it, if so."""


class ListedUrl(Struct, frozen=True, gc=False):
    """A URL, the first sitemap that lists it, the metadata there, and in how many files it is.

    `refused`: why no file may list it; empty if one may. `lastmod` is POSIX time, as precise as `granularity` says.
    `size` is in bytes; only archives of metadata have it.
    """

    url: str
    sitemap: str
    files: int
    lastmod: float | None
    granularity: str | None
    changefreq: str | None
    priority: float | None
    refused: str
    size: int | None = None


class _Entries(Struct, frozen=True):
    """Some entries of one file, with the row at which they begin among all of them."""

    sitemap: str
    row: int
    rows: pa.RecordBatch
    urls: list[str]
    refused: list[str]


def listed_urls(tables: Path, scratch: Path, judge: Judge, *, spooled: Sequence[Spooled] = ()) -> Iterator[ListedUrl]:
    """Every listed URL once. `scratch` is an empty folder for temporary files."""
    whole = _whole_readings(tables, spooled)
    entries = _deal(_entries(tables, spooled, whole, judge), scratch)
    if not entries:
        return
    copies = np.memmap(scratch / "copies", np.uint32, "w+", shape=(entries,))
    for path in sorted(scratch.glob("part-*")):
        _find_first(np.fromfile(path, _NOTE), copies)
        path.unlink()
    for some in _entries(tables, spooled, whole, judge):
        counts = copies[some.row : some.row + len(some.urls)]
        yield from _first(some, np.flatnonzero(counts), counts)


def _whole_readings(tables: Path, spooled: Sequence[Spooled]) -> dict[str, int]:
    """When the last reading of each file was that came to its end."""
    whole: dict[str, int] = {}
    for batch in scan(tables, "sitemap_entries", spooled=spooled, columns=("kind", "sitemap", "read_at")):
        ends = batch.filter(pc.equal(plain(batch["kind"]), "summary"))
        whole.update(zip(plain(ends["sitemap"]).to_pylist(), moments(ends["read_at"]).tolist(), strict=True))
    return whole


def _entries(tables: Path, spooled: Sequence[Spooled], whole: dict[str, int], judge: Judge) -> Iterator[_Entries]:
    """Every entry, some of one file at a time; the same in every pass."""
    row = 0
    for batch in scan(tables, "sitemap_entries", spooled=spooled, columns=_COLUMNS):
        for sitemap, rows in _runs(batch, whole):
            texts = [text or "" for text in rows["url"].to_pylist()]
            found = resolve_all(texts, sitemap)
            judged = iter(judge(sitemap, [url for url in found if url is not None]))
            named = [
                next(judged) if url is not None else (text, NOT_A_URL) for url, text in zip(found, texts, strict=True)
            ]
            yield _Entries(sitemap, row, rows, [name for name, _ in named], [refused for _, refused in named])
            row += len(texts)


def _runs(batch: pa.RecordBatch, whole: dict[str, int]) -> Iterator[tuple[str, pa.RecordBatch]]:
    """The pages of a batch that belong to complete readings, by file."""
    sitemaps = batch["sitemap"]
    encoded = sitemaps if pa.types.is_dictionary(sitemaps.type) else sitemaps.dictionary_encode()
    codes = encoded.indices.to_numpy(zero_copy_only=False)
    used = np.unique(codes)
    names = dict(zip(used.tolist(), encoded.dictionary.take(pa.array(used)).to_pylist(), strict=True))
    ends = np.full(int(used[-1]) + 1 if len(used) else 0, -1, np.int64)
    ends[used] = [whole.get(name, -1) for name in names.values()]
    is_page = pc.equal(plain(batch["kind"]), "page").to_numpy(zero_copy_only=False)
    places = np.flatnonzero(is_page & (moments(batch["read_at"]) == ends[codes]))
    for run in np.split(places, np.flatnonzero(np.diff(codes[places])) + 1):
        if len(run):
            yield names[int(codes[run[0]])], batch.take(pa.array(run))


def _deal(entries: Iterator[_Entries], scratch: Path) -> int:
    """Deal fingerprints out into the parts; how many entries there are."""
    total = 0
    numbers: dict[str, int] = {}
    parts: list[BinaryIO] = [(scratch / f"part-{part:02d}").open("wb") for part in range(_PARTS)]
    try:
        for some in entries:
            total = some.row + len(some.urls)
            notes = _notes(some, numbers.setdefault(some.sitemap, len(numbers)))
            part_of = (notes["print"] >> np.uint64(64 - _PARTS.bit_length() + 1)).astype(np.intp)
            order = np.argsort(part_of, kind="stable")
            bounds = np.searchsorted(part_of[order], np.arange(_PARTS + 1)).tolist()
            for part, start, end in zip(parts, bounds, bounds[1:], strict=False):
                if end > start:
                    part.write(notes[order[start:end]].tobytes())
    finally:
        for part in parts:
            part.close()
    return total


def _notes(some: _Entries, file: int) -> NDArray[np.void]:
    """A note for each distinct URL, so that a list that repeats one URL a million times costs no more than another."""
    prints, first = np.unique(np.array(fingerprints(map(Url, some.urls)), np.uint64), return_index=True)
    notes = np.zeros(len(prints), _NOTE)
    notes["print"], notes["row"], notes["file"] = prints, first + some.row, file
    notes["is_refused"] = np.array([bool(reason) for reason in some.refused])[first]
    return notes


def _find_first(notes: NDArray[np.void], copies: NDArray[np.uint32]) -> None:
    """Put the number of files of each URL to its first row: the first that a file may list."""
    if not len(notes):
        return
    by_file = notes[np.lexsort((notes["file"], notes["print"]))]
    is_other = np.ones(len(notes), np.int64)
    is_other[1:] = (by_file["print"][1:] != by_file["print"][:-1]) | (by_file["file"][1:] != by_file["file"][:-1])
    starts = np.flatnonzero(np.append(True, by_file["print"][1:] != by_file["print"][:-1]))
    by_row = notes[np.lexsort((notes["row"], notes["is_refused"], notes["print"]))]
    copies[by_row["row"][starts]] = np.add.reduceat(is_other, starts)


def _first(some: _Entries, places: NDArray[np.intp], counts: NDArray[np.uint32]) -> Iterator[ListedUrl]:
    rows = some.rows.take(pa.array(places))
    columns = (
        places.tolist(), counts[places].tolist(), _numbers(rows["lastmod"].cast(pa.int64()), 1e6),
        _words(rows["lastmod_granularity"]), _words(rows["changefreq"]), _numbers(rows["priority"], 1.0),
        rows["size"].to_pylist(),
    )  # fmt: skip
    urls, refused, sitemap = some.urls, some.refused, some.sitemap
    for place, files, lastmod, granularity, changefreq, priority, size in zip(*columns, strict=True):
        yield ListedUrl(urls[place], sitemap, files, lastmod, granularity, changefreq, priority, refused[place], size)


def _numbers(column: pa.Array, unit: float) -> list[float | None]:
    """A column of numbers as values, all at once: one by one they cost more than anything else here."""
    if column.null_count == len(column):
        return [None] * len(column)
    values = (pc.fill_null(column, 0).to_numpy(zero_copy_only=False) / unit).tolist()
    is_there = column.is_valid().to_numpy(zero_copy_only=False).tolist() if column.null_count else None
    return (
        values
        if is_there is None
        else [value if there else None for value, there in zip(values, is_there, strict=True)]
    )


def _words(column: pa.Array) -> list[str | None]:
    """The same of words from a small set."""
    if column.null_count == len(column):
        return [None] * len(column)
    encoded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    words = [*encoded.dictionary.to_pylist(), None]
    return [words[code] for code in pc.fill_null(encoded.indices, -1).to_numpy(zero_copy_only=False).tolist()]
