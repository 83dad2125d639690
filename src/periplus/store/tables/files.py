"""Which files the tables have: the Parquet files of all shards, and how far each had come by its last commit.

Which files there must be is in the manifests (`manifest`): every reader goes through `files_of`, which compares names
and sizes with them, or through `intact_files_of`, which compares digests, too, before rows are read. What reads the
rows may be Arrow (`reader`) or DuckDB: neither is needed here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from periplus.model import CollectionDamaged

from ..folders import repair_hint
from .declared import ROWS
from .manifest import Spooled, TableFile, TableFiles, check_size, is_intact, listing_shards, read_manifest, unlisted
from .verifying import verify

SPOOL = ".arrows"


class Place(Struct, frozen=True, array_like=True):
    """A position in a table: file number, length of the spool, and rows."""

    number: int = 1
    length: int = 0
    rows: int = 0


Places = dict[str, Place]


def places_of(mark: bytes | None) -> Places:
    """The place of each table at a mark, the beginning if there is none; also of tables whose part is gone."""
    start = {name: Place() for name in ROWS}
    if mark is None:
        return start
    try:
        places = msgspec.msgpack.decode(mark, type=Places)
    except msgspec.MsgspecError as error:
        raise CollectionDamaged(
            "the position of the tables in the state cannot be read", hint="run periplus repair DIR"
        ) from error
    return start | places


def count_spooled(table: str, spooled: Sequence[Spooled]) -> int:
    """How many rows of a table are in no Parquet file yet."""
    return sum(places_of(shard.mark)[table].rows for shard in spooled)


def spool_path(folder: Path, table: str, number: int) -> Path:
    """The path of the spool that becomes Parquet file `number`."""
    return folder / f"{table}-{number:06d}{SPOOL}"


def parquet_path(folder: Path, shard: int, number: int) -> Path:
    """The path of that Parquet file."""
    return folder / f"{shard:02d}-{number:06d}.parquet"


def shard_of(path: Path) -> int:
    """Which shard wrote a Parquet file."""
    return int(path.name.partition("-")[0])


def number_of(path: Path) -> int:
    """A file's number among those of its kind."""
    return int(path.name.partition(".")[0].rpartition("-")[2])


def files_of(folder: Path, table: str, spooled: Sequence[Spooled] = ()) -> list[Path]:
    """The Parquet files of a table, without those that a shard wrote after its last commit.

    Every file that was finished must be there, as long as it was: else `CollectionDamaged` names it.
    """
    return list(_files(folder, table, spooled))


def has_rows(folder: Path, table: str, spooled: Sequence[Spooled] = ()) -> bool:
    """Whether a table may have rows, as far as that is known without opening its files."""
    listed = _files(folder, table, spooled).values()
    return any(file is None or file.rows for file in listed) or count_spooled(table, spooled) > 0


def intact_files_of(folder: Path, table: str, spooled: Sequence[Spooled] = ()) -> list[Path]:
    """The same files, each with the bytes that were written: else `CollectionDamaged` names it.

    A file that has not changed since it was last verified is not read again.
    """
    found = _files(folder, table, spooled)
    verify(folder, {path: file for path, file in found.items() if file is not None})
    return list(found)


def _files(folder: Path, table: str, spooled: Sequence[Spooled]) -> dict[Path, TableFile | None]:
    """The files of a table, each with what is listed of it; `None` where a shard has no list."""
    ends = {shard.shard: places_of(shard.mark)[table].number for shard in spooled}
    present = sorted((folder / table).glob("[0-9]*.parquet"))
    found: dict[Path, TableFile | None] = {}
    for shard in sorted({*ends, *listing_shards(folder), *map(shard_of, present)}):
        listed = read_manifest(folder, shard)
        if listed is None and ends.get(shard, 1) == 1:
            found |= dict.fromkeys(path for path in present if shard_of(path) == shard and shard not in ends)
        else:
            found |= _listed(folder, table, shard, listed or {}, ends.get(shard))
    return found


def _listed(folder: Path, table: str, shard: int, listed: TableFiles, end: int | None) -> dict[Path, TableFile]:
    """The files of a shard up to a number, all of them there; all that are listed where the number is not known."""
    if end is None:
        end = 1 + max((number_of(Path(path)) for path in listed if path.startswith(f"{table}/")), default=0)
    paths = [parquet_path(folder / table, shard, number) for number in range(1, end)]
    found = {}
    for path in paths:
        expected = listed.get(f"{table}/{path.name}")
        if expected is None:
            raise unlisted(folder, path, shard)
        check_size(path, expected)
        found[path] = expected
    return found


def damaged_files(folder: Path, tables: Iterable[str] = tuple(ROWS)) -> list[Path]:
    """The finished files of these tables whose bytes differ from what was written. Reads all of them."""
    wanted = set(tables)
    return [
        folder / path
        for shard in listing_shards(folder)
        for path, expected in (read_manifest(folder, shard) or {}).items()
        if path.partition("/")[0] in wanted and not is_intact(folder / path, expected)
    ]


def check_digests(folder: Path, tables: Iterable[str]) -> None:
    """Raise `CollectionDamaged` if a finished file of these tables has not the bytes that were written."""
    for path in damaged_files(folder, tables):
        raise CollectionDamaged(f"{path} is damaged", hint=repair_hint(path))


def files_of_judges(folder: Path) -> list[Path]:
    """What judges wrote of the collection in `folder`."""
    return sorted((folder / "insight").glob("verdicts-*.parquet"))
