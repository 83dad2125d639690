"""Folders of a collection: locked, checked for links out of them, made durable; and the next step after damage."""

from __future__ import annotations

import errno
import fcntl
import os
import shlex
import stat
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from typing import Final

from xxhash import xxh3_128

from periplus.model import CollectionError, PeriplusError


class FolderLocked(PeriplusError):  # noqa: N818 - reads as what is the case
    """Another process holds the folder. `owner` is its process id, or `unknown`."""

    def __init__(self, folder: Path, owner: str) -> None:
        super().__init__(f"{folder} is in use by process {owner}")
        self.owner = owner


class FolderLock:
    """Holds a folder until it is closed: for this process alone, or shared with other readers.

    Two locks are held: an `flock` on a descriptor of the folder, which lasts whatever file is deleted inside, and one
    on a small file inside that names the process. The second is for network file systems, where a lock on a folder is
    local to the machine and a lock on a file is not. The system releases both when the process ends, however it ends.

    `note` is the name of that file. A reader that finds none locks the folder alone.
    """

    def __init__(self, folder: Path, note: str, *, shared: bool = False) -> None:
        self._descriptors: list[int] = []
        how = (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB
        try:
            self._hold(os.open(folder, os.O_RDONLY | os.O_CLOEXEC), how, is_folder=True)
            with suppress(*((FileNotFoundError,) if shared else ())):
                flags = os.O_RDONLY if shared else os.O_RDWR | os.O_CREAT
                self._hold(os.open(folder / note, flags | os.O_CLOEXEC, 0o644), how)
            if not shared:
                os.ftruncate(self._descriptors[-1], 0)
                os.pwrite(self._descriptors[-1], f"{os.getpid()}\n".encode(), 0)
        except BlockingIOError as error:
            self.close()
            raise FolderLocked(folder, _owner(folder / note)) from error
        except BaseException:
            self.close()
            raise

    def _hold(self, descriptor: int, how: int, *, is_folder: bool = False) -> None:
        self._descriptors.append(descriptor)
        try:
            fcntl.flock(descriptor, how)
        except BlockingIOError:
            raise
        except OSError:
            if not is_folder:  # some file systems cannot lock a folder at all: there the file has to do
                raise

    def close(self) -> None:
        """Release the folder."""
        while self._descriptors:
            os.close(self._descriptors.pop())


def _owner(note: Path) -> str:
    try:
        return note.read_text("ascii", "replace")[:20].strip() or "unknown"
    except OSError:
        return "unknown"


_NOT_SUPPORTED: Final = frozenset({errno.EINVAL, errno.ENOTSUP})


def sync_folder(folder: Path) -> None:
    """Make durable which files are in a folder. Some network file systems cannot, and keep names by themselves."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in _NOT_SUPPORTED:
            raise
    finally:
        os.close(descriptor)


def is_inside(folder: Path, name: str) -> bool:
    """Whether a name, relative to a folder, stays in it: after `..` and all symbolic links."""
    return bool(name) and Path(os.path.realpath(folder / name)).is_relative_to(os.path.realpath(folder))


def check_contents(folder: Path, *, except_for: Collection[str] = ()) -> None:
    """Raise `CollectionError` if a folder holds a link that leads out of it, a pipe or a device, at any depth.

    A collection may come from somebody else: what is written to it, or read from it, has to stay in it. The folder
    itself may be a link, since a person has named it. `except_for`: names in the folder that are not looked at.
    """
    root, folders = os.path.realpath(folder), [str(folder)]
    while folders:
        place = folders.pop()
        # a running crawl removes files, and what cannot be read (lost+found) is not used either
        with suppress(FileNotFoundError, NotADirectoryError, PermissionError), os.scandir(place) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)
                elif not entry.is_file(follow_symlinks=False) and (
                    place != str(folder) or entry.name not in except_for
                ):
                    _check_odd(entry, root)


def _check_odd(entry: os.DirEntry[str], root: str) -> None:
    """Check what is neither a file nor a folder."""
    if entry.is_symlink():
        if not Path(os.path.realpath(entry.path)).is_relative_to(root):
            raise CollectionError(
                f"{entry.path} is a link out of the collection",
                hint="put the files themselves there; the collection's own folder may be a link",
            )
    elif not stat.S_ISSOCK(entry.stat(follow_symlinks=False).st_mode):
        raise CollectionError(f"{entry.path} is neither a file nor a folder", hint="remove it")


_PARTS: Final = frozenset({"state", "tables", "warc"})
_CHUNK: Final = 1 << 20
"""Bytes read at a time for a digest: large enough that the calls do not count, small enough to stay in cache."""


def repair_hint(path: Path) -> str:
    """The next step for a person whose collection has this damaged file or folder in it."""
    return f"periplus repair {shlex.quote(str(collection_of(path)))} checks every part and rebuilds what it can"


def collection_of(path: Path) -> Path:
    """The folder of the collection that a file or folder of its state, tables or archive belongs to."""
    for folder in (path, *path.parents):
        if folder.name in _PARTS:
            return folder.parent
    return path


def digest_of(path: Path) -> str:
    """XXH3 (128 bits, hexadecimal) of a file's bytes. It finds damage, not forgery."""
    digest = xxh3_128()
    with path.open("rb", buffering=0) as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return str(digest.hexdigest())
