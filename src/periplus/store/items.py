"""Items: the results of a program's extractor, as a table beside the others.

There is one row an item: the URL, the time of the fetch, the time of extraction, and the item as JSON; a page without
items has a row without one, which says that those of its earlier versions hold no more. SQL sees the fields of the
items as columns (`insight.views`). The rows are in `tables/items/NNNNNN.parquet`, written by the process
that hands pages over. Every file also records the position up to which pages had been handled, so that after a crash no
page's items are written twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec
import pyarrow as pa
from msgspec import Struct

from periplus.lazy_exports import LazyModule
from periplus.model import CollectionDamaged, Url, UsageError

from .durable import replace_file
from .folders import repair_hint
from .tables.schemas import MOMENT, TEXT
from .tables.tail import Position

if TYPE_CHECKING:
    import pyarrow.parquet as pq
else:
    pq = LazyModule("pyarrow.parquet")

TABLE: Final = "items"
SCHEMA: Final = pa.schema([("url", TEXT), ("fetched_at", MOMENT), ("extracted_at", MOMENT), ("item", TEXT)])
"""The columns at rest."""
ROWS_PER_FILE: Final = 10_000
"""Items after which a file is written: bounds the memory that waiting items take."""
MAX_ITEM_BYTES: Final = 1 << 20
"""Bytes of one item as JSON: a row larger than this is a body, which the archive has already."""

_POSITIONS: Final = b"periplus.positions"
_encode = msgspec.json.Encoder(decimal_format="number").encode


class ItemRow(Struct, frozen=True):
    """One row."""

    url: Url
    fetched_at: datetime
    extracted_at: datetime
    item: str | None


class ItemWriter:
    """Appends items; `flush` makes them durable together with the positions that they reach to."""

    def __init__(self, tables: Path) -> None:
        self._folder = tables / TABLE
        self._rows: list[ItemRow] = []

    def add(self, url: Url, fetched_at: datetime, items: Sequence[dict[str, Any]], now: float) -> None:
        """Add the items of one page. Raises `UsageError` for an item that JSON cannot hold."""
        at = datetime.fromtimestamp(now, UTC)
        texts: list[str | None] = [item_text(url, item) for item in items]
        self._rows += [ItemRow(url, fetched_at, at, text) for text in texts or [None]]

    @property
    def is_full(self) -> bool:
        """Whether enough items wait for a file."""
        return len(self._rows) >= ROWS_PER_FILE

    def flush(self, positions: dict[int, Position]) -> None:
        """Write the waiting items to a file of their own, if there are any."""
        if not self._rows:
            return
        self._folder.mkdir(parents=True, exist_ok=True)
        files = item_files(self._folder.parent)
        path = self._folder / f"{_number(files[-1]) + 1 if files else 1:06d}.parquet"
        columns = [
            pa.array([getattr(row, name) for row in self._rows], SCHEMA.field(name).type) for name in SCHEMA.names
        ]
        known = {_POSITIONS: msgspec.json.encode(positions)}
        draft = path.with_name(f".{path.name}.part")
        pq.write_table(pa.Table.from_arrays(columns, schema=SCHEMA.with_metadata(known)), draft, compression="zstd")
        replace_file(draft, path)
        self._rows.clear()


def item_text(url: Url, item: object) -> str:
    """An item as JSON."""
    if not isinstance(item, dict):
        raise UsageError(
            f"extract= returned {type(item).__name__} for {url}", hint="return a dict, a list of dicts, or None"
        )
    try:
        data = _encode(item)
    except (TypeError, ValueError, UnicodeEncodeError, msgspec.MsgspecError) as error:
        raise UsageError(f"extract= returned what JSON cannot hold for {url}: {error}") from error
    if len(data) > MAX_ITEM_BYTES:
        raise UsageError(
            f"extract= returned an item of {len(data):,} bytes for {url}, at most {MAX_ITEM_BYTES:,} are stored",
            hint="extract the fields that you need; the archive has the page itself",
        )
    return data.decode()


def item_files(tables: Path) -> list[Path]:
    """The files of the table, in the order in which they were written."""
    return sorted((tables / TABLE).glob("[0-9]*.parquet"), key=_number)


def positions_of_items(tables: Path) -> dict[int, Position]:
    """Up to which positions pages had been handled when the last items were written."""
    files = item_files(tables)
    if not files:
        return {}
    try:
        known = (pq.read_schema(files[-1]).metadata or {}).get(_POSITIONS, b"{}")
        return msgspec.json.decode(known, type=dict[int, Position])
    except (pa.ArrowException, OSError, msgspec.MsgspecError) as error:
        raise CollectionDamaged(f"{files[-1]} is damaged: {error}", hint=repair_hint(files[-1])) from error


def _number(path: Path) -> int:
    return int(path.stem)
