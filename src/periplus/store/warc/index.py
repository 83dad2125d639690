"""The indexes of an archive: `NAME.cdxj` beside each WARC file, `index.cdxj` of them all, and the search in it.

Lines are sorted by bytes, so that one search by halves finds all captures of a URL, in a file of any size, and pywb can
read it as it is. Indexes are written whole under another name and then renamed: a reader never sees half of one. They
can always be made again from the WARC files.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from heapq import merge
from pathlib import Path
from typing import BinaryIO, Final

from periplus.model import CollectionDamaged

from ..durable import replace_file
from .cdxj import CdxLine, key_of, line_of, read_line
from .reading import WarcRecord, read_records
from .records import index_of, timestamp, warc_files

INDEX: Final = "index.cdxj"
_FAN_IN: Final = 128
_LONGEST_LINE: Final = 1 << 20
_MOST_HOPS: Final = 8
_WRITING: Final = ".part"


def scan(path: Path, end: int | None = None) -> Iterator[CdxLine]:
    """The lines of a WARC file's records, in the order of the file, as far as it can be read."""
    for record in read_records(path, end=end):
        line = line_of(record, path.name) if isinstance(record, WarcRecord) else None
        if line is not None:
            yield line


def write_index(path: Path) -> Path:
    """Read a WARC file and write the index beside it."""
    return write_lines(index_of(path), sorted(line.encode() for line in scan(path)))


def write_lines(path: Path, lines: Iterable[bytes]) -> Path:
    """Write sorted lines, all or nothing."""
    part = path.with_name(path.name + _WRITING)
    try:
        with part.open("wb") as file:
            file.writelines(lines)
        replace_file(part, path)
    except OSError:
        part.unlink(missing_ok=True)
        raise
    return path


def merge_indexes(folder: Path) -> Path:
    """`index.cdxj` of all files in the folder, after indexing those whose own index is missing or older than they.

    At most `_FAN_IN` files are open at once, and one line of each is held.
    """
    indexes = [index_of(path) if is_indexed(path) else write_index(path) for path in warc_files(folder)]
    return _merge(folder / INDEX, indexes)


def lookup(index: Path, url: str) -> Iterator[CdxLine]:
    """All captures under the key of a URL, the earliest first. Spellings that share the key come out together."""
    key = key_of(url).encode() + b" "
    if not index.exists():
        raise CollectionDamaged(f"{index} is missing", hint="make it again with `merge_indexes`")
    with index.open("rb") as file:
        seek_line(file, key)
        while (line := file.readline(_LONGEST_LINE)).startswith(key):
            if read := read_line(line):
                yield read


def original(folder: Path, revisit: WarcRecord) -> WarcRecord | None:
    """The record that holds the payload of a revisit, found through `index.cdxj`; `None` where it is not there."""
    record: WarcRecord | None = revisit
    for _ in range(_MOST_HOPS):
        if record is None or record.type != "revisit":
            return record
        line = _referred(folder / INDEX, record)
        record = _record_at(folder, line) if line else None
    return None


def _record_at(folder: Path, line: CdxLine) -> WarcRecord | None:
    path = folder / Path(line.filename).name
    first = next(read_records(path, offset=line.offset), None) if path.exists() else None
    return first if isinstance(first, WarcRecord) else None


def _referred(index: Path, revisit: WarcRecord) -> CdxLine | None:
    """The capture of the URL and time that a revisit names; where it names no time, the last one before it."""
    url = revisit.fields.get("warc-refers-to-target-uri", revisit.url)
    named = timestamp(revisit.fields.get("warc-refers-to-date", ""))
    before = timestamp(revisit.fields.get("warc-date", ""))
    found: CdxLine | None = None
    for line in lookup(index, url):
        if line.url == url and (line.timestamp == named or (not named and line.timestamp < before)):
            found = line if found is None or found.is_revisit or not named else found
    return found


def is_indexed(path: Path) -> bool:
    """Whether a WARC file has an index that is not older than itself."""
    index = index_of(path)
    return index.exists() and index.stat().st_mtime_ns >= path.stat().st_mtime_ns


def _merge(target: Path, sources: Sequence[Path]) -> Path:
    """In several passes where there are many: each makes one file of `_FAN_IN`."""
    passing: list[Path] = []
    while len(sources) > _FAN_IN:
        groups = [sources[start : start + _FAN_IN] for start in range(0, len(sources), _FAN_IN)]
        merged = [_merge_once(target.with_name(f"{target.name}.{len(passing) + n}"), g) for n, g in enumerate(groups)]
        passing += merged
        sources = merged
    _merge_once(target, sources)
    for path in passing:
        path.unlink()
    return target


def _merge_once(target: Path, sources: Sequence[Path]) -> Path:
    with ExitStack() as stack:
        files = [stack.enter_context(path.open("rb")) for path in sources]
        return write_lines(target, merge(*files))


def seek_line(file: BinaryIO, key: bytes) -> None:
    """Go to the first line that is not before `key`."""
    low, high = 0, file.seek(0, os.SEEK_END)
    while low < high:
        middle = (low + high) // 2
        file.seek(max(0, middle - 1))
        if middle:
            file.readline()
        start = file.tell()
        line = file.readline()
        if not line or line >= key:
            high = middle
        else:
            low = start + len(line)
    file.seek(low)
