"""Which encoding a page is in: the encoding sniffing algorithm of the HTML Standard, section 13.2.3.2.

The order is the standard's: a byte order mark, then the transport (`Content-Type`), then what the first 1,024 bytes
declare (the prescan: `<meta charset>`, `<meta http-equiv=content-type>`, an XML declaration), then a `<meta>` further
down, for which a browser starts over ("changing the encoding while parsing"; we look for it before we parse), then a
guess. The guess is ours to make (the standard leaves it to the reader): UTF-8 where the bytes hold something beyond
ASCII and all of it is valid UTF-8, which no other encoding in use is by accident, and windows-1252 otherwise.

`Charset.source` names what decided: "bom", "transport", "meta", "xml", "late-meta" or "guess".
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from msgspec import Struct

from periplus.formats.encodings import encoding_of
from periplus.formats.headers import read_content_type

PRESCAN_BYTES: Final = 1024
_LATE_BYTES: Final = 1 << 15
_GUESS_BYTES: Final = 1 << 20

_BOMS: Final = ((b"\xef\xbb\xbf", "UTF-8"), (b"\xfe\xff", "UTF-16BE"), (b"\xff\xfe", "UTF-16LE"))
_BOM_STARTS: Final = frozenset(mark[:1] for mark, _ in _BOMS)
_UTF16_XML: Final = ((b"<\0?\0x\0", "UTF-16LE"), (b"\0<\0?\0x", "UTF-16BE"))
_META: Final = re.compile(rb"meta[\t\n\f\r /]", re.IGNORECASE)
_LATE_META: Final = re.compile(rb"<meta[\t\n\f\r /][^<>]{0,512}charset", re.IGNORECASE)
_TAG_NAME: Final = re.compile(rb"/?[a-z][^\t\n\f\r >]*", re.IGNORECASE)
_ATTRIBUTE: Final = re.compile(
    rb"""[\t\n\f\r /]*+
    ([^\t\n\f\r />][^\t\n\f\r />=]*+)                              # a name, which may begin with "="
    (?:[\t\n\f\r ]*+(=)[\t\n\f\r ]*+
       (?:"([^"]*+)"|'([^']*+)'|([^\t\n\f\r >"'][^\t\n\f\r >]*+)|(?=>))
    )?""",
    re.VERBOSE,
)
_CHARSET_IN_CONTENT: Final = re.compile(
    rb"""charset[\t\n\f\r ]*+=[\t\n\f\r ]*+(?:"([^"]*)"|'([^']*)'|([^\t\n\f\r ;"'][^\t\n\f\r ;]*))""", re.IGNORECASE
)
_CHARSET_EQUALS: Final = re.compile(rb"charset[\t\n\f\r ]*+=", re.IGNORECASE)
_XML_ENCODING: Final = re.compile(rb"""encoding[\x00-\x20]*+=[\x00-\x20]*+(?:"([^"]*)"|'([^']*)')""")


class Charset(Struct, frozen=True, gc=False):
    """An encoding by the standard's name, what decided it, and how many bytes of mark come before the text."""

    encoding: str
    source: str
    bom: int = 0


def sniff_charset(body: bytes, content_type: str | None = None) -> Charset:
    """The encoding of a page, as a browser would find it."""
    for mark, marked in _BOMS if body[:1] in _BOM_STARTS else ():
        if body.startswith(mark):
            return Charset(marked, "bom", len(mark))
    if content_type and (encoding := transport_charset(content_type)):
        return Charset(encoding, "transport")
    return _declared(body[:PRESCAN_BYTES]) or _declared_late(body) or _guessed(body)


@lru_cache(maxsize=1024)
def transport_charset(content_type: str) -> str | None:
    """The encoding that a `Content-Type` value names; `None` if it names none that is known."""
    media = read_content_type(content_type)
    return encoding_of(media.charset) if media and media.charset else None


def _declared(head: bytes) -> Charset | None:
    for start, wide in _UTF16_XML if b"\0" in head[:2] else ():
        if head.startswith(start):
            return Charset(wide, "xml")
    # No declaration is without the word, and looking for a word is much cheaper than looking for a declaration.
    word = head.lower().find(b"charset")
    if word >= 0 and (encoding := _first_declared(head[: head.find(b">", word) + 1]) or prescan(head)):
        return Charset(encoding, "meta")
    if encoding := _xml_encoding(head):
        return Charset(encoding, "xml")
    return None


def _declared_late(body: bytes) -> Charset | None:
    head = body[:_LATE_BYTES]
    if b"charset" in head.lower() and _LATE_META.search(head) and (encoding := prescan(head)):
        return Charset(encoding, "late-meta")
    return None


def _guessed(body: bytes) -> Charset:
    if body.isascii():
        return Charset("windows-1252", "guess")
    try:
        body[:_GUESS_BYTES].decode("utf-8")
    except UnicodeDecodeError as error:
        # The cut may have split a character; anything earlier is another encoding.
        if len(body) <= _GUESS_BYTES or error.start < _GUESS_BYTES - 3:
            return Charset("windows-1252", "guess")
    return Charset("UTF-8", "guess")


@lru_cache(maxsize=1024)
def _first_declared(beginning: bytes) -> str | None:
    """The declaration at the very beginning of a page: the pages of a site often begin the same."""
    return prescan(beginning)


def prescan(head: bytes) -> str | None:
    """The standard's "prescan a byte stream to determine its encoding", on the bytes it may look at."""
    at = head.find(b"<")
    while at >= 0:
        after = at + 1
        if head.startswith(b"!--", after):
            # "<!-->" is a whole comment: its two dashes open and close it.
            end = head.find(b"-->", at + 2)
            after = end + 3 if end >= 0 else len(head)
        elif _META.match(head, after):
            encoding, after = _meta_encoding(head, after + 4)
            if encoding:
                return encoding
        elif name := _TAG_NAME.match(head, after):
            after = _after_attributes(head, name.end())
        elif head[after : after + 1] in (b"!", b"/", b"?"):
            end = head.find(b">", after)
            after = end + 1 if end >= 0 else len(head)
        at = head.find(b"<", after)
    return None


def _attribute(head: bytes, at: int) -> tuple[bytes, bytes, int] | None:
    """The standard's "get an attribute": name, value and the next position; `None` where there is no more.

    Running out of bytes ends the prescan, which is what the position at the end of `head` says.
    """
    found = _ATTRIBUTE.match(head, at)
    if found is None:
        return None
    name, equals, *values = found.groups()
    end = found.end()
    if equals is None and head[end:].lstrip(b"\t\n\f\r ").startswith(b"="):
        return b"", b"", len(head)  # a value that never ends
    value = next((value for value in values if value is not None), b"")
    return name.lower(), value.lower(), end


def _after_attributes(head: bytes, at: int) -> int:
    while attribute := _attribute(head, at):
        at = attribute[2]
        if at >= len(head):
            break
    return at


def _meta_encoding(head: bytes, at: int) -> tuple[str | None, int]:
    """The encoding that one `<meta>` declares, and the position after its attributes."""
    seen: set[bytes] = set()
    label: bytes | None = None
    from_content = got_pragma = False
    while attribute := _attribute(head, at):
        name, value, at = attribute
        if at >= len(head):
            return None, at
        if name in seen:
            continue
        seen.add(name)
        if name == b"http-equiv":
            got_pragma = got_pragma or value == b"content-type"
        elif name == b"content" and label is None:
            label = _label_in_content(value)
            from_content = label is not None
        elif name == b"charset":
            label, from_content = value, False
    if label is None or (from_content and not got_pragma):
        return None, at
    return _text_encoding(label), at


def _label_in_content(value: bytes) -> bytes | None:
    """The standard's "extracting a character encoding from a meta element"."""
    found = _CHARSET_EQUALS.search(value)
    if found is None:
        return None
    label = _CHARSET_IN_CONTENT.match(value, found.start())
    return next((group for group in label.groups() if group is not None), None) if label else None


def _xml_encoding(head: bytes) -> str | None:
    """The standard's "get an XML encoding": the encoding in `<?xml encoding="..."?>`."""
    if not head.startswith(b"<?xml"):
        return None
    end = head.find(b">")
    found = _XML_ENCODING.search(head, 0, end) if end >= 0 else None
    if found is None:
        return None
    label = found[1] if found[1] is not None else found[2]
    return None if any(byte <= 0x20 for byte in label) else _text_encoding(label)


def _text_encoding(label: bytes) -> str | None:
    """The encoding of a declaration inside the text: it was read as ASCII, so UTF-16 must be a mistake for UTF-8."""
    encoding = encoding_of(label.decode("latin-1"))
    if encoding in ("UTF-16BE", "UTF-16LE"):
        return "UTF-8"
    return "windows-1252" if encoding == "x-user-defined" else encoding
