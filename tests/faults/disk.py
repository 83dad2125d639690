"""A disk that fails: it knows what would be left of a folder after a loss of power, and lets any operation go wrong.

The folder is a real one, in memory. While a `Disk` is installed, the functions of the interpreter that change files
(`os.write`, `os.fsync`, `os.rename`, `open` and their like) first ask it. It counts these operations, and at the number
that a `Fault` names it lets one fail, shortens a write, or ends the process (`Crashed`).

What a loss of power leaves (`Disk.materialise`):

- of a file, the bytes at its last `fsync`; of what was written since, any sectors, others are zeros or the old bytes;
- of a folder, the names at its last `fsync`, and of the changes since, the first few, in order. A rename is one change.
  A new folder stays, as it does wherever metadata is journalled.

A disk that lies answers every `fsync` from some moment on and does nothing; nothing since the last true one is left.
LMDB and SQLite write by themselves: a file of theirs is as it was at its last commit; a crash inside a commit of LMDB
leaves some of its new pages, but not its meta pages, which LMDB writes last.
"""

from __future__ import annotations

import builtins
import errno
import io
import os
import shutil
import stat
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from random import Random
from typing import Any, Final
from unittest import mock

import pyarrow as pa
from msgspec import Struct

from periplus.store.state.environment import Environment
from periplus.store.tables import spool

SECTOR: Final = 512
"""Bytes that a disk writes as a whole."""
PAGE: Final = 4096
"""Bytes of a page of LMDB; the first two are its meta pages."""
FAILING: Final = {"eio": errno.EIO, "enospc": errno.ENOSPC}
CRASHES: Final = ("kill", "power", "torn")
GROWING: Final = frozenset({"write", "create", "sync", "mkdir"})
"""Operations that fail on a full disk."""


class Crashed(BaseException):
    """The process is gone. No handler of the code under test may catch it."""


class Fault(Struct):
    """What goes wrong at operation number `at`.

    `kind`: `kill` ends the process, `power` the machine, `torn` ends the process in the middle of a write; `eio` and
    `enospc` fail, all later ones too if it `lasts`; `short` writes less than asked for. `lies_from`: every `fsync` from
    that operation on is a lie. `lies_below`: so is every one in this folder, from the start.
    """

    kind: str = ""
    at: int = 0
    lasts: bool = False
    lies_from: int | None = None
    lies_below: str = ""


class _File(Struct):
    """A file by its inode. `gone`: its content when its last name was removed. `is_exact`: never a mixture.

    The first `kept` bytes are as they were at its last sync.
    """

    durable: bytes | bytearray = b""
    path: str = ""
    gone: bytes | None = None
    is_exact: bool = False
    kept: int = 0


class _Folder(Struct):
    """The names in a folder: those that are durable, those that are there, and what changed in between."""

    durable: dict[str, int]
    current: dict[str, int]
    changes: list[dict[str, int | None]] = []


class Disk:
    """Watches the folder `root`. `operations` counts what was done to it; `did` says what each was, if it is kept."""

    def __init__(self, root: Path, chance: Random) -> None:
        self.root = root
        self.fault = Fault()
        self.operations = 0
        self.image: Path | None = None
        self.did: list[str] = []
        self.before_each: Callable[[], None] = lambda: None
        self._chance = chance
        self._prefix = f"{root}/"
        self._is_dead = False
        self._committing_to = ""
        self._files: dict[int, _File] = {}
        self._folders: dict[int, _Folder] = {}
        self._opened: dict[int, str] = {}
        self._appending: set[int] = set()
        self._real = {name: getattr(os, name) for name in _PATCHED}
        self._real_open = io.open
        root.mkdir(parents=True, exist_ok=True)
        for folder, _, _ in os.walk(root):
            self._scan(folder, is_durable=True)

    # what is known of the folder

    def _scan(self, path: str, *, is_durable: bool = False) -> None:
        """Compare a folder with what was known of it: what differs is one change."""
        with os.scandir(path) as entries:
            found = {entry.name: entry for entry in entries if entry.name != "lock.mdb"}
        folder = self._folders.setdefault(Path(path).stat().st_ino, _Folder({}, {}))
        change: dict[str, int | None] = {name: None for name in folder.current if name not in found}
        for name, entry in found.items():
            inode = entry.inode()
            if folder.current.get(name) == inode:
                continue
            if entry.is_dir(follow_symlinks=False):
                folder.durable[name] = folder.current[name] = inode
                self._folders.setdefault(inode, _Folder({}, {}))
                continue
            change[name] = inode
            file = self._files.setdefault(inode, _File(is_exact=name.startswith(("data.mdb", "inbox"))))
            file.path, file.gone, file.kept = entry.path, None, 0  # its number may have been that of another file
            if is_durable:
                file.durable = self._content(file)
        if change:
            folder.changes.append(change)
            _apply(folder.current, change)
        if is_durable:
            folder.durable.update(folder.current)
            folder.durable = {name: inode for name, inode in folder.durable.items() if name in found}
            folder.changes.clear()

    def keep(self, *paths: Path) -> None:
        """Files that others have synced are durable as they are now, names included."""
        for path in paths:
            if path.exists() and not self.lies:
                self._scan(str(path.parent))
                inode = path.stat().st_ino
                self._files[inode].durable = self._content(self._files[inode])
                self._folders[path.parent.stat().st_ino].durable[path.name] = inode

    @property
    def lies(self) -> bool:
        """Whether an `fsync` does nothing now."""
        return self.fault.lies_from is not None and self.operations >= self.fault.lies_from

    def _synced(self, descriptor: int) -> None:
        path = self._opened[descriptor].removeprefix(self._prefix)
        if self.lies or (self.fault.lies_below and path.startswith(self.fault.lies_below)):
            return
        found = os.fstat(descriptor)
        if stat.S_ISDIR(found.st_mode):
            self._scan(self._opened[descriptor])
            folder = self._folders[found.st_ino]
            for change in folder.changes:
                _apply(folder.durable, change)
            folder.changes.clear()
        elif found.st_ino in self._files:
            file = self._files[found.st_ino]
            if descriptor in self._appending and file.gone is None:
                self._append_synced(file)
            else:
                file.durable, file.kept = self._content(file), 0

    def _append_synced(self, file: _File) -> None:
        """Read what was appended since the last sync: files of weeks are synced thousands of times."""
        durable = file.durable if isinstance(file.durable, bytearray) else bytearray(file.durable)
        del durable[min(file.kept, len(durable)) :]
        with self._real_open(file.path, "rb") as opened:
            opened.seek(len(durable))
            durable += opened.read()
        file.durable, file.kept = durable, len(durable)

    def _changed_from(self, path: str, begin: int) -> None:
        """A file is about to change from this byte on, other than by appending to it."""
        with suppress(OSError):
            file = self._files.get(Path(path).stat().st_ino)
            if file is not None:
                file.kept = min(file.kept, begin)

    def _lose_name(self, path: str) -> None:
        """A name is about to lose its file, which a loss of power may bring back."""
        try:
            found = Path(path).stat()
        except OSError:
            return
        if (file := self._files.get(found.st_ino)) is not None:
            file.gone = self._read(path)

    def _content(self, file: _File) -> bytes:
        return self._read(file.path) if file.gone is None else file.gone

    def _read(self, path: str) -> bytes:
        with self._real_open(path, "rb") as file:
            content: bytes = file.read()
        return content

    # what happens

    def _begin(self, kind: str, path: str) -> None:
        """Before every operation. Raises where it fails, or the process ends."""
        self.before_each()
        self.operations += 1
        self.did.append(f"{kind} {path.removeprefix(self._prefix)}")
        fault = self.fault
        is_due = self.operations >= fault.at if fault.lasts else self.operations == fault.at
        if not is_due or not fault.kind or self._is_dead:
            return
        if fault.kind in FAILING:
            if kind in GROWING or fault.kind == "eio":
                raise OSError(FAILING[fault.kind], os.strerror(FAILING[fault.kind]), path)
            if not fault.lasts:
                fault.at += 1
        elif kind != "write" and fault.kind in ("short", "torn"):
            fault.at += 1
        elif fault.kind in CRASHES and fault.kind != "torn":
            self.crash()

    def crash(self, commit: Callable[[], bytes] | None = None) -> None:
        """End the process now; `image` is what it leaves. `commit` completes a commit that was under way."""
        self._is_dead = True
        self.image = self.root.with_name(f"{self.root.name}x")
        if self.fault.kind == "power" or self.fault.lies_from is not None:
            self.materialise(self.image, commit)
        else:
            shutil.copytree(self.root, self.image, ignore=shutil.ignore_patterns("lock.mdb"))
        raise Crashed

    def write(self, path: str, size: int, is_seen: bool = True) -> int:
        """How many of these bytes are written now."""
        if not is_seen:
            return size
        self._begin("write", path)
        is_due = self.operations == self.fault.at and self.fault.kind in ("short", "torn") and size > 1
        return self._chance.randrange(1, size) if is_due and not self._is_dead else size

    def wrote(self) -> None:
        """A write was made; the process may end after a part of one."""
        if self.fault.kind == "torn" and self.operations == self.fault.at and not self._is_dead:
            self.crash()

    # what is left

    def materialise(self, target: Path, commit: Callable[[], bytes] | None = None) -> None:
        """Write what a loss of power leaves now into an empty folder."""
        for folder, _, _ in os.walk(self.root):
            self._scan(folder)
        self._materialise(self.root.stat().st_ino, target, commit)

    def _materialise(self, inode: int, target: Path, commit: Callable[[], bytes] | None) -> None:
        target.mkdir()
        folder = self._folders[inode]
        names = dict(folder.durable)
        arrived = self._chance.choice((0, len(folder.changes), self._chance.randint(0, len(folder.changes))))
        if self.fault.lies_from is not None:
            arrived = 0
        for change in folder.changes[:arrived]:
            _apply(names, change)
        for name, each in sorted(names.items()):
            if each in self._folders:
                self._materialise(each, target / name, commit)
            else:
                file = self._files[each]
                is_exact = file.is_exact or self.fault.lies_from is not None
                content = file.durable if is_exact else self._torn(file.durable, self._content(file))
                if commit is not None and file.path == self._committing_to:
                    content = self._mixed_pages(content, commit())
                (target / name).write_bytes(content)

    def _torn(self, durable: bytes | bytearray, current: bytes) -> bytes | bytearray:
        """Of what was written since the last sync, any sectors have arrived."""
        fate = self._chance.random()
        if durable == current or fate < 0.4:
            return durable
        if fate < 0.6:
            return current
        length = self._chance.choice((len(current), self._chance.randint(*sorted((len(durable), len(current))))))
        sectors = []
        for start in range(0, length, SECTOR):
            source = current if self._chance.random() < 0.7 else durable
            sectors.append(source[start : start + SECTOR].ljust(min(SECTOR, length - start), b"\0"))
        return b"".join(sectors)

    def _mixed_pages(self, before: bytes | bytearray, after: bytes) -> bytes | bytearray:
        """Some pages of a commit of LMDB, without the meta page that would make it count."""
        if len(before) < 2 * PAGE:
            return before
        pages = [before[: 2 * PAGE]]
        for start in range(2 * PAGE, max(len(before), len(after)), PAGE):
            is_new = start >= len(before) or self._chance.random() < 0.5
            pages.append((after if is_new else before)[start : start + PAGE].ljust(PAGE, b"\0"))
        return b"".join(pages)

    # the functions of the interpreter

    @contextmanager
    def installed(self) -> Iterator[None]:
        """Whatever this process does to the folder goes through here meanwhile."""
        with ExitStack() as patched:
            for name in _PATCHED:
                patched.enter_context(mock.patch.object(os, name, getattr(self, f"_{name}")))
            for place, name in ((io, "open"), (builtins, "open")):
                patched.enter_context(mock.patch.object(place, name, self._open_file))
            patched.enter_context(mock.patch.object(spool, "_sync", self._fsync))
            patched.enter_context(mock.patch.object(pa, "OSFile", self._open_native))
            patched.enter_context(mock.patch.object(Environment, "commit", self._committing(Environment.commit)))
            yield

    def _is_here(self, path: object) -> bool:
        return isinstance(path, str | os.PathLike) and f"{os.fspath(path)}/".startswith(self._prefix)

    def _changing(self, kind: str, call: Callable[[], Any], *paths: object) -> Any:
        """A change of names."""
        here = [os.fspath(path) for path in paths if self._is_here(path)]  # type: ignore[call-overload]
        if here:
            self._begin(kind, here[0])
            for path in here:
                self._lose_name(path)
        result = call()
        for folder in dict.fromkeys(_parent(path) for path in here):
            self._scan(folder)
        return result

    def _open(self, path: Any, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        real = self._real["open"]
        if dir_fd is not None or not self._is_here(path):
            descriptor = int(real(path, flags, mode, dir_fd=dir_fd))
            self._opened.pop(descriptor, None)  # a file object that was closed may have had this number
            self._appending.discard(descriptor)
            return descriptor
        name = os.fspath(path)
        is_new = flags & os.O_CREAT and not Path(name).exists()
        if is_new:
            self._begin("create", name)
        if flags & os.O_TRUNC or (flags & (os.O_WRONLY | os.O_RDWR) and not flags & os.O_APPEND):
            self._changed_from(name, 0)
        descriptor = int(real(path, flags, mode))
        if is_new:
            self._scan(_parent(name))
        self._opened[descriptor] = name
        if flags & os.O_APPEND:
            self._appending.add(descriptor)
        return descriptor

    def _write(self, descriptor: int, data: Any) -> int:
        path = self._opened.get(descriptor, "")
        size = self.write(path, len(data), self._is_here(path))
        written = int(self._real["write"](descriptor, data[:size] if size < len(data) else data))
        self.wrote()
        return written

    def _fsync(self, descriptor: int) -> None:
        path = self._opened.get(descriptor, "")
        if self._is_here(path):
            self._begin("sync", path)
            self._synced(descriptor)

    _fdatasync = _fsync

    def _ftruncate(self, descriptor: int, length: int) -> None:
        path = self._opened.get(descriptor, "")
        if self._is_here(path):
            self._begin("truncate", path)
            self._changed_from(path, length)
        self._real["ftruncate"](descriptor, length)

    def _truncate(self, path: Any, length: int) -> None:
        if self._is_here(path):
            self._begin("truncate", os.fspath(path))
            self._changed_from(os.fspath(path), length)
        self._real["truncate"](path, length)

    def _close(self, descriptor: int) -> None:
        self._opened.pop(descriptor, None)
        self._appending.discard(descriptor)
        self._real["close"](descriptor)

    def _rename(self, source: Any, target: Any, **options: Any) -> None:
        self._changing("rename", lambda: self._real["rename"](source, target, **options), source, target)

    def _replace(self, source: Any, target: Any, **options: Any) -> None:
        self._changing("rename", lambda: self._real["replace"](source, target, **options), source, target)

    def _link(self, source: Any, target: Any, **options: Any) -> None:
        self._changing("link", lambda: self._real["link"](source, target, **options), target)

    def _unlink(self, path: Any, **options: Any) -> None:
        self._changing("unlink", lambda: self._real["unlink"](path, **options), path)

    _remove = _unlink

    def _mkdir(self, path: Any, *arguments: Any, **options: Any) -> None:
        self._changing("mkdir", lambda: self._real["mkdir"](path, *arguments, **options), path)

    def _rmdir(self, path: Any, **options: Any) -> None:
        self._changing("rmdir", lambda: self._real["rmdir"](path, **options), path)

    def _open_file(self, path: Any, mode: str = "r", buffering: int = -1, *arguments: Any, **options: Any) -> Any:
        """`open` for reading as it is; a file that is written has writes that may fail."""
        if not self._is_here(path):
            file = self._real_open(path, mode, buffering, *arguments, **options)
            self._opened.pop(file.fileno(), None)
            self._appending.discard(file.fileno())
            return file
        name = os.fspath(path)
        if "+" in mode or not set(mode) & set("wax"):
            if "+" in mode:
                self._changed_from(name, 0)
            file = self._real_open(path, mode, buffering, *arguments, **options)
            self._opened[file.fileno()] = name
            self._appending.discard(file.fileno())
            return file
        self._changed_from(name, 0)
        raw = _Raw(self, name, mode.replace("b", "").replace("t", ""))
        if "b" in mode:
            return raw if buffering == 0 else io.BufferedWriter(raw)
        return io.TextIOWrapper(io.BufferedWriter(raw), *arguments, **options)

    def _open_native(self, path: str, mode: str = "r") -> pa.NativeFile:
        """A file that Arrow writes, through Python."""
        return pa.PythonFile(self._open_file(path, mode))

    def _committing(self, commit: Callable[[Environment], None]) -> Callable[[Environment], None]:
        """A commit of LMDB is one operation, and what it leaves is durable."""

        def committing(environment: Environment) -> None:
            path = environment._folder / "data.mdb"
            if environment.is_readonly or environment._transaction is None or not self._is_here(path):
                commit(environment)
                return
            if self.fault.kind == "power" and self.operations + 1 == self.fault.at:
                self.operations += 1
                self._crash_in(lambda: commit(environment), path)
            is_failing = self.fault.kind in FAILING and self.operations + 1 == self.fault.at
            if is_failing:  # LMDB has ways of its own to fail, see `test_lmdb_faults`
                self.fault.at += 1
            self._begin("commit", str(path))
            commit(environment)
            self.keep(path)

        return committing

    def _crash_in(self, commit: Callable[[], None], path: Path) -> None:
        """A loss of power before, within or after a commit."""
        self._committing_to = str(path)
        when = self._chance.choice(("before", "within", "after"))
        if when == "after":
            commit()
            self.keep(path)

        def complete() -> bytes:
            commit()
            return self._read(str(path))

        self.crash(complete if when == "within" and self.fault.lies_from is None else None)


class _Raw(io.FileIO):
    """A file that is written, byte for byte through the disk."""

    def __init__(self, disk: Disk, path: str, mode: str) -> None:
        self._disk, self._path = disk, path
        is_new = not Path(path).exists()
        if is_new:
            disk._begin("create", path)
        super().__init__(path, mode)
        if is_new:
            disk._scan(_parent(path))
        disk._opened[self.fileno()] = path
        disk._appending.discard(self.fileno())

    def write(self, data: Any, /) -> int:
        view = memoryview(data).cast("B")
        written = super().write(view[: self._disk.write(self._path, len(view))])
        self._disk.wrote()
        return int(written or 0)

    def truncate(self, size: int | None = None, /) -> int:
        self._disk._begin("truncate", self._path)
        return super().truncate(size)

    def close(self) -> None:
        if not self.closed:
            self._disk._opened.pop(self.fileno(), None)
        super().close()


def _parent(path: str) -> str:
    return str(Path(path).parent)


def _apply(names: dict[str, int], change: dict[str, int | None]) -> None:
    for name, inode in change.items():
        if inode is None:
            names.pop(name, None)
        else:
            names[name] = inode


_PATCHED: Final = (
    "open", "write", "fsync", "fdatasync", "ftruncate", "truncate", "close", "rename", "replace", "link", "unlink",
    "remove", "mkdir", "rmdir",
)  # fmt: skip
