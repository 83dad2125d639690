"""Opens and checks the LMDB files of the state, for one writer or several readers, and translates LMDB's errors.

LMDB must not open a file twice in one process. Readers of one file in several threads share one environment, each with
a transaction of its own; a reader beside a writer of the same process is a `CollectionInUse`.

LMDB has no checksums: a flipped bit reads as another value, or as another tree. So an orderly close writes a digest of
the file (the seal), which is compared before anything is read. A process that opens the state for writing removes the
seal first: if it is killed, there is no seal, and the file is not checked. `docs/decisions.md` (20) explains why the
digest is of the file and not of every row.

A folder without a state may be new. So that a lost state is not mistaken for a new one, a small file (`BEGUN`) is
written after the first commit and never removed. If the process is killed before that, the shard starts again.
"""

from __future__ import annotations

import errno
import os
import threading
from pathlib import Path
from typing import Final

import lmdb
import msgspec
from msgspec import Struct

from periplus.model import CollectionDamaged, CollectionError, CollectionInUse, InvariantError

from ..durable import write_file
from ..folders import FolderLock, FolderLocked, digest_of, repair_hint, sync_folder

BEGUN: Final = "begun"
"""The name of that file, in the folder of a shard."""

_TEXT: Final = "This shard was begun. Its state is data.mdb, or copy/ where it lies on another disk.\n"


def was_begun(home: Path) -> bool:
    """Whether a shard had a state at some time."""
    return (home / BEGUN).exists()


def note_begun(home: Path) -> None:
    """Record, durably, that a shard has a state from now on."""
    if was_begun(home):
        return
    write_file(home / BEGUN, _TEXT.encode("ascii"))


def lost_state(home: Path) -> CollectionDamaged:
    """The error for a shard that was begun and has no state any more."""
    return CollectionDamaged(f"the state of {home} is missing: it was begun before", hint=repair_hint(home))


SEAL: Final = "data.seal"
"""The file beside a state's file that holds its digest."""

MAX_BYTES_FOR_READERS: Final = 1 << 30
"""Bytes of a state up to which a command that only reads it checks the seal: about 0.2 s of hashing, if in memory.

Larger ones are checked by the next crawl and by `periplus repair`.
"""

_checked: dict[Path, tuple[int, int, bytes]] = {}
"""States this process has checked: time and size of the file, and the seal. Commands open a state several times."""


class Seal(Struct, frozen=True):
    """What a state's file was when it was closed: its size in bytes and the digest of them."""

    size: int
    digest: str


def seal(data: Path) -> None:
    """Keep the digest of a state that is closed. Whole or not at all, and durable."""
    write_file(data.with_name(SEAL), msgspec.json.encode(Seal(data.stat().st_size, digest_of(data))))


def break_seal(data: Path) -> None:
    """Remove the digest, durably, before the file is written to."""
    path = data.with_name(SEAL)
    if path.exists():
        path.unlink()
        sync_folder(path.parent)


def check_seal(data: Path, *, is_reader: bool) -> None:
    """Raise `CollectionDamaged` if a state that was closed in order is not what it was then."""
    path = data.with_name(SEAL)
    kept = _read(path)
    if kept is None or (is_reader and data.stat().st_size > MAX_BYTES_FOR_READERS):
        return
    found = data.stat()
    checked = (found.st_mtime_ns, found.st_size, kept)
    if _checked.get(data) == checked:
        return
    if not _is_intact(data, kept) and _read(path) == kept:  # else a crawl began meanwhile
        raise CollectionDamaged(f"{data} has changed since it was closed: it is damaged", hint=repair_hint(data))
    _checked[data] = checked


def _is_intact(data: Path, kept: bytes) -> bool:
    try:
        expected = msgspec.json.decode(kept, type=Seal)
    except msgspec.MsgspecError:
        return False
    return data.stat().st_size == expected.size and digest_of(data) == expected.digest


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None


MAP_SIZE = 1 << 40
"""Address space, not disk: without a writable map the file is as long as what was written to it."""

_NO_ROOM = 4 * 2**20
"""A disk with fewer bytes than that is full: commits are larger."""
SMALLEST_MAP = 1 << 30
"""Smallest map size: where more cannot be reserved (a limit on address space), it is halved down to this."""

DATA, _LOCKS = "data.mdb", "lock.mdb"
"""What LMDB calls its files."""

_OWNER = "owner.lock"
"""The file that names the process which holds the folder, and is locked together with the folder itself."""

MAX_TABLES = 48


def remove_files(folder: Path) -> None:
    """Remove a state that no process has open."""
    for name in (DATA, _LOCKS, SEAL):
        (folder / name).unlink(missing_ok=True)
    for run in folder.glob("*.run"):
        run.unlink()


def lock_folder(folder: Path) -> FolderLock:
    """Hold the folder until the lock is closed; the system releases it when the process dies."""
    folder.mkdir(parents=True, exist_ok=True)
    try:
        return FolderLock(folder, _OWNER)
    except FolderLocked as error:
        raise CollectionInUse(str(error), hint="wait until it ends, or stop it") from error


def hold_still(folder: Path) -> FolderLock | None:
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


def open_file(folder: Path, map_size: int, readonly: bool) -> lmdb.Environment:
    """Open the file of a folder, with as much of the map as the platform allows."""
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
                raise translated(error, folder) from error


OPENING = threading.RLock()
"""Held while LMDB opens or closes a file or a table: it does neither in two threads at once."""
_SHARED: dict[tuple[int, int], tuple[lmdb.Environment, int]] = {}
"""What readers of this process have open, by device and inode, and the number of readers of each."""
os.register_at_fork(after_in_child=_SHARED.clear)


def open_shared(folder: Path, map_size: int) -> lmdb.Environment:
    """The file of a folder for one more reader; `close_shared` gives it back."""
    with OPENING:
        key = _file_key(folder)
        environment, readers = _SHARED.get(key, (None, 0)) if key is not None else (None, 0)
        if environment is None:
            environment = open_file(folder, map_size, readonly=True)
            key = _file_key(folder)
        if key is not None:
            _SHARED[key] = environment, readers + 1
        return environment


def close_shared(environment: lmdb.Environment) -> None:
    """Close it if this was the last reader."""
    with OPENING:
        for key, (shared, readers) in _SHARED.items():
            if shared is environment and readers > 1:
                _SHARED[key] = environment, readers - 1
                return
            if shared is environment:
                del _SHARED[key]
                break
        environment.close()


def _file_key(folder: Path) -> tuple[int, int] | None:
    try:
        found = (folder / DATA).stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _is_too_large(error: Exception) -> bool:
    return isinstance(error, lmdb.MemoryError | OverflowError)


def _needed(environment: lmdb.Environment) -> int:
    return int((environment.info()["last_pgno"] + 1) * environment.stat()["psize"])


def lengthen(folder: Path, environment: lmdb.Environment) -> None:
    """Extend the file to the length that LMDB counts.

    Pages at the end that were allocated and freed in one transaction are counted, but never written. Without them the
    file would look truncated.
    """
    needed, path = _needed(environment), folder / DATA
    if path.stat().st_size < needed:
        os.truncate(path, needed)


def check_length(folder: Path, environment: lmdb.Environment) -> None:
    """A file cut short would end the process with a bus error, at some later time."""
    if (folder / DATA).stat().st_size < _needed(environment):
        raise CollectionDamaged(f"{folder / DATA} is shorter than it should be", hint=repair_hint(folder))


def translated(error: Exception, folder: Path, *, is_commit: bool = False) -> CollectionError | InvariantError:
    """What an error of LMDB means here. A commit only writes: if it fails, nothing is damaged."""
    if isinstance(error, lmdb.BadValsizeError | lmdb.ReadonlyError):
        return InvariantError(f"the state in {folder} was misused: {error}")
    if isinstance(error, lmdb.MapFullError):
        return CollectionError(f"the state in {folder} is full", hint="open it with a larger map_size")
    if isinstance(error, lmdb.MemoryError | OverflowError):
        return CollectionError(f"no room to map {folder}", hint="raise the limit on address space (ulimit -v)")
    code = getattr(error, "code", 0)
    if code in (errno.ENOSPC, errno.EDQUOT) or (code == errno.EIO and _is_full(folder)):
        return CollectionError(f"no space is left for {folder}", hint="free some space; the last commit is safe")
    if is_commit and code in (errno.EIO, errno.EFBIG):
        return CollectionError(
            f"{folder} cannot be written: {os.strerror(code)}",
            hint="check the disk, and the limit on the size of files (ulimit -f); the last commit is safe",
        )
    if "already open" in str(error):
        return CollectionInUse(f"{folder} is open in this process")
    return CollectionDamaged(f"{folder} cannot be read: {error}", hint=repair_hint(folder))


def _is_full(folder: Path) -> bool:
    """Whether the disk is full: LMDB reports an I/O error when a write falls short."""
    disk = os.statvfs(folder)
    return disk.f_bavail * disk.f_frsize < _NO_ROOM
