"""Questions to the indexes of an archive, in the dialect of pywb and of the Internet Archive's CDX server.

A question names a URL or a pattern; the lines that it selects lie together in every sorted index, so each file is
entered by bisection and read from there, and the files are merged. No index is read as a whole: what is looked at is
bounded by `CdxQuery.limit`, `MAX_SCANNED` lines, and the deadline of the caller.

| parameter | values |
|---|---|
| `url`, `matchType` | `exact` (the key of the URL), `prefix` (`URL*`), `host`, `domain` (`*.host`) |
| `from`, `to` | 1 to 14 digits, filled up to the earliest or latest time |
| `limit` | lines returned; negative: the last ones |
| `sort` | `reverse`; `closest` with `closest=TIME` |
| `filter` | `[!][=|~]FIELD:VALUE`: contains, is, or matches a regular expression from its beginning |
| `collapse` | `FIELD` or `FIELD:N`: of neighbours with the same value (its first N letters), the first |

Regular expressions are those of RE2, which takes linear time: lookaround and references are refused.
"""

from __future__ import annotations

import re
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from heapq import merge, nlargest, nsmallest
from itertools import islice
from pathlib import Path
from typing import BinaryIO, Final

import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Struct

from periplus.model import UsageError
from periplus.urls import canonical

from ..tables import pandas_import  # noqa: F401 - before the first array is made
from .cdxj import CdxLine, key_of, read_line
from .index import INDEX, is_indexed, seek_line
from .records import index_of, warc_files

MAX_LIMIT: Final = 100_000
"""Lines that one question may return."""
DEFAULT_LIMIT: Final = 10_000
LINES_PER_BLOCK: Final = 3_000
"""Lines of a block, in which pages are counted as with compressed indexes."""
DEFAULT_PAGE: Final = 5
"""Blocks of a page."""
_PIECE: Final = 1 << 20
_LINES_AT_ONCE: Final = 500
"""Lines that are tested together: a regular expression costs a tenth of what it costs for each line alone."""
_MAX_EXPRESSION: Final = 500
"""Characters of a regular expression."""
MAX_SCANNED: Final = 5_000_000
"""Lines that one question may look at."""
MATCHES: Final = ("exact", "prefix", "host", "domain")
FIELDS: Final = ("urlkey", "timestamp", "url", "mime", "status", "digest", "length", "offset", "filename")
"""The fields of a line, in the order of text output."""
_ALIASES: Final = {"original": "url", "mimetype": "mime", "statuscode": "status"}
"""The Internet Archive's names of fields."""
_HOST: Final = re.compile(r"(?:https?://)?([^/?#]+)", re.IGNORECASE)
_FILTER: Final = re.compile(r"(!?)([=~]?)([a-z]+):(.*)", re.DOTALL)
_TIME: Final = re.compile(r"\d{1,14}", re.ASCII)
_EARLIEST: Final = "00000101000000"
_LATEST: Final = "99991231235959"
_LONGEST_LINE: Final = 1 << 20
_BETWEEN_CLOCKS: Final = 1_000
"""Lines between two looks at the clock."""

Test = Callable[[Sequence[CdxLine]], Sequence[bool]]
"""Which of some lines are wanted."""


class TooMuchError(UsageError):
    """A query that would read more lines, or take longer, than one request may."""


class CdxQuery(Struct, frozen=True):
    """A question. `begin` and `end` bound the lines of the index, as bytes; `tests` must all hold."""

    begin: bytes
    end: bytes
    tests: tuple[Test, ...] = ()
    limit: int = DEFAULT_LIMIT
    """Negative: the last lines."""
    is_reversed: bool = False
    closest: str = ""
    collapse: tuple[str, int] | None = None
    """A field, and how many of its letters count; 0: all."""
    after: bytes = b""
    """A line that came before: the answer goes on behind it."""
    lines: tuple[int, int | None] = (0, None)
    """Which of the lines between the bounds are looked at: those of a page."""


def make_query(given: Mapping[str, Sequence[str]]) -> CdxQuery:
    """A query from the parameters of a request. Raises `UsageError` for invalid parameters."""
    begin, end = key_range(_one(given, "url"), _one(given, "matchType"))
    sort = _one(given, "sort")
    if sort not in ("", "reverse", "closest", "default"):
        raise UsageError(f"sort cannot be {sort[:40]!r}", hint="reverse or closest")
    closest = _time("closest", _one(given, "closest"), _EARLIEST) if sort == "closest" else ""
    if sort == "closest" and not closest:
        raise UsageError("sort=closest needs closest=TIME", hint="give 1 to 14 digits: closest=20260102")
    times = _time_test(_one(given, "from"), _one(given, "to"))
    filters = [make_filter(text) for text in given.get("filter", ())]
    return CdxQuery(
        begin,
        end,
        (*([times] if times else []), *filters),
        _limit(_one(given, "limit")),
        sort == "reverse",
        closest,
        _collapse(_one(given, "collapse")),
        f"{_one(given, 'resumeKey')}\n".encode() if _one(given, "resumeKey") else b"",
        _page(_one(given, "page"), page_size(_one(given, "pageSize"))),
    )


def page_size(text: str) -> int:
    """Blocks of a page."""
    return _number("pageSize", text, DEFAULT_PAGE) or DEFAULT_PAGE


def _page(text: str, blocks: int) -> tuple[int, int | None]:
    if not text:
        return 0, None
    size = blocks * LINES_PER_BLOCK
    number = _number("page", text, 0)
    return number * size, (number + 1) * size


def _number(name: str, text: str, default: int) -> int:
    if text and (not text.isdecimal() or len(text) > 6):
        raise UsageError(f"{name} is not a number: {text[:40]!r}", hint=f"{name}=0 is the least")
    return int(text) if text else default


def key_range(url: str, match: str = "") -> tuple[bytes, bytes]:
    """The first key that a URL and a kind of match select, and the first that they do not."""
    if not match:
        match, url = _wildcard(url)
    if match not in MATCHES:
        raise UsageError(f"matchType cannot be {match[:40]!r}", hint=f"one of {', '.join(MATCHES)}")
    known = canonical(url if "://" in url else f"http://{url}")
    if known is None:
        raise UsageError(
            f"url is not a URL: {url[:200]!r}", hint="url=example.org/page, example.org/* or *.example.org"
        )
    key = key_of(known).encode()
    if match == "exact":
        return key + b" ", key + b"!"
    if match == "prefix":
        if key.endswith(b")/") or not url.endswith("/"):
            return key, _next(key)
        return key + b"/", _next(key + b"/")
    host = key.partition(b")")[0]
    if match == "host":
        return host + b")", _next(host + b")")
    return host + b")", _next(host + b",")


def _wildcard(url: str) -> tuple[str, str]:
    """What a star in a URL means."""
    if url.startswith("*."):
        found = _HOST.match(url[2:])
        return "domain", found[1] if found else url
    return ("prefix", url[:-1]) if url.endswith("*") else ("exact", url)


def _next(key: bytes) -> bytes:
    return key[:-1] + bytes([key[-1] + 1])


def make_filter(text: str) -> Test:
    """A test of one field. Raises `UsageError` for a field or an expression that cannot be used."""
    found = _FILTER.fullmatch(text)
    name = _field(found[3]) if found else ""
    if found is None or not name:
        raise UsageError(f"not a filter: {text[:200]!r}", hint="filter=[!][=|~]FIELD:VALUE, as filter==status:200")
    is_wanted, kind, value = not found[1], found[2], found[4]
    if kind == "~":
        matches = _expression(value)
        return lambda lines: [found is is_wanted for found in matches([value_of(line, name) for line in lines])]
    if kind == "=":
        return lambda lines: [(value_of(line, name) == value) is is_wanted for line in lines]
    return lambda lines: [(value in value_of(line, name)) is is_wanted for line in lines]


def _expression(text: str) -> Callable[[list[str]], list[bool]]:
    """What matches texts from their beginning, by RE2: in linear time, whatever the expression."""
    if len(text) > _MAX_EXPRESSION:
        raise UsageError(
            f"a regular expression of {len(text)} characters", hint=f"at most {_MAX_EXPRESSION} are allowed"
        )
    options = pc.MatchSubstringOptions(f"\\A(?:{text})")
    match = pc.get_function("match_substring_regex")

    def matches(texts: list[str]) -> list[bool]:
        found: list[bool] = match.call([pa.array(texts, pa.string())], options).to_pylist()
        return found

    try:
        matches([""])
    except pa.ArrowInvalid as error:
        raise UsageError(
            f"not a regular expression that can be used: {text[:200]!r}",
            hint="lookaround and references are not supported, as they can take exponential time",
        ) from error
    return matches


def value_of(line: CdxLine, name: str) -> str:
    """A field of a line, by the name that the dialect has for it."""
    return line.key if name == "urlkey" else str(getattr(line, name))


def _field(name: str) -> str:
    name = _ALIASES.get(name, name)
    return name if name in FIELDS else ""


def fields_of(text: str) -> tuple[str, ...]:
    """The fields that `fl` names; all without it."""
    if not text:
        return FIELDS
    names = [_field(name.strip()) for name in text.split(",")]
    if not all(names):
        raise UsageError(f"fl names a field that is not there: {text[:200]!r}", hint=f"fields: {', '.join(FIELDS)}")
    return tuple(names)


def index_files(warc: Path) -> list[Path]:
    """The indexes that together list the archive: one for all if it is up to date, else that of each file.

    A file that a crawl is writing has no index yet.
    """
    files = [index_of(path) for path in warc_files(warc) if is_indexed(path)]
    merged = warc / INDEX
    if merged.exists():
        at = merged.stat().st_mtime_ns
        if all(file.stat().st_mtime_ns <= at for file in files):
            return [merged]
    return files


def find(files: Sequence[Path], query: CdxQuery, *, deadline: float | None = None) -> Iterator[CdxLine]:
    """The lines that a question selects; `TooMuchError` beyond the `deadline`, a time of `time.monotonic`."""
    with ExitStack() as stack:
        lines = _tested(_candidates(files, query, stack, deadline), query)
        if query.collapse:
            lines = _collapsed(lines, *query.collapse)
        yield from _bounded(lines, query)


def count_lines(files: Sequence[Path], query: CdxQuery, *, deadline: float | None = None) -> int:
    """How many lines lie between the bounds of a question, before any test."""
    lines = 0
    for path in files:
        with path.open("rb") as file:
            seek_line(file, query.end)
            end = file.tell()
            seek_line(file, query.begin)
            left = end - file.tell()
            while left > 0 and (piece := file.read(min(left, _PIECE))):
                lines += piece.count(b"\n")
                left -= len(piece)
                _check(deadline)
    return lines


def _check(deadline: float | None) -> None:
    if deadline is not None and time.monotonic() > deadline:
        raise TooMuchError("this takes too long", hint="ask for less: a longer prefix, a limit, a range of time")


def _candidates(files: Sequence[Path], query: CdxQuery, stack: ExitStack, deadline: float | None) -> Iterator[CdxLine]:
    opened = [stack.enter_context(path.open("rb")) for path in files]
    scanned = 0
    first, last = query.lines
    for line in islice(merge(*(_range(file, query) for file in opened)), first, last):
        scanned += 1
        if scanned % _BETWEEN_CLOCKS == 0:
            _check(deadline)
        if scanned > MAX_SCANNED:
            raise TooMuchError(f"this looks at more than {MAX_SCANNED:,} lines", hint="ask for a longer prefix")
        if line <= query.after:
            continue
        read = read_line(line)
        if read is not None:
            yield read


def _range(file: BinaryIO, query: CdxQuery) -> Iterator[bytes]:
    seek_line(file, max(query.begin, query.after))
    while (line := file.readline(_LONGEST_LINE)) and line < query.end:
        yield line


def _tested(lines: Iterator[CdxLine], query: CdxQuery) -> Iterator[CdxLine]:
    if not query.tests:
        yield from lines
        return
    while some := list(islice(lines, _LINES_AT_ONCE)):
        for test in query.tests:
            some = [line for line, is_wanted in zip(some, test(some), strict=True) if is_wanted]
        yield from some


def _collapsed(lines: Iterator[CdxLine], name: str, letters: int) -> Iterator[CdxLine]:
    last = None
    for line in lines:
        value = value_of(line, name)
        value = value[:letters] if letters else value
        if value != last:
            yield line
        last = value


def _bounded(lines: Iterator[CdxLine], query: CdxQuery) -> Iterator[CdxLine]:
    size = min(abs(query.limit), MAX_LIMIT)
    if query.closest:
        at = _seconds(query.closest)
        return iter(nsmallest(size, lines, key=lambda line: (abs(_seconds(line.timestamp) - at), line.timestamp)))
    if query.is_reversed:
        return iter(nlargest(size, lines, key=lambda line: (line.key, line.timestamp)))
    if query.limit < 0:
        return iter(deque(lines, maxlen=size))
    return islice(lines, size)


def _seconds(timestamp: str) -> int:
    """A time as POSIX seconds; 0 for what is not one."""
    text = _filled(timestamp[:14], _EARLIEST)
    try:
        return int(datetime.strptime(text, "%Y%m%d%H%M%S").replace(tzinfo=UTC).timestamp())
    except ValueError:
        return 0


def _time_test(earliest: str, latest: str) -> Test | None:
    if not earliest and not latest:
        return None
    low = _time("from", earliest, _EARLIEST) or _EARLIEST
    high = _time("to", latest, _LATEST) or _LATEST
    return lambda lines: [low <= line.timestamp[:14] <= high for line in lines]


def _time(name: str, text: str, fill: str) -> str:
    if text and not _TIME.fullmatch(text):
        raise UsageError(f"{name} is not a time: {text[:40]!r}", hint="give 1 to 14 digits: 2026, 20260102, ...")
    return _filled(text, fill) if text else ""


def _filled(text: str, fill: str) -> str:
    """All 14 digits of a time of which the first are given."""
    return text + fill[len(text) :]


def _limit(text: str) -> int:
    if not text:
        return DEFAULT_LIMIT
    digits = text.removeprefix("-")
    if not digits.isdecimal() or len(digits) > 9 or not int(digits):
        raise UsageError(f"limit is not a number of lines: {text[:40]!r}", hint=f"1 to {MAX_LIMIT}; negative: the last")
    return max(-MAX_LIMIT, min(int(text), MAX_LIMIT))


def _collapse(text: str) -> tuple[str, int] | None:
    if not text:
        return None
    name, _, letters = text.partition(":")
    if not _field(name) or (letters and not letters.isdecimal()):
        raise UsageError(f"cannot collapse by {text[:40]!r}", hint="collapse=FIELD or FIELD:N, as timestamp:8")
    return _field(name), int(letters or 0)


def _one(given: Mapping[str, Sequence[str]], name: str) -> str:
    values = given.get(name, ())
    return values[-1] if values else ""
