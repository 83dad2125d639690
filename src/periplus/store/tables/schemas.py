"""The Arrow schemas of all tables, from their declarations: those of every crawl, and those of its parts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import pyarrow as pa

from periplus.model.rows import ColumnType, TableRow, columns_of

from . import pandas_import  # noqa: F401 - before the first array is made
from .declared import ROWS

TEXT: Final = pa.string()
MOMENT: Final = pa.timestamp("us", tz="UTC")
SIZE: Final = pa.int64()
REAL: Final = pa.float64()

ARROW: Final[Mapping[ColumnType, pa.DataType]] = {
    ColumnType.TEXT: TEXT,
    ColumnType.WORD: pa.dictionary(pa.int32(), pa.string()),
    ColumnType.MOMENT: MOMENT,
    ColumnType.NUMBER: pa.int32(),
    ColumnType.SIZE: SIZE,
    ColumnType.REAL: REAL,
    ColumnType.SHARE: pa.float32(),
    ColumnType.CLAIM: pa.bool_(),
    ColumnType.DIGEST: pa.uint64(),
    ColumnType.BYTES: pa.binary(),
    ColumnType.WORDS: pa.list_(pa.string()),
}


def schema_of(row: type[TableRow]) -> pa.Schema:
    """The Arrow schema of a table."""
    return pa.schema([pa.field(name, ARROW[kind], nullable=row.has_nulls) for name, kind in columns_of(row).items()])


SCHEMAS: Final[dict[str, pa.Schema]] = {name: schema_of(row) for name, row in ROWS.items()}
"""The schemas of all tables, by name."""
