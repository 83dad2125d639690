"""Finding tags, comments and texts: the tokenisation of the HTML Standard (13.2.5) over bytes.

Everything is done by searches and by expressions that can match in one way only, so that the time is linear in the size
of the page. No group is repeated without backtracking (`(...)*+`): Python before 3.11.5 does not go back to where a
repetition began that fails halfway. With backtracking, only what is short is matched.
"""

from __future__ import annotations

import re
from collections import deque
from functools import lru_cache
from html.entities import html5
from itertools import islice
from typing import Final, NamedTuple

_REFERENCE: Final = re.compile(rb"&(?:#(?:[xX][0-9a-fA-F]++|[0-9]++);?|[a-zA-Z][a-zA-Z0-9]{0,31}+;?=?)")
"""A reference, or what may be one, with all that decides it: the sign behind it matters in attributes."""
_COMPLETE: Final = re.compile(rb"&(?:#(?:[xX][0-9a-fA-F]++|[0-9]++)|[a-zA-Z][a-zA-Z0-9]{0,31}+);")
"""A reference with a semicolon, or what looks like one."""
_ENTITIES: Final = {name.encode(): value.encode() for name, value in html5.items()}
_LONGEST_BARE: Final = max(len(name) for name in _ENTITIES if not name.endswith(b";"))
"""Bytes of the longest name that needs no semicolon."""
_REPLACEMENT: Final = "\ufffd".encode()
_MAX_CODE: Final = 0x10FFFF
_MAX_DIGITS: Final = 8
"""Digits after leading zeros; with more, a number is beyond the last character."""
_WINDOWS_1252: Final = (
    0x20AC, 0x0081, 0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021, 0x02C6, 0x2030, 0x0160,
    0x2039, 0x0152, 0x008D, 0x017D, 0x008F, 0x0090, 0x2018, 0x2019, 0x201C, 0x201D, 0x2022,
    0x2013, 0x2014, 0x02DC, 0x2122, 0x0161, 0x203A, 0x0153, 0x009D, 0x017E, 0x0178,
)  # fmt: skip
"""What 0x80 to 0x9F mean in a numeric reference: the characters of windows-1252."""
_AMP: Final = b"&amp;"
_MAX_DISTINCT: Final = 16
"""Distinct references of a text up to which it is faster to replace one after the other."""


def decode_text(data: bytes, *, has_signs: bool = False) -> bytes:
    """Text with its references decoded; if it has signs of `folding`, references to control characters are spaces."""
    if b"&" not in data:
        return data
    decode = _among_signs if has_signs else _in_text
    found = _COMPLETE.findall(data)
    values = {written: decode(written) for written in set(found) - {_AMP}}
    if len(found) < data.count(b"&") or len(values) > _MAX_DISTINCT or b"&" in b"".join(values.values()):
        return _REFERENCE.sub(lambda match: decode(match[0]), data)
    for written, value in values.items():  # every "&" begins a complete reference, so that none comes about in between
        data = data.replace(written, value)
    return data.replace(_AMP, b"&")


def decode_value(value: bytes) -> str:
    """The value of an attribute, references decoded."""
    return decode_references(value).decode("utf-8", "replace")


def decode_references(value: bytes) -> bytes:
    """Decode references in bytes. Those without a semicolon do not count before a letter, a digit or "="."""
    return _REFERENCE.sub(_in_attribute, value) if b"&" in value else value


def _in_text(written: bytes) -> bytes:
    return _number(written) if written[1] == ord("#") else _named(written)


def _among_signs(written: bytes) -> bytes:
    decoded = _in_text(written)
    return decoded if len(decoded) > 1 or decoded > b" " else b" "


def _in_attribute(found: re.Match[bytes]) -> bytes:
    written = found[0]
    return _number(written) if written[1] == ord("#") else _named_in_attribute(written)


def _number(written: bytes) -> bytes:
    is_hex = written[2] in b"xX"
    digits = written[3 if is_hex else 2 :].rstrip(b";").lstrip(b"0")
    code = int(digits or b"0", 16 if is_hex else 10) if len(digits) <= _MAX_DIGITS else _MAX_CODE + 1
    if code == 0 or code > _MAX_CODE or 0xD800 <= code < 0xE000:
        return _REPLACEMENT
    return chr(_WINDOWS_1252[code - 0x80] if 0x80 <= code < 0xA0 else code).encode()


@lru_cache(1024)
def _named(written: bytes) -> bytes:
    """The characters of a named reference in text, with what is behind the name."""
    name, is_equals, _ = written[1:].partition(b"=")
    if name.endswith(b";") and name in _ENTITIES:
        return _ENTITIES[name] + is_equals
    size = _bare(name)
    return _ENTITIES[name[:size]] + name[size:] + is_equals if size else written


@lru_cache(1024)
def _named_in_attribute(written: bytes) -> bytes:
    name, is_equals, _ = written[1:].partition(b"=")
    if name.endswith(b";") and name in _ENTITIES:
        return _ENTITIES[name] + is_equals
    size = _bare(name)
    rest = name[size:] + is_equals
    return _ENTITIES[name[:size]] + rest if size and rest in (b"", b";") else written


def _bare(name: bytes) -> int:
    """The length of the longest beginning of a name that needs no semicolon; 0: there is none."""
    return next((size for size in range(min(len(name), _LONGEST_BARE), 1, -1) if name[:size] in _ENTITIES), 0)


_SPACE: Final = r"[\t\n\f\r ]"
_NAME: Final = r"[a-zA-Z][^\t\n\f\r />]*+"
_VALUE: Final = r"""(?:"[^"]*+"|'[^']*+'|[^\t\n\f\r >"'][^\t\n\f\r >]*+|(?=>))"""
_ATTRIBUTE: Final = rf"[^\t\n\f\r />][^\t\n\f\r />=]*+(?:{_SPACE}*+={_SPACE}*+{_VALUE}|(?!{_SPACE}*+=))"
_MARKUP: Final = re.compile(rb"<(?=[a-zA-Z!?]|/(?!\Z))")
"""A "<" that is not a character of the text."""
_TAG_NAME: Final = re.compile(rf"/?({_NAME})".encode())
_COMPLETE_TAG: Final = re.compile(rf"/?{_NAME}(?:[\t\n\f\r /]++|{_ATTRIBUTE})*".encode())
_LONG_TAG: Final = 1 << 12
"""Bytes of a tag from which on its attributes are read one by one: it may consist of a million."""
_TAG_STEP: Final = re.compile(rf"[\t\n\f\r /]*+(?:(>)|{_ATTRIBUTE})".encode())
"""The next attribute, or the end of the tag (group 1)."""
_COMMENT_END: Final = re.compile(rb"--!?>")
_ATTRIBUTE_PARTS: Final = re.compile(
    rb"""([^\t\n\f\r />][^\t\n\f\r />=]*+)"""
    rb"""(?:[\t\n\f\r ]*+(=)[\t\n\f\r ]*+(?:"([^"]*+)"|'([^']*+)'|([^\t\n\f\r >"'][^\t\n\f\r >]*+)|))?"""
)
_MAX_ATTRIBUTES: Final = 256
"""Attributes of a tag that are read."""
_MAX_ATTRIBUTE_NAME: Final = 64
"""Bytes of the name of an attribute; longer ones are not read."""

RawAttributes = dict[bytes, bytes | None]
"""Attributes by lower-case name, as written; `None` where no value is written."""


class Token(NamedTuple):
    """A tag, by what is between its brackets; the text of a CDATA section; or something that says nothing."""

    end: int
    source: bytes | None = None
    text: bytes | None = None


def text_end(html: bytes, start: int) -> int:
    """Where a text ends: at the next "<" that is not a character."""
    found = _MARKUP.search(html, start)
    return found.start() if found else len(html)


def token_at(html: bytes, at: int, *, is_foreign: bool) -> Token:
    """The token that begins with the "<" at a place. A tag that does not end takes the rest of the page."""
    if _TAG_NAME.match(html, at + 1):
        end = _tag_end(html, at)
        return Token(len(html)) if end is None else Token(end, html[at + 1 : end - 1])
    if html.startswith(b"<!--", at):
        return Token(_comment_end(html, at + 4))
    if is_foreign and html.startswith(b"<![CDATA[", at):
        end = html.find(b"]]>", at + 9)
        return Token(len(html), None, html[at + 9 :]) if end < 0 else Token(end + 3, None, html[at + 9 : end])
    end = html.find(b">", at + 2)
    return Token(len(html) if end < 0 else end + 1)


def is_complete(source: bytes) -> bool:
    """Whether what is between a "<" and the next ">" is a tag: then nothing in it goes on behind that."""
    return len(source) < _LONG_TAG and _COMPLETE_TAG.fullmatch(source) is not None


def _tag_end(html: bytes, at: int) -> int | None:
    """The position after the tag that begins with the "<" at a place; none if it does not end."""
    end = html.find(b">", at)
    if end < 0:
        return None
    if is_complete(html[at + 1 : end]):
        return end + 1
    name = _TAG_NAME.match(html, at + 1)
    return _end_of_attributes(html, name.end()) if name else None


def _end_of_attributes(html: bytes, at: int) -> int | None:
    while True:
        step = _TAG_STEP.match(html, at)
        if step is None:
            return None
        at = step.end()
        if step[1]:
            return at


def _comment_end(html: bytes, start: int) -> int:
    """The position after a comment, given where its text begins: one may end at once, with ">" or "->"."""
    for mark in (b">", b"->"):
        if html.startswith(mark, start):
            return start + len(mark)
    found = _COMMENT_END.search(html, start)
    return found.end() if found else len(html)


def attributes_in(source: bytes, start: int) -> RawAttributes:
    """The attributes of a tag, given what is between its brackets and where its name ends."""
    attributes: RawAttributes = {}
    for name, has_value, in_quotes, in_apostrophes, bare in _parts(source, start):
        attributes.setdefault(name.lower(), in_quotes or in_apostrophes or bare if has_value else None)
    return attributes


def _parts(source: bytes, start: int) -> list[tuple[bytes, ...]]:
    if len(source) <= _MAX_ATTRIBUTE_NAME:
        return _ATTRIBUTE_PARTS.findall(source, start)
    found = (match.groups(b"") for match in _ATTRIBUTE_PARTS.finditer(source, start))
    return list(islice((parts for parts in found if len(parts[0]) <= _MAX_ATTRIBUTE_NAME), _MAX_ATTRIBUTES))


def name_of(source: bytes) -> tuple[bytes, int]:
    """The name of a tag, given what is between its brackets, and where the name ends."""
    found = _TAG_NAME.match(source)
    return (found[1], found.end()) if found else (b"", len(source))


def is_self_closing(source: bytes) -> bool:
    """Whether a tag ends with a slash that is not part of a value."""
    if not source.endswith(b"/"):
        return False
    last = deque(_ATTRIBUTE_PARTS.finditer(source, name_of(source)[1]), maxlen=1)
    return not last or last[0].end() < len(source)


def decoded(attributes: RawAttributes) -> dict[str, str | None]:
    """Attributes with references decoded."""
    return {
        name.decode("utf-8", "replace"): None if value is None else decode_value(value)
        for name, value in attributes.items()
    }


def _ends_of(name: str) -> re.Pattern[bytes]:
    """The end tag of an element, in either case: sets of letters are searched for faster than with a flag."""
    letters = "".join(f"[{letter}{letter.upper()}]" for letter in name)
    return re.compile(rf"</{letters}(?=[\t\n\f\r />])".encode())


_RAW_ENDS: Final = {
    name: _ends_of(name) for name in ("iframe", "noembed", "noframes", "script", "style", "textarea", "title", "xmp")
}
_SCRIPT_MARK: Final = re.compile(rb"<!--(?:-?>)?|-->|</?script(?=[\t\n\f\r />])", re.IGNORECASE)
"""What changes the state of the tokeniser inside a script that holds a comment."""


def raw_text_end(html: bytes, name: str, start: int) -> tuple[int, int]:
    """Where the content of a raw text element ends, and where what follows its end tag begins."""
    found = _RAW_ENDS[name].search(html, start)
    if found is not None and name == "script" and html.find(b"<!--", start, found.start()) >= 0:
        found = _script_end(html, start)
    if found is None:
        return len(html), len(html)
    return found.start(), _end_of_attributes(html, found.end()) or len(html)


def _script_end(html: bytes, start: int) -> re.Match[bytes] | None:
    """The end tag of a script with a comment in it: inside the comment, scripts may lie in the script."""
    is_escaped = is_nested = False
    for found in _SCRIPT_MARK.finditer(html, start):
        mark = found[0].lower()
        if mark == b"<!--":
            is_escaped = True
        elif mark.endswith(b">"):
            is_escaped = is_nested = False
        elif mark == b"<script":
            is_nested = is_escaped
        elif is_nested:
            is_nested = False
        else:
            return found
    return None
