"""A JSON object for each page, one a line: what most programs that read a corpus expect (https://jsonlines.org)."""

from __future__ import annotations

from typing import BinaryIO

import msgspec

from .documents import Document

_encode = msgspec.json.Encoder().encode


class Line(msgspec.Struct, frozen=True, omit_defaults=True):
    """A page. Times are in UTC (RFC 3339); what the page does not have is null. `markdown` is there if asked for."""

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
    markdown: str = ""


def write_line(document: Document, out: BinaryIO, *, wants_markdown: bool = False) -> None:
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
        markdown=document.to_markdown() if wants_markdown else "",
    )
    try:
        out.write(_encode(line) + b"\n")
    except UnicodeEncodeError:
        out.write(_encode(_clean(line)) + b"\n")


def _clean(line: Line) -> Line:
    """Without lone surrogates, which cannot be encoded."""
    values = {
        name: value.encode("utf-8", "replace").decode() if isinstance(value, str) else value
        for name, value in msgspec.structs.asdict(line).items()
    }
    return msgspec.convert(values, Line)
