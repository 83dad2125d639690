"""Reading a sitemap while it arrives, a little at a time.

The reader of `formats.sitemap` pulls, and a loop that serves many sites cannot wait for one of them. So an `Intake` is
given the bytes as they come, and read from when there is time: each `take` reads a few windows of text at the most, and
not beyond what has arrived. No thread: where nothing has arrived the reader is told so, and comes back with nothing.
Values and their order do not depend on how the bytes were cut, nor on how many were taken at a time.

What is held is what has arrived and was not read yet, which the wire holds as well until the transfer is over, a window
of text, and the values of one window; entries come by columns where they can. A file that lists more, or unpacks to
more, than `INTAKE_LIMITS` ends there, with a `Problem` that says so.

An archive of metadata (Brandman et al. 2000) goes by its name, and is read when all of it is here: it is small.

Not here: what the values mean (`policy.sitemaps`), and how a body is kept.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from itertools import islice

from periplus.formats import metadata_archive
from periplus.formats.metadata_archive import ArchiveEntry
from periplus.formats.sitemap import Child, Entry, Limits, read_columns
from periplus.model import EntryColumns, Granularity, Lastmod, Problem

INTAKE_LIMITS = Limits(size=256 * 1024**2, urls=1_000_000, ratio=200, problems=20)
"""What one file may cost a crawl: five times the bytes and twenty times the URLs that the protocol allows."""

_ENOUGH = 32 * 1024
"""Bytes that are worth reading before all has arrived. Packets one by one would take more than twice the time."""
_WINDOWS = 8
"""How often `take` reads on before it lets others have their turn."""

_PORTION = 500

ARCHIVE = "archive"
"""The kind of an archive of metadata."""

Value = Entry | Child | Problem
Part = Value | EntryColumns
"""A value, or as many entries as the columns have."""


class Intake:
    """One file. `feed` it until it is over, `close` it then, and `take` what was read, at any time."""

    def __init__(self, url: str, limits: Limits = INTAKE_LIMITS) -> None:
        self._chunks: deque[bytes | memoryview] = deque()
        self._is_archive = metadata_archive.read_name(url) is not None
        self._reading = read_columns(self._arriving(), url, limits)
        self._portions = _of_archive(url, self._arriving()) if self._is_archive else self._reading.portions
        self._ready: list[Part] = []
        self._length = 0
        self._is_closed = False
        self._is_starved = True
        self._is_read = False
        self.waiting = 0
        """Bytes that were fed and not read yet."""

    @property
    def kind(self) -> str:
        """What the file turned out to be; empty while nobody can tell."""
        if self._is_archive:
            return ARCHIVE
        return "" if self._reading.kind is None else self._reading.kind.value

    @property
    def lastmod(self) -> Lastmod | None:
        """When a feed says that it was last changed; known at the end."""
        return self._reading.lastmod

    @property
    def is_ready(self) -> bool:
        """Whether `take` may give something before anything else arrives."""
        return bool(self._ready) or not (self._is_read or self._is_starved)

    @property
    def is_over(self) -> bool:
        """Whether all was read and taken."""
        return self._is_read and not self._ready

    def feed(self, chunk: bytes) -> None:
        """Take in what arrived. Behind the end of what is read, it does not matter any more."""
        if chunk and not (self._is_read or self._is_closed):
            self._chunks.append(chunk)
            self.waiting += len(chunk)
            self._is_starved = self.waiting < _ENOUGH

    def settle(self, body: bytes) -> None:
        """All of the file is held elsewhere, too: what waits here are parts of that from now on, and no copies."""
        if self.waiting:
            rest = memoryview(body)[len(body) - self.waiting :]
            self._chunks = deque(rest[start : start + _ENOUGH] for start in range(0, len(rest), _ENOUGH))

    def close(self) -> None:
        """Nothing more will arrive."""
        self._is_closed = True
        self._is_starved = False

    def abort(self) -> None:
        """Nobody wants the rest: it is over."""
        self._ready.clear()
        self._length = 0
        self._end()

    def take(self, limit: int) -> list[Part]:
        """What was read, at most `limit` values; none where more must arrive, or where there was much to read for none.

        `is_ready` tells which.
        """
        windows = 0
        while windows < _WINDOWS and self._length < limit and not (self._is_read or self._is_starved):
            self._read_on()
            windows += 1
        taken, self._ready = _cut(self._ready, limit)
        self._length = max(self._length - limit, 0)
        return taken

    def _read_on(self) -> None:
        portion = next(self._portions, None)
        if portion is None:
            self._end()
        elif portion:
            self._ready.extend(portion)
            self._length += sum(map(_length, portion))

    def _end(self) -> None:
        self._is_read = self._is_closed = True
        self._chunks.clear()
        self.waiting = 0

    def _arriving(self) -> Iterator[bytes]:
        """What the reader pulls: some chunks, or an empty one for "nothing yet"."""
        while self._chunks or not self._is_closed:
            self._is_starved = not self._is_closed and self.waiting < _ENOUGH
            yield b"" if self._is_starved else self._next()

    def _next(self) -> bytes:
        parts: list[bytes | memoryview] = []
        size = 0
        while self._chunks and size < _ENOUGH:
            parts.append(self._chunks.popleft())
            size += len(parts[-1])
        self.waiting -= size
        first = parts[0]
        return first if len(parts) == 1 and isinstance(first, bytes) else b"".join(parts)


def _length(part: Part) -> int:
    return len(part) if isinstance(part, EntryColumns) else 1


def _cut(parts: list[Part], limit: int) -> tuple[list[Part], list[Part]]:
    """The first so many values, and the others."""
    for place, part in enumerate(parts):
        length = _length(part)
        if limit < length:
            if not (limit and isinstance(part, EntryColumns)):
                return parts[:place], parts[place:]
            return [*parts[:place], part[:limit]], [part[limit:], *parts[place + 1 :]]
        limit -= length
    return parts, []


def _of_archive(url: str, arriving: Iterator[bytes]) -> Iterator[list[Part]]:
    """The pages that an archive describes, as if a sitemap had listed them; an empty portion for "nothing yet"."""
    chunks = []
    for chunk in arriving:
        if chunk:
            chunks.append(chunk)
        else:
            yield []
    described = metadata_archive.read(url, chunks)
    while portion := list(islice(described, _PORTION)):
        yield [_entry(each) if isinstance(each, ArchiveEntry) else each for each in portion]


def _entry(described: ArchiveEntry) -> Entry:
    return Entry(f"/{described.path.removeprefix('/')}", Lastmod(described.modified_at, Granularity.SECOND))
