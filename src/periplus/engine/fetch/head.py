"""The head of an answer, read line by line within limits. Pure.

Interim responses (1xx, RFC 9110 section 15.2) have heads of their own before the final one, trailers follow the body.
All of them count against the limits, and only the final head is kept.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from periplus.formats.headers import read_content_type

STOP: Final = -1
"""A callback returns this to make libcurl end a transfer."""

_STATUS: Final = re.compile(rb"HTTP/[0-9.]+ +([0-9]{3})")
_MAX_KNOWN_TYPES: Final = 1024
"""Content-Type values whose verdict is cached; the cache is emptied when it is full."""


class Head:
    """The status and fields of an answer. `feed` is libcurl's header callback, so it is as short as it can be.

    When the head is complete, `is_welcome` decides whether the body is wanted; if not, `feed` returns `STOP`.
    """

    __slots__ = ("_is_welcome", "_lines", "_max_bytes", "_max_fields", "is_too_large", "lines", "size", "status")

    def __init__(self, max_bytes: int, max_fields: int, is_welcome: Callable[[], bool]) -> None:
        self._max_bytes = max_bytes
        self._max_fields = max_fields
        self._is_welcome = is_welcome
        self.clear()

    def clear(self) -> None:
        """Start over for another answer."""
        self.status = 0
        self.size = 0
        self.is_too_large = False
        self.lines: list[bytes] = []
        self._lines: list[bytes] = []

    def feed(self, line: bytes) -> int | None:
        """Read a line, including its line break."""
        self._lines.append(line)
        self.size += len(line)
        if len(line) > 2 and self.size <= self._max_bytes:
            return None
        return self._look(line)

    def _look(self, line: bytes) -> int | None:
        """Handle a line that is empty or very short, or that exceeds the size limit."""
        if self.size > self._max_bytes or len(self._lines) > self._max_fields:
            self.is_too_large = True
            return STOP
        is_end = not line.strip() and line.endswith(b"\n")  # half of the last line break comes if the server closed
        if not is_end or self.status >= 200:  # a very short field, or the end of the trailers
            return None
        lines, self._lines = self._lines, []
        status = _STATUS.match(lines[0])
        self.status = int(status[1]) if status else 0
        if self.status < 200:
            return None
        self.lines = lines
        return None if self._is_welcome() else STOP

    def headers(self) -> tuple[tuple[str, str], ...]:
        """Names and values in order, as sent; bytes beyond ASCII as Latin-1."""
        text = b"".join(self.lines[1:]).replace(b"\r\n", b"\n").decode("latin-1")
        parts = [line.partition(":") for line in text.split("\n")]
        return tuple([(name.rstrip(), value.strip()) for name, colon, value in parts if colon])

    def value(self, name: bytes) -> str | None:
        """The first value of a field. `name` is in lower case and ends with the colon."""
        length = len(name)
        for line in self.lines:
            if line[:length].lower() == name:
                return line[length:].strip().decode("latin-1")
        return None


class WantedTypes:
    """Decides from the Content-Type of an answer whether its body is downloaded."""

    def __init__(self, types: tuple[str, ...]) -> None:
        lowered = [one.lower() for one in types]
        self._exact = frozenset(lowered)
        self._groups = tuple(one[:-1] for one in lowered if one.endswith("/*") and one != "*/*")
        self._all = "*/*" in self._exact
        self._known: dict[str, bool] = {}

    def wants(self, content_type: str | None) -> bool:
        """Whether a body of this type is wanted. It is if the type is missing or invalid: its bytes will show."""
        if content_type is None or self._all:
            return True
        known = self._known.get(content_type)
        if known is None:
            if len(self._known) >= _MAX_KNOWN_TYPES:
                self._known.clear()
            known = self._known[content_type] = self._judge(content_type)
        return known

    def _judge(self, content_type: str) -> bool:
        media = read_content_type(content_type)
        if media is None or not media.mime:
            return True
        return media.mime in self._exact or media.mime.startswith(self._groups)
