"""Cells that span several columns and rows of a table: the position of each cell."""

from __future__ import annotations

from typing import Final

from .layout import DIGITS

MAX_COLSPAN: Final = 50
"""Cells written for one that spans columns."""
MAX_ROWSPAN: Final = 1000
"""Rows below a cell that keep its column free."""


class RowSpans:
    """The columns of the present row that are taken by cells of the rows above (HTML Standard, 4.9.12)."""

    def __init__(self) -> None:
        self._left: dict[int, int] = {}
        self._taken: frozenset[int] = frozenset()

    def begin_rows(self) -> None:
        """A table or a group of rows begins: no cell reaches into it."""
        self._left, self._taken = {}, frozenset()

    def begin_row(self) -> None:
        """The next row begins."""
        self._taken = frozenset(self._left)
        self._left = {column: rows - 1 for column, rows in self._left.items() if rows > 1}

    def free_column(self, column: int) -> int:
        """The first column from this one on that no cell above takes."""
        while column in self._taken:
            column += 1
        return column

    def place(self, column: int, colspan: str | None, rowspan: str | None) -> int:
        """Put a cell into a column; returns how many further columns it spans."""
        width = min(_number(colspan), MAX_COLSPAN)
        below = min(_number(rowspan), MAX_ROWSPAN) - 1
        if below > 0:
            self._left.update(dict.fromkeys(range(column, column + max(width, 1)), below))
        return max(width - 1, 0)


def _number(span: str | None) -> int:
    """The value of an attribute; 1 if it is not a number."""
    return int(span) if span is not None and DIGITS.fullmatch(span) else 1
