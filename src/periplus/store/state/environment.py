"""The LMDB adapter: the only module that imports LMDB.

`Environment` is one LMDB environment with one writer, and one transaction that is begun by the first use and ended by
`commit`: reads see what was written before them, and nothing of it is on disk until then. `Table` is one ordered map of
bytes in it. Keys are 1 to `MAX_KEY` bytes. Foreign exceptions end here: a full disk or map is a `CollectionError`, what
cannot be read a `CollectionDamaged`, a key that LMDB does not take an `InvariantError`. After any of these the
environment is closed to further use, since what was not committed is lost, and callers hold counts of it.

What the flags are, and why, is in `docs/decisions.md` (9).
"""

from __future__ import annotations

import errno
import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any, Protocol

import lmdb

from periplus.model import CollectionDamaged, CollectionError, CollectionInUse, InvariantError

from ..damage import repair_hint
from ..folder_lock import FolderLock, FolderLocked
from .redo import Changes
from .seal import SEAL, break_seal, check_seal, seal

MAP_SIZE = 1 << 40
"""Address space, not disk: without a writable map the file is as long as what was written to it."""

_NO_ROOM = 4 * 2**20
"""A disk with fewer bytes than that is full: commits are larger."""
SMALLEST_MAP = 1 << 30
"""Smallest map size: where more cannot be reserved (a limit on address space), it is halved down to this."""

MAX_KEY = 511
"""The longest key of an LMDB that was built with its defaults."""

DATA, _LOCKS = "data.mdb", "lock.mdb"
"""What LMDB calls its files."""

_OWNER = "owner.lock"
"""The file that names the process which holds the folder, and is locked together with the folder itself."""

MAX_TABLES = 32
CHUNK = 256
"""Rows that an iteration reads before it seeks again, because the table may change meanwhile."""

COMMITS_BETWEEN_CHECKS = 1000
"""Commits between two checks for dead readers: a reader that was killed pins pages until then."""


class Log(Protocol):
    """Copies what a commit changes elsewhere, before it is committed here (`replica`)."""

    def append(self, changes: Changes) -> None:
        """Durable when this returns; the commit here follows. What is put meanwhile is part of it, but not logged."""

    def close(self) -> None:
        """Nothing more comes."""


class Environment:
    """One folder, one writer, one open transaction. `uncommitted` counts the changes in it."""

    def __init__(self, folder: Path, *, map_size: int = MAP_SIZE, readonly: bool = False) -> None:
        self._folder = folder
        self._readonly = readonly
        self._transaction: lmdb.Transaction[bytes] | None = None
        self._is_broken = False
        self._commits = 0
        self._map_size = map_size
        self._log: Log | None = None
        self.changed: Changes | None = None
        self.uncommitted = 0
        self._lock = _hold_still(folder) if readonly else _lock(folder)
        try:
            self._lmdb = _open(folder, map_size, readonly)
            _check_length(folder, self._lmdb)
            self._check_seal()
        except BaseException:
            self._unlock()
            raise
        if not readonly:
            self._lmdb.reader_check()

    def _check_seal(self) -> None:
        """Compare the file with what it was when it was closed; a writer breaks the seal."""
        try:
            check_seal(self._folder / DATA, is_reader=self._readonly)
            if not self._readonly:
                break_seal(self._folder / DATA)
        except BaseException:
            self._lmdb.close()
            raise

    @property
    def is_readonly(self) -> bool:
        """Whether this only reads: a commit moves on to what the writer has committed."""
        return self._readonly

    def table(self, name: str) -> Table:
        """The table of that name, created if it does not exist."""
        try:
            if self._readonly:  # a reader's handle outlives a transaction only if it was made outside of any
                self._abort()
            transaction = None if self._readonly else self.transaction()
            if self.changed is not None:
                self.changed.setdefault(name, {})  # a table without rows is looked for, too
            return Table(self, name, self._lmdb.open_db(name.encode(), transaction, create=not self._readonly))
        except (lmdb.NotFoundError, lmdb.ReadonlyError) as error:
            raise CollectionDamaged(f"{self._folder} has no table {name}", hint=repair_hint(self._folder)) from error
        except lmdb.Error as error:
            raise self.failed(error) from error

    def transaction(self) -> lmdb.Transaction[bytes]:
        """The one that is open, or a new one."""
        if self._transaction is None:
            self._check_usable()
            try:
                self._transaction = self._lmdb.begin(write=not self._readonly)
            except lmdb.Error as error:
                raise self.failed(error) from error
        return self._transaction

    def commit(self) -> None:
        """All since the last commit, durable when this returns. A reader moves on to what is committed now."""
        self._check_usable()
        if self._transaction is None:
            return
        if self.changed:
            self._record()
        transaction, self._transaction = self._transaction, None
        try:
            transaction.commit()
        except lmdb.Error as error:
            raise self.failed(error) from error
        if not self._readonly:
            _lengthen(self._folder, self._lmdb)
        self.uncommitted = 0
        self._commits += 1
        if self._commits % COMMITS_BETWEEN_CHECKS == 0 and not self._readonly:
            self._lmdb.reader_check()

    def _record(self) -> None:
        """Store the changes elsewhere first: after a crash in between they are found there."""
        changed, self.changed = self.changed, None
        try:
            if self._log is not None and changed:
                self._log.append(changed)
        except BaseException:
            self._abort()
            self._is_broken = True
            raise
        self.changed = defaultdict(dict)

    def verify(self) -> int:
        """Read every row of every table; how many there are. What does not fit together is `CollectionDamaged`."""
        total = 0
        for name in self._names():
            table = self.table(name)
            found, last = 0, b""
            for key, _ in table.walk():
                if key <= last:
                    raise CollectionDamaged(f"the keys of {name} in {self._folder} are out of order")
                found, last = found + 1, key
            if found != len(table):
                raise CollectionDamaged(f"{name} in {self._folder} has {found} of {len(table)} rows")
            total += found
        return total

    def _names(self) -> list[str]:
        try:
            return [bytes(key).decode() for key in self.transaction().cursor().iternext(values=False)]
        except (lmdb.Error, UnicodeDecodeError) as error:
            raise CollectionDamaged(f"the tables of {self._folder} cannot be listed: {error}") from error

    def log_to(self, log: Log) -> None:
        """From now on every commit is given to this log first."""
        self._log, self.changed = log, defaultdict(dict)

    def copy(self, folder: Path) -> Path:
        """An image of the last commit, without its free pages. From any thread, while others write here."""
        try:
            self._lmdb.copy(str(folder), compact=True)
        except lmdb.Error as error:
            raise _translated(error, folder) from error
        return folder / DATA

    def replace(self, write: Callable[[Path], None]) -> None:
        """Replace this state with another, whose file `write` makes. Tables must be opened again.

        If it cannot be made, this one stays.
        """
        next_one = self._folder / f"{DATA}.next"
        write(next_one)
        self._abort()
        self._lmdb.close()
        remove_files(self._folder)
        next_one.rename(self._folder / DATA)
        self._lmdb = _open(self._folder, self._map_size, self._readonly)
        _check_length(self._folder, self._lmdb)

    def close(self) -> None:
        """Drop what is not committed, and let others have the folder."""
        self._abort()
        is_intact, self._is_broken = not self._is_broken, True
        try:
            if self._log is not None:
                self._log.close()
            self._lmdb.close()
            if is_intact and not self._readonly:
                with suppress(OSError):  # a full disk: the state is whole all the same, only not sealed
                    seal(self._folder / DATA)
        finally:
            self._unlock()

    def failed(self, error: lmdb.Error) -> CollectionError | InvariantError:
        """What a foreign error means here. The transaction is lost."""
        self._abort()
        self._is_broken = True
        return _translated(error, self._folder)

    def _check_usable(self) -> None:
        if self._is_broken:
            raise CollectionError(
                f"the state in {self._folder} is closed", hint="open it again: it is as last committed"
            )

    def _abort(self) -> None:
        transaction, self._transaction = self._transaction, None
        if transaction is not None:
            transaction.abort()

    def _unlock(self) -> None:
        if self._lock is not None:
            self._lock.close()
            self._lock = None


class Table:
    """An ordered map of bytes."""

    def __init__(self, environment: Environment, name: str, database: Any) -> None:
        self._environment = environment
        self._name = name
        self._database = database
        self._cursor: lmdb.Cursor[bytes] | None = None
        self._cursor_of: lmdb.Transaction[bytes] | None = None

    def get(self, key: bytes) -> bytes | None:
        """The value of a key."""
        try:
            return self._environment.transaction().get(key, db=self._database)
        except lmdb.Error as error:
            raise self._environment.failed(error) from error

    def get_many(self, keys: Iterable[bytes]) -> dict[bytes, bytes]:
        """The values of those keys that are there."""
        try:
            return dict(self._walker().getmulti(keys))
        except lmdb.Error as error:
            raise self._environment.failed(error) from error

    def put(self, key: bytes, value: bytes) -> None:
        """Write or overwrite one."""
        try:
            self._environment.transaction().put(key, value, db=self._database)
        except lmdb.Error as error:
            raise self._environment.failed(error) from error
        self._environment.uncommitted += 1
        if self._environment.changed is not None:
            self._environment.changed[self._name][key] = value

    def put_many(self, items: Sequence[tuple[bytes, bytes]]) -> None:
        """Write or overwrite all. In the order of keys it is faster."""
        try:
            self._walker().putmulti(items)
        except lmdb.Error as error:
            raise self._environment.failed(error) from error
        self._environment.uncommitted += len(items)
        if self._environment.changed is not None:
            self._environment.changed[self._name].update(items)

    def delete(self, key: bytes) -> bool:
        """Whether it was there."""
        try:
            was_there = self._environment.transaction().delete(key, db=self._database)
        except lmdb.Error as error:
            raise self._environment.failed(error) from error
        self._environment.uncommitted += was_there
        if was_there and self._environment.changed is not None:
            self._environment.changed[self._name][key] = None
        return was_there

    def at_or_after(self, key: bytes) -> tuple[bytes, bytes] | None:
        """The first row whose key is not smaller."""
        for row in self.page(key, 1):
            return row
        return None

    def page(self, key: bytes, limit: int) -> list[tuple[bytes, bytes]]:
        """At most `limit` rows whose key is not smaller."""
        try:
            cursor = self._walker()
            return list(islice(cursor.iternext(), limit)) if cursor.set_range(key) else []
        except lmdb.Error as error:
            raise self._environment.failed(error) from error

    def walk(self, prefix: bytes = b"") -> Iterator[tuple[bytes, bytes]]:
        """Every row with this key prefix, in order. The table may change meanwhile."""
        start = prefix
        while rows := self.page(start, CHUNK):
            for key, value in rows:
                if not key.startswith(prefix):
                    return
                yield key, value
            start = rows[-1][0] + b"\0"

    def __len__(self) -> int:
        try:
            return int(self._environment.transaction().stat(self._database)["entries"])
        except lmdb.Error as error:
            raise self._environment.failed(error) from error

    def _walker(self) -> lmdb.Cursor[bytes]:
        """One cursor a transaction: making one costs as much as a look-up."""
        transaction = self._environment.transaction()
        if self._cursor is None or transaction is not self._cursor_of:
            self._cursor = transaction.cursor(db=self._database)
            self._cursor_of = transaction
        return self._cursor


def remove_files(folder: Path) -> None:
    """Remove a state that no process has open."""
    for name in (DATA, _LOCKS, SEAL):
        (folder / name).unlink(missing_ok=True)


def _lock(folder: Path) -> FolderLock:
    """Hold the folder until the lock is closed; the system releases it when the process dies."""
    folder.mkdir(parents=True, exist_ok=True)
    try:
        return FolderLock(folder, _OWNER)
    except FolderLocked as error:
        raise CollectionInUse(str(error), hint="wait until it ends, or stop it") from error


def _hold_still(folder: Path) -> FolderLock | None:
    """A reader that cannot register in LMDB's lock file keeps writers out meanwhile; `None`: it can register."""
    if not _is_unwritable(folder):
        return None
    try:
        return FolderLock(folder, _OWNER, shared=True)
    except FolderLocked as error:
        raise CollectionInUse(
            f"process {error.owner} writes in {folder}, where this one cannot register as a reader",
            hint="wait until that ends, or get permission to write there",
        ) from error


def _is_unwritable(folder: Path) -> bool:
    """Whether readers cannot be noted, as in a folder that belongs to others or on a disk that is not to be written."""
    path = folder / "lock.mdb"
    return path.exists() and not os.access(path, os.W_OK)


def _open(folder: Path, map_size: int, readonly: bool) -> lmdb.Environment:
    """With as much of the map as the platform allows."""
    if readonly and not (folder / DATA).is_file():
        raise CollectionError(f"there is no state in {folder}", hint="crawl something into it first")
    while True:
        try:
            return lmdb.open(
                str(folder), map_size=map_size, max_dbs=MAX_TABLES, readonly=readonly, readahead=False, create=False,
                lock=not (readonly and _is_unwritable(folder)),
            )  # fmt: skip
        except (lmdb.Error, OverflowError) as error:
            map_size //= 2
            if map_size < SMALLEST_MAP or not _is_too_large(error):
                raise _translated(error, folder) from error


def _is_too_large(error: Exception) -> bool:
    return isinstance(error, lmdb.MemoryError | OverflowError)


def _needed(environment: lmdb.Environment) -> int:
    return int((environment.info()["last_pgno"] + 1) * environment.stat()["psize"])


def _lengthen(folder: Path, environment: lmdb.Environment) -> None:
    """Pages at the end that were taken and given back in one transaction are counted, but never written.

    Without them the file would pass for one that was cut short.
    """
    needed, path = _needed(environment), folder / DATA
    if path.stat().st_size < needed:
        os.truncate(path, needed)


def _check_length(folder: Path, environment: lmdb.Environment) -> None:
    """A file cut short would end the process with a bus error, at some later time."""
    if (folder / DATA).stat().st_size < _needed(environment):
        environment.close()
        raise CollectionDamaged(f"{folder / DATA} is shorter than it should be", hint=repair_hint(folder))


def _translated(error: Exception, folder: Path) -> CollectionError | InvariantError:
    if isinstance(error, lmdb.BadValsizeError | lmdb.ReadonlyError):
        return InvariantError(f"the state in {folder} was misused: {error}")
    if isinstance(error, lmdb.MapFullError):
        return CollectionError(f"the state in {folder} is full", hint="open it with a larger map_size")
    if isinstance(error, lmdb.MemoryError | OverflowError):
        return CollectionError(f"no room to map {folder}", hint="raise the limit on address space (ulimit -v)")
    code = getattr(error, "code", 0)
    if code in (errno.ENOSPC, errno.EDQUOT) or (code == errno.EIO and _is_full(folder)):
        return CollectionError(f"no space is left for {folder}", hint="free some space; the last commit is safe")
    if "already open" in str(error):
        return CollectionInUse(f"{folder} is open in this process")
    return CollectionDamaged(f"{folder} cannot be read: {error}", hint=repair_hint(folder))


def _is_full(folder: Path) -> bool:
    """LMDB reports an I/O error when a write is short."""
    disk = os.statvfs(folder)
    return disk.f_bavail * disk.f_frsize < _NO_ROOM
