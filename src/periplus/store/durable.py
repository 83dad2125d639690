"""Replaces files so that a reader, a crash or a loss of power finds the old one or the new one, whole.

The new content is written beside the file under a hidden name, synced, and renamed; then the folder is synced, so that
the name stays as well. Nothing else in the package renames files: `tests/test_architecture.py` checks that.
"""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Final

from .folders import sync_folder

_DRAFT: Final = ".new"


def write_file(path: Path, data: bytes, *, mode: int = 0o666) -> None:
    """Replace a file; `mode` are its rights, without those that the process withholds."""
    draft = draft_of(path)
    try:
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, mode)
        try:
            left = memoryview(data)
            while left:
                left = left[os.write(descriptor, left) :]
        finally:
            os.close(descriptor)
        replace_file(draft, path)
    except OSError:
        draft.unlink(missing_ok=True)
        raise


def draft_of(path: Path) -> Path:
    """Where the next content of a file is written. Threads and processes may write the same file at once."""
    return path.with_name(f".{path.name}.{os.getpid()}-{threading.get_ident()}{_DRAFT}")


def is_draft(name: str) -> bool:
    """Whether a file has a name that `draft_of` gives: one that is still there was left by a process that ended."""
    return name.startswith(".") and name.endswith(_DRAFT)


def replace_file(draft: Path, path: Path) -> None:
    """Give a file that is written its name; what had that name is replaced."""
    with draft.open("rb") as file:
        os.fsync(file.fileno())
    draft.replace(path)
    sync_folder(path.parent)


def replace_scratch_file(draft: Path, path: Path) -> None:
    """The same for a file that no later process needs: it is whole, but not durable."""
    draft.replace(path)


def move(source: Path, target: Path) -> None:
    """Rename a file or folder whose content is durable already, or that only has to be out of the way."""
    source.rename(target)
    sync_folder(target.parent)
    if source.parent != target.parent:
        sync_folder(source.parent)
