"""Parses the text of link files into arrays: edge lists, numbered names and gaps. Files and sites are elsewhere.

Millions of links are parsed at once, with the whole text as an array of bytes; only a text with an error is read line
by line, to report where.

A file that cannot be read is a `ConfigError` that names it. `graph_files` and `histories` interpret the lines.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import re
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, Final, NoReturn, Protocol

import numpy as np
import zstandard
from msgspec import Struct
from numpy.typing import NDArray

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


HINT: Final = "an edge list, nodes and edges, a .dat, or an .adj.txt of gaps; plain or gz, bz2, xz, zst"
_COLUMN_NAMES: Final = frozenset(
    f"{name}{suffix}".encode()
    for name in ("from", "to", "source", "target", "src", "dst", "dest", "destination", "head", "tail", "url", "link")
    for suffix in ("", "_id", "id", "_node", "node", "_url", "url", "nodeid", "_host")
)
"""Names that columns of edge lists have, in lower case."""
_COMMENT: Final = re.compile(rb"^[#%].*$", re.MULTILINE)
_WHOLE: Final = re.compile(rb"\d{1,18}")
_SPACES: Final = np.isin(np.arange(256), list(b" \t\r\n,"))
_DIGITS: Final = np.isin(np.arange(256), list(b"0123456789"))
_MOST_PAGES: Final = 1 << 31

Ints = NDArray[np.int64]


class Graph(Struct, frozen=True):
    """A number of pages, their links, and their names where they have some."""

    pages: int
    sources: Ints
    targets: Ints
    names: list[str] | None = None


def refuse(where: str, line: int, what: str) -> NoReturn:
    """Raise a `ConfigError` for a line that is not valid; lines count from 1."""
    raise ConfigError(f"{where}:{line}: {what}", hint=HINT)


def edge_list(text: bytes, where: str, nodes: Sequence[str] = ()) -> Graph:
    """The graph of an edge list: `from to` on each line, ends being numbers or names, further fields not read.

    `nodes` are the lines of a file of pages: names, or `number name`. Without it, pages are the ends that occur:
    numbers in their order, names in that of the text.
    """
    text = _without_header(_COMMENT.sub(b"", text))
    if not text.strip():
        refuse(where, 1, "no links")
    if _is_numeric(_first_line(text)):
        return _joined(*_numbered_ends(text, where), nodes, where)
    return _named_ends(text, where, nodes)


def gaps(text: bytes, where: str) -> Graph:
    """The graph of a text whose line i has the successors of page i as gaps."""
    values, counts = numbers(text, where)
    sums = np.cumsum(values)
    ends = np.cumsum(counts)
    before = np.concatenate((np.zeros(1, np.int64), sums))[ends - counts]
    targets = sums - np.repeat(before, counts)
    sources = np.repeat(np.arange(len(counts), dtype=np.int64), counts)
    beyond = np.flatnonzero((targets < 0) | (targets >= len(counts)))
    if len(beyond):
        line = int(sources[beyond[0]]) + 1
        refuse(where, line, f"links to page {targets[beyond[0]]}, but there are {len(counts)} lines")
    return Graph(len(counts), sources, targets)


def numbered(text: bytes, where: str) -> Graph:
    """The graph of a text of `pages links ...`, then `number name` for each page, then `from to` for each link."""
    head, _, rest = text.partition(b"\n")
    pages = int(head.split()[0])
    lines = rest.split(b"\n", min(pages, rest.count(b"\n") + 1))
    if len(lines) < pages:
        refuse(where, len(lines) + 1, f"there should be {pages} names")
    names = [""] * pages
    for number, line in enumerate(lines[:pages], 2):
        place, _, name = line.strip().partition(b" ")
        if not _WHOLE.fullmatch(place) or not 1 <= int(place) <= pages or not name:
            refuse(where, number, "not the number and the name of a page")
        names[int(place) - 1] = name.decode("utf-8", "replace").strip()
    if "" in names:
        refuse(where, pages + 1, f"page {names.index('') + 1} has no name")
    body = lines[pages] if len(lines) > pages else b""
    values, counts = numbers(body, where, first_line=pages + 2)
    wrong = np.flatnonzero((counts != 0) & (counts != 2))
    if len(wrong):
        refuse(where, pages + 2 + int(wrong[0]), "not the two ends of a link")
    if len(values) and (values.min() < 1 or values.max() > pages):
        at = int(np.flatnonzero((values < 1) | (values > pages))[0]) // 2
        refuse(where, pages + 2 + int(np.flatnonzero(counts)[at]), f"page numbers must be 1 to {pages}")
    return Graph(pages, values[::2] - 1, values[1::2] - 1, names)


def is_numbered(text: bytes) -> bool:
    """Whether this is a text of numbered names and links: whole numbers first, and then `1 name`."""
    first, _, rest = text.partition(b"\n")
    words, second = first.split(), _first_line(rest).split(None, 1)
    return (
        len(words) in (2, 3)
        and all(_WHOLE.fullmatch(word) for word in words)
        and len(second) == 2
        and _WHOLE.fullmatch(second[0]) is not None
        and not re.fullmatch(rb"[\d\s.eE+-]+", second[1])
    )


def numbers(text: bytes, where: str, first_line: int = 1) -> tuple[Ints, Ints]:
    """Every whole number of a text, and how many each line has."""
    if text and not text.endswith(b"\n"):
        text += b"\n"
    array = np.frombuffer(text, np.uint8)
    is_digit = _DIGITS[array]
    wrong = np.flatnonzero(~(is_digit | _SPACES[array]))
    if len(wrong):
        refuse(where, first_line + text.count(b"\n", 0, int(wrong[0])), "not whole numbers")
    begins = np.flatnonzero(is_digit[1:] & ~is_digit[:-1]) + 1
    if len(array) and is_digit[0]:
        begins = np.concatenate((np.zeros(1, begins.dtype), begins))
    ends = np.flatnonzero(is_digit[:-1] & ~is_digit[1:]) + 1
    if len(begins) and (ends - begins).max() > 18:
        at = int(begins[np.argmax(ends - begins)])
        refuse(where, first_line + text.count(b"\n", 0, at), "the number is too large")
    breaks = np.flatnonzero(array == ord("\n"))
    counts = np.diff(np.searchsorted(begins, breaks), prepend=0)
    values = np.fromstring(text.replace(b",", b" "), np.int64, sep=" ") if len(begins) else np.zeros(0, np.int64)
    return values, counts


def _without_header(text: bytes) -> bytes:
    """The text without a first line that has the names of its columns; lines keep their numbers."""
    first = _first_line(text)
    if not first or _is_numeric(first):
        return text
    before, _, after = text.partition(first)
    return before + after if _is_header(first, _first_line(after)) else text


def _is_header(first: bytes, second: bytes) -> bool:
    """Whether a first line names columns: by its words, or because the next line has numbers or addresses instead."""
    ends = [end.strip(b"\"'").lower() for end in _ends(first)]
    if len(ends) < 2 or not second:
        return False
    if all(end in _COLUMN_NAMES for end in ends):
        return True
    is_address = all(b"." in end or b"/" in end for end in _ends(second))
    return _is_numeric(second) or (is_address and not any(b"." in end or b"/" in end for end in ends))


def _is_numeric(line: bytes) -> bool:
    ends = _ends(line)
    return bool(ends) and all(_WHOLE.fullmatch(end) for end in ends)


def _first_line(text: bytes) -> bytes:
    return next((line for line in text[: 1 << 20].split(b"\n") if line.strip()), b"")


def _ends(line: bytes) -> list[bytes]:
    """The first two words of a line, by the separator that it uses."""
    separator = b"\t" if b"\t" in line else b"," if b"," in line else None
    return [word.strip() for word in line.split(separator)[:2]]


def _numbered_ends(text: bytes, where: str) -> tuple[Ints, Ints]:
    """Both ends of links between numbers. Weights need not be whole."""
    try:
        values, counts = numbers(text, where)
    except ConfigError:
        return _weighted_ends(text, where)
    width = int(counts.max())
    wrong = np.flatnonzero((counts != 0) & (counts != width)) if width > 1 else np.flatnonzero(counts)
    if len(wrong):
        refuse(
            where, int(wrong[0]) + 1, "not as many words as the lines around it" if width > 1 else "a link has two ends"
        )
    return values[::width], values[1::width]


def _weighted_ends(text: bytes, where: str) -> tuple[Ints, Ints]:
    """Line by line: two whole numbers, then any fields."""
    sources, targets = [], []
    for number, line in enumerate(text.split(b"\n"), 1):
        if not line.strip():
            continue
        ends = _ends(line)
        if len(ends) < 2 or not all(_WHOLE.fullmatch(end) for end in ends):
            refuse(where, number, "not two whole numbers, as in the first line")
        sources.append(int(ends[0]))
        targets.append(int(ends[1]))
    return np.array(sources, np.int64), np.array(targets, np.int64)


def _joined(sources: Ints, targets: Ints, nodes: Sequence[str], where: str) -> Graph:
    """The graph of numbered ends: those of `nodes`, or else the numbers that occur."""
    if nodes:
        return _looked_up(sources, targets, nodes, where)
    is_there = _occurring(sources, targets)
    if is_there is None:
        known, inverse = np.unique(np.concatenate((sources, targets)), return_inverse=True)
        return Graph(len(known), inverse[: len(sources)], inverse[len(sources) :])
    place = np.cumsum(is_there) - 1
    return Graph(int(is_there.sum()), place[sources], place[targets])


def _looked_up(sources: Ints, targets: Ints, nodes: Sequence[str], where: str) -> Graph:
    """The graph of ends that are the numbers of nodes, or else their lines from 0."""
    words = [line.split(None, 1) for line in nodes]
    if all(len(pair) == 2 and pair[0].isdecimal() for pair in words):
        places = {int(pair[0]): place for place, pair in enumerate(words)}
        names = [pair[1].strip() for pair in words]
    else:
        places = {place: place for place in range(len(nodes))}
        names = [line.strip() for line in nodes]
    try:
        ends = [np.array([places[end] for end in side.tolist()], np.int64) for side in (sources, targets)]
    except KeyError as unknown:
        raise ConfigError(f"{where}: page {unknown} is not among the {len(names)} nodes", hint=HINT) from None
    return Graph(len(names), ends[0], ends[1], names)


def _occurring(sources: Ints, targets: Ints) -> NDArray[np.bool_] | None:
    """Which numbers occur, if they are small enough to be counted so."""
    top = int(max(sources.max(), targets.max()))
    if top > max(1 << 20, 64 * len(sources)) or top >= _MOST_PAGES:
        return None
    is_there = np.zeros(top + 1, np.bool_)
    is_there[sources] = True
    is_there[targets] = True
    return is_there


def _named_ends(text: bytes, where: str, nodes: Sequence[str]) -> Graph:
    """The graph of links between names; those of `nodes` come first, in their order."""
    places = {name: place for place, name in enumerate(dict.fromkeys(line.strip() for line in nodes))}
    sources, targets = [], []
    for number, line in enumerate(text.decode("utf-8", "replace").split("\n"), 1):
        if not line or line.isspace():
            continue
        separator = "\t" if "\t" in line else "," if "," in line and " " not in line.strip() else None
        words = line.split(separator, 2)
        if len(words) < 2:
            refuse(where, number, "not the two ends of a link")
        sources.append(places.setdefault(words[0].strip(), len(places)))
        targets.append(places.setdefault(words[1].strip(), len(places)))
    return Graph(len(places), np.array(sources, np.int64), np.array(targets, np.int64), list(places))
