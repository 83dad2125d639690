"""A lock on a folder itself, so that deleting a lock file does not let a second process in.

The lock is an `flock` on a descriptor of the folder; the system releases it when the process ends, however it ends. A
small file inside names the process that holds it, for messages only. Some network file systems cannot lock a folder:
there that file is locked instead.
"""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress
from pathlib import Path

from periplus.model import PeriplusError


class FolderLocked(PeriplusError):  # noqa: N818 - reads as what is the case
    """Another process holds the folder. `owner` is its process id, or `unknown`."""

    def __init__(self, folder: Path, owner: str) -> None:
        super().__init__(f"{folder} is in use by process {owner}")
        self.owner = owner


def lock_folder(folder: Path, note: str) -> int:
    """Lock a folder for this process alone, until the returned descriptor is closed. `note` names the holder."""
    held = _locked(folder, note, fcntl.LOCK_EX)
    with suppress(OSError):
        (folder / note).write_text(f"{os.getpid()}\n", "ascii")
    return held


def share_folder(folder: Path, note: str) -> int:
    """Keep writers out until the returned descriptor is closed; other readers may share it."""
    return _locked(folder, note, fcntl.LOCK_SH)


def _locked(folder: Path, note: str, how: int) -> int:
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, how | fcntl.LOCK_NB)
    except BlockingIOError as error:
        os.close(descriptor)
        raise FolderLocked(folder, _owner(folder / note)) from error
    except OSError:
        os.close(descriptor)
        return _locked_file(folder, note, how)
    return descriptor


def _locked_file(folder: Path, note: str, how: int) -> int:
    """Lock the file with the holder's name, where the file system cannot lock folders."""
    flags = os.O_RDONLY if how == fcntl.LOCK_SH else os.O_RDWR | os.O_CREAT
    descriptor = os.open(folder / note, flags | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(descriptor, how | fcntl.LOCK_NB)
    except OSError as error:
        os.close(descriptor)
        raise FolderLocked(folder, _owner(folder / note)) from error
    return descriptor


def _owner(note: Path) -> str:
    try:
        return note.read_text("ascii", "replace")[:20].strip() or "unknown"
    except OSError:
        return "unknown"
