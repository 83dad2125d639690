"""Finding tags, comments and texts: the tokenisation of the HTML Standard (13.2.5) over bytes.

Everything is done by searches and by expressions that can match in one way only, so that the time is linear in the size
of the page. No group is repeated without backtracking (`(...)*+`): Python before 3.11.5 does not go back to where a
repetition began that fails halfway. With backtracking, only what is short is matched.
"""

from __future__ import annotations

import re
from collections import deque
from itertools import islice
from typing import Final, NamedTuple

from .references import decode_value

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
    """What follows the tag that begins with the "<" at a place; nothing if it does not end."""
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
    """What follows a comment, given where its text begins: one may end at once, with ">" or "->"."""
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
