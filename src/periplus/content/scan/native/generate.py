"""Writes `tables.h`: constants of the compiled scanner that Python knows.

Character references of the HTML Standard, what `content.words` makes of characters of two bytes and of wide signs, in
which order the bins of a sketch borrow from each other (`content.sketch`), and the commonest words of some languages
(`content.common_words`). Runs while the scanner is built, where nothing but the standard library is installed.
"""

from __future__ import annotations

import runpy
import sys
from collections.abc import Iterable
from html.entities import html5
from itertools import accumulate
from pathlib import Path
from unicodedata import category

_SIGNS = "PSZ"
"""Categories of Unicode that separate words: punctuation, symbols, separators."""
_BINS = 128
_U64 = (1 << 64) - 1
_PLACES = (0x94D049BB133111EB, 0xD6E8FEB86659FD93)
"""Two of the factors of `content.sketch`."""
_MIX = 0xFF51AFD7ED558CCD
COMMON_WORDS = Path(__file__).parents[2] / "common_words.py"
"""The module that lists the commonest words."""
_MAX_COMMON = 700
"""Common words that fit: `word_counts.h` finds them in 1,024 slots, of which some must stay empty."""


def tables() -> str:
    """The header as a string."""
    guard = "PERIPLUS_TABLES_H"
    lines = (*_entities(), *_letters(), *_orders(), *_common_words())
    return "\n".join((f"#ifndef {guard}", f"#define {guard}", *lines, "#endif", ""))


def _entities() -> Iterable[str]:
    """Names, sorted for a binary search, each followed by the characters it stands for."""
    rows = sorted((name.encode(), value.encode()) for name, value in html5.items())
    bare = [len(name) for name, _ in rows if not name.endswith(b";")]
    if min(bare) != 2 or max(bare) != 6 or max(len(name) for name, _ in rows) != 32:
        raise SystemExit("references.h expects names of at most 32 bytes, and of 2 to 6 bytes without a semicolon")
    if any(4 * len(value) > 5 * (len(name) + 1) for name, value in rows):
        raise SystemExit("references.h expects that decoding makes a text longer by at most a quarter")
    yield "typedef struct { unsigned int offset; unsigned char name_size, value_size; } Entity;"
    yield "static const Entity ENTITIES[] = {"
    offset = 0
    for name, value in rows:
        yield f"{{{offset},{len(name)},{len(value)}}},"
        offset += len(name) + len(value)
    yield "};"
    yield f"#define ENTITY_COUNT {len(rows)}"
    yield "static const unsigned char ENTITY_BYTES[] = {"
    yield from (",".join(map(str, name + value)) + "," for name, value in rows)
    yield "};"


def _letters() -> Iterable[str]:
    """For U+0080 to U+07FF the two bytes of the small letter, or 0x2020 for a sign; which wide characters are signs."""
    pairs = []
    for code in range(0x80, 0x800):
        written, lower = chr(code).encode(), chr(code).lower().encode()
        if code < 0xC0 or category(chr(code))[0] in _SIGNS:
            lower = b"  "
        pairs.append(int.from_bytes(lower if len(lower) == len(written) else written, "big"))
    yield from _array("unsigned short", "SMALL_PAIRS", pairs)
    signs = [int(category(chr(code))[0] in _SIGNS) for code in range(0xFF01, 0xFF80)]
    yield from _array("unsigned char", "WIDE_SIGNS", signs)


def _orders() -> Iterable[str]:
    """For each bin of a sketch, all bins in the order in which it borrows from them, and which rank each has in it."""
    mixed = [_mixed(number * _PLACES[1] & _U64) for number in range(1, _BINS * _BINS + 1)]
    rows = [mixed[start : start + _BINS] for start in range(0, len(mixed), _BINS)]
    orders = [sorted(range(_BINS), key=row.__getitem__) for row in rows]
    ranks = [sorted(range(_BINS), key=order.__getitem__) for order in orders]
    yield from _array("unsigned char", "BIN_ORDERS", [place for order in orders for place in order])
    yield from _array("unsigned char", "BIN_RANKS", [rank for order in ranks for rank in order])


def _common_words() -> Iterable[str]:
    """The commonest words one after the other, and where each starts; behind the last, where it ends."""
    words = sorted(runpy.run_path(str(COMMON_WORDS))["COMMON_WORDS"])
    if not 0 < len(words) <= _MAX_COMMON:
        raise SystemExit(f"word_counts.h has room for {_MAX_COMMON} common words, got {len(words)}")
    starts = [0, *accumulate(map(len, words))]
    yield f"#define COMMON_COUNT {len(words)}"
    yield from _array("unsigned short", "COMMON_STARTS", starts)
    yield from _array("unsigned char", "COMMON_BYTES", [*b"".join(words)])


def _mixed(number: int) -> int:
    number ^= number >> 32
    number = number * _MIX & _U64
    number ^= number >> 32
    return number * _PLACES[0] & _U64


def _array(kind: str, name: str, values: list[int]) -> Iterable[str]:
    yield f"static const {kind} {name}[{len(values)}] = {{"
    for start in range(0, len(values), 32):
        yield ",".join(map(str, values[start : start + 32])) + ","
    yield "};"


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(tables(), encoding="ascii")
