"""Rows as CSV: a header, a line for each row, and nothing for what is not known."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

_FORMULA = ("=", "+", "-", "@")
"""How a cell begins that a spreadsheet computes, after blanks."""
_CHUNK = 1000
"""Rows that are written at a time."""


def inert(value: Any) -> object:
    """A value that a spreadsheet does not compute: a text that begins like a formula gets a leading apostrophe."""
    if not isinstance(value, str):
        return value
    return f"'{value}" if value.startswith(("\t", "\r", "\n")) or value.lstrip()[:1] in _FORMULA else value


def csv_chunks(
    names: Sequence[str], rows: Iterable[Sequence[Any]], word: Callable[[Any], object] = str, *, newline: str = "\n"
) -> Iterator[str]:
    """The header and the rows in pieces. `word` writes a value that is known."""
    lines = iter(rows)
    chunk: list[Sequence[Any]] = [names]
    while chunk:
        buffer = io.StringIO()
        writer = csv.writer(buffer, lineterminator=newline)
        writer.writerows(["" if value is None else word(value) for value in row] for row in chunk)
        yield buffer.getvalue()
        chunk = list(islice(lines, _CHUNK))
