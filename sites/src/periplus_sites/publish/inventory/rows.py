"""Rows of a table: addresses with the time of their last change, from a database, a CSV file or lines of JSON."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, date, datetime
from itertools import chain
from typing import Any, Final, TextIO
from urllib.parse import urljoin

from periplus.formats.dates import read_w3c
from periplus.model import Problem, UsageError
from periplus.urls import canonical, whatwg

from ..resources import Resource

LONGEST_LINE: Final = 1 << 20
"""Characters of one line; a longer one is refused."""
_HINT: Final = "give a CSV file with a header and a column url, or one object of JSON a line"
_COLUMNS = ("url", "updated_at", "digest", "mime", "size", "title", "images", "priority")


class RowInventory:
    """Resources from rows, mappings with `url` and what is known of the others in `_COLUMNS`.

    A tuple has them in that order. Addresses may be relative to the base. With a `digest`, only a change of it counts,
    whatever `updated_at` is; without it, `updated_at` counts. `is_complete`: whether the rows are all there are.
    """

    def __init__(
        self, rows: Iterable[Mapping[str, Any] | tuple[Any, ...] | Problem], base_url: str, *, is_complete: bool = True
    ) -> None:
        self._rows = rows
        self._base = base_url
        self._root = canonical(base_url.partition("?")[0]) or base_url
        self.is_complete = is_complete

    def resources(self) -> Iterator[Resource | Problem]:
        """Every row as a resource."""
        for row in self._rows:
            if type(row) is dict:  # the usual case, without the slower checks of what else it may be
                yield self._resource(row)
                continue
            if isinstance(row, Problem):
                yield row
                continue
            values = row if isinstance(row, Mapping) else dict(zip(_COLUMNS, row, strict=False))
            yield self._resource(values)

    def _resource(self, row: Mapping[str, Any]) -> Resource | Problem:
        written = str(row.get("url") or "")
        joined = written if "://" in written else whatwg(written, self._base) if written else None
        url = canonical(joined) if joined is not None else None
        if url is None:
            return Problem("not-a-url", written[:200])
        if not url.startswith(self._root):
            return Problem("outside-root", written[:200])
        value = row.get("updated_at")
        at = _moment(value)
        if at is None and value not in (None, ""):
            return Problem("bad-date", f"{written[:200]}: {str(value)[:50]}")
        return Resource(
            url,
            str(row.get("mime") or "text/html"),
            _number(row.get("size")),
            source_date=at,
            digest=str(row.get("digest") or ""),
            title=str(row.get("title") or ""),
            images=_images(row.get("images"), url),
        )


def read_rows(file: TextIO) -> Iterator[dict[str, Any] | Problem]:
    """Rows of a CSV file with a header, or of JSON lines: whichever the first line is."""
    lines = _lines(file)
    first = next(lines, "")
    if first.lstrip().startswith("{"):
        yield from _json_rows(chain([first], lines))
        return
    try:
        yield from _csv_rows(first, lines)
    except csv.Error as error:
        raise UsageError(f"the rows cannot be read: {error}", hint=_HINT) from error


def _lines(file: TextIO) -> Iterator[str]:
    number = 0
    while line := file.readline(LONGEST_LINE + 1):
        number += 1
        if len(line) > LONGEST_LINE:
            raise UsageError(f"line {number:,} of the rows is longer than {LONGEST_LINE:,} characters", hint=_HINT)
        yield line


def _csv_rows(first: str, lines: Iterator[str]) -> Iterator[dict[str, Any] | Problem]:
    names = next(csv.reader([first]), [])
    if "url" not in names:
        yield Problem("bad-row", "the first line is neither JSON nor a CSV header with the column url")
        return
    for values in csv.reader(lines):
        if len(values) == len(names):
            yield dict(zip(names, values, strict=True))
        elif values:
            yield Problem("bad-row", ",".join(values)[:200])


def _json_rows(lines: Iterable[str]) -> Iterator[dict[str, Any] | Problem]:
    for line in lines:
        try:
            row = json.loads(line) if line.strip() else None
        except (ValueError, RecursionError):
            row = line
        if isinstance(row, dict):
            yield row
        elif row is not None:
            yield Problem("bad-row", line[:200])


def _images(value: object, url: str) -> tuple[str, ...]:
    if not value:
        return ()
    named = value.split() if isinstance(value, str) else value if isinstance(value, list | tuple) else ()
    return tuple(urljoin(url, str(image)) for image in named)


def _moment(value: object) -> float | None:
    if value is None or isinstance(value, bool):
        return None
    if isinstance(value, float | int):
        return float(value)
    if isinstance(value, datetime):
        return (value if value.tzinfo else value.replace(tzinfo=UTC)).timestamp()
    if isinstance(value, date):
        return datetime(value.year, value.month, value.day, tzinfo=UTC).timestamp()
    text = str(value).strip()
    try:
        return float(text)
    except ValueError:
        read = read_w3c(text.replace(" ", "T", 1))
        return None if read is None else read.at


def _number(value: object) -> int:
    if value is None:
        return 0
    try:
        return max(int(str(value)), 0)
    except ValueError:
        return 0
