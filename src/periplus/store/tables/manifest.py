"""Which Parquet files a shard has finished: the size, the rows and a digest of each.

One file a shard, `tables/manifest-SS.json`, so that shards never write the same file. It is replaced as a whole when
Parquet files were finished: after they are durable, and before the mark that counts on them is committed. So a
committed mark never counts on a file that is not listed. What is listed beyond a mark was finished by a process that
died before its commit; it is taken off the list before the file itself is removed.

Readers compare names and sizes every time, and digests before they first read a file (`verifying`).
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from periplus.model import CollectionDamaged

from ..durable import write_file
from ..folders import digest_of, repair_hint

_PREFIX: Final = "manifest-"


class TableFile(Struct, frozen=True):
    """A finished Parquet file: its size in bytes, how many rows it has, and the XXH3 digest of its bytes."""

    size: int
    rows: int
    digest: str


TableFiles = dict[str, TableFile]
"""By path below the folder of the tables: `fetches/00-000001.parquet`."""


class Manifest(Struct, frozen=True):
    """What is written: the finished files of one shard."""

    files: TableFiles


def manifest_path(folder: Path, shard: int) -> Path:
    """The path of a shard's list, in the folder of the tables."""
    return folder / f"{_PREFIX}{shard:02d}.json"


def listing_shards(folder: Path) -> list[int]:
    """The shards that have a list in this folder."""
    numbers = (path.stem.removeprefix(_PREFIX) for path in folder.glob(f"{_PREFIX}*.json"))
    return sorted(int(number) for number in numbers if number.isdecimal())


def read_manifest(folder: Path, shard: int) -> TableFiles | None:
    """The finished files of a shard; `None` if there is no list."""
    path = manifest_path(folder, shard)
    try:
        return msgspec.json.decode(path.read_bytes(), type=Manifest).files
    except FileNotFoundError:
        return None
    except msgspec.MsgspecError as error:
        raise CollectionDamaged(f"{path} is damaged", hint=repair_hint(path)) from error


def write_manifest(folder: Path, shard: int, files: TableFiles) -> None:
    """Replace the list of a shard, whole and durable."""
    listed = Manifest(dict(sorted(files.items())))
    write_file(manifest_path(folder, shard), msgspec.json.format(msgspec.json.encode(listed)))


def finished_file(path: Path, rows: int) -> TableFile:
    """What to list of a file that is whole."""
    return TableFile(path.stat().st_size, rows, digest_of(path))


def check_size(path: Path, expected: TableFile) -> None:
    """Raise `CollectionDamaged` if a file is not there or not as long as it was."""
    try:
        size = path.stat().st_size
    except FileNotFoundError as error:
        raise CollectionDamaged(f"{path} is missing", hint=repair_hint(path)) from error
    if size != expected.size:
        raise CollectionDamaged(
            f"{path} has {size:,} bytes, and {expected.size:,} were written", hint=repair_hint(path)
        )


def is_intact(path: Path, expected: TableFile) -> bool:
    """Whether a file has the bytes that were written. Reads all of it."""
    try:
        return path.stat().st_size == expected.size and digest_of(path) == expected.digest
    except OSError:
        return False


def unlisted(folder: Path, path: Path, shard: int) -> CollectionDamaged:
    """The error for a file that a committed mark counts on and the list of its shard does not have."""
    listed = manifest_path(folder, shard)
    if not listed.exists():
        return CollectionDamaged(f"{listed} is missing", hint=repair_hint(listed))
    return CollectionDamaged(f"{listed} does not list {path.name}", hint=repair_hint(listed))


class Spooled(Struct, frozen=True):
    """The folder of a shard's spools, and its last committed mark."""

    shard: int
    folder: Path
    mark: bytes | None
