"""Digests of a page at several depths, by which changes are detected.

Of each visit four digests are kept (XXH3, 64 bits: each is compared with one other value and never searched for). Main
texts are compared with volatile words masked (`masked`), so that a clock or counter that moved does not count.

The main text depends on the rule that extracts it. The digest of the main text, the sketch and `versions.version_of`
therefore carry the number of that rule, `TEXT_RULE`. Texts of two rules are never compared: their digests differ, their
sketches resemble each other by chance only, and `changes.difference` decides by heading and links.

SimHash (Charikar 2002; Manku, Jain & Das Sarma 2007) is not used: it costs as much as the digests and the sketch
together, and on a page of 300 words it exceeds its distance of 3 bits when one word in a hundred changes. The sketch,
which is computed anyway, is more exact.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from xxhash import xxh3_64_intdigest

from periplus.model import Digests, Links, Url

from .scan import READER
from .scan.columns import TEXT_RULE, VALUES

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


def masked(data: bytes) -> bytes:
    """A text in UTF-8 with every volatile word masked: words that change although the page has not changed.

    Masked are clock times ("12:30:05 pm"), dates in figures ("2026-11-14T12:30Z", "14/11/2026") and with the name of a
    month and a year ("Saturday, November 14, 2026"), numbers with a separator between thousands ("1,234,567"), counts
    ("17 comments"), ages ("3 minutes ago"), UUIDs, and tokens of 16 or more mixed letters and figures. A bare number is
    not masked: it may be a price.
    """
    return _masked(data)


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


def _choose() -> Callable[[bytes], bytes]:
    if READER == "python":
        return masked_in_python
    from .scan._native import masked as masked_natively

    return masked_natively


_masked: Final = _choose()


_MARK: Final = int.from_bytes((0x9E3779B1 * (TEXT_RULE - 1) & 0xFFFFFFFF).to_bytes(4, "little") * VALUES, "little")
"""Changes every value of a sketch, so that sketches of two rules have values in common by chance only."""


def digests_of(body: bytes, text: bytes, masked_main: bytes, targets: bytes) -> Digests:
    """The digests of a page: of its body, all its text, its masked main text, and the targets of its links."""
    return Digests(
        raw=xxh3_64_intdigest(body),
        text=xxh3_64_intdigest(text),
        main=xxh3_64_intdigest(masked_main, TEXT_RULE),
        links=xxh3_64_intdigest(targets),
    )


def sorted_targets(links: Links, own: Url) -> bytes:
    """The different targets of the links of a page with this URL, without itself unless a link writes it out."""
    targets = {*links.urls}
    if links.own and links.urls.count(own) == len(links.own):  # no other link writes out the page's URL
        targets.discard(own)
    return "\n".join(sorted(targets)).encode()


def marked_sketch(sketch: bytes) -> bytes:
    """A sketch with the mark of the rule by which its text was found. The native scanner does the same."""
    return (int.from_bytes(sketch, "little") ^ _MARK).to_bytes(len(sketch), "little") if sketch else b""


def is_same_body(digests: Digests, body: bytes) -> bool:
    """Whether a body is, byte by byte, that of the page with these digests."""
    return digests.raw == xxh3_64_intdigest(body)
