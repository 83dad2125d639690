"""The type of a body: the part of the MIME Sniffing Standard that a crawler of pages needs.

A server's word is believed while the bytes do not contradict it. It is not believed where it says nothing
(`application/octet-stream`, `unknown/unknown`, no type at all), where it says markup or text and the bytes carry the
signature of a picture, an archive or a document, or are plainly not text. Signatures are those of section 6 of the
standard, and the few formats that sites most often serve under a wrong name.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from enum import Enum
from functools import lru_cache
from typing import Final

from msgspec import Struct

from periplus.formats.headers import read_content_type

from .scan import READER

SNIFF_BYTES: Final = 1445
_BINARY_SHARE: Final = 0.1

_SIGNATURES: Final = (
    (b"%PDF-", "application/pdf"),
    (b"%!PS-Adobe-", "application/postscript"),
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"BM", "image/bmp"),
    (b"\x00\x00\x01\x00", "image/x-icon"),
    (b"\x00\x00\x02\x00", "image/x-icon"),
    (b"OggS\x00", "application/ogg"),
    (b"ID3", "audio/mpeg"),
    (b"MThd\x00\x00\x00\x06", "audio/midi"),
    (b"\x1aE\xdf\xa3", "video/webm"),
    (b"\x1f\x8b\x08", "application/gzip"),
    (b"PK\x03\x04", "application/zip"),
    (b"Rar!\x1a\x07", "application/vnd.rar"),
    (b"7z\xbc\xaf\x27\x1c", "application/x-7z-compressed"),
    (b"wOFF", "font/woff"),
    (b"wOF2", "font/woff2"),
    (b"\x7fELF", "application/octet-stream"),
    (b"\xd0\xcf\x11\xe0", "application/x-ole-storage"),
)
_HTML_START: Final = re.compile(
    rb"(?:\xef\xbb\xbf)?[\t\n\f\r ]*(?:<\?xml[^>]{0,200}>\s*)?(?:<!--|<(?:!doctype[\t\n\f\r ]+html|html|head|script"
    rb"|iframe|h1|div|font|table|a|style|title|b|body|br|p|meta|link)(?=[\t\n\f\r />]))",
    re.IGNORECASE,
)
_XML_START: Final = re.compile(
    rb"(?:\xef\xbb\xbf)?[\t\n\f\r ]*<(?:\?xml|rss|feed|urlset|sitemapindex)[\t\n\f\r />]", re.IGNORECASE
)
_CONTROLS: Final = bytes(byte for byte in range(0x20) if byte not in b"\t\n\x0c\r\x1b")
_UNSPECIFIC: Final = frozenset({"", "unknown/unknown", "application/unknown", "*/*", "application/octet-stream"})
_HTML: Final = frozenset({"text/html", "application/xhtml+xml", "application/vnd.wap.xhtml+xml"})


class ContentKind(Enum):
    """How a body is to be read."""

    HTML = "html"
    XML = "xml"
    TEXT = "text"
    BINARY = "binary"


class Mime(Struct, frozen=True, gc=False):
    """The type of a body: its essence ("text/html"), and how to read it."""

    essence: str
    kind: ContentKind


def sniff_mime(body: bytes, content_type: str | None = None, *, is_utf16: bool = False) -> Mime:
    """The type of a body, from the server's header and its first bytes.

    `is_utf16` allows the zero bytes of such text.
    """
    declared = _declared(content_type) if content_type else None
    head = body[:SNIFF_BYTES]
    if declared is None:
        return _sniffed(head, is_utf16)
    if declared.kind is ContentKind.BINARY or not _is_binary(head, is_utf16):
        return declared
    return Mime(_signature(head) or "application/octet-stream", ContentKind.BINARY)


@lru_cache(maxsize=1024)
def _declared(content_type: str) -> Mime | None:
    """The server's type; `None` if it is meaningless."""
    media = read_content_type(content_type)
    if media is None or media.mime in _UNSPECIFIC:
        return None
    return Mime(media.mime, _kind_of(media.mime))


def _kind_of(essence: str) -> ContentKind:
    if essence in _HTML:
        return ContentKind.HTML
    if essence in ("text/xml", "application/xml") or essence.endswith("+xml"):
        return ContentKind.XML
    if essence.startswith("text/") or essence in ("application/json", "application/javascript"):
        return ContentKind.TEXT
    return ContentKind.BINARY


def _sniffed(head: bytes, is_utf16: bool) -> Mime:
    if is_utf16:
        head = head.replace(b"\0", b"").removeprefix(b"\xff\xfe").removeprefix(b"\xfe\xff")
    if _HTML_START.match(head):
        return Mime("text/html", ContentKind.HTML)
    if _XML_START.match(head):
        return Mime("text/xml", ContentKind.XML)
    if _is_binary(head, is_utf16):
        return Mime(_signature(head) or "application/octet-stream", ContentKind.BINARY)
    # Without a type, what holds a tag somewhere is more often a page than a text about one.
    return Mime("text/html", ContentKind.HTML) if b"<" in head else Mime("text/plain", ContentKind.TEXT)


def _signature(head: bytes) -> str:
    for signature, essence in _SIGNATURES:
        if head.startswith(signature):
            # A few letters are a weak proof: a text may begin with them, a bitmap or a song goes on with other bytes.
            if (signature == b"BM" and b"\0" not in head[:16]) or (signature == b"ID3" and head[3:4] >= b" "):
                continue
            return essence
    if head[4:8] == b"ftyp":
        return "video/mp4"
    if head.startswith(b"RIFF"):
        return {b"WEBP": "image/webp", b"WAVE": "audio/wave", b"AVI ": "video/avi"}.get(head[8:12], "")
    return ""


def _is_binary(head: bytes, is_utf16: bool) -> bool:
    """A signature, or more control characters than dirt explains: a page with a stray NUL is still a page."""
    if not head.lstrip().startswith(b"<") and _signature(head):  # no signature begins with white space
        return True
    if is_utf16 or not head:
        return False
    return _count_controls(head) > _BINARY_SHARE * len(head)


def count_controls_in_python(data: bytes) -> int:
    """How many bytes are control characters that no text has. The native scanner has the same."""
    return len(data) - len(data.translate(None, _CONTROLS))


def _choose() -> Callable[[bytes], int]:
    if READER == "python":
        return count_controls_in_python
    from .scan._native import count_controls

    return count_controls


_count_controls: Final = _choose()
