"""Plain text lists: one URL a line, and what people make of that.

Several URLs on a line are several entries; a URL with white space in it is one; columns after a tab and lines that
begin with `#` are passed over. Where the bytes were cut off, so was the last line, and half a URL is another URL.
Reasons: "not-a-url", "truncated", and those of `fields`.
"""

from __future__ import annotations

import re

from .fields import EDGES, ODD, QUOTED, Fields
from .outbox import Outbox
from .values import Entry

_HTTP = ("http://", "https://")
_RELATIVE = ("/", "www.")
_END_OF_LINE = re.compile(r"[\r\n]")
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{1,30}://\S")


def looks_like_list(text: str) -> bool:
    """Whether some line of it begins with a URL."""
    return any(_URL.match(line.strip(EDGES)) for line in text.splitlines())


class TextList:
    """Reads one list, in portions of text."""

    def __init__(self, fields: Fields, outbox: Outbox) -> None:
        self._fields = fields
        self._outbox = outbox
        self._tail = ""
        self._is_skipping = False

    @property
    def pending(self) -> int:
        """Characters that wait for what follows them."""
        return len(self._tail)

    def feed(self, text: str, *, is_last: bool = False) -> None:
        """Read on."""
        text, self._tail = self._tail + text, ""
        if not is_last or self._outbox.is_cut:
            end = max(text.rfind("\n"), text.rfind("\r")) + 1
            text, self._tail = text[:end], text[end:]
        if self._is_skipping:
            end_of_line = _END_OF_LINE.search(text)
            self._is_skipping = end_of_line is None
            text = "" if end_of_line is None else text[end_of_line.end() :]
        if text and not self._read_regular(text):
            for line in text.splitlines():
                self._read_line(line.strip(EDGES))
        if len(self._tail) > self._fields.limits.text:
            if not self._is_skipping:
                self._fields.complain("too-long", self._tail)
            self._tail, self._is_skipping = "", True
        if is_last and self._tail:
            self._fields.complain("truncated", self._tail)

    def _read_regular(self, text: str) -> bool:
        """All lines at once, if they are nothing but URLs."""
        words = text.split()
        entries = [Entry(word) for word in words if word.startswith(_HTTP)]
        if len(entries) != len(words) or max(map(len, words), default=0) > self._fields.limits.text:
            return False
        if not text.isascii() and ODD.search(text):
            return False
        self._outbox.put_all(entries)
        return True

    def _read_line(self, line: str) -> None:
        if not line or line.startswith("#"):
            return
        words = line.split()
        if all(map(_URL.match, words)):
            for word in words:
                self._put(word)
        elif _URL.match(words[0]):
            self._put(line.partition("\t")[0])
        elif len(words) == 1 and (line.startswith(_RELATIVE) or QUOTED.fullmatch(line)):
            self._put(line)
        else:
            self._fields.complain("not-a-url", line)

    def _put(self, text: str) -> None:
        url = self._fields.url(text)
        if url is not None:
            self._outbox.put(Entry(url))
