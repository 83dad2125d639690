"""Masks the volatile words of a text without the native scanner (`digests.masked`)."""

from __future__ import annotations

import re
from typing import Final

MASK: Final = b"#"
_TOKEN_LENGTH: Final = 16
_LEAST_FIGURES: Final = 6
"""A token of this number of characters for each digit, or fewer, counts as generated."""

_MONTH: Final = (
    "(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    "|nov(?:ember)?|dec(?:ember)?)"
)
_WEEKDAY: Final = "(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?"
_COUNTED: Final = (
    "(?:views?|visit(?:or)?s?|hits?|comments?|repl(?:y|ies)|responses?|likes?|shares?|votes?|followers?|members?|users?"
    "|guests?|online|downloads?|reads?)"
)
_UNIT: Final = "(?:sec(?:ond)?s?|min(?:ute)?s?|hours?|days?|weeks?|months?|years?)"
_ORDINAL: Final = "(?:st|nd|rd|th)"
_PLAIN: Final = bytes(
    ord("0") if chr(byte).isdecimal() and byte < 0x80 else ord(chr(byte).lower()) if byte < 0x80 else byte
    for byte in range(256)
)
# Each part follows the first of some figures. The first is for a word that begins with it, and needs what comes after
# the figures to promise something. A day after a month is only looked at: without the month, its year may begin
# something else.
_VOLATILE: Final = re.compile(
    rf"""
    0(?<!00)(?:
        (?<![a-z0_\x80-\xff]0)(?=0*+(?:[-/.:,']0|{_ORDINAL}?,?[ ][0acdfghjlmnorsuvwyo]))
        (?: 000([-/.])00?\1 00?(?:[t ]00?:00(?::00)?(?:\.0+)?(?:z|[+-]00:?00)?)?(?!0)
          | 0?([-/.])00?\2 0000(?!0)
          | 0?:00(?::00)?(?:\.0+)?(?:[ ]?[ap]m\b)?(?!0)
          | 0{{0,2}}(?:[,']000)+(?!0)
          | 0?{_ORDINAL}?[ ]{_MONTH}\b\.?,?[ ]0000(?!0)
          | 0*+[ ](?:{_COUNTED}|{_UNIT}[ ]ago)\b
          | (?=(?P<after_month>0?{_ORDINAL}?,?[ ]0000(?!0)))
        )
      | (?<=-0)(?P<uuid>[0a-f]{{3}}-[0a-f]{{4}}-[0a-f]{{12}}\b)
      | (?P<token>[0a-z_]{{8,}}+)
    )
    """.encode("latin-1"),
    re.VERBOSE,
)
_MONTH_BEFORE: Final = re.compile(rf"\b(?:{_WEEKDAY}\.?,?[ ])?{_MONTH}\.?[ ]\Z".encode())
_WEEKDAY_BEFORE: Final = re.compile(rf"\b{_WEEKDAY}\.?,?[ ]\Z".encode())
_LOOK_BACK: Final = 24
_UUID_BEFORE: Final = re.compile(rb"\b[0a-f]{8}-[0a-f]{4}-\Z")
_TOKEN_BEFORE: Final = re.compile(rb"(?<![0a-z_])[a-z_]{0,7}\Z")


def masked_in_python(data: bytes) -> bytes:
    """`masked` without the native scanner.

    One regular expression runs over the text in lower case with a 0 for every digit: every match begins with a digit or
    close before one, and a search for one character is fast. The native scanner has the same rules in C
    (`scan/native/volatile.h`); a test compares the two.
    """
    plain = data.translate(_PLAIN)
    pieces: list[bytes] = []
    at = 0
    for found in _VOLATILE.finditer(plain):
        start = _start(plain, found)
        if start is not None and start >= at:
            pieces += (data[at:start], MASK)
            at = max(found.end(), found.end("after_month"))
    pieces.append(data[at:])
    return b"".join(pieces)


def _start(plain: bytes, found: re.Match[bytes]) -> int | None:
    """Where the match begins, which may be before the figure; `None` if it is not volatile after all."""
    start, end = found.span()
    kind = found.lastgroup
    before = plain[max(0, start - _LOOK_BACK) : start]
    if kind == "uuid":
        name = _UUID_BEFORE.search(before)
    elif kind == "token":
        name = _TOKEN_BEFORE.search(before)
        size = end - start + len(name[0] if name else b"")
        if size < _TOKEN_LENGTH or plain.count(b"0", start, end) * _LEAST_FIGURES < size:
            return None
    else:
        name = (_MONTH_BEFORE if kind else _WEEKDAY_BEFORE).search(before)
        if name is None and not kind:
            return start
    return start - len(name[0]) if name else None
