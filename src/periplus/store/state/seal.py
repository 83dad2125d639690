"""A digest of a state's file, kept from an orderly close until the next process writes to it.

LMDB keeps no checksums: a flipped bit reads as another value, or as another tree. The seal says what the file was when
it was last closed in order, and is compared before anything is read from it. A process that opens the state for writing
removes the seal first, so a process that is killed leaves none behind, and its file is not checked. Why a digest of the
file, and not one of every row, is in `docs/decisions.md` (20).

A folder without a state may be new. So that a lost state is not mistaken for a new one, a small file (`begun`) is
written once the first commit is made, and never removed. A process killed before that leaves no such file, and the
shard starts again.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from periplus.model import CollectionDamaged

from ..damage import digest_of, repair_hint
from ..folder_sync import sync_folder

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
    with (home / BEGUN).open("w", encoding="ascii") as file:
        file.write(_TEXT)
        file.flush()
        os.fsync(file.fileno())
    sync_folder(home)


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
    path = data.with_name(SEAL)
    draft = path.with_name(SEAL + ".new")
    with draft.open("wb") as file:
        file.write(msgspec.json.encode(Seal(data.stat().st_size, digest_of(data))))
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)


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
