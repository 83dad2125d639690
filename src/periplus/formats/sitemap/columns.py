r"""The fastest reader, for windows in which every record has the same fields in the same order: what programs write.

Split at `</`, such text has as many pieces a record as it has end tags, and every such number of pieces make a column:
the same tags, then a value. So a handful of operations in C takes all values of a window out and proves that the rest
of it is nothing but those tags. Any doubt is a `NotRegularError`, and the reader in `regular` looks closer. What the
values mean is in `cells`.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from itertools import repeat

from .cells import LONGEST, Cut, Texts
from .fields import NotRegularError


class ColumnCutter:
    """Cuts windows of one document, of whose records only these `fields` are known."""

    def __init__(self, prefix: str, record: str, fields: Collection[str]) -> None:
        self._prefix = prefix
        self._fields = fields
        self._end = f"{prefix}{record}>"
        p = re.escape(prefix)
        self._first = re.compile(rf"<{p}{record}>\s*+<{p}loc>")
        self._others = re.compile(rf"{p}{record}>\s*+<{p}{record}>\s*+<{p}loc>")
        self._next = re.compile(rf"{p}(\w++)>\s*+<{p}(\w++)>")

    def cut(self, window: str) -> Cut:
        """All values of a window that begins with a record and ends with one."""
        pieces = window.split("</")
        width = window.count("</", 0, window.index(f"</{self._end}") + 2)
        height = len(pieces) // width
        if height < 2 or len(pieces) != height * width + 1 or pieces.pop() != self._end:
            raise NotRegularError
        urls = self._urls(pieces[::width])
        name, fields = "loc", dict[str, Texts]()
        for index in range(1, width - 1):
            column = pieces[index::width]
            tags = self._next.match(column[0])
            if tags is None or tags[1] != name or tags.end() > LONGEST:
                raise NotRegularError
            name = tags[2]
            if name not in self._fields or name in fields:
                raise NotRegularError
            fields[name] = Texts(column, tags[0])
        last = pieces[width - 1 :: width]
        if last.count(last[0]) != height or last[0].rstrip() != f"{self._prefix}{name}>":
            raise NotRegularError
        return Cut(urls, fields)

    def _urls(self, column: list[str]) -> list[str]:
        """The first column: tags known from its second piece, and URLs. Other tags stay, and are seen later."""
        first, others = self._first.match(column[0]), self._others.match(column[1])
        if first is None or others is None:
            raise NotRegularError
        urls = list(map(str.removeprefix, column, repeat(others[0])))
        urls[0] = column[0][first.end() :]
        return urls
