"""From Python values to the columns of a record batch, fast for what is usual and safe for what is hostile.

A page may say anything: half a surrogate pair, a date in the year 40,000, a number that no integer holds. No value
makes a column raise. A text loses invalid characters and what is past `MAX_TEXT`; a time or number out of range is
null. The fast way is tried first, and only when Arrow refuses it are values looked at one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
from msgspec.structs import astuple
from numpy.typing import NDArray

from periplus.lazy_exports import LazyModule
from periplus.model import Granularity, Lastmod
from periplus.model.rows import ColumnType, TableRow, columns_of

from . import pandas_import  # noqa: F401 - before the first array is made
from .declared import ROWS
from .schemas import ARROW, SCHEMAS

if TYPE_CHECKING:
    import pyarrow.compute as pc
else:
    pc = LazyModule("pyarrow.compute")

MAX_TEXT: Final = 65_536
"""Characters of one text: the longest canonical URL."""
_EARLIEST: Final = -62_135_596_800.0
_LATEST: Final = 253_402_300_799.0
"""The years 1 to 9999: what every reader of timestamps can show."""
_GRANULARITIES: Final = tuple(granularity.name.lower() for granularity in Granularity)
_NO_LASTMOD: Final = (None, None)
MakeColumn = Callable[[Any], pa.Array]
"""Makes a column of a sequence of values."""
_REFUSALS: Final = (pa.ArrowException, ValueError, OverflowError, TypeError)


def texts(values: Sequence[str | None]) -> pa.Array:
    """A column of strings."""
    try:
        column = pa.array(values, pa.string())
    except _REFUSALS:
        column = pa.array([None if value is None else _clean(value) for value in values], pa.string())
    longest = pc.max(pc.binary_length(column)).as_py()
    return column if longest is None or longest <= MAX_TEXT else pc.utf8_slice_codeunits(column, 0, MAX_TEXT)


def words(values: Sequence[str | None]) -> pa.DictionaryArray:
    """A column of strings with few distinct values."""
    return texts(values).dictionary_encode()


def moments(values: Sequence[float | None] | NDArray[np.float64]) -> pa.Array:
    """A column of times, from POSIX seconds."""
    seconds = np.array(values, dtype=np.float64)
    with np.errstate(invalid="ignore"):
        is_null = ~((seconds >= _EARLIEST) & (seconds <= _LATEST))
    seconds[is_null] = 0.0
    micros = np.rint(seconds * 1e6).astype(np.int64)
    return pa.array(micros, mask=is_null).cast(pa.timestamp("us", tz="UTC"))


def lists(values: Sequence[Sequence[str]]) -> pa.Array:
    """A column of lists of strings."""
    offsets = np.zeros(len(values) + 1, dtype=np.int32)
    np.cumsum([len(value) for value in values], out=offsets[1:])
    return pa.ListArray.from_arrays(offsets, texts([word for value in values for word in value]))


def lastmod_values(lastmod: Lastmod | None) -> tuple[float | None, str | None]:
    """When, and how finely that was written."""
    return _NO_LASTMOD if lastmod is None else (lastmod.at, _GRANULARITIES[lastmod.granularity])


def sites(urls: Iterable[str]) -> list[str]:
    """The site of each canonical URL, as `urls.site_of` gives it, for many of them in a third of the time."""
    authorities = [url.split("/", 3)[2] for url in urls]
    return [name if "@" not in name else name.rpartition("@")[2] for name in authorities]


def plain(kind: pa.DataType) -> MakeColumn:
    """How to make a column of numbers, claims or bytes."""

    def column(values: Sequence[Any]) -> pa.Array:
        try:
            return pa.array(values, kind)
        except _REFUSALS:
            return pa.array([_fitting(value, kind) for value in values], kind)

    return column


def _compressing(make: MakeColumn) -> MakeColumn:
    """How to make a column that often holds one value throughout a batch, which then takes a tenth of the time."""

    def column(values: Sequence[Any]) -> pa.Array:
        first = values[0]
        if first is values[-1] and values.count(first) == len(values):
            return make([first]).take(pa.array(np.zeros(len(values), dtype=np.int32)))
        return make(values)

    return column


_MAKERS: Final = {kind: _compressing(plain(arrow)) for kind, arrow in ARROW.items()} | {
    ColumnType.TEXT: _compressing(texts),
    ColumnType.WORD: _compressing(words),
    ColumnType.MOMENT: _compressing(moments),
    ColumnType.WORDS: lists,
}
_WRITERS: Final = {
    table: [(name, _MAKERS[kind]) for name, kind in columns_of(row).items()] for table, row in ROWS.items()
}
"""How each column of each table is made of values."""


def batch_of_values(table: str, columns: Mapping[str, Sequence[Any]]) -> pa.RecordBatch:
    """The batch of these columns of values, which are not empty, by name."""
    return pa.RecordBatch.from_arrays([make(columns[name]) for name, make in _WRITERS[table]], schema=SCHEMAS[table])


def batch_of_rows(table: str, rows: Sequence[TableRow]) -> pa.RecordBatch:
    """The batch of these rows, of which there is at least one."""
    columns = zip(*map(astuple, rows), strict=True)
    arrays = [make(column) for (_, make), column in zip(_WRITERS[table], columns, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=SCHEMAS[table])


def batch_of_arrays(table: str, columns: Mapping[str, pa.Array]) -> pa.RecordBatch:
    """The batch of these columns, by name."""
    return pa.RecordBatch.from_arrays([columns[name] for name in SCHEMAS[table].names], schema=SCHEMAS[table])


def widened(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Rows that were written before the schema had its last columns, with these columns null."""
    if batch.schema.names == schema.names:
        return batch
    arrays = [
        batch.column(field.name) if field.name in batch.schema.names else pa.nulls(batch.num_rows, field.type)
        for field in schema
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _clean(text: str) -> str:
    """The text without halves of surrogate pairs, which no encoding of Unicode has."""
    return text.encode("utf-8", "replace").decode()


def _fitting(value: Any, kind: pa.DataType) -> Any:
    try:
        pa.scalar(value, kind)
    except _REFUSALS:
        return None
    return value
