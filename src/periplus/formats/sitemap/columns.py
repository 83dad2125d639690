r"""The fastest reader, for windows in which every record has the same fields in the same order: what programs write.

Split at `</`, such text has as many pieces a record as it has end tags, and every so many pieces make a column: the
same tags, then a value. So a handful of operations in C takes all values of a window out and proves that the rest of it
is nothing but those tags. Any doubt is a `NotRegularError`, and the reader in `regular` looks closer.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import repeat
from typing import TypeVar

from periplus.formats.dates import read_w3c
from periplus.model import ChangeFreq, Granularity, Lastmod

from .fields import clean_changefreq, clean_priority
from .moments import read_seconds

Value = TypeVar("Value")


class NotRegularError(Exception):
    """Something that a more careful reader should see."""


class Columns:
    """What the records of a window say, field by field; a field that none of them has goes on for ever."""

    def __init__(self, urls: Sequence[str]) -> None:
        self.urls = _clean_urls(urls)
        self.lastmods: Iterable[Lastmod | None] = repeat(None)
        self.frequencies: Iterable[ChangeFreq | None] = repeat(None)
        self.priorities: Iterable[float | None] = repeat(None)

    def add(self, name: str, texts: Sequence[str], tags: str = "") -> None:
        """Add a field from texts that are `tags` and then a value."""
        if name == "lastmod":
            self.lastmods = _read_dates(texts, tags)
        elif name == "changefreq":
            self.frequencies = _read_each(texts, tags, clean_changefreq)
        elif name == "priority":
            self.priorities = _read_each(texts, tags, clean_priority)
        else:
            raise NotRegularError


def read_columns(window: str, prefix: str, record: str) -> Columns:
    """All values of a window that begins with a record and ends with one."""
    pieces = window.split("</")
    end = f"{prefix}{record}>"
    width = window.count("</", 0, window.index(f"</{end}") + 2)
    height = len(pieces) // width
    if height < 2 or len(pieces) != height * width + 1 or pieces.pop() != end:
        raise NotRegularError
    p = re.escape(prefix)
    columns = Columns(_urls(pieces[::width], rf"{p}{record}>\s*+", rf"<{p}{record}>\s*+<{p}loc>\s*+"))
    name = "loc"
    for index in range(1, width - 1):
        column = pieces[index::width]
        tags = _match(rf"{p}{name}>\s*+<{p}(\w++)>", column[0])
        name = tags[1]
        columns.add(name, column, tags[0])
    last = pieces[width - 1 :: width]
    if last.count(last[0]) != height or last[0].rstrip() != f"{prefix}{name}>":
        raise NotRegularError
    return columns


def _match(pattern: str, piece: str) -> re.Match[str]:
    match = re.match(pattern, piece)
    if match is None:
        raise NotRegularError
    return match


def _urls(column: list[str], before: str, tags: str) -> list[str]:
    """Take the URLs out of the first column, whose tags are known from its second piece."""
    first = _match(tags, column[0])
    every = _match(before + tags, column[1])[0]
    if not every.endswith(first[0]):
        raise NotRegularError
    column[0] = every + column[0][first.end() :]
    urls = "".join(column).split(every)
    if len(urls) != len(column) + 1 or urls.pop(0):
        raise NotRegularError
    return urls


def _clean_urls(urls: Sequence[str]) -> list[str]:
    """The URLs without white space around them and with `&amp;` resolved, if there is nothing else to say of any.

    All at once: joined by spaces, as many words must come out, each with its scheme; and what is printable has no white
    space of any other kind in it, nor characters without width.
    """
    joined = " ".join(urls)
    if not joined.isprintable():
        joined = " ".join(joined.split())
        if not joined.isprintable():
            raise NotRegularError
    joined = f" {joined.strip()}"
    if joined.count(" http://") + joined.count(" https://") != len(urls) or joined.count(" ") != len(urls):
        raise NotRegularError
    if "<" in joined or joined.count("&") != joined.count("&amp;"):
        raise NotRegularError
    return joined.replace("&amp;", "&")[1:].split(" ")


def _read_each(texts: Sequence[str], tags: str, read: Callable[[str], Value | None]) -> Iterator[Value | None]:
    """The value behind the tags of each text, or `None`; each different one is read once, since sites repeat them."""
    start = len(tags)
    known = {text: read(text[start:]) if text.startswith(tags) else None for text in dict.fromkeys(texts)}
    known.pop(tags, None)
    if None in known.values():
        raise NotRegularError
    known[tags] = None
    return map(known.__getitem__, texts)


def _read_dates(texts: Sequence[str], tags: str) -> Iterable[Lastmod | None]:
    """Days repeat and are read once each; times differ, and are read all at once."""
    if len(set(texts)) * 2 < len(texts):
        return _read_each(texts, tags, read_w3c)
    told = [text for text in texts if text != tags]
    seconds = read_seconds(told, tags)
    if seconds is None:
        return _read_each(texts, tags, read_w3c)
    dates = map(Lastmod, seconds, repeat(Granularity.SECOND))
    if len(told) == len(texts):
        return dates
    return [None if text == tags else next(dates) for text in texts]
