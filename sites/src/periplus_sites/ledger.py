"""What is known of each resource of a site, in one SQLite file.

Web applications fork and run several workers: any number of processes may read, one writes at a time, and any tool
reads the file. A scan gathers what it found in temporary tables, which block no reader, and applies all of it in one
transaction. So a kill at any moment leaves the ledger as it was before the scan or as it is after.
"""

# ruff: noqa: S608 - SQL is put together from our own words here
from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import msgspec
import zstandard
from msgspec import Struct

from periplus.model import CollectionDamaged, PeriplusError
from periplus_sites.publish.dating import Content

FORMAT: Final = 5
"""The number of the tables' form; a later form is refused. In form 2 visits were counted without verdicts,
in forms 3 and 4
pages had no profiles: the next scan reads every page again."""
PATIENCE: Final = 30.0
"""Seconds that a writer waits for another one: far longer than any transaction but the end of a large scan takes."""
FIRST_SCAN: Final = "first_scan"
"""The name of the note with the number of the last event of the first scan."""
VERSIONS_KEPT: Final = 2
"""Versions of a page that are kept as dictionaries: the one that is sent now, and the one that readers have."""
EVENTS_KEPT: Final = 100_000
"""Events beyond which the oldest are removed: many times what a feed or a change list shows."""

_TABLES = """
create table if not exists resources(
    id integer primary key, url text not null unique, section text not null, mime text not null, size integer not null,
    stamp integer not null, digest text not null, content blob, title text not null, details blob,
    hidden text not null, source_date real, lastmod real, first_seen real not null,
    confirmed real not null, minor real not null, gone real);
create index if not exists by_date on resources(coalesce(lastmod, first_seen)) where gone is null and hidden = '';
create table if not exists events(id integer primary key, url text not null, title text not null, kind text not null,
    at real not null, lastmod real);
create table if not exists files(
    id integer primary key, name text not null unique, kind text not null, day integer not null,
    entries integer not null, lastmod real, digest text not null, is_sealed integer not null, dropped_at real);
create table if not exists listed(file integer not null, resource integer not null, primary key(file, resource))
    without rowid;
create index if not exists listings on listed(resource);
create table if not exists ways(way integer primary key, pages integer not null, since integer not null,
    differed integer not null);
create table if not exists segments(id integer primary key, from_at real not null, to_at real);
create table if not exists outbox(
    id integer primary key, url text not null, kind text not null, target text not null, at real not null,
    attempts integer not null default 0, next_at real not null, answer text not null default '', done_at real);
create index if not exists waiting on outbox(next_at) where done_at is null;
create index if not exists messages on outbox(target, url);
create table if not exists visits(minute integer not null, agent text not null, path text not null,
    status integer not null, verified integer not null, hits integer not null, bytes integer not null,
    needless integer not null, primary key(minute, agent, path, status, verified)) without rowid;
create index if not exists visited on visits(agent, path, minute);
create table if not exists versions(
    id integer primary key, digest blob not null unique, url text not null, body blob not null);
create index if not exists versions_of on versions(url);
create table if not exists notes(name text primary key, value blob not null) without rowid;
"""


class LedgerDamaged(CollectionDamaged):
    """The ledger cannot be read."""


class LedgerBusy(PeriplusError):  # noqa: N818 - reads as what is the case
    """Another process writes the ledger."""


class Details(Struct, frozen=True, omit_defaults=True):
    """What else a sitemap can state about a resource."""

    images: tuple[str, ...] = ()
    alternates: tuple[tuple[str, str], ...] = ()
    """Pairs of language and URL."""
    priority: float | None = None
    description: str = ""


class Row(Struct, frozen=True):
    """A resource as the ledger knows it. Dates are POSIX times; `hidden` is why it is not published, if it is not."""

    id: int
    url: str
    mime: str
    size: int
    stamp: int
    digest: str
    content: Content | None
    title: str
    details: Details
    hidden: str
    source_date: float | None
    lastmod: float | None
    first_seen: float
    confirmed: float
    minor: float
    gone: float | None


_COLUMNS = (
    "id, url, mime, size, stamp, digest, content, title, details, hidden, source_date, lastmod, first_seen, confirmed, "
    "minor, gone"
)
decode_content = msgspec.msgpack.Decoder(Content).decode
_decode_details = msgspec.msgpack.Decoder(Details).decode
_encode = msgspec.msgpack.encode
_NO_DETAILS = Details()


class Ledger:
    """The ledger of one published site."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._turn = threading.RLock()
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            self.db = sqlite3.connect(path, timeout=PATIENCE, isolation_level=None, check_same_thread=False)
            self.db.execute("pragma journal_mode=wal")
            self.db.execute("pragma synchronous=full")
            self.db.execute("pragma temp_store=file")
            version = self.db.execute("pragma user_version").fetchone()[0]
            if version > FORMAT:
                raise LedgerDamaged(f"{path} has form {version}; this version of Periplus reads form {FORMAT}")
            if version < FORMAT:
                old = "drop table if exists visits;" if version == 2 else ""
                new = "update resources set stamp = 0;" if version else ""
                self.db.executescript(f"begin immediate;{old}{_TABLES}{new}pragma user_version={FORMAT};commit;")
        except sqlite3.OperationalError as error:
            raise LedgerBusy(f"{path} cannot be opened: {error}") from error
        except sqlite3.DatabaseError as error:
            hint = f"move {path} away: the next scan begins again, and dates are then those of the source"
            raise LedgerDamaged(f"{path} is not a ledger: {error}", hint=hint) from error

    def has_table(self, name: str) -> bool:
        """Whether a table is there that is only made when something is kept in it."""
        return bool(self.db.execute("select 1 from sqlite_master where name = ?", (name,)).fetchone())

    def close(self) -> None:
        """Close the file."""
        self.db.close()

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """A transaction: all of it is kept, or nothing. Threads take turns."""
        with self._turn:
            try:
                self.db.execute("begin immediate")
            except sqlite3.OperationalError as error:
                raise LedgerBusy(
                    f"another process is writing {self.path}", hint="try again when it has finished"
                ) from error
            try:
                yield self.db
            except BaseException:
                self.db.execute("rollback")
                raise
            self.db.execute("commit")

    def row(self, url: str) -> Row | None:
        """What is known of a resource."""
        found = self.db.execute(f"select {_COLUMNS} from resources where url = ?", (url,)).fetchone()
        return None if found is None else _row(found)

    def rows(self, urls: Sequence[str]) -> dict[str, Row]:
        """What is known of several resources, by URL."""
        marks = ",".join("?" * len(urls))
        found = self.db.execute(f"select {_COLUMNS} from resources where url in ({marks})", tuple(urls))
        return {one[1]: _row(one) for one in found}

    def published_pages(self, limit: int) -> list[Row]:
        """What is known of published resources, those with the shortest addresses first."""
        where = "gone is null and hidden = '' order by length(url), url limit ?"
        return [_row(found) for found in self.db.execute(f"select {_COLUMNS} from resources where {where}", (limit,))]

    def stamps(self, urls: Sequence[str]) -> dict[str, tuple[int, int, int, str, float | None]]:
        """What shows whether resources must be read again: their id, size, stamp, digest and date."""
        marks = ",".join("?" * len(urls))
        sql = f"select url, id, size, stamp, digest, source_date from resources where gone is null and url in ({marks})"
        return {
            url: (number, size, stamp, digest, date)
            for url, number, size, stamp, digest, date in self.db.execute(sql, tuple(urls))
        }

    def count(self, where: str = "gone is null and hidden = ''") -> int:
        """How many resources there are, by default those that are published."""
        return int(self.db.execute(f"select count(*) from resources where {where}").fetchone()[0])

    def note(self, name: str) -> Any:
        """A single value kept under a name; `None` if there is none."""
        found = self.db.execute("select value from notes where name = ?", (name,)).fetchone()
        return None if found is None else msgspec.msgpack.decode(found[0])

    def keep_note(self, name: str, value: object) -> None:
        """Keep a single value under a name."""
        self.db.execute("insert or replace into notes values(?, ?)", (name, _encode(value)))


def keep_version(ledger: Ledger, url: str, digest: bytes, body: bytes) -> None:
    """Keep a page as it was sent, by its SHA-256, and of the older versions only the last."""
    with ledger.writing() as db:
        db.execute(
            "insert or replace into versions(digest, url, body) values(?,?,?)", (digest, url, zstandard.compress(body))
        )
        db.execute(
            "delete from versions where url = ? and id not in"
            " (select id from versions where url = ? order by id desc limit ?)",
            (url, url, VERSIONS_KEPT),
        )


def version_of(ledger: Ledger, url: str, digest: bytes) -> bytes | None:
    """A page as it was sent; `None` if this version is not kept."""
    sql = "select body from versions where digest = ? and url = ?"
    found = ledger.db.execute(sql, (digest, url)).fetchone()
    return None if found is None else zstandard.decompress(found[0])


def packed(value: Content | Details | None) -> bytes | None:
    """A value as the ledger keeps it."""
    return None if value is None or value == _NO_DETAILS else _encode(value)


def _row(found: tuple[Any, ...]) -> Row:
    values = list(found)
    values[6] = None if found[6] is None else decode_content(found[6])
    values[8] = _NO_DETAILS if found[8] is None else _decode_details(found[8])
    return Row(*values)
