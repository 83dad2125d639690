"""From bytes to text, in a stream: what the document declares, corrected by what its bytes show.

The order is that of XML 1.0 appendix F: byte order mark, the pattern of the first bytes, the declaration, UTF-8. What a
label means is in `formats.encodings`: Latin-1 is windows-1252 there. For a piece that has no character yet, the text is
empty.

Two kinds of dirt are repaired: single bytes of windows-1252 in UTF-8 become the characters they stand for, and UTF-8
declared as Latin-1 is read as UTF-8, which no other text looks like. Reasons: "bad-encoding" (the bytes are not in the
declared encoding; reported once), "unknown-encoding".
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Generator, Iterable, Iterator
from itertools import chain

from ..encodings import codec_of
from .outbox import Outbox

_HEAD = 1024
_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_DECLARATION = re.compile(rb"<\?xml[^>]{0,512}?\bencoding\s{0,16}=\s{0,16}[\"']([A-Za-z0-9._:-]{1,40})[\"']")
_ESCAPED = re.compile("[\udc80-\udcff]+")

_WIDE = re.compile(r"utf-?(?:16|32)|ucs-|iso-10646|unicode$", re.IGNORECASE)
"""Encodings of wider units: a declaration that can be read byte by byte is in none of them."""


def decode(pieces: Iterator[bytes], outbox: Outbox) -> Iterator[str]:
    """The text of the document as it arrives."""
    head = yield from _take_head(pieces)
    mark, codec = _sniff(head, outbox)
    rest = chain([head[mark:]], pieces)
    if codec == "utf-8":
        yield from _Utf8(outbox).decode(rest)
    elif codec == "cp1252":
        yield from _Latin1(outbox).decode(rest)
    else:
        yield from _decode_other(rest, codec, outbox)


def _take_head(pieces: Iterator[bytes]) -> Generator[str, None, bytes]:
    """Read as much as is needed to see how the document is encoded, and no more: the rest may take long to arrive."""
    head = b""
    for piece in pieces:
        head += piece
        if len(head) >= _HEAD or not _may_declare_later(head):
            break
        yield ""
    return head


def _may_declare_later(head: bytes) -> bool:
    start = head.removeprefix(codecs.BOM_UTF8).lstrip()
    return len(start) < 5 or (start.startswith(b"<?xml") and b"?>" not in start)


def _sniff(head: bytes, outbox: Outbox) -> tuple[int, str]:
    """How long the byte order mark is, and Python's name of the encoding."""
    for bom, codec in _BOMS:
        if head.startswith(bom):
            return len(bom), codec
    if head[1:2] == b"\0" and head[:1] not in (b"", b"\0"):
        return 0, "utf-32-le" if head[2:4] == b"\0\0" else "utf-16-le"
    if head[:1] == b"\0":
        return 0, "utf-32-be" if head[1:2] == b"\0" else "utf-16-be"
    declared = _DECLARATION.search(head, 0, _HEAD)
    if declared is None:
        return 0, "utf-8"
    label = declared[1].decode("ascii")
    if _WIDE.match(label):
        outbox.complain_late("bad-encoding", f"declared {label}, but it cannot be")
        return 0, "utf-8"
    known = codec_of(label)
    if known is None:
        outbox.complain_late("unknown-encoding", label)
    return 0, known or "utf-8"


class _Utf8:
    """UTF-8 with stray bytes of windows-1252 in it."""

    def __init__(self, outbox: Outbox) -> None:
        self._outbox = outbox
        self._has_complained = False

    def decode(self, pieces: Iterable[bytes]) -> Iterator[str]:
        tail = b""
        for piece in pieces:
            text, tail = self._decode(tail + piece, is_last=False)
            yield text
        if tail:
            yield self._decode(tail, is_last=True)[0]

    def _decode(self, data: bytes, *, is_last: bool) -> tuple[str, bytes]:
        try:
            text, used = codecs.utf_8_decode(data, "strict", is_last)
        except UnicodeDecodeError:
            text, used = codecs.utf_8_decode(data, "surrogateescape", is_last)
            text = self._repair(text)
        return text, data[used:]

    def _repair(self, text: str) -> str:
        if not self._has_complained:
            self._has_complained = True
            self._outbox.complain_late("bad-encoding", "bytes that are not UTF-8")
        return _ESCAPED.sub(_from_windows_1252, text)


def _from_windows_1252(match: re.Match[str]) -> str:
    return match[0].encode("ascii", "surrogateescape").decode("cp1252", "replace")


class _Latin1:
    """Decodes what is declared as Latin-1: as UTF-8 until a byte proves otherwise."""

    def __init__(self, outbox: Outbox) -> None:
        self._outbox = outbox
        self._is_utf8 = False

    def decode(self, pieces: Iterable[bytes]) -> Iterator[str]:
        tail = b""
        stream = iter(pieces)
        for piece in stream:
            data = tail + piece
            try:
                text, used = codecs.utf_8_decode(data, "strict", False)
            except UnicodeDecodeError:
                tail = data
                break
            self._notice(text)
            yield text
            tail = data[used:]
        for data in chain([tail], stream):
            yield data.decode("cp1252", "replace")

    def _notice(self, text: str) -> None:
        if not self._is_utf8 and not text.isascii():
            self._is_utf8 = True
            self._outbox.complain_late("bad-encoding", "UTF-8 declared as Latin-1")


def _decode_other(pieces: Iterable[bytes], codec: str, outbox: Outbox) -> Iterator[str]:
    decoder = codecs.getincrementaldecoder(codec)("replace")
    has_complained = False
    for data in chain(pieces, [None]):
        text = decoder.decode(data or b"", final=data is None)
        if "\ufffd" in text and not has_complained:
            has_complained = True
            outbox.complain_late("bad-encoding", f"bytes that are not {codec}")
        yield text
