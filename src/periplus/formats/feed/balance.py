"""End tags for feeds that lack them: unescaped HTML in a description, an item that is never closed.

A parser that recovers by itself nests whatever follows in what was left open, item in item, until it gives up at some
depth and all is lost. Here every end tag closes what is open inside of it, an item ends where the next one begins, and
an end tag that closes nothing goes. Nothing else is touched, so that what is balanced stays as it is. Time is linear,
and nothing that has no end is looked at twice.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache

MOST_TAGS = 100_000
"""Tags of a feed that are looked at: some thousand items."""

_DEEPEST = 250
"""Elements within elements; libxml2 ends at 256."""

_TAG = re.compile(
    r"""<(/?)([A-Za-z_][^\s<>/]{0,99}+)(?=[\s/>])((?>(?:[^<>"']*+(?:"[^"<]*+"|'[^'<]*+'))*)[^<>"']*+(?=>)|[^<>]*+)>""",
)
_MARKS = ("!", "?")
_SECTIONS = (("<![CDATA[", "]]>"), ("<!--", "-->"), ("<?", "?>"))
_ITEMS = frozenset({"item", "entry"})
_LEAVES = frozenset({"title", "link", "guid", "pubdate", "category", "comments"})
_FIELDS = _LEAVES | {"description", "author", "enclosure", "source", "summary", "content", "updated", "published"}


def balanced(text: str) -> str:
    """The same XML with an end for everything that must have ended."""
    balance = _Balance(text)
    at = 0
    while (opened := text.find("<", at)) >= 0 and balance.tags < MOST_TAGS:
        if text.startswith(_MARKS, opened + 1):
            at = _end_of_section(text, opened)
            if at < 0:
                break
        elif tag := _TAG.match(text, opened):
            balance.take(tag)
            at = tag.end()
        else:
            at = opened + 1
    return balance.finish()


def _end_of_section(text: str, opened: int) -> int:
    """Past a comment, an instruction or a CDATA section; -1 where it has no end."""
    for begin, close in _SECTIONS:
        if text.startswith(begin, opened):
            end = text.find(close, opened + len(begin))
            return end + len(close) if end >= 0 else -1
    return opened + 1


@lru_cache(maxsize=1024)
def _kinds(name: str) -> tuple[bool, bool, bool]:
    """Whether a tag begins an item, a field, or one that is but a line of text."""
    local = name.rpartition(":")[2].lower()
    return local in _ITEMS, local in _FIELDS, local in _LEAVES


class _Balance:
    """Which elements are open, and the text as far as it had to be changed."""

    def __init__(self, text: str) -> None:
        self.tags = 0
        self._text = text
        self._pieces: list[str] = []
        self._taken = 0
        self._open: list[str] = []
        self._counts: Counter[str] = Counter()

    def finish(self) -> str:
        """All of the text."""
        return "".join((*self._pieces, self._text[self._taken :]))

    def take(self, tag: re.Match[str]) -> None:
        """Go past one tag, after the ends that it calls for."""
        self.tags += 1
        is_end, name, rest = tag.groups()
        if is_end:
            self._end(tag, name)
        elif not rest.endswith("/"):
            self._make_room(tag, name)
            if len(self._open) < _DEEPEST:
                self._open.append(name)
                self._counts[name.lower()] += 1
            else:
                self._change("", tag.start(), tag.end())

    def _end(self, tag: re.Match[str], name: str) -> None:
        """An end tag: what is open inside of its element ends first, and where no such element is open, it goes."""
        if self._open and self._open[-1] == name:
            self._open.pop()
            self._counts[name.lower()] -= 1
        else:
            self._change(self._ends(name.lower()), tag.start(), tag.end())

    def _make_room(self, tag: re.Match[str], name: str) -> None:
        """No item is within an item, and no field within one that is but a line of text."""
        is_item, is_field, _ = _kinds(name)
        if is_item and self._counts[name.lower()]:
            self._change(self._ends(name.lower()), tag.start(), tag.start())
        elif is_field and self._open and _kinds(self._open[-1])[2]:
            self._change(self._ends(self._open[-1].lower()), tag.start(), tag.start())

    def _ends(self, name: str) -> str:
        """The end tags of the last element of this name and of all inside of it, which are open no longer."""
        ends: list[str] = []
        is_open = self._counts[name] > 0
        while is_open:
            inner = self._open.pop()
            self._counts[inner.lower()] -= 1
            ends.append(f"</{inner}>")
            is_open = inner.lower() != name
        return "".join(ends)

    def _change(self, written: str, start: int, end: int) -> None:
        """Write this in place of what is from `start` to `end`."""
        self._pieces += (self._text[self._taken : start], written)
        self._taken = end
