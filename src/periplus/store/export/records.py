"""Exports pages as records (JSON lines, CSV or a Parquet table), or as a folder with one file for each page.

The files are `host/path.md`, which begin with YAML front matter (URL, title, language, time), or `host/path.txt`, which
have the text alone. Their folder must be new or empty: then a name that is taken belongs to another URL of the export,
and the page gets its other name (`other_file_of`).
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import BinaryIO, Final

import msgspec
import pyarrow as pa

from periplus.content import NOTHING_HIDDEN, HiddenText
from periplus.model import Url, UsageError
from periplus.urls import fingerprint, site_of

from ..tables.schemas import MOMENT
from ..tables.table import ParquetFile
from .documents import DecodedCapture

DOCUMENTS: Final = "documents.parquet"
"""The file of all pages with their texts, beside one for each table."""
DELETED: Final = "deleted.jsonl"
"""In a folder of what changed: the pages that were deleted."""
_GROUP_BYTES: Final = 32 << 20
"""Characters of text in a row group of the Parquet file: what is held in memory at a time."""
_GROUP_ROWS: Final = 10_000
"""Pages in a row group, if they are short."""

_encode = msgspec.json.Encoder().encode


class PageRecord(msgspec.Struct, frozen=True, omit_defaults=True):
    """A page. What it does not have is null; `markdown` is there if it was asked for, `hidden_text` if there is such.

    `text` is all visible text with white space folded, `main_text` the same without navigation; `hidden_text` is what
    was left out of both because visitors do not see it; `vanished_at` is since when the page is gone.
    """

    url: str
    fetched_at: datetime
    status: int
    content_type: str | None
    title: str | None
    description: str | None
    language: str | None
    canonical: str | None
    text: str
    main_text: str
    warc_file: str
    warc_offset: int
    vanished_at: datetime | None
    markdown: str = ""
    hidden_text: HiddenText = NOTHING_HIDDEN

    @property
    def size(self) -> int:
        """Characters of its texts."""
        return len(self.text) + len(self.main_text) + len(self.markdown)


_TYPES: Final = {"fetched_at": MOMENT, "status": pa.int32(), "warc_offset": pa.int64(), "vanished_at": MOMENT}
"""Types of columns that are not strings."""


def record_of(document: DecodedCapture, *, wants_markdown: bool = False) -> PageRecord:
    """The record of a page."""
    capture, page = document.capture, document.page
    record = PageRecord(
        url=capture.url,
        fetched_at=capture.fetched_at,
        status=capture.status,
        content_type=capture.content_type,
        title=page.title or None,
        description=page.description or None,
        language=document.language or None,
        canonical=page.canonical,
        text=page.text,
        main_text=page.main_text,
        warc_file=capture.stored.file,
        warc_offset=capture.stored.offset,
        vanished_at=capture.vanished_at,
        markdown=document.to_markdown() if wants_markdown else "",
        hidden_text=document.hidden_text or NOTHING_HIDDEN,  # the same object is left out
    )
    return _clean(record)


def _clean(record: PageRecord) -> PageRecord:
    """The same with `?` for lone surrogates, which UTF-8 cannot hold."""
    values = {
        name: value.encode("utf-8", "replace").decode()
        for name, value in msgspec.structs.asdict(record).items()
        if isinstance(value, str) and not _is_encodable(value)
    }
    return msgspec.structs.replace(record, **values) if values else record


def _is_encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def write_line(record: PageRecord, out: BinaryIO) -> None:
    """Add the JSON object of a page, in a line of its own (https://jsonlines.org)."""
    out.write(_encode(record) + b"\n")


class DeletedPage(msgspec.Struct, frozen=True):
    """A page that an earlier export had, and that is gone now, or that this export leaves out."""

    url: str
    deleted: bool
    deleted_at: datetime


def tombstone_line(url: Url, at: float) -> bytes:
    """The JSON object of a page that was deleted, as a line."""
    return _encode(DeletedPage(url, True, datetime.fromtimestamp(at, UTC))) + b"\n"


class CsvWriter:
    """Writes CSV in UTF-8 (RFC 4180): a header, then a row for each page."""

    def __init__(self, out: BinaryIO, *, wants_markdown: bool = False) -> None:
        self._out = out
        self._names = column_names(wants_markdown=wants_markdown)
        self._write: Callable[[list[object]], object] = csv.writer(self).writerow
        self._write(list(self._names))

    def write(self, text: str) -> int:
        """Take the text of a row from the `csv` module."""
        return self._out.write(text.encode())

    def add(self, record: PageRecord) -> None:
        """Add the row of a page."""
        values = (getattr(record, name) for name in self._names)
        self._write([_utc(value) if isinstance(value, datetime) else value for value in values])


class DocumentTable:
    """Writes the pages of a collection with their texts as one Parquet file."""

    def __init__(self, folder: Path, *, wants_markdown: bool = False) -> None:
        names = column_names(wants_markdown=wants_markdown)
        self._schema = pa.schema([(name, _TYPES.get(name, pa.string())) for name in names])
        self._file = ParquetFile(folder / DOCUMENTS, self._schema)
        self._group: list[PageRecord] = []
        self._size = 0

    def add(self, record: PageRecord) -> None:
        """Add a page."""
        self._group.append(record)
        self._size += record.size
        if self._size >= _GROUP_BYTES or len(self._group) >= _GROUP_ROWS:
            self._write_group()

    def finish(self) -> None:
        """Complete the file."""
        self._write_group()
        self._file.finish()

    def _write_group(self) -> None:
        group, self._group, self._size = self._group, [], 0
        if group:
            columns = [[getattr(record, name) for record in group] for name in self._schema.names]
            arrays = [pa.array(values, field.type) for values, field in zip(columns, self._schema, strict=True)]
            self._file.write([pa.RecordBatch.from_arrays(arrays, schema=self._schema)])


def column_names(*, wants_markdown: bool) -> tuple[str, ...]:
    """The names of the columns of CSV and Parquet in their order. `hidden_text` is of JSON alone: it is not a text."""
    left_out = ("hidden_text",) if wants_markdown else ("hidden_text", "markdown")
    return tuple(name for name in PageRecord.__struct_fields__ if name not in left_out)


_UNSAFE = re.compile(r"[^A-Za-z0-9%!$&\'()+,;=@._~\-]|^\.+|[. ]+$")
_LONGEST_NAME = 100
_DEEPEST = 16


def file_of(url: Url, suffix: str) -> PurePosixPath:
    """The path of a URL's file, below the folder of an export. `suffix` has its dot."""
    path, _, query = url[url.index("/", 8) :].partition("?")
    *folders, name = path.split("/")[1:]
    wanted = [*folders, name or "index"] if not query else [*folders, f"{name or 'index'}_{query}"]
    given = [_safe(part) for part in wanted]
    if len(given) > _DEEPEST:
        given = [*given[: _DEEPEST - 1], given[-1]]
    if given != wanted or query:
        given[-1] = f"{given[-1]}~{fingerprint(url):016x}"
    return PurePosixPath(_safe(site_of(url).replace(":", "_")), *given[:-1], given[-1] + suffix)


def other_file_of(url: Url, suffix: str) -> PurePosixPath:
    """The path if that of `file_of` is taken: `http` and `https` may differ, and some file systems ignore case."""
    return PurePosixPath(_safe(site_of(url).replace(":", "_")), f"~{fingerprint(url):016x}{suffix}")


def _safe(name: str) -> str:
    return _UNSAFE.sub("_", name)[:_LONGEST_NAME] or "_"


MARKDOWN, TEXT = ".md", ".txt"


def prepare_folder(folder: Path) -> None:
    """Make the folder, if it is not there; refuse one that holds something."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"{folder} is not an empty folder", hint="name a folder that does not exist yet")
    folder.mkdir(parents=True, exist_ok=True)


def write_file(document: DecodedCapture, folder: Path, suffix: str) -> bool:
    """Write the file of a page; `False` if it has no text."""
    text = document.to_markdown() if suffix == MARKDOWN else document.to_text()
    if not text.strip():
        return False
    if suffix == MARKDOWN:
        text = f"{_front_matter(document)}\n{text}"
    data = (text.rstrip("\n") + "\n").encode("utf-8", "replace")
    url = document.capture.url
    if not _create(folder, file_of(url, suffix), data):
        _create(folder, other_file_of(url, suffix), data)
    return True


def _front_matter(document: DecodedCapture) -> str:
    capture, page = document.capture, document.page
    facts = {
        "url": capture.url,
        "title": page.title,
        "language": document.language,
        "fetched_at": _utc(capture.fetched_at),
        "vanished_at": capture.vanished_at and _utc(capture.vanished_at),
    }
    lines = [f"{name}: {json.dumps(value)}" for name, value in facts.items() if value]
    return "\n".join(["---", *lines, "---", ""])


def _utc(at: datetime) -> str:
    return at.isoformat().replace("+00:00", "Z")


def _create(folder: Path, file: PurePosixPath, data: bytes) -> bool:
    """Write a new file; `False` if its place is taken, by a file or by a folder, or a file is in its way."""
    path = folder / file
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("xb") as opened:
            opened.write(data)
    except (FileExistsError, NotADirectoryError, IsADirectoryError):
        return False
    return True
