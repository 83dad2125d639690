"""Reads the input of a survey: the responses to robots.txt and sitemap requests, and statistics of sitemap entries.

`Readings` scans `sitemap_entries`, which may have hundreds of millions of rows: only a few numbers for each sitemap
stay in memory, and the files that indexes name. `Answers` takes responses from `fetches` and the archive.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from sys import intern
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Struct
from numpy.typing import NDArray

from periplus.content import decode_body
from periplus.formats.headers import Headers
from periplus.formats.robots import MAX_BYTES
from periplus.insight.columns import moments, plain
from periplus.model import CollectionDamaged, Stored
from periplus.store.tables import Spooled, scan
from periplus.store.warc import MAX_BLOCK, read_record

from .facts import counted

_COLUMNS: Final = (
    "url", "kind", "sitemap", "read_at", "lastmod", "changefreq", "priority", "entries", "children", "problems"
)  # fmt: skip
MOST_CHILDREN: Final = 50_000
"""Children of one index that are known by name, as many as the protocol allows; all of them are counted."""


class FileReading(Struct, gc=False):
    """A sitemap as it was last read."""

    entries: int = 0
    with_lastmod: int = 0
    with_changefreq: int = 0
    with_priority: int = 0
    named: int = 0
    problems: tuple[tuple[str, int], ...] = ()


class _Open(Struct):
    """A reading whose summary has not come yet: its numbers grow. `children` are URLs by their keys."""

    read_at: int
    reading: FileReading
    children: dict[str, str]


class Readings:
    """The last reading of every sitemap, and the children of every index, in order, by the key of a URL.

    A reading is the rows of one sitemap with one `read_at`, up to its `summary`. A reading without a summary was
    interrupted or is under way, and does not count, since the file is read again. Rows of several sitemaps may be
    mixed; those of one are in order.
    """

    def __init__(self, folder: Path, spooled: Sequence[Spooled], key_of: Callable[[str], str]) -> None:
        self.files: dict[str, FileReading] = {}
        self.children: dict[str, dict[str, str]] = {}
        """Of an index: the URL of each child by its key. What any reading named is a child."""
        self._open: dict[str, _Open] = {}
        self._key_of = key_of
        for batch in scan(folder / "tables", "sitemap_entries", spooled=spooled, columns=_COLUMNS):
            if batch.num_rows:
                self._count(batch)
        self._open.clear()

    def _count(self, batch: pa.RecordBatch) -> None:
        names, codes = self._coded(batch["sitemap"])
        kinds, times = plain(batch["kind"]), moments(batch["read_at"])
        is_summary, is_child = _mask(pc.equal(kinds, "summary")), _mask(pc.equal(kinds, "sitemap"))
        order = np.argsort(codes, kind="stable")
        closes = is_summary[order]
        starts = _segments(codes[order], times[order], closes)
        claims = _claims(batch, ~(is_summary | is_child), is_child)
        sums = [np.add.reduceat(column[order].astype(np.int64), starts) for column in claims]
        ends = np.append(starts[1:], len(order)).tolist()
        for start, end, *numbers in zip(starts.tolist(), ends, *(one.tolist() for one in sums), strict=True):
            rows = order[start:end]
            key = names[codes[rows[0]]]
            under_way = self._under_way(key, int(times[rows[0]]))
            _add(under_way.reading, numbers)
            if numbers[-1]:
                self._note_children(under_way.children, batch["url"].take(pa.array(rows[is_child[rows]])).to_pylist())
            if closes[end - 1]:
                self._close(key, batch.slice(int(rows[-1]), 1).to_pylist()[0])

    def _coded(self, sitemaps: pa.Array) -> tuple[list[str], NDArray[np.intp]]:
        """The keys of the sitemaps of a batch, and for each row which of them: a dictionary may hold many others."""
        encoded = sitemaps if pa.types.is_dictionary(sitemaps.type) else sitemaps.dictionary_encode()
        used, codes = np.unique(encoded.indices.to_numpy(zero_copy_only=False), return_inverse=True)
        return [self._key_of(name) for name in encoded.dictionary.take(pa.array(used)).to_pylist()], codes

    def _under_way(self, key: str, read_at: int) -> _Open:
        """The reading that goes on, or a new one in place of one that was closed or broken off."""
        found = self._open.get(key)
        if found is None or found.read_at != read_at:
            found = self._open[key] = _Open(read_at, FileReading(), {})
        return found

    def _note_children(self, children: dict[str, str], urls: list[str | None]) -> None:
        for url in urls:
            if len(children) < MOST_CHILDREN:
                children.setdefault(self._key_of(url or ""), url or "")

    def _close(self, key: str, row: dict[str, Any]) -> None:
        """The end of a file: what its reader counted holds."""
        closed = self._open.pop(key)
        reading = self.files[key] = closed.reading
        if row["entries"] is not None:
            reading.entries = row["entries"]
        if row["children"] is not None:
            reading.named = row["children"]
        reading.problems = counted(row["problems"] or ())
        if closed.children:
            children = self.children.setdefault(key, {})
            for child, url in closed.children.items():
                if len(children) < MOST_CHILDREN:
                    children.setdefault(child, url)


def _add(reading: FileReading, numbers: Sequence[int]) -> None:
    """The fields of some rows, in the order of `_claims`."""
    reading.entries += numbers[0]
    reading.with_lastmod += numbers[1]
    reading.with_changefreq += numbers[2]
    reading.with_priority += numbers[3]
    reading.named += numbers[4]


def _claims(batch: pa.RecordBatch, is_page: NDArray[np.bool_], is_child: NDArray[np.bool_]) -> list[NDArray[np.bool_]]:
    """Which rows are pages, have a lastmod, a changefreq, a priority; and which are sitemaps."""
    claims = [_mask(batch[name].is_valid()) & is_page for name in ("lastmod", "changefreq", "priority")]
    return [is_page, *claims, is_child]


def _segments(codes: NDArray[np.intp], times: NDArray[np.int64], closes: NDArray[np.bool_]) -> NDArray[np.intp]:
    """The rows where readings begin: at another sitemap, at another time, or after a summary."""
    begins = np.ones(len(codes), np.bool_)
    begins[1:] = (codes[1:] != codes[:-1]) | (times[1:] != times[:-1]) | closes[:-1]
    return np.flatnonzero(begins)


def _mask(column: pa.Array) -> NDArray[np.bool_]:
    mask: NDArray[np.bool_] = pc.fill_null(column, False).to_numpy(zero_copy_only=False)
    return mask.astype(np.bool_)


_ANSWER_COLUMNS: Final = (
    "url", "purpose", "outcome", "status", "reason", "bytes", "target",
    "digest", "warc_file", "warc_offset", "warc_length", "is_revisit",
)  # fmt: skip
_PLACES: Final = ("digest", "warc_file", "warc_offset", "warc_length", "is_revisit")
_ROWS_AT_ONCE: Final = 4_096
_HEAD: Final = 256 << 10
"""Bytes of a record that are enough to recognise a kind of sitemap."""


class Asked(Struct, frozen=True, gc=False):
    """The result of a request for a URL."""

    url: str
    outcome: str
    status: int | None = None
    reason: str = ""
    size: int = 0
    target: str | None = None
    stored: Stored | None = None

    @property
    def is_found(self) -> bool:
        """Whether there was something."""
        return self.outcome == "fetched" and self.status is not None and 200 <= self.status < 300

    @property
    def is_good(self) -> bool:
        """Whether it leads anywhere."""
        return self.is_found or self.outcome == "redirected"

    @property
    def trouble(self) -> str:
        """The reason why there is no body."""
        if self.outcome == "fetched":
            return f"http-{self.status}"
        return self.reason or self.outcome


class Answers:
    """The answers of a collection, for robots.txt files by URL, for sitemaps by the key that `key_of` gives a URL.

    Of several fetches of one URL the last successful one counts, else the last: a later failure does not hide a file
    that was read once. Bodies are read from the archive when they are needed, one at a time.
    """

    def __init__(self, folder: Path, spooled: Sequence[Spooled], key_of: Callable[[str], str]) -> None:
        self.robots: dict[str, Asked] = {}
        self.sitemaps: dict[str, Asked] = {}
        self._archive = folder / "warc"
        for row in _rows(folder / "tables", spooled):
            asked = _asked(row)
            if row["purpose"] == "robots":
                _keep(self.robots, asked.url, asked)
            else:
                _keep(self.sitemaps, key_of(asked.url), asked)
        self._originals = _originals(folder / "tables", spooled, self._references())

    def robots_body(self, asked: Asked) -> bytes:
        """The robots.txt, without content codings; as much as a reader would look at."""
        return self._body(asked, MAX_BLOCK, MAX_BYTES)[0]

    def beginning(self, asked: Asked) -> tuple[bytes, bool]:
        """The first bytes of a sitemap, empty if they are not kept; and whether a content coding was removed."""
        return self._body(asked, _HEAD, _HEAD)

    def _body(self, asked: Asked, most_read: int, most: int) -> tuple[bytes, bool]:
        place = asked.stored
        if place is not None and place.is_revisit:
            place = self._originals.get(place.digest)
        if place is None:
            return b"", False
        try:
            message = read_record(self._archive, place, max_block=most_read).message()
        except CollectionDamaged:
            return b"", False
        codings = ",".join(Headers(message.fields).all("content-encoding"))
        return (decode_body(message.body, codings, max_size=most)[0], True) if codings else (message.body[:most], False)

    def _references(self) -> set[str]:
        """Digests of bodies that are stored with another answer."""
        kept = (asked.stored for answers in (self.robots, self.sitemaps) for asked in answers.values())
        return {stored.digest for stored in kept if stored is not None and stored.is_revisit and stored.digest}


def _rows(tables: Path, spooled: Sequence[Spooled]) -> Iterator[dict[str, Any]]:
    for batch in scan(tables, "fetches", spooled=spooled, columns=_ANSWER_COLUMNS):
        is_ours = pc.is_in(plain(batch["purpose"]), pa.array(["robots", "sitemap"]))
        ours = batch.filter(is_ours)
        for start in range(0, ours.num_rows, _ROWS_AT_ONCE):
            yield from ours.slice(start, _ROWS_AT_ONCE).to_pylist()


def _keep(answers: dict[str, Asked], key: str, asked: Asked) -> None:
    before = answers.get(key)
    if before is None or (asked.outcome != "not-modified" and (asked.is_good or not before.is_good)):
        answers[key] = asked


def _asked(row: dict[str, Any]) -> Asked:
    """Repeated strings are stored once: there may be a million rows."""
    stored = None if row["warc_file"] is None else _stored(row)
    outcome, reason = intern(row["outcome"]), intern(row["reason"] or "")
    return Asked(row["url"], outcome, row["status"], reason, row["bytes"] or 0, row["target"], stored)


def _stored(row: dict[str, Any]) -> Stored:
    """The location of a body; the digest only if the body is stored with another answer."""
    is_revisit = bool(row["is_revisit"])
    digest = (row["digest"] or "") if is_revisit else ""
    return Stored(intern(row["warc_file"]), row["warc_offset"], row["warc_length"], digest, is_revisit)


def _originals(tables: Path, spooled: Sequence[Spooled], digests: set[str]) -> dict[str, Stored]:
    """The locations of the bodies with these digests."""
    found: dict[str, Stored] = {}
    if not digests:
        return found
    wanted = pa.array(sorted(digests))
    for batch in scan(tables, "fetches", spooled=spooled, columns=_PLACES):
        is_first = pc.and_(pc.is_in(batch["digest"], wanted), pc.invert(pc.fill_null(batch["is_revisit"], True)))
        for row in batch.filter(is_first).to_pylist():
            found.setdefault(row["digest"], _stored(row))
    return found
