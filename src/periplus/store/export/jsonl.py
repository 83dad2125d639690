"""One JSON object a line for each page: what most programs that read a corpus expect (https://jsonlines.org)."""

from __future__ import annotations

from typing import BinaryIO

import msgspec

from .documents import Document

_encode = msgspec.json.Encoder().encode


class Line(msgspec.Struct, frozen=True):
    """What is said of a page. Times are UTC (RFC 3339); what the page does not say is null."""

    url: str
    fetched_at: str
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


def write_line(document: Document, out: BinaryIO) -> None:
    """Add the line of a page."""
    capture, page = document.capture, document.page
    line = Line(
        url=capture.url,
        fetched_at=capture.fetched_at.isoformat().replace("+00:00", "Z"),
        status=capture.status,
        content_type=capture.content_type,
        title=page.title or None,
        description=page.description or None,
        language=page.language or None,
        canonical=page.canonical,
        text=page.text,
        main_text=page.main_text,
        warc_file=capture.stored.file,
        warc_offset=capture.stored.offset,
    )
    try:
        out.write(_encode(line) + b"\n")
    except UnicodeEncodeError:
        out.write(_encode(_clean(line)) + b"\n")


def _clean(line: Line) -> Line:
    """Without halves of surrogate pairs, which no encoding of Unicode has."""
    values = {
        name: value.encode("utf-8", "replace").decode() if isinstance(value, str) else value
        for name, value in msgspec.structs.asdict(line).items()
    }
    return msgspec.convert(values, Line)
