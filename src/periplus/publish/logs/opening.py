"""Log files as lines, in the order of their times: plain or gzipped, damaged or not, with lines of any length."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterable, Iterator
from io import BufferedReader
from pathlib import Path
from typing import Final

from periplus.formats import access_log
from periplus.formats.access_log import LONGEST_LINE, Hit
from periplus.model import Problem, UsageError

CHUNK: Final = 1 << 20
"""Bytes that are read at once."""
_LOOKED_AT: Final = 1_000
"""Lines of a file in which a time is looked for, to order files."""


def ordered(paths: Iterable[Path]) -> list[Path]:
    """Files by the time of their first request; those without any at the end. Raises if one cannot be opened."""
    dated = []
    for path in paths:
        first = float("inf")
        for place, each in enumerate(hits_of(path)):
            if isinstance(each, Hit):
                first = each.at
            if first != float("inf") or place >= _LOOKED_AT:
                break
        dated.append((first, path))
    return [path for _, path in sorted(dated)]


def hits_of(path: Path) -> Iterator[Hit | Problem]:
    """The requests in a file, and what is wrong with it."""
    damage: list[Problem] = []
    yield from access_log.read(_lines(path, damage))
    yield from damage


def _lines(path: Path, damage: list[Problem]) -> Iterator[bytes]:
    """The lines of a file; one that is too long is cut to a length that its reader refuses."""
    rest, is_cut = b"", False
    for chunk in _chunks(path, damage):
        *lines, rest = (rest + chunk).split(b"\n")
        if is_cut and lines:
            lines, is_cut = lines[1:], False
        yield from lines
        if is_cut:
            rest = b""
        elif len(rest) > LONGEST_LINE:
            yield rest[: LONGEST_LINE + 1]
            rest, is_cut = b"", True
    if rest and not is_cut:
        yield rest


def _chunks(path: Path, damage: list[Problem]) -> Iterator[bytes]:
    try:
        with _opened(path) as stream:
            try:
                while chunk := stream.read(CHUNK):
                    yield chunk
            except (EOFError, gzip.BadGzipFile, zlib.error) as error:
                damage.append(Problem("damaged-gzip", f"{path.name}: {error}"))
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}", hint="name log files that can be read") from error


def _opened(path: Path) -> gzip.GzipFile | BufferedReader:
    with path.open("rb") as stream:
        is_gzip = stream.read(2) == b"\x1f\x8b"
    return gzip.open(path) if is_gzip else path.open("rb")
