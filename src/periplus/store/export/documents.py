"""A capture read again: its bytes from the archive, and what they say.

A capture that cannot be read is a value with a reason, counted in the summary of an export:

- `damaged`: the archive holds no such record, or not all of it;
- `no-original`: the body was the same as an earlier one, which is not in the collection;
- `no-text`: a picture, an archive, or a page with no words (told by the formats that are about text).
"""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from periplus.content import decode_body, read_page
from periplus.formats.encodings import decode
from periplus.formats.headers import Headers
from periplus.model import CollectionDamaged, Page

from ..warc import read_record
from .captures import Capture

DAMAGED, NO_ORIGINAL, NO_TEXT = "damaged", "no-original", "no-text"

_CUTS = frozenset({"too-deep", "too-many-tags", "too-many-attributes", "too-large"})
_MARKS = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")


class Document(Struct, frozen=True):
    """One version of a page, its body without content codings."""

    capture: Capture
    page: Page
    body: bytes

    @property
    def is_html(self) -> bool:
        """Whether it was read as a page, and not as plain text or nothing."""
        return not any(problem.reason in ("empty", "binary", "not-html") for problem in self.page.problems)

    @property
    def html(self) -> bytes:
        """The page in UTF-8, as far as it is safe to parse."""
        body = self.body
        for mark in _MARKS:
            body = body.removeprefix(mark)
        if self.page.charset != "UTF-8":
            body = decode(body, self.page.charset).encode("utf-8", "replace")
        ends = [problem.at for problem in self.page.problems if problem.reason in _CUTS and problem.at is not None]
        return body[: min(ends)] if ends else body


def read_document(archive: Path, capture: Capture) -> Document | str:
    """The document of a capture, or the reason why there is none."""
    if capture.body_at is None:
        return NO_ORIGINAL
    try:
        message = read_record(archive, capture.body_at).message()
    except CollectionDamaged:
        return DAMAGED
    headers = Headers(message.fields)
    body, _ = decode_body(message.body, ",".join(headers.all("content-encoding")))
    page = read_page(
        body,
        capture.url,
        headers.get("content-type") or "",
        robots_tags=headers.all("x-robots-tag"),
        link_headers=headers.all("link"),
    )
    return Document(capture, page, body)
