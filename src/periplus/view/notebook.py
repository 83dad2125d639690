"""Results and progress in notebooks: the HTML that Jupyter shows of a value, and a line that a running call updates."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from itertools import islice
from typing import Any, Final
from uuid import uuid4

import msgspec
from msgspec import Struct

from .values import sheet_of
from .wording import clean

MOST_ROWS: Final = 20
"""Rows of a table that a notebook shows: about a screen."""
UPDATE_INTERVAL: Final = 0.5
"""Seconds between two updates of a line: each is a message to the browser, kept in the notebook's file."""
LONGEST_CELL: Final = 200
"""Letters of a cell."""
_MOST_PARTS: Final = 8
"""Values of a list or mapping that are written in one cell."""


class Displayed(Struct, frozen=True):
    """A result whose fields a notebook shows as a table."""

    def _repr_html_(self) -> str:
        lists = [(name, value) for name, value in _fields(self) if _is_rows(value)]
        facts = facts_html((name, value) for name, value in _fields(self) if not _is_rows(value))
        return facts + "".join(f"<h4>{escape(name)}</h4>{_struct_rows(value)}" for name, value in lists)


def facts_html(facts: Iterable[tuple[str, Any]]) -> str:
    """Names with their values, one a line. Empty values are left out."""
    lines = "".join(
        f'<tr><th style="text-align: left">{escape(name)}</th><td style="text-align: left">{_cell(value)}</td></tr>'
        for name, value in facts
        if value is not None and value != "" and value != () and value != {}
    )
    return f"<table>{lines}</table>"


def rows_html(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """The first rows of a table, and a line that says so if there are more."""
    from .html import html_table  # reads a style sheet, which most programs do not need

    shown = list(islice(rows, MOST_ROWS + 1))
    cells = [[_text(cell) for cell in row] for row in shown[:MOST_ROWS]]
    more = f"<p>the first {MOST_ROWS} rows</p>" if len(shown) > MOST_ROWS else ""
    return html_table(sheet_of("rows", [f"<{name}" for name in columns], cells)) + more


def _struct_rows(values: Sequence[Struct]) -> str:
    kept = [name for name in values[0].__struct_fields__ if not _is_rows(getattr(values[0], name))]
    more = f"<p>the first {MOST_ROWS} of {len(values):,}</p>" if len(values) > MOST_ROWS else ""
    rows = [[getattr(value, name) for name in kept] for value in values[:MOST_ROWS]]
    return rows_html(kept, rows) + more


def _fields(value: Struct) -> Iterator[tuple[str, Any]]:
    """The fields of a result; those of a result in it by both names."""
    for name in value.__struct_fields__:
        inner = getattr(value, name)
        if isinstance(inner, Struct):
            yield from ((f"{name}.{field}", getattr(inner, field)) for field in inner.__struct_fields__)
        else:
            yield name, inner


def _is_rows(value: object) -> bool:
    return isinstance(value, list | tuple) and bool(value) and isinstance(value[0], Struct)


def _cell(value: Any) -> str:
    from .html import link

    return link(value) if isinstance(value, str) else escape(_text(value))


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return clean(value, LONGEST_CELL)
    if isinstance(value, float):
        return f"{value:,.4g}" if abs(value) < 1e6 else f"{value:,.0f}"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    if isinstance(value, Mapping):
        return _joined([f"{name} {_text(each)}" for name, each in islice(value.items(), _MOST_PARTS)], len(value))
    if isinstance(value, list | tuple | set | frozenset):
        return _joined([_text(each) for each in islice(value, _MOST_PARTS)], len(value))
    return clean(str(msgspec.to_builtins(value, str_keys=True, enc_hook=str)), LONGEST_CELL)


def _joined(parts: list[str], number: int) -> str:
    return ", ".join(parts) + (f", … ({number:,})" if number > len(parts) else "")


class ProgressLine:
    """One line of a notebook's cell, updated while a call runs. Outside of a kernel nothing is shown."""

    def __init__(self) -> None:
        self._is_shown = _in_kernel()
        self._id = uuid4().hex
        self._shown_at = 0.0

    def show(self, text: str, *, is_last: bool = False) -> None:
        """Replace the text, unless it was replaced a moment ago. The last text is always shown."""
        now = time.monotonic()
        if not self._is_shown or (now < self._shown_at + UPDATE_INTERVAL and not is_last):
            return
        from IPython.core.display_functions import publish_display_data

        publish_display_data(  # type: ignore[no-untyped-call]
            {"text/html": f"<pre>{escape(clean(text, 300))}</pre>", "text/plain": clean(text, 300)},
            transient={"display_id": self._id},
            update=self._shown_at > 0.0,
        )
        self._shown_at = now

    def count(self, done: int, of: int) -> None:
        """Show how many of how many things are done."""
        self.show(f"{done:,} of {of:,}", is_last=done >= of)


def _in_kernel() -> bool:
    if "ipykernel" not in sys.modules:
        return False
    from IPython.core.getipython import get_ipython

    return hasattr(get_ipython(), "kernel")
