"""Reading a sitemap a little at a time.

The reader of `formats.sitemap` pulls, and a loop that serves many sites cannot wait for one file with a million URLs.
So `IncrementalSitemapParser` reads a few windows of text at each `take`. Values and their order do not depend on how
many were taken at a time.

A file that lists more, or unpacks to more, than `PARSER_LIMITS` ends there, with a `Problem` that says so. An archive
of metadata (Brandman et al. 2000) goes by its name.

Not here: what the values mean (`policy.sitemaps`).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from periplus.formats import metadata_archive
from periplus.formats.metadata_archive import ArchiveEntry
from periplus.formats.sitemap import Child, Entry, Limits, read_columns
from periplus.model import EntryColumns, Granularity, Lastmod, Problem

PARSER_LIMITS = Limits(size=256 * 1024**2, urls=1_000_000, ratio=200, problems=20)
"""What one file may cost a crawl: five times the bytes and twenty times the URLs that the protocol allows."""

_CHUNK = 32 * 1024
"""Bytes given to the reader at a time."""
_WINDOWS = 8
"""Windows of text that one `take` reads at most before others have their turn."""
_PORTION = 500
"""Entries of an archive that are handed on together."""

ARCHIVE = "archive"
"""The kind of an archive of metadata."""

Value = Entry | Child | Problem
Part = Value | EntryColumns
"""A value, or as many entries as the columns have."""


class IncrementalSitemapParser:
    """One file, all of which has arrived: `take` values until it `is_over`."""

    def __init__(self, url: str, body: bytes, limits: Limits = PARSER_LIMITS) -> None:
        self._is_archive = metadata_archive.read_name(url) is not None
        self._reading = read_columns(_chunks(body), url, limits)
        self._portions = _of_archive(url, body) if self._is_archive else self._reading.portions
        self._ready: list[Part] = []
        self._length = 0
        self._is_read = False

    @property
    def kind(self) -> str:
        """The detected kind of file; empty while that is not known."""
        if self._is_archive:
            return ARCHIVE
        return "" if self._reading.kind is None else self._reading.kind.value

    @property
    def lastmod(self) -> Lastmod | None:
        """The time of the last change by a feed's own date; known at the end."""
        return self._reading.lastmod

    @property
    def is_over(self) -> bool:
        """Whether all was read and taken."""
        return self._is_read and not self._ready

    def take(self, limit: int) -> list[Part]:
        """The next values, at most `limit`; fewer, or none, if there was much text to read for them."""
        windows = 0
        while windows < _WINDOWS and self._length < limit and not self._is_read:
            portion = next(self._portions, None)
            if portion is None:
                self._is_read = True
            else:
                self._ready.extend(portion)
                self._length += sum(map(_length, portion))
            windows += 1
        taken, self._ready = _cut(self._ready, limit)
        self._length = max(self._length - limit, 0)
        return taken


def _chunks(body: bytes) -> Iterator[bytes]:
    view = memoryview(body)
    return (bytes(view[start : start + _CHUNK]) for start in range(0, len(view), _CHUNK))


def _length(part: Part) -> int:
    return len(part) if isinstance(part, EntryColumns) else 1


def _cut(parts: list[Part], limit: int) -> tuple[list[Part], list[Part]]:
    """The first `limit` values, and the others."""
    for place, part in enumerate(parts):
        length = _length(part)
        if limit < length:
            if not (limit and isinstance(part, EntryColumns)):
                return parts[:place], parts[place:]
            return [*parts[:place], part[:limit]], [part[limit:], *parts[place + 1 :]]
        limit -= length
    return parts, []


def _of_archive(url: str, body: bytes) -> Iterator[list[Part]]:
    """The pages that an archive describes, as if a sitemap had listed them."""
    described = metadata_archive.read(url, [body])
    while portion := list(islice(described, _PORTION)):
        yield [_entry(each) if isinstance(each, ArchiveEntry) else each for each in portion]


def _entry(described: ArchiveEntry) -> Entry:
    return Entry(f"/{described.path.removeprefix('/')}", Lastmod(described.modified_at, Granularity.SECOND))
