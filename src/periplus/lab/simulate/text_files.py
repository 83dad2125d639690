"""Text files, plain or compressed (gzip, bzip2, xz, zstd), recognised by content.

A file that cannot be read is a `ConfigError` that names it. `graph_files` and `histories` interpret the lines.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Final, Protocol

import zstandard

from periplus.model import ConfigError

LONGEST: Final = 4 << 30
"""Bytes of text that are taken into memory; a file that grows beyond them is refused while it is read."""
_BLOCK: Final = 1 << 22


class _Readable(Protocol):
    """Any source of bytes."""

    def read(self, size: int, /) -> bytes: ...


_OPENERS: Final[tuple[tuple[bytes, Callable[[IO[bytes]], _Readable]], ...]] = (
    (b"\x1f\x8b", lambda file: gzip.GzipFile(fileobj=file)),
    (b"BZh", bz2.BZ2File),
    (b"\xfd7zXZ\x00", lzma.LZMAFile),
    (b"\x28\xb5\x2f\xfd", lambda file: zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True)),
)
_ERRORS: Final = (OSError, EOFError, zlib.error, lzma.LZMAError, zstandard.ZstdError)


def read_bytes(path: Path, longest: int = LONGEST) -> bytes:
    """The whole text of a file, decompressed."""
    try:
        with path.open("rb") as file:
            return _whole(_opened(file), path, longest)
    except _ERRORS as error:
        raise _unreadable(path, error) from error


def read_lines(path: Path, longest: int = LONGEST) -> list[str]:
    """The lines of a file; bytes that are not UTF-8 are replaced."""
    lines = read_bytes(path, longest).decode("utf-8", "replace").split("\n")
    return lines if lines[-1] else lines[:-1]


def stream_lines(path: Path, longest_line: int) -> Iterator[bytes | None]:
    """The lines of a file of any size; `None` in place of a line that is too long."""
    rest, is_skipping = b"", False
    for block in _blocks(path):
        *lines, rest = (rest + block).split(b"\n")
        for line in lines:
            yield None if is_skipping or len(line) > longest_line else line
            is_skipping = False
        if len(rest) > longest_line:
            rest, is_skipping = b"", True
    if rest or is_skipping:
        yield None if is_skipping else rest


def _blocks(path: Path) -> Iterator[bytes]:
    """What a file holds, decompressed, a block at a time."""
    try:
        with path.open("rb") as file:
            stream = _opened(file)
            while block := stream.read(_BLOCK):
                yield block
    except _ERRORS as error:
        raise _unreadable(path, error) from error


def _unreadable(path: Path, error: Exception) -> ConfigError:
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return ConfigError(f"{path} cannot be read: {reason}", hint="give a text file, plain or gz, bz2, xz, zst")


def _opened(file: IO[bytes]) -> _Readable:
    head = file.read(6)
    file.seek(0)
    for magic, opener in _OPENERS:
        if head.startswith(magic):
            return opener(file)
    return file


def _whole(stream: _Readable, path: Path, longest: int) -> bytes:
    """All bytes, a block at a time, so that a decompression bomb is refused before memory is full."""
    blocks: list[bytes] = []
    length = 0
    while block := stream.read(_BLOCK):
        blocks.append(block)
        length += len(block)
        if length > longest:
            raise ConfigError(f"{path} holds more than {longest >> 20} MB of text", hint="cut it into several files")
    return b"".join(blocks)
