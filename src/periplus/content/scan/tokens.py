"""Finding the next tag: the tokenisation of the HTML Standard (13.2.5) as regular expressions over bytes.

A token is a tag, a comment or a declaration. The expressions match at every "<" that is not text, and what they match
cannot be matched in another way, so that the time is linear in the size of the page.
"""

from __future__ import annotations

import re
from typing import Final

from .references import decode_value

_SPACE: Final = r"[\t\n\f\r ]"
_NAME_END: Final = r"(?=[\t\n\f\r />])"
_VALUE: Final = r"""(?:"[^"]*+"|'[^']*+'|[^\t\n\f\r >"'][^\t\n\f\r >]*+|(?=>))"""
_ATTRIBUTES: Final = (
    r"""(?: [a-z-]++="[^"]*+")*+"""  # how nearly all are written
    rf"(?:[\t\n\f\r /]++|[^\t\n\f\r />][^\t\n\f\r />=]*+(?:{_SPACE}*+={_SPACE}*+{_VALUE}|(?!{_SPACE}*+=)))*+"
)
"""All attributes of a tag, with the space and the slashes between them: up to the ">" that ends the tag."""
_NAME: Final = r"[a-zA-Z][^\t\n\f\r />]*+"
_STRAY: Final = r"<(?![a-zA-Z/!?])|<(?=/\Z)"
"""A "<" that is text."""
_COMMENT: Final = r"!--(?:-?>|[^-]*+(?:-(?!-!?>)[^-]*+)*+--!?>)"
_OTHER: Final = rf"{_COMMENT}|!(?!--)[^>]*+>?|\?[^>]*+>?|/(?:>|[^a-zA-Z>][^>]*+>?)|[a-zA-Z/!](?s:.*+)"
"""Comments, what is read as one, and at last what does not end: it takes all that is left of the page."""
_TAG: Final = rf"(/[a-z0-9]++(?=>)|/?{_NAME}{_ATTRIBUTES})>"
_TEXT: Final = rf"[^<]*+(?:(?:{_STRAY})[^<]*+)*+"

TOKEN: Final = re.compile(rf"<(?:{_TAG}|{_OTHER})".encode())
"""A token. Group 1: a tag without its brackets."""
FOREIGN_TOKEN: Final = re.compile(
    rf"<(?:{_TAG}|!\[CDATA\[((?s:[^\]]*+(?:\](?!\]>)[^\]]*+)*+))(?:\]\]>)?|{_OTHER})".encode()
)
"""The same in foreign content. Group 2: what is in a CDATA section."""
_COMPLETE_TAG: Final = re.compile(rf"/?{_NAME}{_ATTRIBUTES}".encode())
_TEXT_BEFORE_MARKUP: Final = re.compile(_TEXT.encode())
_TAG_END: Final = re.compile(rf"{_ATTRIBUTES}>".encode())

_ATTRIBUTE: Final = re.compile(
    rb"""([^\t\n\f\r />][^\t\n\f\r />=]*+)"""
    rb"""(?:[\t\n\f\r ]*+(=)[\t\n\f\r ]*+(?:"([^"]*+)"|'([^']*+)'|([^\t\n\f\r >"'][^\t\n\f\r >]*+)|))?+"""
)
_TAG_NAME: Final = re.compile(rf"/?({_NAME})".encode())
_MAX_ATTRIBUTES: Final = 256
"""Attributes of a tag that are read."""
_MAX_ATTRIBUTE_NAME: Final = 64
"""Bytes of the name of an attribute; longer ones are not read."""

RawAttributes = dict[bytes, bytes | None]
"""Attributes by lower-case name, as written; `None` where no value is written."""


def text_end(html: bytes, start: int) -> int:
    """Where a text ends: at the next "<" that is not a character."""
    found = _TEXT_BEFORE_MARKUP.match(html, start)
    return found.end() if found else start


def is_complete(source: bytes) -> bool:
    """Whether what is between a "<" and the next ">" is a tag: then nothing in it goes on behind that."""
    return _COMPLETE_TAG.fullmatch(source) is not None


def attributes_in(source: bytes, start: int) -> RawAttributes:
    """The attributes of a tag, given what is between its brackets and where its name ends."""
    attributes: RawAttributes = {}
    found = _ATTRIBUTE.findall(source, start)
    if len(found) > _MAX_ATTRIBUTES or len(source) > _MAX_ATTRIBUTE_NAME:
        found = [row for row in found if len(row[0]) <= _MAX_ATTRIBUTE_NAME][:_MAX_ATTRIBUTES]
    for name, has_value, in_quotes, in_apostrophes, bare in found:
        attributes.setdefault(name.lower(), in_quotes or in_apostrophes or bare if has_value else None)
    return attributes


def name_of(source: bytes) -> tuple[bytes, int]:
    """The name of a tag, given what is between its brackets, and where the name ends."""
    found = _TAG_NAME.match(source)
    return (found[1], found.end()) if found else (b"", len(source))


def is_self_closing(source: bytes) -> bool:
    """Whether a tag ends with a slash that is not part of a value."""
    if not source.endswith(b"/"):
        return False
    ends = [found.end() for found in _ATTRIBUTE.finditer(source, name_of(source)[1])]
    return not ends or ends[-1] < len(source)


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
    end = _TAG_END.match(html, found.end())
    return found.start(), end.end() if end else len(html)


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
