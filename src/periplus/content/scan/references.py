"""Character references: `&amp;`, `&#38;`, `&#x26;` (HTML Standard, 13.2.5.72 and following)."""

from __future__ import annotations

import re
from functools import lru_cache
from html.entities import html5
from typing import Final

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
    """The same in bytes. References without a semicolon do not count before a letter, a digit or "="."""
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
    """What a name in text stands for, with what is behind the name."""
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
