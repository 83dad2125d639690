"""Compares finished files with their digests before the first row is read, once for each version of a file.

DuckDB does not look at the checksums of Parquet pages: a few changed bytes would be a wrong answer. A file that was
verified is not read for that again until its length, time of change or inode differ. Large ones are remembered in
`insight/verified.json`, for the next command; that file may be removed at any time.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from periplus.model import CollectionDamaged

from ..durable import draft_of, replace_scratch_file
from ..folders import digest_of, repair_hint
from .manifest import TableFile

_NOTE: Final = "insight/verified.json"
_WORTH_A_NOTE: Final = 64 << 20
"""Bytes that were read, from which on the result is written down: less is read again within a tenth of a second."""


class FileVersion(Struct, frozen=True, array_like=True):
    """A file at a time: its length, when it was changed (in nanoseconds), its inode, and its expected digest."""

    size: int
    changed_at: int
    inode: int
    digest: str


_VERIFIED: dict[Path, FileVersion] = {}
_LOCK: Final = threading.Lock()


def verify(folder: Path, expected: Mapping[Path, TableFile]) -> None:
    """Raise `CollectionDamaged` if a file in the folder of the tables has not the bytes that were written."""
    for path in unequal(folder, expected):
        raise CollectionDamaged(f"{path} is damaged", hint=repair_hint(path))


def unequal(folder: Path, expected: Mapping[Path, TableFile]) -> list[Path]:
    """The files whose bytes differ from what was written."""
    versions = {path: _version_of(path, file) for path, file in expected.items()}
    with _LOCK:
        new = {path: version for path, version in versions.items() if _VERIFIED.get(path) != version}
    if not new:
        return []
    noted = _noted(folder)
    unread = {path: version for path, version in new.items() if noted.get(_name(folder, path)) != version}
    wrong = [path for path, version in unread.items() if digest_of(path) != version.digest]
    right = {path: version for path, version in new.items() if path not in wrong}
    with _LOCK:
        _VERIFIED.update(right)
    if sum(version.size for version in unread.values()) >= _WORTH_A_NOTE:
        _note(folder, noted | {_name(folder, path): version for path, version in right.items()})
    return wrong


def _version_of(path: Path, expected: TableFile) -> FileVersion:
    found = path.stat()
    return FileVersion(found.st_size, found.st_mtime_ns, found.st_ino, expected.digest)


def _name(folder: Path, path: Path) -> str:
    return os.path.relpath(path, folder)


def _noted(folder: Path) -> dict[str, FileVersion]:
    try:
        return msgspec.json.decode((folder.parent / _NOTE).read_bytes(), type=dict[str, FileVersion])
    except (OSError, msgspec.MsgspecError):
        return {}


def _note(folder: Path, verified: dict[str, FileVersion]) -> None:
    """Write it down where that is possible. It need not be durable: without it the files are read again."""
    path = folder.parent / _NOTE
    draft = draft_of(path)
    with suppress(OSError):
        path.parent.mkdir(exist_ok=True)
        if not path.parent.is_symlink():
            draft.write_bytes(msgspec.json.encode(verified))
            replace_scratch_file(draft, path)
