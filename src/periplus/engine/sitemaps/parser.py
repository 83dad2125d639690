"""Reading a sitemap a little at a time.

The reader of `formats.sitemap` pulls, and a loop that serves many sites cannot wait for one file with a million URLs.
So `IncrementalSitemapParser` reads a few windows of text at each `take`. Values and their order do not depend on how
many were taken at a time.

A file that lists more, or unpacks to more, than `PARSER_LIMITS` ends there, with a `Problem` that says so. An archive
of metadata (Brandman et al. 2000) is recognised by its name, and a list of archives by the names in it.

Of archives only entries of the wanted types are taken. In a crawl for files (`media`) a sitemap gives the images and
videos that its entries name, and entries that are such files themselves.

Not here: what the values mean (`engine.sitemaps`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final

import numpy as np

from periplus.formats import llms_txt, metadata_archive
from periplus.formats.metadata_archive import ArchiveEntry, ListedArchive
from periplus.formats.sitemap import Child, Entry, Limits, Video, read, read_columns
from periplus.model import EntryColumns, Granularity, Lastmod, Problem
from periplus.policy.filters import MediaTypes

PARSER_LIMITS = Limits(size=256 * 1024**2, urls=1_000_000, ratio=200, problems=20)
"""What one file may cost a crawl: five times the bytes and twenty times the URLs that the protocol allows."""

_CHUNK = 32 * 1024
"""Bytes given to the reader at a time."""
_WINDOWS, _TEXT = 8, 256 * 1024
"""Windows and characters of text that one `take` reads before others have their turn."""
_LONGEST_NAME = 16_384
"""Bytes at the beginning of a file in which the name of an archive is looked for: a line of a list."""
_PORTION = 500
"""Entries of an archive that are handed on together."""

ARCHIVE = "archive"
"""The kind of an archive of metadata."""
ARCHIVE_LIST = "archive-list"
"""The kind of a file that lists archives."""
GUIDE = "llms"
"""The kind of a guide for language models."""

Value = Entry | Child | Problem
Part = Value | EntryColumns
"""A value, or as many entries as the columns have."""


class IncrementalSitemapParser:
    """One file, all of which has arrived: `take` values until it `is_over`."""

    def __init__(self, url: str, body: bytes, limits: Limits = PARSER_LIMITS, media: MediaTypes | None = None) -> None:
        media = media or MediaTypes()
        self._kind = _special_kind(url, body)
        self._reading = (read if media else read_columns)(_chunks(body), url, limits)
        self._portions: Iterator[Sequence[Part]] = self._reading.portions
        if self._kind:
            self._portions = _SPECIAL[self._kind](url, body, media)
        elif media:
            self._portions = _of_media(self._reading.portions, media)
        self._ready: list[Part] = []
        self._length = 0
        self._is_read = False

    @property
    def kind(self) -> str:
        """The detected kind of file; empty while that is not known."""
        if self._kind:
            return self._kind
        return "" if self._reading.kind is None else self._reading.kind.value

    @property
    def lastmod(self) -> Lastmod | None:
        """The time of the last change by a feed's own date; known at the end."""
        return self._reading.lastmod

    @property
    def gone(self) -> list[Entry]:
        """The pages that a feed reports as deleted, with the time of that; known at the end."""
        return self._reading.gone

    @property
    def length(self) -> int:
        """Characters of text that were read."""
        return self._reading.length

    @property
    def is_over(self) -> bool:
        """Whether all was read and taken."""
        return self._is_read and not self._ready

    def take(self, limit: int) -> list[Part]:
        """The next values, at most `limit`; fewer, or none, if there was much text to read for them."""
        windows, end = 0, self.length + _TEXT
        while windows < _WINDOWS and self.length < end and self._length < limit and not self._is_read:
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


def _of_archive(url: str, body: bytes, media: MediaTypes) -> Iterator[list[Part]]:
    """The entries of an archive with the wanted types, as if a sitemap had listed them."""
    described = metadata_archive.read(url, [body])
    while portion := list(islice(described, _PORTION)):
        parts: list[Part] = [each for each in portion if isinstance(each, Problem)]
        entries = [
            each for each in portion if isinstance(each, ArchiveEntry) and media.wants_entry(each.path, each.mime)
        ]
        yield [*parts, _columns(entries)] if entries else parts


def _columns(entries: Sequence[ArchiveEntry]) -> EntryColumns:
    count = len(entries)
    return EntryColumns(
        [f"/{entry.path.removeprefix('/')}" for entry in entries],
        np.array([entry.modified_at for entry in entries], np.float64),
        np.full(count, Granularity.SECOND, np.uint8),
        np.zeros(count, np.uint8),
        np.full(count, np.nan),
        np.array([entry.size for entry in entries], np.float64),
    )


def _is_list(body: bytes) -> bool:
    """Whether a file begins with the name of an archive."""
    first = body[:_LONGEST_NAME].lstrip(b"\xef\xbb\xbf \t\r\n").partition(b"\n")[0].strip()
    return first.endswith(b".gz") and metadata_archive.read_name(first.decode("utf-8", "replace")) is not None


def _of_list(url: str, body: bytes, media: MediaTypes) -> Iterator[list[Part]]:
    """The archives that a list names and that may describe something of the wanted types."""
    listed = metadata_archive.read_list(body, url)
    while portion := list(islice(listed, _PORTION)):
        parts: list[Part] = [each for each in portion if isinstance(each, Problem)]
        names = [each.url for each in portion if isinstance(each, ListedArchive)]
        yield [*parts, *map(Child, metadata_archive.needed(names, -math.inf, media.listed))]


def _of_guide(url: str, body: bytes, _media: MediaTypes) -> Iterator[list[Part]]:
    """The pages that a guide links to, with their names."""
    guide = llms_txt.read(body, url)
    yield list(guide.problems)
    for start in range(0, len(guide.links), _PORTION):
        yield [Entry(link.url, title=link.name or None) for link in guide.links[start : start + _PORTION]]


_SPECIAL: Final = {ARCHIVE: _of_archive, ARCHIVE_LIST: _of_list, GUIDE: _of_guide}
"""The readers of files that are not sitemaps or feeds, by kind."""


def _special_kind(url: str, body: bytes) -> str:
    if metadata_archive.read_name(url):
        return ARCHIVE
    if url.endswith("/llms.txt") and llms_txt.looks_like_guide(body):
        return GUIDE
    return ARCHIVE_LIST if _is_list(body) else ""


def _of_media(portions: Iterator[Sequence[Part]], media: MediaTypes) -> Iterator[list[Part]]:
    """The files that a sitemap lists: its images and videos, and entries that are such files."""
    for portion in portions:
        yield [part for each in portion for part in (_files_of(each, media) if isinstance(each, Entry) else (each,))]


def _files_of(entry: Entry, media: MediaTypes) -> Iterator[Entry]:
    if media.wants_url(entry.url):
        yield Entry(entry.url, entry.lastmod, entry.changefreq, entry.priority, entry.title)
    declared = [(image.loc, "image/*") for image in entry.images]
    declared += [(url, kind) for video in entry.videos for url, kind in _of_video(video)]
    for url, kind in declared:
        if media.wants_url(url, kind):
            yield Entry(url)


def _of_video(video: Video) -> list[tuple[str, str]]:
    named = ((video.content_loc, "video/*"), (video.thumbnail_loc, "image/*"))
    return [(url, kind) for url, kind in named if url]
