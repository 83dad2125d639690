"""Recovers the row groups of a damaged Parquet file in which every page matches its checksum."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from .columns import widened
from .manifest import TableFile, finished_file
from .parquet import ParquetFile
from .schemas import SCHEMAS
from .spool import read_spool, whole_batches

_ROWS_PER_GROUP: Final = 100_000
"""Rows of a row group: as `TableSettings` has it unless told otherwise."""


def whole_groups(path: Path, table: str) -> Iterator[pa.Table]:
    """The complete row groups of a file, in order; none if it is missing or its footer cannot be read."""
    try:
        file = pq.ParquetFile(path, page_checksum_verification=True)
    except (pa.ArrowException, OSError):
        return
    with file:
        for number in range(file.num_row_groups):
            try:
                group = _whole(file.read_row_group(number), SCHEMAS[table])
                group.validate(full=True)
            except (pa.ArrowException, OSError, ValueError, KeyError):
                continue
            yield group


def _whole(group: pa.Table, schema: pa.Schema) -> pa.Table:
    """A row group with all columns of its table; those that were added later are null."""
    return pa.Table.from_batches([widened(batch, schema) for batch in group.to_batches()], schema)


def is_readable(path: Path, table: str) -> bool:
    """Whether every row of a file can be read, by its checksums."""
    try:
        rows = pq.read_metadata(path).num_rows
    except (pa.ArrowException, OSError):
        return False
    return bool(rows == sum(group.num_rows for group in whole_groups(path, table)))


def replace_damaged(damaged: Path, path: Path, table: str, *, spool: Path, rows: int | None) -> TableFile:
    """Write a new file of what can be saved of a damaged one that was set aside; maybe without rows.

    The spool that it was made from may still be there: if that has the `rows` that were written, nothing is lost.
    """
    file = ParquetFile(path, SCHEMAS[table])
    length, spooled = whole_batches(spool)
    is_spooled = rows is not None and spooled == rows > 0
    groups = _spooled_groups(spool, length) if is_spooled else _batches(damaged, table)
    for group in groups:
        file.write(group)
    file.finish()
    return finished_file(path, file.rows)


def _batches(damaged: Path, table: str) -> Iterator[list[pa.RecordBatch]]:
    return (group.to_batches() for group in whole_groups(damaged, table) if group.num_rows)


def _spooled_groups(spool: Path, length: int) -> Iterator[list[pa.RecordBatch]]:
    """The batches of a spool, as many at a time as make a row group."""
    group: list[pa.RecordBatch] = []
    rows = 0
    for batch, _ in read_spool(spool, 0, length):
        group.append(batch)
        rows += batch.num_rows
        if rows >= _ROWS_PER_GROUP:
            yield group
            group, rows = [], 0
    if group:
        yield group
