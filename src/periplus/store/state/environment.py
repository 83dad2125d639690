"""The LMDB adapter: only this module and `files`, which opens it, import LMDB.

`Environment` is one LMDB environment with one writer, and one transaction that is begun by the first use and ended by
`commit`: reads see what was written before them, and nothing of it is on disk until then. `Table` is one ordered map of
bytes in it. Keys are 1 to `MAX_KEY` bytes. Foreign exceptions end here: a full disk or map is a `CollectionError`, what
cannot be read a `CollectionDamaged`, a key that LMDB does not take an `InvariantError`. After any of these the
environment is closed to further use, since what was not committed is lost, and callers hold counts of it.

What the flags are, and why, is in `docs/decisions.md` (9).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import islice, takewhile
from pathlib import Path
from typing import Any, Protocol

import lmdb

from periplus.model import CollectionDamaged, CollectionError, InvariantError

from ..durable import replace_file
from ..folders import repair_hint
from .files import (
    DATA,
    MAP_SIZE,
    OPENING,
    break_seal,
    check_length,
    check_seal,
    close_shared,
    hold_still,
    lengthen,
    lock_folder,
    open_file,
    open_shared,
    remove_files,
    seal,
    translated,
)
from .redo import Changes

MAX_KEY = 511
"""The longest key of an LMDB that was built with its defaults."""

CHUNK = 256
"""Rows that an iteration reads before it seeks again, because the table may change meanwhile."""

COMMITS_BETWEEN_CHECKS = 1000
"""Commits between two checks for dead readers: a reader that was killed pins pages until then."""


class Log(Protocol):
    """Copies what a commit changes elsewhere, before it is committed here (`replica`)."""

    def append(self, changes: Changes) -> None:
        """Append the changes of a commit, durably; LMDB commits afterwards. Rows put meanwhile are not logged."""

    def close(self) -> None:
        """Close the log."""


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
        self._lock = hold_still(folder) if readonly else lock_folder(folder)
        try:
            self._lmdb = open_shared(folder, map_size) if readonly else open_file(folder, map_size, readonly)
            self._check_file()
        except BaseException:
            self._unlock()
            raise

    def _check_file(self) -> None:
        """Compare the file with its seal, which a writer then breaks; a writer also looks for readers that died."""
        try:
            check_length(self._folder, self._lmdb)
            check_seal(self._folder / DATA, is_reader=self._readonly)
            if not self._readonly:
                break_seal(self._folder / DATA)
                self._lmdb.reader_check()
        except BaseException:
            self._close_lmdb()
            raise

    def _close_lmdb(self) -> None:
        if self._readonly:
            close_shared(self._lmdb)
        else:
            self._lmdb.close()

    @property
    def folder(self) -> Path:
        """Where its file is."""
        return self._folder

    @property
    def is_readonly(self) -> bool:
        """Whether this only reads: a commit moves on to what the writer has committed."""
        return self._readonly

    def has_table(self, name: str) -> bool:
        """Whether there is a table of that name."""
        return name in self._names()

    def table(self, name: str) -> Table:
        """The table of that name, created if it does not exist."""
        try:
            if self._readonly:  # a reader's handle outlives a transaction only if it was made outside of any
                self._abort()
            transaction = None if self._readonly else self.transaction()
            if self.changed is not None:
                self.changed.setdefault(name, {})  # a table without rows is looked for, too
            with OPENING:
                return Table(self, name, self._lmdb.open_db(name.encode(), transaction, create=not self._readonly))
        except (lmdb.NotFoundError, lmdb.ReadonlyError) as error:
            raise CollectionDamaged(f"{self._folder} has no table {name}", hint=repair_hint(self._folder)) from error
        except lmdb.Error as error:
            raise self.failed(error) from error

    def lacks(self, name: str) -> bool:
        """Whether this is a reader of a state that was last written before there was a table of that name."""
        if not self._readonly:
            return False
        try:
            self.table(name)
        except CollectionDamaged:
            return True
        return False

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
        """Make all changes durable. A read-only environment moves on to the last commit."""
        self._check_usable()
        if self._transaction is None:
            return
        if self.changed:
            self._record()
        transaction, self._transaction = self._transaction, None
        try:
            transaction.commit()
        except lmdb.Error as error:
            raise self.failed(error, is_commit=True) from error
        if not self._readonly:
            lengthen(self._folder, self._lmdb)
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
        """Append every commit to this log first, from now on."""
        self._log, self.changed = log, defaultdict(dict)

    def copy(self, folder: Path) -> Path:
        """An image of the last commit, without its free pages. From any thread, while others write here."""
        try:
            self._lmdb.copy(str(folder), compact=True)
        except lmdb.Error as error:
            raise translated(error, folder) from error
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
        replace_file(next_one, self._folder / DATA)
        self._lmdb = open_file(self._folder, self._map_size, self._readonly)
        try:
            check_length(self._folder, self._lmdb)
        except BaseException:
            self._lmdb.close()
            raise

    def close(self) -> None:
        """Discard what is not committed, and release the folder."""
        self._abort()
        is_intact, self._is_broken = not self._is_broken, True
        try:
            if self._log is not None:
                self._log.close()
            self._close_lmdb()
            if is_intact and not self._readonly:
                with suppress(OSError):  # a full disk: the state is complete, only not sealed
                    seal(self._folder / DATA)
        finally:
            self._unlock()

    def failed(self, error: lmdb.Error, *, is_commit: bool = False) -> CollectionError | InvariantError:
        """What a foreign error means here. The transaction is lost."""
        self._abort()
        self._is_broken = True
        return translated(error, self._folder, is_commit=is_commit)

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

    def clear(self) -> None:
        """Remove all rows."""
        if self._environment.changed is not None:
            self._environment.changed[self._name].update(dict.fromkeys(key for key, _ in self.walk()))
        self._environment.uncommitted += len(self)
        try:
            self._environment.transaction().drop(self._database, delete=False)
        except lmdb.Error as error:
            raise self._environment.failed(error) from error
        self._cursor = None

    def last(self, prefix: bytes) -> bytes | None:
        """The last key with this prefix, of which not every byte is 255."""
        end = (int.from_bytes(prefix, "big") + 1).to_bytes(len(prefix), "big")
        try:
            cursor = self._walker()
            is_there = cursor.prev() if cursor.set_range(end) else cursor.last()
            key = cursor.key() if is_there else b""
        except lmdb.Error as error:
            raise self._environment.failed(error) from error
        return key if is_there and key.startswith(prefix) else None

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

    def between(self, start: bytes, end: bytes, limit: int) -> list[tuple[bytes, bytes]]:
        """At most `limit` rows whose key is not smaller than `start` and not larger than `end`."""
        try:
            cursor = self._walker()
            if not cursor.set_range(start):
                return []
            return list(islice(takewhile(lambda row: row[0] <= end, cursor.iternext()), limit))
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

    def walk_from(self, start: bytes) -> Iterator[tuple[bytes, bytes]]:
        """Every row from a key on, in order. The table may change meanwhile."""
        start = start or b"\0"
        while rows := self.page(start, CHUNK):
            yield from rows
            start = rows[-1][0] + b"\0"

    def __len__(self) -> int:
        try:
            return int(self._environment.transaction().stat(self._database)["entries"])
        except lmdb.Error as error:
            raise self._environment.failed(error) from error

    def _walker(self) -> lmdb.Cursor[bytes]:
        """The cursor of the transaction, made once: making one costs as much as a lookup."""
        transaction = self._environment.transaction()
        if self._cursor is None or transaction is not self._cursor_of:
            self._cursor = transaction.cursor(db=self._database)
            self._cursor_of = transaction
        return self._cursor
