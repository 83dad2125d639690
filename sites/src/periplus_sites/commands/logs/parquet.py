"""A log report as a Parquet file: a row for each crawler, for DuckDB and others."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from periplus.store.tables import pandas_import  # noqa: F401 - before the first array is made
from periplus_sites.logs import CrawlerReport, LogReport

_PARTS = ("needless", "identity")
"""Parts of a crawler's report whose values become columns of their own, with the part's name before theirs."""
_LEFT_OUT = ("statuses", "kinds")
"""Counts by status and kind: a column for each would differ from log to log."""
_MOMENTS = ("first_at", "last_at")


def write_parquet(path: Path, report: LogReport) -> None:
    """Write the crawlers of a report."""
    schema = pa.schema([*_columns(CrawlerReport)])
    rows = [_row(crawler) for crawler in report.crawlers]
    pq.write_table(pa.Table.from_pylist(rows, schema), path)


def _row(crawler: CrawlerReport) -> dict[str, Any]:
    values = msgspec.structs.asdict(crawler)
    row = {name: value for name, value in values.items() if name not in (*_PARTS, *_LEFT_OUT)}
    for part in _PARTS:
        row |= {f"{part}_{name}": value for name, value in msgspec.structs.asdict(values[part]).items()}
    for name in _MOMENTS:
        row[name] = int(row[name] * 1e6)
    return row


def _columns(kind: type[msgspec.Struct], prefix: str = "") -> Iterator[pa.Field]:
    for field in msgspec.structs.fields(kind):
        if field.name in _PARTS:
            yield from _columns(field.type, f"{field.name}_")
        elif field.name not in _LEFT_OUT:
            yield pa.field(prefix + field.name, _type(field.name, str(field.type)))


def _type(name: str, written: str) -> pa.DataType:
    if name in _MOMENTS:
        return pa.timestamp("us", tz="UTC")
    if "tuple" in written:
        return pa.list_(pa.string())
    return pa.string() if "str" in written else pa.float64() if "float" in written else pa.int64()
