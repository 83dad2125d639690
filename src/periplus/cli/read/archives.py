"""What `periplus read` shows of a WARC or ARC file: a line for each record."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from periplus.model import Problem
from periplus.store.warc import WarcRecord, read_records

_MAX_BLOCK = 64 << 10
"""Bytes of a block that are looked at: the fields of an answer. A longer one is not a problem here."""


class Record(Struct, frozen=True):
    """A record of a WARC or ARC file."""

    kind: str
    url: str
    date: str
    status: int | None
    offset: int
    length: int


def read_captures(path: Path) -> Iterator[Record | Problem]:
    """Every record of a file, and what is wrong with it."""
    for record in read_records(path, max_block=_MAX_BLOCK):
        if isinstance(record, WarcRecord):
            status = record.message().status if record.is_http else None
            date = record.fields.get("warc-date", "")
            yield Record(record.type, record.url, date, status, record.offset, record.length)
        elif record.reason != "cut-block":
            yield record
