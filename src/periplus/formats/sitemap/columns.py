r"""The fastest reader, for windows in which every record has the same fields in the same order: what programs write.

Split at `</`, such text has as many pieces a record as it has end tags, and every so many pieces make a column: the
same tags, then a value. So a handful of operations in C takes all values of a window out and proves that the rest of it
is nothing but those tags. Any doubt is a `NotRegularError`, and the reader in `regular` looks closer.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import repeat
from typing import Generic, TypeVar

from periplus.formats.dates import read_w3c
from periplus.model import ChangeFreq, Granularity, Lastmod

from .fields import ODD, clean_changefreq, clean_priority
from .moments import read_seconds

Value = TypeVar("Value")

_REMEMBERED = 16_384
_LONGEST = 256
"""Characters of tags with the white space between them, and of values that are remembered with them."""

_WORTH_ARRAYS = 32


class NotRegularError(Exception):
    """Something that a more careful reader should see."""


class _Known(dict[str, Value | None], Generic[Value]):
    """Values by the text that they were read from, behind its tags: a site's records repeat them."""

    def __init__(self, read: Callable[[str], Value | None], tags: str) -> None:
        self._read = read
        self.tags = tags
        self[tags] = None

    def __missing__(self, text: str) -> Value:
        value = self._read(text[len(self.tags) :]) if text.startswith(self.tags) else None
        if value is None:
            raise NotRegularError
        if len(self) >= _REMEMBERED:
            self.clear()
            self[self.tags] = None
        if len(text) <= 2 * _LONGEST:
            self[text] = value
        return value


class Columns:
    """What the records of a window say, field by field; a field that none of them has goes on for ever.

    Values may turn out not to be regular only when they are asked for.
    """

    def __init__(self, urls: Sequence[str]) -> None:
        self.urls = urls
        self.lastmods: Iterable[Lastmod | None] = repeat(None)
        self.frequencies: Iterable[ChangeFreq | None] = repeat(None)
        self.priorities: Iterable[float | None] = repeat(None)


class ColumnReader:
    """Reads windows of one document, remembering the values that it has seen.

    Only of these `fields`, which the caller must then ask for: values are checked when they are.
    """

    def __init__(self, prefix: str, record: str, fields: Collection[str]) -> None:
        self._prefix = prefix
        self._fields = fields
        self._end = f"{prefix}{record}>"
        p = re.escape(prefix)
        self._first = re.compile(rf"<{p}{record}>\s*+<{p}loc>")
        self._others = re.compile(rf"{p}{record}>\s*+<{p}{record}>\s*+<{p}loc>")
        self._next = re.compile(rf"{p}(\w++)>\s*+<{p}(\w++)>")
        self._lastmods = _Known(read_w3c, "")
        self._frequencies = _Known(clean_changefreq, "")
        self._priorities = _Known(clean_priority, "")

    def read(self, window: str) -> Columns:
        """All values of a window that begins with a record and ends with one."""
        pieces = window.split("</")
        width = window.count("</", 0, window.index(f"</{self._end}") + 2)
        height = len(pieces) // width
        if height < 2 or len(pieces) != height * width + 1 or pieces.pop() != self._end:
            raise NotRegularError
        columns = Columns(self._urls(pieces[::width]))
        name, expected = "loc", set(self._fields)
        for index in range(1, width - 1):
            column = pieces[index::width]
            tags = self._next.match(column[0])
            if tags is None or tags[1] != name or tags.end() > _LONGEST:
                raise NotRegularError
            name = tags[2]
            if name not in expected:
                raise NotRegularError
            expected.remove(name)
            self.add(columns, name, column, tags[0])
        last = pieces[width - 1 :: width]
        if last.count(last[0]) != height or last[0].rstrip() != f"{self._prefix}{name}>":
            raise NotRegularError
        return columns

    def add(self, columns: Columns, name: str, texts: Sequence[str], tags: str = "") -> None:
        """Add a field from texts that are `tags` and then a value."""
        if name == "lastmod":
            columns.lastmods = self._dates(texts, tags)
        elif name == "changefreq":
            self._frequencies = _for_tags(self._frequencies, clean_changefreq, tags)
            columns.frequencies = map(self._frequencies.__getitem__, texts)
        elif name == "priority":
            self._priorities = _for_tags(self._priorities, clean_priority, tags)
            columns.priorities = map(self._priorities.__getitem__, texts)

    def _urls(self, column: list[str]) -> list[str]:
        """The first column: tags that are known from its second piece, and URLs."""
        first, others = self._first.match(column[0]), self._others.match(column[1])
        if first is None or others is None:
            raise NotRegularError
        column[0] = others[0] + column[0][first.end() :]
        return clean_urls("".join(column).replace(others[0], " "), len(column))

    def _dates(self, texts: Sequence[str], tags: str) -> Iterable[Lastmod | None]:
        """Days repeat and are read once each; times differ, and are read all at once."""
        if len(texts) >= _WORTH_ARRAYS and len(set(texts)) * 2 > len(texts):
            told = [text for text in texts if text != tags] if tags in texts else texts
            seconds = read_seconds(told, tags)
            if seconds is not None:
                dates = map(Lastmod, seconds, repeat(Granularity.SECOND))
                return dates if len(told) == len(texts) else [next(dates) if text != tags else None for text in texts]
        self._lastmods = _for_tags(self._lastmods, read_w3c, tags)
        return map(self._lastmods.__getitem__, texts)


def _for_tags(known: _Known[Value], read: Callable[[str], Value | None], tags: str) -> _Known[Value]:
    """What is known of texts with these tags, which seldom change within a document."""
    return known if known.tags == tags else _Known(read, tags)


def clean_urls(joined: str, number: int) -> list[str]:
    """So many URLs that white space divides, with `&amp;` resolved, if there is nothing else to say of any.

    All at once: as many words must come out, each with its scheme in front.
    """
    if "&" in joined:
        encoded, joined = joined, joined.replace("&amp;", "&")
        if len(encoded) - len(joined) != joined.count("&") * len("amp;"):
            raise NotRegularError
    urls = joined.split()
    absolute = joined.count(" https://")
    if absolute != number:
        absolute += joined.count(" http://")
    if len(urls) != number or absolute != number or "<" in joined or (not joined.isascii() and ODD.search(joined)):
        raise NotRegularError
    return urls
