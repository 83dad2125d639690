"""The head of an answer, line by line as it comes, within bounds. Pure.

Interim answers (1xx, RFC 9110 section 15.2) come as heads of their own before the real one, trailers after the body.
All of them count against the bounds, and only the real head is kept.
"""

from __future__ import annotations

import re
from typing import Final

from periplus.formats.headers import read_content_type

_STATUS: Final = re.compile(rb"HTTP/[0-9.]+ +([0-9]{3})")
_LINE_ENDS: Final = (b"\r\n", b"\n")


class Head:
    """What was said before the body. `feed` is called for every line, its end included."""

    __slots__ = ("_lines", "_max_bytes", "_max_fields", "fields_seen", "is_open", "size", "status")

    def __init__(self, max_bytes: int, max_fields: int) -> None:
        self._max_bytes = max_bytes
        self._max_fields = max_fields
        self.clear()

    def clear(self) -> None:
        """Begin anew, for another answer."""
        self._lines: list[bytes] = []
        self.status = 0
        self.size = 0
        self.fields_seen = 0
        self.is_open = False

    def feed(self, line: bytes) -> bool:
        """Take a line; `False` where there were too many of them."""
        self.size += len(line)
        self.fields_seen += 1
        if self.size > self._max_bytes or self.fields_seen > self._max_fields:
            return False
        if self.is_open:
            if line in _LINE_ENDS:
                self.is_open = False
            else:
                self._lines.append(line)
        elif self.status < 200 and (status := _STATUS.match(line)):
            self._lines = []
            self.status = int(status[1])
            self.is_open = True
        return True

    def headers(self) -> tuple[tuple[str, str], ...]:
        """Names and values in order, as sent; octets beyond ASCII as Latin-1."""
        return tuple([_field(line) for line in self._lines])

    def value(self, name: bytes) -> str | None:
        """The first value of a field, by its name in lower case with the colon."""
        for line in self._lines:
            if line[: len(name)].lower() == name:
                return line[len(name) :].strip().decode("latin-1")
        return None


def _field(line: bytes) -> tuple[str, str]:
    name, _, value = line.decode("latin-1").partition(":")
    return name.rstrip(), value.strip()


class WantedTypes:
    """Whether a body is worth downloading, from the type that its server gives it."""

    def __init__(self, types: tuple[str, ...]) -> None:
        lowered = [one.lower() for one in types]
        self._exact = frozenset(lowered)
        self._groups = tuple(one[:-1] for one in lowered if one.endswith("/*") and one != "*/*")
        self._all = "*/*" in self._exact
        self._known: dict[str, bool] = {}

    def wants(self, content_type: str | None) -> bool:
        """A body without a type, or with one that cannot be understood, is wanted: its bytes will tell."""
        if content_type is None or self._all:
            return True
        known = self._known.get(content_type)
        if known is None:
            if len(self._known) >= 1024:
                self._known.clear()
            known = self._known[content_type] = self._judge(content_type)
        return known

    def _judge(self, content_type: str) -> bool:
        media = read_content_type(content_type)
        if media is None or not media.mime:
            return True
        return media.mime in self._exact or media.mime.startswith(self._groups)
