"""A part of a file as a file of its own: a WARC file inside a ZIP archive is read without being unpacked."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import BinaryIO, cast

from msgspec import Struct


class FileSlice(Struct, frozen=True):
    """`length` bytes of the file `path` from `start` on; offsets in it count from there."""

    path: Path
    start: int
    length: int
    name: str
    """What the part is called."""

    def open(self, mode: str = "rb") -> BinaryIO:
        """The part, to be read; `mode` is there because paths have it."""
        if mode != "rb":
            raise ValueError(f"a part of a file can only be read, not opened with {mode!r}")
        return cast("BinaryIO", io.BufferedReader(_Part(self), 1 << 16))


class _Part(io.RawIOBase):
    def __init__(self, part: FileSlice) -> None:
        self._file = part.path.open("rb", buffering=0)
        self._start, self._length, self._at = part.start, part.length, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview, /) -> int:  # type: ignore[override]
        size = min(len(buffer), self._length - self._at)
        if size <= 0:
            return 0
        self._file.seek(self._start + self._at)
        read = self._file.readinto(memoryview(buffer)[:size]) or 0
        self._at += read
        return read

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._length}[whence]
        self._at = max(0, base + offset)
        return self._at

    def close(self) -> None:
        self._file.close()
        super().close()
