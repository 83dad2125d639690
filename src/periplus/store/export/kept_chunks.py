"""Pages that were cut into chunks, kept between exports: a page that did not change is not read again.

A kept page is found by its URL and the place and digest of its body in the archive, in the folder of a `cutting_rule`:
the sources of everything that reads a page, and the shape of its chunks. So what is kept is what reading would give,
and a new version of the program or another `--size` starts over. Only the newest `MAX_RULES` folders stay.

Each export appends what it had to read, in files of the Arrow IPC format with a checksum for each page. What is damaged
is as if it were not there. One export writes at a time, any number read. An export of all pages knows what is still
needed, and leaves out the rest when that is most. Nothing depends on these files: they can be deleted at any time.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from hashlib import blake2b
from pathlib import Path
from secrets import token_hex
from shutil import rmtree
from typing import Final, Self

import msgspec
import numpy as np
import pyarrow as pa
import zstandard
from xxhash import xxh3_64_intdigest

import periplus

from ..durable import draft_of, is_draft, replace_scratch_file
from ..folders import FolderLock, FolderLocked
from .captures import Capture
from .chunks import CutPage

MAX_RULES: Final = 4
"""Folders that are kept: different shapes of chunks."""
MAX_BYTES: Final = 4 << 30
"""Bytes of a folder from which on nothing more is kept: some million pages."""
SEGMENT_BYTES: Final = 128 << 20
"""Bytes after which a file is closed: an export that is killed loses no more than this."""
_BATCH_BYTES: Final = 4 << 20
_MOST_FILES: Final = 32
_STALE_FACTOR: Final = 2
"""With more pages than this times those that are needed, or more than `_MOST_FILES`, they are written again."""
_READING: Final = ("content", "formats", "model", "store/export", "store/warc", "urls")
"""Packages that decide what chunks a page has."""
_SCHEMA: Final = pa.schema([("key", pa.binary(16)), ("checksum", pa.uint64()), ("page", pa.large_binary())])
_SUFFIX: Final = ".arrow"
_LOCK: Final = "writer"
_pack = zstandard.ZstdCompressor(level=1).compress
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(CutPage).decode


@cache
def _sources() -> bytes:
    """A digest of the program as far as it decides what chunks a page has, compiled scanner included."""
    home = Path(periplus.__file__).parent
    found = blake2b(periplus.__version__.encode(), digest_size=16)
    for package in _READING:
        for path in sorted((home / package).rglob("*")):
            if path.suffix in (".py", ".so"):
                found.update(path.relative_to(home).as_posix().encode() + b"\0")
                found.update(blake2b(path.read_bytes()).digest())
    return found.digest()


def cutting_rule(shape: str) -> str:
    """The name for all that decides how a page is cut, besides the page; `shape` is that of its chunks."""
    return blake2b(_sources() + shape.encode(), digest_size=12).hexdigest()


class KeptChunks:
    """The cut pages of one rule. `is_whole`: the export is of all pages, so what it does not ask for is not needed."""

    def __init__(self, folder: Path, rule: str, *, is_whole: bool) -> None:
        self._folder = folder / rule
        self._is_whole = is_whole
        self._segments: list[_Segment] = []
        self._wanted: set[bytes] | None = set() if is_whole else None
        self._writer: _Writer | None = None
        self._lock: FolderLock | None = None
        self._size = 0

    @classmethod
    @contextmanager
    def opened(cls, folder: Path, rule: str, *, is_whole: bool) -> Iterator[Self]:
        """Use what is kept, and keep what is added. Where nothing can be written, nothing is."""
        kept = cls(folder, rule, is_whole=is_whole)
        kept._open()
        try:
            yield kept
        finally:
            kept._close()

    def get(self, capture: Capture) -> CutPage | None:
        """A page as it was cut before."""
        key = _key_of(capture)
        if key is None:
            return None
        if self._wanted is not None:
            self._wanted.add(key)
        for segment in reversed(self._segments):
            if (found := segment.get(key)) is not None:
                return found
        return None

    def add(self, capture: Capture, page: CutPage) -> None:
        """Keep a page that was read."""
        key = _key_of(capture)
        if self._lock is None or key is None or self._size >= MAX_BYTES:
            return
        try:
            value = _pack(_encode(page))
        except UnicodeEncodeError:  # lone surrogates
            return
        self._write(key, value)

    def _write(self, key: bytes, value: bytes) -> None:
        try:
            if self._writer is None:
                self._writer = _Writer(self._folder)
            self._writer.add(key, value)
            self._size += len(value)
            if self._writer.size >= SEGMENT_BYTES:
                self._writer.finish()
                self._writer = None
        except OSError:  # the disk is full, or the folder is gone: go on without
            self._give_up()

    def _open(self) -> None:
        with suppress(OSError):
            self._folder.mkdir(parents=True, exist_ok=True)
            with suppress(FolderLocked):
                self._lock = FolderLock(self._folder, _LOCK)
                self._tidy()
        with suppress(OSError):
            for path in sorted(self._folder.glob(f"*{_SUFFIX}"), key=lambda path: path.stat().st_mtime_ns):
                self._add_segment(path)

    def _add_segment(self, path: Path) -> None:
        try:
            segment = _Segment(path)
        except FileNotFoundError:  # another export has just written it again
            return
        except (OSError, pa.ArrowException):
            if self._lock is not None:
                path.unlink(missing_ok=True)
            return
        self._segments.append(segment)
        self._size += segment.size

    def _tidy(self) -> None:
        """Remove what an export left that was killed, and the folders of rules that were not used lately."""
        self._folder.touch()
        for path in self._folder.iterdir():
            if is_draft(path.name):
                path.unlink(missing_ok=True)
        rules = [path for path in self._folder.parent.iterdir() if path.is_dir()]
        rules.sort(key=lambda path: path.stat().st_mtime_ns, reverse=True)
        for path in rules[MAX_RULES:]:
            rmtree(path, ignore_errors=True)

    def _close(self) -> None:
        try:
            if self._writer is not None:
                self._writer.finish()
            self._writer = None
            self._write_again()
        except OSError:
            self._give_up()
        finally:
            if self._lock is not None:
                self._lock.close()

    def _write_again(self) -> None:
        """Copy what is needed into a new file if most is not."""
        if self._lock is None or self._wanted is None or not self._segments:
            return
        rows = sum(segment.rows for segment in self._segments)
        if rows <= _STALE_FACTOR * len(self._wanted) and len(self._segments) <= _MOST_FILES:
            return
        self._size = 0
        copied = set[bytes]()
        for segment in reversed(self._segments):
            for key, value in segment:
                if key in self._wanted and key not in copied:
                    copied.add(key)
                    self._write(key, value)
        if self._writer is not None:
            self._writer.finish()
        for segment in self._segments:
            segment.path.unlink(missing_ok=True)

    def _give_up(self) -> None:
        if self._writer is not None:
            self._writer.drop()
        self._writer = None
        self._size = MAX_BYTES


def _key_of(capture: Capture) -> bytes | None:
    """What a page is found by; `None` if its body is not in the archive."""
    at = capture.body_at
    if at is None:
        return None
    place = f"{capture.url}\n{at.file}\n{at.offset}\n{at.length}\n{at.digest}"
    return blake2b(place.encode("utf-8", "surrogatepass"), digest_size=16).digest()


class _Segment:
    """A file of cut pages, as a map of memory. Raises `pa.ArrowException` if it is damaged."""

    def __init__(self, path: Path) -> None:
        self.path = path
        reader = pa.ipc.open_file(pa.memory_map(str(path)))
        if reader.schema != _SCHEMA:
            raise pa.ArrowInvalid(f"{path} has other columns")
        self._batches = [reader.get_batch(number) for number in range(reader.num_record_batches)]
        for batch in self._batches:
            batch.validate(full=True)
        self._starts = np.cumsum([0, *(batch.num_rows for batch in self._batches)]).tolist()
        self.rows: int = self._starts[-1]
        self.size = path.stat().st_size
        heads = [
            np.frombuffer(batch["key"].buffers()[1], np.uint64, 2 * batch.num_rows)[::2] for batch in self._batches
        ]
        head = np.concatenate(heads) if heads else np.empty(0, np.uint64)
        self._order = np.argsort(head, kind="stable").astype(np.uint32)
        self._sorted = head[self._order]
        """The first half of each key, in order; the whole key is compared in its row."""

    def get(self, key: bytes) -> CutPage | None:
        """A page; `None` if it is not here, or damaged."""
        head = np.frombuffer(key, np.uint64, 1)[0]
        place = int(np.searchsorted(self._sorted, head))
        while place < self.rows and self._sorted[place] == head:
            found = self._row(int(self._order[place]))
            if found is not None and found[0] == key:
                with suppress(zstandard.ZstdError, msgspec.MsgspecError):
                    return _decode(zstandard.decompress(found[1]))
            place += 1
        return None

    def __iter__(self) -> Iterator[tuple[bytes, bytes]]:
        """All that is intact."""
        return (found for row in range(self.rows) if (found := self._row(row)) is not None)

    def _row(self, row: int) -> tuple[bytes, bytes] | None:
        number = bisect_right(self._starts, row) - 1
        batch, place = self._batches[number], row - self._starts[number]
        key, value = batch["key"][place].as_py(), batch["page"][place].as_py()
        return (key, value) if batch["checksum"][place].as_py() == _checksum(key, value) else None


def _checksum(key: bytes, value: bytes) -> int:
    return xxh3_64_intdigest(key + value)


class _Writer:
    """Writes a file of cut pages, which has its name when it is complete."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / f"{token_hex(8)}{_SUFFIX}"
        self._draft = draft_of(self._path)
        self._file = self._draft.open("wb")
        self._arrow = pa.ipc.new_file(self._file, _SCHEMA)
        self._rows: list[tuple[bytes, int, bytes]] = []
        self._waiting = 0
        self.size = 0

    def add(self, key: bytes, value: bytes) -> None:
        """Write a page."""
        self._rows.append((key, _checksum(key, value), value))
        self._waiting += len(value)
        self.size += len(value)
        if self._waiting >= _BATCH_BYTES:
            self._flush()

    def finish(self) -> None:
        """Write all, and give the file its name."""
        self._flush()
        self._arrow.close()
        self._file.close()
        replace_scratch_file(self._draft, self._path)

    def drop(self) -> None:
        """Leave nothing behind."""
        with suppress(OSError, pa.ArrowException):
            self._file.close()
        self._draft.unlink(missing_ok=True)

    def _flush(self) -> None:
        if self._rows:
            columns = [
                pa.array(column, field.type)
                for column, field in zip(zip(*self._rows, strict=True), _SCHEMA, strict=True)
            ]
            self._arrow.write_batch(pa.record_batch(columns, schema=_SCHEMA))
        self._rows, self._waiting = [], 0
