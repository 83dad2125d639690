"""Rows as CSV: a header, a line for each row, and nothing for what is not known."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

_CHUNK = 1000
"""Rows that are written at a time."""


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
