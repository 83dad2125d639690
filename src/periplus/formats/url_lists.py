"""Lists of URLs as other programs write them: for seeds of a crawl.

| what | which URLs |
|---|---|
| text | one a line; empty lines and lines that begin with `#` are skipped |
| CSV with a header | the column `Address` (Screaming Frog), `URL`, `Link`, `loc` or `Location`, in this order |
| JSON lines, or a JSON array | strings, and `url` (else `link`, `loc`) of objects: feed exports of Scrapy |
| Netscape bookmarks | `HREF` of every link, as all browsers export them |
| OPML | `htmlUrl`, else `url`, else `xmlUrl` of every outline |

The kind is seen at the beginning. What is not a URL of the web is passed over in all forms but text: bookmarks are full
of `javascript:` and `place:`.
"""

from __future__ import annotations

import csv
import html
import re
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import Any, Final

import msgspec

MAX_DOCUMENT: Final = 256 << 20
"""Characters of a list that is read whole: bookmarks, OPML and JSON arrays. The others are read line by line."""
_SAMPLE: Final = 50
"""Lines in which the kind is looked for."""
_COLUMNS: Final = ("address", "url", "link", "loc", "location")
_KEYS: Final = ("url", "link", "loc")
_WEB: Final = re.compile(r"https?://", re.IGNORECASE)
_ARRAY: Final = re.compile(r"\[\s*[\"{\]]")
"""The beginning of a JSON array; a line may begin with an IPv6 address in brackets."""
_BOOKMARK: Final = re.compile(r"""<a\s[^<>]{0,65536}?\bhref\s*=\s*(?:"([^"]*)"|'([^']*)')""", re.IGNORECASE)
_OUTLINE: Final = re.compile(r"<outline\s([^<>]{0,65536})>", re.IGNORECASE)
_ATTRIBUTE: Final = re.compile(r"""\b(htmlUrl|xmlUrl|url)\s*=\s*(?:"([^"]*)"|'([^']*)')""", re.IGNORECASE)


def read_urls(lines: Iterable[str]) -> Iterator[str]:
    """The URLs of a list. Texts are not checked: `seeds_from` does that."""
    given = iter(lines)
    first = list(islice(given, _SAMPLE))
    if first:
        first[0] = first[0].removeprefix("\ufeff")
    start = "\n".join(first)
    head = start.lstrip().lower()
    everything = chain(first, given)
    if "<!doctype netscape" in head or (head.startswith("<") and "<dl" in head and "<a " in head):
        yield from _bookmarks(_whole(everything))
    elif head.startswith("<") and "<opml" in head:
        yield from _outlines(_whole(everything))
    elif _ARRAY.match(head):
        yield from _objects(_array(_whole(everything)))
    elif head.startswith("{"):
        yield from _objects(_line_values(everything))
    elif (column := _column(first)) is not None:
        yield from _cells(everything, column)
    else:
        yield from _texts(everything)


def _whole(lines: Iterable[str]) -> str:
    parts: list[str] = []
    size = 0
    for line in lines:
        size += len(line) + 1
        if size > MAX_DOCUMENT:
            break
        parts.append(line)
    return "\n".join(parts)


def _bookmarks(text: str) -> Iterator[str]:
    for found in _BOOKMARK.finditer(text):
        yield from _web(html.unescape(found[1] or found[2] or ""))


def _outlines(text: str) -> Iterator[str]:
    for outline in _OUTLINE.finditer(text):
        values = {name.lower(): html.unescape(one or two) for name, one, two in _ATTRIBUTE.findall(outline[1])}
        best = next((values[name] for name in ("htmlurl", "url", "xmlurl") if values.get(name)), "")
        yield from _web(best)


def _array(text: str) -> Iterator[Any]:
    try:
        values = msgspec.json.decode(text)
    except msgspec.MsgspecError:
        return
    yield from values if isinstance(values, list) else ()


def _line_values(lines: Iterable[str]) -> Iterator[Any]:
    for line in lines:
        try:
            yield msgspec.json.decode(line)
        except msgspec.MsgspecError:
            continue


def _objects(values: Iterable[Any]) -> Iterator[str]:
    for value in values:
        text = value
        if isinstance(value, dict):
            text = next((value[key] for key in _KEYS if isinstance(value.get(key), str)), "")
        if isinstance(text, str):
            yield from _web(text)


def _column(lines: list[str]) -> int | None:
    """The column with URLs, if this is CSV with a header that names one."""
    header = next((line for line in lines if line.strip()), "")
    if _WEB.match(header) or ("," not in header and '"' not in header and header.strip().lower() not in _COLUMNS):
        return None
    names = [name.strip().lower() for name in next(csv.reader([header]), [])]
    return next((names.index(name) for name in _COLUMNS if name in names), None)


def _cells(lines: Iterable[str], column: int) -> Iterator[str]:
    for row in csv.reader(lines):
        if len(row) > column:
            yield from _web(row[column])


def _texts(lines: Iterable[str]) -> Iterator[str]:
    for line in lines:
        text = line.strip()
        if text and not text.startswith("#"):
            yield text


def _web(text: str) -> Iterator[str]:
    text = text.strip()
    if _WEB.match(text):
        yield text
