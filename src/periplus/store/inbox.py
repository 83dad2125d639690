"""The inbox of a collection: URLs that sites pushed, until the crawl has them in its own log.

A receiver (`periplus serve`) appends, a crawl peeks and removes. `append` returns when the URLs are on the disk; the
crawl removes them after it has committed them. So a process that is killed on either side loses nothing; at worst
the crawl gets a URL twice, which is the same signal twice. The two need not run at the same time.

IndexNow messages whose key is not checked yet are held here, too: `hold` keeps one, `release` moves its URLs to those
that wait for the crawl, and `drop` removes them.

SQLite, because two processes use the file at once: a write-ahead log that is synced at each commit. The number of URLs
is bounded: `append` and `hold` return `False` when there is no room.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import Final

import msgspec
from msgspec import Struct

from periplus.model import CollectionDamaged, CollectionError, Discovery

MAX_WAITING: Final = 100_000
"""URLs that wait at most, in messages with and without a checked key: some 20 MB, ten full IndexNow messages."""

_BUSY_SECONDS: Final = 10.0
"""How long to wait for the other process, which holds the file for milliseconds."""
_SCHEMA: Final = """
create table if not exists waiting (id integer primary key autoincrement, discovery blob not null);
create table if not exists held (id integer primary key autoincrement, claim blob not null, size integer not null,
    discoveries blob not null);
"""

_encode = msgspec.json.Encoder().encode
_discovery = msgspec.json.Decoder(Discovery)
_discoveries = msgspec.json.Decoder(tuple[Discovery, ...])


class KeyClaim(Struct, frozen=True, array_like=True):
    """A key sent with a message: the host that it is valid for, and the URL of the file that proves it."""

    host: str
    key: str
    location: str


_claim = msgspec.json.Decoder(KeyClaim)


class Pushed(Struct, frozen=True):
    """URLs from the inbox, and the number of the last of them."""

    through: int
    discoveries: tuple[Discovery, ...]


class MessageInbox:
    """The inbox at `path`, for any number of threads and processes. It is created by the first message."""

    def __init__(self, path: Path, max_waiting: int = MAX_WAITING) -> None:
        self._path = path
        self._max_waiting = max_waiting
        self._lock = Lock()
        self._database: sqlite3.Connection | None = None

    # the receiver

    def append(self, discoveries: Sequence[Discovery]) -> bool:
        """Keep URLs for the crawl; they are on the disk when this returns. `False`: there is no room."""
        with self._transaction() as database:
            if _size(database) + len(discoveries) > self._max_waiting:
                return False
            _insert(database, discoveries)
        return True

    def hold(self, claim: KeyClaim, discoveries: Sequence[Discovery]) -> bool:
        """Keep URLs until their claim is checked; they are on the disk when this returns. `False`: no room."""
        with self._transaction() as database:
            if _size(database) + len(discoveries) > self._max_waiting:
                return False
            row = (_encode(claim), len(discoveries), _encode(list(discoveries)))
            database.execute("insert into held (claim, size, discoveries) values (?, ?, ?)", row)
        return True

    def claims(self) -> list[KeyClaim]:
        """The claims that are not checked yet, oldest first."""
        if not self._exists:
            return []
        with self._transaction() as database:
            rows = database.execute("select claim from held group by claim order by min(id)").fetchall()
        return [_claim.decode(row[0]) for row in rows]

    def release(self, claim: KeyClaim) -> int:
        """A claim is proved: its URLs wait for the crawl now. Returns their number."""
        with self._transaction() as database:
            rows = database.execute("select discoveries from held where claim = ? order by id", (_encode(claim),))
            found = [each for (blob,) in rows.fetchall() for each in _discoveries.decode(blob)]
            _insert(database, found)
            database.execute("delete from held where claim = ?", (_encode(claim),))
        return len(found)

    def drop(self, claim: KeyClaim) -> int:
        """A claim is false: its URLs are removed. Returns their number."""
        with self._transaction() as database:
            [[size]] = database.execute("select coalesce(sum(size), 0) from held where claim = ?", (_encode(claim),))
            database.execute("delete from held where claim = ?", (_encode(claim),))
        return int(size)

    # the crawl

    def peek(self, limit: int) -> Pushed | None:
        """The oldest URLs that wait for the crawl, at most `limit`; `None` if there are none. They stay here."""
        if not self._exists:
            return None
        with self._transaction("deferred") as database:
            rows = database.execute("select id, discovery from waiting order by id limit ?", (limit,)).fetchall()
            found = tuple(_discovery.decode(row[1]) for row in rows)
        return Pushed(rows[-1][0], found) if rows else None

    def remove(self, through: int) -> None:
        """The crawl has committed the URLs up to this number."""
        with self._transaction() as database:
            database.execute("delete from waiting where id <= ?", (through,))

    def __len__(self) -> int:
        """The number of URLs that wait, with and without a checked key."""
        if not self._exists:
            return 0
        with self._transaction("deferred") as database:
            return _size(database)

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            if self._database is not None:
                self._database.close()
                self._database = None

    # the file

    @property
    def _exists(self) -> bool:
        return self._database is not None or self._path.exists()

    @contextmanager
    def _transaction(self, kind: str = "immediate") -> Iterator[sqlite3.Connection]:
        with self._lock:
            try:
                database = self._open()
                database.execute(f"begin {kind}")
                try:
                    yield database
                except BaseException:
                    database.execute("rollback")
                    raise
                database.execute("commit")
            except (sqlite3.DatabaseError, msgspec.MsgspecError) as error:
                raise _failure(self._path, error) from error

    def _open(self) -> sqlite3.Connection:
        if self._database is None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            os.close(os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600))
            database = sqlite3.connect(self._path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False)
            try:
                database.execute("pragma journal_mode = wal")
                database.execute("pragma synchronous = full")
                database.executescript(_SCHEMA)
            except BaseException:
                database.close()
                raise
            self._database = database
        return self._database


def _insert(database: sqlite3.Connection, discoveries: Sequence[Discovery]) -> None:
    database.executemany("insert into waiting (discovery) values (?)", [(_encode(each),) for each in discoveries])


def _size(database: sqlite3.Connection) -> int:
    question = "select (select count(*) from waiting) + (select coalesce(sum(size), 0) from held)"
    return int(database.execute(question).fetchone()[0])


def _failure(path: Path, error: Exception) -> CollectionError:
    if isinstance(error, sqlite3.OperationalError):
        return CollectionError(f"{path} cannot be used: {error}", hint="free space on the disk, or try again")
    return CollectionDamaged(f"{path} is damaged: {error}", hint="move it away: URLs that sites pushed are lost")
