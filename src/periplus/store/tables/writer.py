"""From events to rows to files, so that a crash at any moment loses no row that was committed and doubles none.

`record` keeps what an event says as small tuples (never a body or a page: those are large). `checkpoint` turns them
into record batches and makes them durable in the spools; when a spool has enough rows they move on to Parquet. It
returns a mark, a few bytes that say how far everything has come. The caller commits the mark together with its own
state, and gives the last committed one when it opens the tables again: what was written after it is removed, and will
be written anew by the work that is done anew. That is all it takes for exactly once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa

from periplus.model import (
    ChangeSeen,
    CollectionDamaged,
    CollectionError,
    Discovered,
    Event,
    Fetched,
    FetchEnded,
    PageRead,
    Refused,
    SitemapEntriesRead,
    SitemapRead,
)

from .changes import change_row
from .columns import batch_of
from .discoveries import discoveries_batch
from .fetches import fetch_row
from .links import LinkRows
from .pages import page_row
from .schemas import SCHEMAS
from .sitemaps import entry_rows, summary_row
from .table import Place, Table, TableSettings

Places = dict[str, Place]

_MOST_UNREAD = 64
_HEAVIEST_UNREAD = 8 << 20
"""Events, and bytes of what they hold, roughly, before rows are made of them."""
_ROW_WEIGHT = 1000
_LINK_WEIGHT = 100
"""Bytes of a row besides its URL, roughly: only to know when to spill."""


class Tables:
    """An `EventSink` that writes the six tables of one shard.

    `folder` holds a folder for each table, with the Parquet files of all shards; `spool` belongs to this shard alone.
    """

    def __init__(
        self, folder: Path, spool: Path, settings: TableSettings | None = None, *, shard: int, mark: bytes | None
    ) -> None:
        self._settings = settings or TableSettings()
        self._rows: dict[str, list[Any]] = {name: [] for name in SCHEMAS if name != "links"}
        self._unread: list[Event] = []
        self._unread_weight = 0
        self._links = LinkRows()
        self._weight = 0
        self._committed = places_of(mark)
        with _translated(folder), ExitStack() as opened:
            self._tables = {
                name: opened.enter_context(
                    closing(Table(name, folder, spool, self._settings, shard, self._committed[name]))
                )
                for name in SCHEMAS
            }
            opened.pop_all()
        self._takers: Mapping[type, Callable[[Any], None]] = {
            Discovered: self._take_offer,
            Refused: self._take_offer,
            FetchEnded: self._take_fetch,
            PageRead: self._take_page,
            SitemapEntriesRead: self._take_entries,
            SitemapRead: self._take_sitemap,
            ChangeSeen: self._take_change,
        }

    def record(self, events: Sequence[Event]) -> None:
        """Take note, in memory. Only when very much is waiting does it go to the spools before the next checkpoint.

        Events are looked at some dozens at a time: between two pages the processor has forgotten this code.
        """
        self._unread.extend(events)
        self._unread_weight += sum(map(_weight, events))
        if len(self._unread) >= _MOST_UNREAD or self._unread_weight >= _HEAVIEST_UNREAD:
            self._read()
            if self._weight > self._settings.bytes_in_memory:
                self._spill()

    def checkpoint(self) -> bytes:
        """Make every row durable that was recorded; the answer is to be committed before this is called again.

        What the mark of the call before needs is on disk until then.
        """
        return self._advance(everything=False)

    def settle(self) -> bytes:
        """As `checkpoint`, and all rows are in Parquet afterwards: for the end of a crawl."""
        return self._advance(everything=True)

    def close(self) -> None:
        """Let go, without a checkpoint."""
        for table in self._tables.values():
            table.close()

    def _advance(self, *, everything: bool) -> bytes:
        with _translated():
            for name, table in self._tables.items():
                table.forget(self._committed[name])
            self._read()
            self._spill()
            places = {name: table.advance(everything=everything) for name, table in self._tables.items()}
        self._committed = places
        return msgspec.msgpack.encode(places)

    def _read(self) -> None:
        """From events to rows: nothing of a body or a page is held any longer."""
        takers = self._takers
        for event in self._unread:
            takers[type(event)](event)
        self._unread.clear()
        self._unread_weight = 0

    def _spill(self) -> None:
        """From memory to the spools."""
        for name, rows in self._rows.items():
            if rows:
                self._tables[name].append(_batch(name, rows))
                rows.clear()
        if self._links:
            self._tables["links"].append(self._links.take())
        self._weight = 0

    def _take_offer(self, event: Discovered | Refused) -> None:
        self._rows["discoveries"].append(event)
        self._weight += _ROW_WEIGHT + 2 * len(event.discovery.url)

    def _take_fetch(self, event: FetchEnded) -> None:
        row = fetch_row(event)
        if row is not None:
            self._add("fetches", row)

    def _take_page(self, event: PageRead) -> None:
        page = event.page
        self._add("pages", page_row(event))
        self._links.add(page, event.read_at)
        self._weight += len(page.links) * (_LINK_WEIGHT + len(page.base))

    def _take_entries(self, event: SitemapEntriesRead) -> None:
        self._rows["sitemap_entries"].extend(entry_rows(event))
        self._weight += sum(_ROW_WEIGHT + len(entry.url) for entry in event.entries)

    def _take_sitemap(self, event: SitemapRead) -> None:
        self._add("sitemap_entries", summary_row(event))

    def _take_change(self, event: ChangeSeen) -> None:
        self._add("changes", change_row(event))

    def _add(self, table: str, row: tuple[Any, ...]) -> None:
        self._rows[table].append(row)
        self._weight += _ROW_WEIGHT + len(row[0])


def _weight(event: Event) -> int:
    """What an event holds, in bytes, roughly: bodies, texts and links."""
    if isinstance(event, PageRead):
        page = event.page
        return 2 * len(page.text) + len(page.links) * (_LINK_WEIGHT + len(page.base))
    if isinstance(event, FetchEnded):
        return len(event.outcome.body) if isinstance(event.outcome, Fetched) else 0
    return len(event.entries) * _ROW_WEIGHT if isinstance(event, SitemapEntriesRead) else 0


def places_of(mark: bytes | None) -> Places:
    """How far each table had come at a mark; all of them at their beginning where there is none."""
    if mark is None:
        return {name: Place() for name in SCHEMAS}
    try:
        places = msgspec.msgpack.decode(mark, type=Places)
    except msgspec.MsgspecError as error:
        raise CollectionDamaged("the mark of the tables cannot be read", hint="crawl into a new folder") from error
    return {name: places.get(name, Place()) for name in SCHEMAS}


def _batch(name: str, rows: list[Any]) -> pa.RecordBatch:
    if name == "discoveries":
        return discoveries_batch(rows)
    return batch_of(SCHEMAS[name], zip(*rows, strict=True))


@contextmanager
def _translated(folder: Path | None = None) -> Iterator[None]:
    """What the disk refuses, in our words."""
    try:
        yield
    except OSError as error:
        where = f" in {folder}" if folder else ""
        raise CollectionError(
            f"cannot write the tables{where}: {error}", hint="is the disk full, or not ours?"
        ) from error
