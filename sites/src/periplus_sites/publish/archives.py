"""Writes the metadata archives (date, path and size of every resource) and ResourceSync documents of a published site.

Archives are divided into segments by date, as in Brandman et al. 2000, section 3.3; but a segment is a span of time
that stays the same from day to day. A page that changes moves from its segment to the newest one, and only the files of
these two are written again.

ResourceSync documents list what exists, and what was created, updated and deleted. Entries have sizes and types, but no
hash: the digests of the ledger are not of a kind that ResourceSync defines (MD5, SHA-256).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from msgspec import Struct

from periplus.formats import resourcesync
from periplus.formats.metadata_archive import SEGMENT, ArchiveEntry, write_segment
from periplus.formats.resourcesync import WELL_KNOWN, ListedResource, ResourceChange
from periplus_sites.ledger import Ledger

from .files import digest_of, write_file

# ruff: noqa: S608 - SQL is put together from our own words here


LIST: Final = "archives.txt"
"""The file that lists all archives, a name a line."""
FEWEST: Final = 500
"""Entries of two neighbouring segments below which they become one."""
MOST_LINES: Final = 20
"""Archives that robots.txt names one by one; it names the list if there are more."""
_DATE = "cast(coalesce(lastmod, first_seen) as integer)"
_PUBLISHED = "gone is null and hidden = ''"


class Segment(Struct, frozen=True):
    """A span of seconds, both ends within."""

    from_at: int
    to_at: int


def cut(dates: list[tuple[int, int]], boundaries: list[int]) -> list[Segment]:
    """Cut dated entries into segments, given (second, entries) in order and the previous boundaries.

    A boundary is the first second of a segment. Old boundaries are kept, except that neighbours with fewer than
    `FEWEST` entries together become one; the newest segment is cut where it reaches `SEGMENT`.
    """
    counts: list[list[int]] = []  # first second, last second, entries
    starts = iter([*boundaries[1:], None])
    border = next(starts)
    for second, entries in dates:
        is_new = not counts
        while border is not None and second >= border:
            is_new, border = True, next(starts)
        if is_new or (border is None and counts[-1][2] + entries > SEGMENT):
            counts.append([second, second, 0])
        counts[-1][1] = second
        counts[-1][2] += entries
    merged: list[list[int]] = []
    for segment in counts:
        if merged and merged[-1][2] + segment[2] < FEWEST:
            merged[-1][1] = segment[1]
            merged[-1][2] += segment[2]
        else:
            merged.append(segment)
    return [Segment(first, last) for first, last, _ in merged]


class ArchiveFiles:
    """Writes the archives of one site into a folder."""

    def __init__(self, ledger: Ledger, folder: Path) -> None:
        self._ledger = ledger
        self._folder = folder

    def update(self) -> list[str]:
        """Bring the files up to date with the ledger; returns their names, newest first."""
        db = self._ledger.db
        dates = db.execute(
            f"select {_DATE}, count(*) from resources where {_PUBLISHED} group by 1 order by 1"
        ).fetchall()
        kept = [int(start) for (start,) in db.execute("select from_at from segments order by from_at")]
        segments = cut(dates, kept)
        names: dict[str, str] = {}
        known = dict(db.execute("select name, digest from files where kind = 'archive'"))
        for segment in segments:
            names.update(self._write(segment, known))
        self._note(segments, names)
        self._list(list(names)[::-1], known)
        return list(names)[::-1]

    def _write(self, segment: Segment, known: dict[str, str]) -> Iterator[tuple[str, str]]:
        rows = self._ledger.db.execute(
            f"select url, {_DATE}, size, mime from resources where {_PUBLISHED} and"
            " coalesce(lastmod, first_seen) >= ? and coalesce(lastmod, first_seen) < ?",
            (segment.from_at, segment.to_at + 1),
        )
        entries = [ArchiveEntry(_path(url), at, size, mime) for url, at, size, mime in rows]
        for archive in write_segment(entries, segment.from_at, segment.to_at):
            digest = digest_of(archive.body)
            if known.get(archive.name) != digest or not (self._folder / archive.name).exists():
                write_file(self._folder / archive.name, archive.body)
            yield archive.name, digest

    def _list(self, names: list[str], known: dict[str, str]) -> None:
        body = "".join(f"{name}\n" for name in names).encode()
        path = self._folder / LIST
        if not path.exists() or path.read_bytes() != body:
            write_file(path, body)
        for name in known.keys() - set(names):
            (self._folder / name).unlink(missing_ok=True)

    def _note(self, segments: list[Segment], names: dict[str, str]) -> None:
        with self._ledger.writing() as db:
            db.execute("delete from segments")
            db.executemany(
                "insert into segments(from_at, to_at) values(?, ?)", [(one.from_at, one.to_at) for one in segments]
            )
            db.execute("delete from files where kind = 'archive'")
            db.executemany(
                "insert into files(name, kind, day, entries, digest, is_sealed) values(?, 'archive', 0, 0, ?, 0)",
                names.items(),
            )


def robots_lines(names: list[str], folder_url: str) -> list[str]:
    """What robots.txt says of the archives."""
    if len(names) > MOST_LINES:
        return [f"Metadata-archive: {folder_url}{LIST}"]
    return [f"Metadata-archive: {folder_url}{name}" for name in names]


def _path(url: str) -> str:
    parts = urlsplit(url)
    return (parts.path or "/") + (f"?{parts.query}" if parts.query else "")


RESYNC_FOLDER: Final = "resync"
CAPABILITIES: Final = f"{RESYNC_FOLDER}/capabilitylist.xml"
RESOURCES: Final = f"{RESYNC_FOLDER}/resourcelist.xml"
CHANGES: Final = f"{RESYNC_FOLDER}/changelist.xml"
PER_LIST: Final = 50_000
"""Resources of one list, and changes of the change list: what a sitemap may hold."""
_KINDS: Final = {"new": "created", "changed": "updated", "removed": "deleted"}


class ResyncFiles:
    """Writes the documents of one site into a folder."""

    def __init__(self, ledger: Ledger, folder: Path, base_url: str) -> None:
        self._db = ledger.db
        self._folder = folder
        self._base = base_url

    def update(self) -> list[str]:
        """Bring the files up to date with the ledger; returns their names."""
        names = []
        for name, body in self._documents():
            path = self._folder / name
            if not path.exists() or path.read_bytes() != body:
                write_file(path, body)
            names.append(name)
        for path in (self._folder / RESYNC_FOLDER).glob("resourcelist-*.xml"):
            if f"{RESYNC_FOLDER}/{path.name}" not in names:
                path.unlink(missing_ok=True)
        return names

    def _documents(self) -> Iterator[tuple[str, bytes]]:
        """Every document, those that others name first."""
        capabilities = self._base + CAPABILITIES
        first, last = self._db.execute("select min(at), max(at) from events").fetchone()
        at = last or 0.0  # the time of the last event: the same bytes until something happens
        yield from self._resource_lists(at, capabilities)
        yield CHANGES, resourcesync.write_changes(self._changes(), first or 0.0, at, capabilities)
        lists = (("resourcelist", self._base + RESOURCES), ("changelist", self._base + CHANGES))
        yield CAPABILITIES, resourcesync.write_capabilities(self._base + WELL_KNOWN, lists)
        yield WELL_KNOWN, resourcesync.write_description(capabilities)

    def _resource_lists(self, at: float, capabilities: str) -> Iterator[tuple[str, bytes]]:
        rows = self._db.execute(f"select url, lastmod, size, mime from resources where {_PUBLISHED} order by id")
        names: list[str] = []
        while batch := [ListedResource(*row) for row in rows.fetchmany(PER_LIST)]:
            body = resourcesync.write_resources(batch, at, capabilities)
            if not names and len(batch) < PER_LIST:
                yield RESOURCES, body
                return
            names.append(f"{RESYNC_FOLDER}/resourcelist-{len(names) + 1}.xml")
            yield names[-1], body
        lists = [self._base + name for name in names]
        yield RESOURCES, resourcesync.write_resource_index(lists, at, capabilities)

    def _changes(self) -> Iterator[ResourceChange]:
        rows = self._db.execute(
            "select url, kind, at, lastmod from (select * from events order by id desc limit ?) order by id",
            (PER_LIST,),
        )
        for url, kind, at, lastmod in rows:
            yield ResourceChange(url, _KINDS[kind], at, None if kind == "removed" else lastmod)
