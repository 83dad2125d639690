"""Sitemaps, feeds and archives on disk.

    forest            digest of the key -> site number, place among those due, row
    forest-sites      site number, digest -> nothing
    forest-due        due time, sequence -> key                 a file that is never due has no row here
    forest-memories   digest, number of the piece -> a piece of what was last read from the file

Keys of files are as long as URLs, too long for LMDB: a 128-bit BLAKE2 digest stands for each, for which collisions
cannot be constructed. What was read from a file may be a megabyte, for which LMDB would look for as many free pages in
a row: it is cut into pieces that fill a page each. Nothing is held in memory.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from hashlib import blake2b

from msgspec import Struct

from periplus.model import CollectionDamaged, InvariantError, Site, SitemapFileRow

from .environment import Environment, Table
from .sites import ID_LENGTH, TIME_LENGTH, SiteNames, sortable, time_of

SEQUENCE = b"forest"
PIECE = 4080
"""Bytes of a piece: with LMDB's own header they fill a page of 4096."""

_DIGEST, _NUMBER = 16, 4
_PLACE = TIME_LENGTH + 8
_NEVER = b"\xff" * _PLACE
"""The place of what is not due at any time."""
_HEAD = ID_LENGTH + _PLACE


class _Tables(Struct):
    """The four tables, once there is something to keep in them."""

    rows: Table
    sites: Table
    due: Table
    memories: Table


class Carried(Struct, frozen=True):
    """All data of a file that moves to another state. `key` is set only if the file has a due time."""

    digest: bytes
    time: bytes
    key: bytes
    row: bytes
    pieces: tuple[bytes, ...]


class DiskSitemapStore:
    """`SitemapStore` in four tables, created with the first file."""

    def __init__(self, environment: Environment, names: SiteNames) -> None:
        self._environment = environment
        self._names = names
        self._counters = environment.table("counters")
        self._opened: _Tables | None = None

    @property
    def _tables(self) -> _Tables | None:
        """What is there to be read."""
        if self._opened is None and self._counters.get(SEQUENCE) is not None:
            self._open()
        return self._opened

    def _open(self) -> _Tables:
        table = self._environment.table
        names = ("forest", "forest-sites", "forest-due", "forest-memories")
        self._opened = _Tables(*[table(name) for name in names])
        return self._opened

    def _begin(self) -> _Tables:
        """What is there to be written to."""
        tables = self._tables
        if tables is None:
            self._counters.put(SEQUENCE, bytes(8))
            tables = self._open()
        return tables

    # rows

    def get(self, keys: Sequence[str]) -> list[bytes | None]:
        """The row of each, aligned with `keys`."""
        tables = self._tables
        if tables is None:
            return [None] * len(keys)
        digests = [_digest(key) for key in keys]
        found = tables.rows.get_many(digests)
        return [found[digest][_HEAD:] if digest in found else None for digest in digests]

    def put(self, rows: Sequence[SitemapFileRow]) -> None:
        """Keep these."""
        if not rows:
            return
        times = [sortable(row.due_at) for row in rows]
        tables = self._begin()
        sequence = int.from_bytes(self._counters.get(SEQUENCE) or b"", "big")
        placed: dict[str, tuple[SitemapFileRow, bytes]] = {}  # of a file that is there twice, the last
        for number, (row, time) in enumerate(zip(rows, times, strict=True), sequence + 1):
            placed[row.key] = row, time + number.to_bytes(8, "big") if row.due_at < math.inf else _NEVER
        self._counters.put(SEQUENCE, (sequence + len(rows)).to_bytes(8, "big"))
        self._write(tables, list(placed.values()))

    def _write(self, tables: _Tables, placed: Sequence[tuple[SitemapFileRow, bytes]]) -> None:
        digests = [_digest(row.key) for row, _ in placed]
        before = tables.rows.get_many(digests)
        heads, sites, due = [], [], []
        for (row, place), digest in zip(placed, digests, strict=True):
            number = self._names.number(row.site)
            old = before.get(digest, b"")
            if old[:ID_LENGTH] != number:
                if old:
                    tables.sites.delete(old[:ID_LENGTH] + digest)
                sites.append((number + digest, b""))
            if old:
                tables.due.delete(old[ID_LENGTH:_HEAD])
            heads.append((digest, number + place + row.row))
            if place != _NEVER:
                due.append((place, row.key.encode()))
        for table, items in ((tables.rows, heads), (tables.sites, sites), (tables.due, due)):
            table.put_many(sorted(items))

    def due(self, now: float, limit: int) -> list[str]:
        """The keys of at most `limit` files that are due, the longest due first; they stay due."""
        tables = self._tables
        if tables is None or limit <= 0:
            return []
        end = sortable(now)
        return [key.decode() for place, key in tables.due.page(b"\0", limit) if place[:TIME_LENGTH] <= end]

    def next_due(self) -> float | None:
        """The earliest due time; `None`: no file is due."""
        tables = self._tables
        first = None if tables is None else tables.due.at_or_after(b"\0")
        return None if first is None else time_of(first[0])

    def of_site(self, site: Site) -> Iterator[bytes]:
        """The rows of the sitemap files on a site."""
        tables, number = self._tables, self._names.find(site)
        if tables is None or number is None:
            return
        for place, _ in tables.sites.walk(number):
            row = tables.rows.get(place[ID_LENGTH:])
            if row is None:
                raise _damaged("a site has a file that is not there")
            yield row[_HEAD:]

    def __iter__(self) -> Iterator[bytes]:
        tables = self._tables
        if tables is not None:
            for _, row in tables.rows.walk():
                yield row[_HEAD:]

    def __len__(self) -> int:
        tables = self._tables
        return 0 if tables is None else len(tables.rows)

    # memories

    def memory(self, key: str) -> bytes:
        """The entries of a file at its last reading; empty if they are not kept."""
        tables = self._tables
        if tables is None:
            return b""
        return b"".join([piece for _, piece in tables.memories.walk(_digest(key))])

    def remember(self, key: str, memory: bytes) -> None:
        """Store the entries of a file; an empty value removes them."""
        tables = self._tables if not memory else self._begin()
        if tables is None:
            return
        digest = _digest(key)
        starts = range(0, len(memory), PIECE)
        if starts:
            pieces = [memory[start : start + PIECE] for start in starts]
            tables.memories.put_many([(_piece(digest, number), piece) for number, piece in enumerate(pieces)])
        number = len(starts)
        while tables.memories.delete(_piece(digest, number)):  # of a longer one, before
            number += 1

    # whole sites

    def carried(self, site: Site) -> Iterator[Carried]:
        """All data of each file of a site."""
        tables, number = self._tables, self._names.find(site)
        if tables is None or number is None:
            return
        for where, _ in tables.sites.walk(number):
            digest = where[ID_LENGTH:]
            row = tables.rows.get(digest)
            if row is None:
                raise _damaged("a site has a file that is not there")
            place = row[ID_LENGTH:_HEAD]
            key = b"" if place == _NEVER else tables.due.get(place) or b""
            pieces = tuple([piece for _, piece in tables.memories.walk(digest)])
            yield Carried(digest, place[:TIME_LENGTH], key, row[_HEAD:], pieces)

    def take_in(self, site: Site, file: Carried) -> None:
        """Store a file that comes from another state."""
        tables, number = self._begin(), self._names.number(site)
        self._remove(tables, file.digest)
        place = _NEVER
        if file.key:
            sequence = int.from_bytes(self._counters.get(SEQUENCE) or b"", "big") + 1
            self._counters.put(SEQUENCE, sequence.to_bytes(8, "big"))
            place = file.time + sequence.to_bytes(8, "big")
            tables.due.put(place, file.key)
        tables.rows.put(file.digest, number + place + file.row)
        tables.sites.put(number + file.digest, b"")
        for count, piece in enumerate(file.pieces):
            tables.memories.put(_piece(file.digest, count), piece)

    def forget(self, site: Site) -> int:
        """Keep nothing of a site any more; how many files it had."""
        tables, number = self._tables, self._names.find(site)
        if tables is None or number is None:
            return 0
        digests = [where[ID_LENGTH:] for where, _ in tables.sites.walk(number)]
        for digest in digests:
            self._remove(tables, digest)
        return len(digests)

    def _remove(self, tables: _Tables, digest: bytes) -> None:
        row = tables.rows.get(digest)
        if row is not None:
            tables.due.delete(row[ID_LENGTH:_HEAD])
            tables.sites.delete(row[:ID_LENGTH] + digest)
            tables.rows.delete(digest)
        for piece, _ in tables.memories.walk(digest):
            tables.memories.delete(piece)

    def check_invariants(self) -> None:
        """Every file is at its site and in its place, and nothing else is."""
        tables = self._tables
        if tables is None:
            return
        count = due = 0
        for digest, row in tables.rows.walk():
            count += 1
            place = row[ID_LENGTH:_HEAD]
            if tables.sites.get(row[:ID_LENGTH] + digest) is None:
                raise InvariantError(f"the file {digest.hex()} is not at its site")
            if place != _NEVER:
                due += 1
                if _digest((tables.due.get(place) or b"").decode()) != digest:
                    raise InvariantError(f"the file {digest.hex()} is not in its place")
        if (len(tables.sites), len(tables.due)) != (count, due):
            raise InvariantError(
                f"of {count} files, {due} due: {len(tables.sites)} at sites, {len(tables.due)} waiting"
            )


def _digest(key: str) -> bytes:
    return blake2b(key.encode(), digest_size=_DIGEST).digest()


def _piece(digest: bytes, number: int) -> bytes:
    return digest + number.to_bytes(_NUMBER, "big")


def _damaged(what: str) -> CollectionDamaged:
    return CollectionDamaged(f"the sitemap files in the state cannot be read: {what}", hint="restore it from a copy")
