"""What kind of bytes a server sent as robots.txt: which characters, and whether it is one at all.

The file should be UTF-8. Patterns are compared by octet (RFC 9309 section 2.2.2), so nothing needs to be decoded for
them, and a wrong or unknown charset label can do no harm: octets travel as the Latin-1 string that holds them, one
character each, and only names and locations become text.
"""

from __future__ import annotations

import re

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_UTF_16_MARKS = (b"\xff\xfe", b"\xfe\xff")
_UTF_16_LE = re.compile(rb"(?:[\t-~]\0){4}")
_UTF_16_BE = re.compile(rb"(?:\0[\t-~]){4}")

_MARKUP = re.compile(
    rb"\s*<(?:!--|(?:!doctype|\?xml|html|head|body|title|meta|link|script|style|div|span|table|center|font|h\d|pre|p|br)\b)",
    re.IGNORECASE,
)
_TAG = re.compile(rb"<(?:/?[a-z][a-z0-9]*(?:[ \t][^<>\r\n]*)?|![a-z-][^<>\r\n]*)>", re.IGNORECASE)
_AGENT_LINE = re.compile(rb"(?:^|[\r\n])[ \t]*user-?agent[ \t]*:", re.IGNORECASE)


def looks_like_html(body: bytes) -> bool:
    """Whether a web page was served in place of the file: it begins with markup, and no line of it names an agent.

    Many servers answer every address with a page and status 200. A true robots.txt that was wrapped in markup by
    mistake is still obeyed.
    """
    return _MARKUP.match(body) is not None and _AGENT_LINE.search(without_tags(body)) is None


def without_tags(body: bytes) -> bytes:
    """A robots.txt that was wrapped in markup by mistake as it was meant: `Disallow: /<br>` is about `/`.

    Blanks take the place of tags, so that lines and positions stay. A location in angle brackets is not a tag.
    """
    return _TAG.sub(lambda tag: b" " * len(tag[0]), body) if _MARKUP.match(body) else body


def as_octets(body: bytes) -> tuple[bytes, str | None]:
    """The file as UTF-8 or what claims to be, without byte order mark and NULs; and what was wrong, as a reason.

    A byte order mark may be cut short: each of its octets is skipped as long as they are in order, as Google's parser
    does. Half a character of UTF-16, where the file was cut, is none. The mark of UTF-16 before a line of ASCII that
    names an agent is skipped: some editors write it before any text.
    """
    wrong = None
    if body.startswith(_UTF_16_MARKS) and (b"\0" not in body or _AGENT_LINE.search(body[2:])):
        wrong, body = "utf-16", body[2:]
    if b"\0" in body:
        encoding = _utf_16(body)
        wrong = "utf-16" if encoding else "nul-bytes"
        text = body.decode(encoding, "ignore").encode() if encoding else body
        body = text.replace(b"\0", b"")
    if body[:1] == b"\xef":
        body = body[_length_of_mark(body) :]
    return body, wrong


def _length_of_mark(body: bytes) -> int:
    length = 0
    while length < 3 and body[length : length + 1] == _BYTE_ORDER_MARK[length : length + 1]:
        length += 1
    return length


def _utf_16(body: bytes) -> str | None:
    """By its mark, or by the look of ASCII in it: text has no NULs, and names are ASCII, so UTF-16 has some."""
    if body.startswith(_UTF_16_MARKS):
        return "utf-16"
    if _UTF_16_LE.match(body):
        return "utf-16-le"
    return "utf-16-be" if _UTF_16_BE.match(body) else None


def as_text(octets: str) -> str:
    """The text that octets spell: UTF-8, or Latin-1 where they are not."""
    if octets.isascii():
        return octets
    try:
        return octets.encode("latin-1").decode()
    except UnicodeDecodeError:
        return octets
