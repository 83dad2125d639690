"""Words that change without the page having changed: masked before main texts are compared (ALGORITHMS section G).

Masked are clock times ("12:30:05 pm"), dates in figures ("2026-11-14T12:30Z", "14/11/2026") and with the name of a
month and a year ("14 Nov 2026", "Saturday, November 14, 2026"), numbers with a separator between thousands
("1,234,567"), numbers that are counted up ("17 comments") or age ("3 minutes ago"), and tokens that no person wrote:
UUIDs, and 16 or more letters and figures well mixed. A bare number is left alone: it may be a price.

A regular expression over the text of every page would cost as much as its sketch. So runs of figures and long words are
found for all of the text at once, and the expression only says yes or no to what follows one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

from .words import EDGE, Words

MASK: Final = b"#"
_TOKEN_LENGTH: Final = 16
_LEAST_FIGURES: Final = 6
"""One character in so many of a made-up token is a figure."""

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
_AFTER_FIGURES: Final = re.compile(
    rf"""
      \d{{4}}([-/.])\d\d?\1\d\d?(?:[t ]\d\d?:\d\d(?::\d\d)?(?:\.\d+)?(?:z|[+-]\d\d:?\d\d)?)?(?!\d)
    | \d\d?([-/.])\d\d?\2\d{{4}}(?!\d)
    | \d\d?:\d\d(?::\d\d)?(?:\.\d+)?(?:[ ]?[ap]m\b)?(?!\d)
    | \d{{1,3}}(?:[,']\d{{3}})+(?!\d)
    | \d\d?(?:st|nd|rd|th)?[ ]{_MONTH}\b\.?,?[ ]\d{{4}}(?!\d)
    | \d++[ ](?:{_COUNTED}|{_UNIT}[ ]ago)\b
    | (?P<after_month>\d\d?(?:st|nd|rd|th)?,?[ ]\d{{4}}(?!\d))
    """.encode(),
    re.VERBOSE | re.IGNORECASE,
)
_MONTH_BEFORE: Final = re.compile(rf"\b(?:{_WEEKDAY}\.?,?[ ])?{_MONTH}\.?[ ]$".encode(), re.IGNORECASE)
_WEEKDAY_BEFORE: Final = re.compile(rf"\b{_WEEKDAY}\.?,?[ ]$".encode(), re.IGNORECASE)
_LOOK_BACK: Final = 24
_UUID: Final = re.compile(rb"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", re.IGNORECASE)
_UUID_LENGTH: Final = 36
_NODE_LENGTH: Final = 12


def _table(characters: bytes) -> NDArray[np.bool_]:
    return np.isin(np.arange(256), list(characters))


_FIRST_EIGHT: Final = np.arange(8)
_IS_FIGURE: Final = _table(b"0123456789")
_SEPARATES: Final = _table(b"-/.:,'")
_PARTS: Final = _table(b", ")
_BEGINNINGS: Final = "ja fe ma ap ju au se oc no de vi hi co re li sh vo fo me us gu on do mi ho da we mo ye"


def _promising() -> NDArray[np.bool_]:
    """Which two characters, after a number and a space or a comma, may begin a year or a word that we look for."""
    table = np.zeros((256, 256), dtype=np.bool_)
    for word in _BEGINNINGS.split():
        for written in (word, word.title(), word.upper()):
            table[ord(written[0]), ord(written[1])] = True
    table[list(b"0123456789"), :] = True
    table[ord(" "), list(b"0123456789")] = True
    return table


_PROMISING: Final = _promising()


def masked(data: bytes, words: Words) -> bytes:
    """A text in UTF-8 with every volatile word masked; `words` are the text's own."""
    spans = [*_figures(data, words), *_tokens(data, words)]
    if not spans:
        return data
    pieces: list[bytes] = []
    at = 0
    for start, end in sorted(spans):
        if start >= at:
            pieces += (data[at:start], MASK)
            at = end
    pieces.append(data[at:])
    return b"".join(pieces)


def _figures(data: bytes, words: Words) -> Iterator[tuple[int, int]]:
    """Where times, dates and counts are: at words that begin with a figure, or with a name before them."""
    is_number = _IS_FIGURE[words.codes[words.starts]]
    ends = words.ends[is_number] - EDGE
    if not len(ends):
        return
    raw = np.frombuffer(data, dtype=np.uint8)
    first, second, third = (raw.take(ends + place, mode="clip") for place in range(3))
    is_promising = (_SEPARATES[first] & _IS_FIGURE[second]) | (_PARTS[first] & _PROMISING[second, third])
    for start in (words.starts[is_number][is_promising] - EDGE).tolist():
        found = _AFTER_FIGURES.match(data, start)
        if found is None:
            continue
        before = data[max(0, start - _LOOK_BACK) : start]
        name = (_MONTH_BEFORE if found["after_month"] else _WEEKDAY_BEFORE).search(before)
        if name or not found["after_month"]:
            yield start - len(name[0]) if name else start, found.end()


def _tokens(data: bytes, words: Words) -> Iterator[tuple[int, int]]:
    """Where long words are that hold many figures, and UUIDs."""
    long = (words.ends - words.starts >= _NODE_LENGTH).nonzero()[0]
    if not len(long):
        return
    starts = words.starts[long]
    has_figures = _IS_FIGURE[words.codes[starts[:, None] + _FIRST_EIGHT]].any(axis=1)
    for start, end in zip(
        (starts[has_figures] - EDGE).tolist(), (words.ends[long][has_figures] - EDGE).tolist(), strict=True
    ):
        if end - start >= _TOKEN_LENGTH:
            figures = end - start - len(data[start:end].translate(None, b"0123456789"))
            if figures * _LEAST_FIGURES >= end - start:
                yield start, end
        elif end >= _UUID_LENGTH and _UUID.match(data, end - _UUID_LENGTH):
            yield end - _UUID_LENGTH, end
