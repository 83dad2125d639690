"""Reads a capture again: its body from the archive, and the page parsed from it.

A capture that cannot be read is a value with a reason, counted in the summary of an export:

- `damaged`: the archive does not hold the record, or not all of it;
- `no-original`: the body was the same as an earlier one, which is not in the collection;
- `no-text`: an image, an archive, or a page without words (only for formats that are about text);
- `pdf-encrypted` and the like: a PDF whose text cannot be read (`content.pdf`; for the same formats).

Text that visitors of a page do not see (`content.hidden`) is in none of its texts; links, digests and counts are those
of the whole page. The text of a PDF is read as HTML with a section for each page, so that everything made of pages is
made of PDFs, too.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import Path
from typing import Final, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from periplus.content import NOTHING_HIDDEN, HiddenText, decode_body, read_page, read_texts, without_hidden
from periplus.content.hidden import without_hidden_characters
from periplus.content.pdf import MIME as PDF
from periplus.content.pdf import html_of, is_pdf
from periplus.content.scan.columns import MAX_TEXT
from periplus.content.text_language import page_language
from periplus.formats.encodings import decode
from periplus.formats.headers import Headers
from periplus.formats.headers.caching import read_last_modified
from periplus.formats.preferences import preference_headers
from periplus.model import DOCUMENT_TYPE, CollectionDamaged, Directives, ParsedPage, Preferences

from ..tables import Spooled
from ..warc import read_record
from .captures import Capture, captures_of, find_original
from .markdown import WrittenBlock, WrittenKind, to_blocks, to_markdown, to_text

DAMAGED, NO_ORIGINAL, NO_TEXT = "damaged", "no-original", "no-text"

_BYTE_ORDER_MARKS: Final = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")
_JUST_NOW: Final = 60.0
"""Seconds before the request in which a server's date is that of the request."""
_DIGEST_BYTES: Final = 16
"""Bytes of a text's digest: with 128 bits collisions do not occur in practice."""
_BY_CHANCE: Final = frozenset({"pdf-timeout", "pdf-crashed"})
"""Problems that depend on how busy the machine is."""
_NOT_HTML: Final = frozenset({"empty", "binary", "not-html"})
"""Problems of a body that was not read as a page."""


class ReadBody(NamedTuple):
    """A page, the HTML that was made of a PDF's text, and what visitors do not see, as a `DecodedCapture` has them."""

    page: ParsedPage
    made_html: bytes = b""
    shown: bytes = b""
    hidden_text: HiddenText = NOTHING_HIDDEN


class DecodedCapture(Struct, frozen=True):
    """One version of a page, its body without content codings."""

    capture: Capture
    page: ParsedPage
    body: bytes
    last_modified: float | None = None
    """The server's date of its last change, in POSIX time, whatever it is worth."""
    made_html: bytes = b""
    """The HTML that was made of a PDF's text."""
    shown: bytes = b""
    """The source in UTF-8 without what visitors do not see; empty if nothing is hidden, or it is not HTML."""
    hidden_text: HiddenText = NOTHING_HIDDEN

    @property
    def modified_at(self) -> datetime | None:
        """When the server says it last changed."""
        return modified_at(self.last_modified, self.capture)

    @property
    def language(self) -> str:
        """The language tag of its text; empty if it is unknown."""
        return page_language(self.page)

    @property
    def preferences(self) -> Preferences:
        """What the page states on its use."""
        return self.page.preferences

    @property
    def directives(self) -> Directives:
        """What the page asks of crawlers."""
        return self.page.directives

    @property
    def text_digest(self) -> bytes:
        """A digest of the text, by which pages are the same; empty without text."""
        text = self.page.main_text or self.page.text
        return blake2b(text.encode("utf-8", "replace"), digest_size=_DIGEST_BYTES).digest() if text else b""

    @property
    def source(self) -> bytes:
        """What the page was read from: the body or, of a PDF, the HTML that was made of its text."""
        return self.made_html or self.body

    def to_markdown(self) -> str:
        """The main text in Markdown."""
        return markdown_of(self.page, self.source, self.shown)

    def blocks(self) -> list[WrittenBlock]:
        """The main text in blocks of Markdown; plain text in its paragraphs."""
        html, page = self.html, self.page
        if html is not None:
            blocks = to_blocks(html, page.url, base=page.base, encoding=page.charset)
            return blocks or ([WrittenBlock(page.text, WrittenKind.TEXT)] if page.text else [])
        paragraphs = _lines_of(page, self.source).split("\n\n")
        return [WrittenBlock(text, WrittenKind.TEXT) for text in paragraphs if text.strip()]

    def to_text(self, most: int = sys.maxsize) -> str:
        """The main text with its lines; of HTML at least the first `most` characters."""
        html = self.html
        if html is None:
            return _lines_of(self.page, self.source)
        return to_text(html, self.page.url, most) or self.page.text

    @property
    def html(self) -> bytes | None:
        """The source in UTF-8 without what is hidden; `None` if it is not HTML."""
        return self.shown or _html_of(self.page, self.source)

    @property
    def no_text(self) -> str:
        """Why there is no text, if there is none."""
        return next((each.reason for each in self.page.problems if each.reason.startswith("pdf-")), NO_TEXT)

    @property
    def is_repeatable(self) -> bool:
        """Whether it is the same when it is read again: not a PDF of which reading took too long, or failed."""
        return not any(each.reason in _BY_CHANCE for each in self.page.problems)


def read_body(body: bytes, url: str, fields: Iterable[tuple[str, str]] = (), *, texts_only: bool = False) -> ReadBody:
    """Read a body without content codings, given the header fields of its answer; a PDF by its text.

    `texts_only`: as `content.read_texts` reads it.
    """
    headers = Headers(fields)
    content_type = headers.get("content-type") or ""

    def read(source: bytes, source_type: str) -> ParsedPage:
        return (read_texts if texts_only else read_page)(
            source,
            url,
            source_type,
            robots_tags=headers.all("x-robots-tag"),
            link_headers=headers.all("link"),
            use_headers=preference_headers(headers.fields),
        )

    if not is_pdf(body, content_type):
        return _without_hidden(ReadBody(read(body, content_type)), body, read)
    from .pdf_reader import read_pdf  # starts a process: only where there is a PDF

    text = read_pdf(body)
    html = html_of(text)
    page = read(html, DOCUMENT_TYPE)
    found = ReadBody(replace(page, mime=PDF, problems=(*text.problems, *page.problems)), html)
    return _without_hidden(found, html, read)


def _without_hidden(found: ReadBody, source: bytes, read: Callable[[bytes, str], ParsedPage]) -> ReadBody:
    """The same without text that visitors do not see. `read` reads a source again, given its type."""
    page = found.page
    html = _html_of(page, source)
    if html is None:
        text = without_hidden_characters(page.text)
        if text == page.text:
            return found
        hidden = HiddenText(len(page.text) - len(text), ("characters",))
        return found._replace(page=replace(page, text=text, main_text=text), hidden_text=hidden)
    shown, hidden = without_hidden(html)
    if not hidden:
        return found
    seen = read(shown, DOCUMENT_TYPE)
    page = replace(page, title=seen.title, text=seen.text, main_text=seen.main_text, sections=seen.sections)
    return found._replace(page=page, shown=shown, hidden_text=hidden)


def markdown_of(page: ParsedPage, body: bytes, shown: bytes = b"") -> str:
    """The main text of a page in Markdown, given its body; plain text as it is. All words if there is no main text.

    `shown` is its HTML without what is hidden, if something is.
    """
    html = shown or _html_of(page, body)
    if html is None:
        return _lines_of(page, body)
    return to_markdown(html, page.url, base=page.base, encoding=page.charset, title=page.title) or page.text


def _html_of(page: ParsedPage, body: bytes) -> bytes | None:
    """The page in UTF-8; `None` if it is not HTML."""
    if any(problem.reason in _NOT_HTML for problem in page.problems):
        return None
    body = _without_mark(body)
    return body if page.charset == "UTF-8" else decode(body, page.charset).encode("utf-8", "replace")


def _lines_of(page: ParsedPage, body: bytes) -> str:
    """Plain text as it is, without hidden characters; nothing of what is not text."""
    if not page.text:
        return ""
    return "\n".join(without_hidden_characters(decode(_without_mark(body)[:MAX_TEXT], page.charset)).splitlines())


def _without_mark(body: bytes) -> bytes:
    for mark in _BYTE_ORDER_MARKS:
        body = body.removeprefix(mark)
    return body


def last_document(tables: Path, spooled: Sequence[Spooled], archive: Path, url: str) -> DecodedCapture | None:
    """The last good version of one page; `None` if there is none or it cannot be read."""
    return document_near(tables, spooled, archive, url, None)


def document_near(
    tables: Path, spooled: Sequence[Spooled], archive: Path, url: str, at: datetime | None
) -> DecodedCapture | None:
    """The good version of one page that was fetched nearest to a time, or last; `None` if it cannot be read."""
    newest_first = reversed(list(captures_of(tables, spooled, url)))
    if at is None:
        chosen = max(newest_first, key=lambda capture: capture.fetched_at, default=None)
    else:
        chosen = min(newest_first, key=lambda capture: abs(capture.fetched_at - at), default=None)
    if chosen is None:
        return None
    found = read_document(archive, find_original(tables, spooled, chosen) if chosen.body_at is None else chosen)
    return None if isinstance(found, str) else found


def read_answer(archive: Path, capture: Capture) -> tuple[tuple[tuple[str, str], ...], bytes] | str:
    """The header fields and the decoded body of a capture, or the reason why there is none."""
    if capture.body_at is None:
        return NO_ORIGINAL
    try:
        message = read_record(archive, capture.body_at).message()
    except CollectionDamaged:
        return DAMAGED
    body, _ = decode_body(message.body, ",".join(Headers(message.fields).all("content-encoding")))
    return message.fields, body


def read_document(archive: Path, capture: Capture, *, texts_only: bool = False) -> DecodedCapture | str:
    """The document of a capture, or the reason why there is none. `texts_only`: as `content.read_texts` reads it."""
    answer = read_answer(archive, capture)
    if isinstance(answer, str):
        return answer
    fields, body = answer
    page, made_html, shown, hidden_text = read_body(body, capture.url, fields, texts_only=texts_only)
    at = read_last_modified(Headers(fields).get("last-modified") or "")
    return DecodedCapture(capture, page, body, at, made_html, shown, hidden_text)


def modified_at(at: float | None, capture: Capture) -> datetime | None:
    """When a page last changed, by its `Last-Modified`; `None` if that is the request, as of pages made for each."""
    fetched_at = capture.fetched_at.timestamp()
    return None if at is None or not 0 < at < fetched_at - _JUST_NOW else datetime.fromtimestamp(at, UTC)
