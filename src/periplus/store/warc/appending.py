"""An append-only file that can be truncated to a length known to be good."""

from __future__ import annotations

import os
from pathlib import Path

from periplus.model import CollectionDamaged, CollectionError

from ..damage import repair_hint


class AppendedFile:
    """Appends whole pieces: one is there entirely, or the file is as long as before."""

    def __init__(self, path: Path, length: int = 0) -> None:
        """A new file, or one opened at `length`; anything beyond is cut off."""
        self.path = path
        self.name = path.name
        self.length = length
        flags = os.O_WRONLY | os.O_APPEND | (0 if length else os.O_CREAT | os.O_EXCL)
        try:
            self._fd = os.open(path, flags, 0o644)
        except FileNotFoundError as error:
            raise CollectionDamaged(f"{path} is missing", hint=_hint(path)) from error
        except OSError as error:
            raise CollectionError(f"{path} cannot be opened: {error.strerror}") from error
        self._cut_beyond(length)

    def append(self, data: bytes) -> None:
        """Write all of it at the end: one call of the operating system, more only where it took less."""
        try:
            written = os.write(self._fd, data)
            while written < len(data):
                written += os.write(self._fd, data[written:])
        except OSError as error:
            os.ftruncate(self._fd, self.length)
            raise CollectionError(
                f"{self.path} cannot be written: {error.strerror}",
                hint="free space on the disk and run the same command again",
            ) from error
        self.length += len(data)

    def sync(self) -> None:
        """Make all that was appended durable."""
        try:
            os.fsync(self._fd)
        except OSError as error:
            raise CollectionError(f"{self.path} cannot be made durable: {error.strerror}") from error

    def close(self) -> None:
        """Let go."""
        os.close(self._fd)

    def _cut_beyond(self, length: int) -> None:
        size = os.fstat(self._fd).st_size
        if size < length:
            os.close(self._fd)
            raise CollectionDamaged(
                f"{self.path} has {size} bytes, and {length} were written",
                hint=_hint(self.path),
            )
        if size > length:
            os.ftruncate(self._fd, length)


def _hint(path: Path) -> str:
    return f"put back a whole copy of the file; without one, {repair_hint(path)}"


def sync_folder(folder: Path) -> None:
    """Make the names of new files durable."""
    fd = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
