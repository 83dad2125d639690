"""Pages that were cut into chunks, kept between exports: a page that did not change is not read again.

A kept page is found by its URL and the place and digest of its body in the archive, in the folder of a `cutting_rule`:
the sources of everything that reads a page, and the shape of its chunks. So what is kept is what reading would give,
and a new version of the program or another `--size` starts over. Only the newest `MAX_RULES` folders stay. A page is
only used while the archive has a file of its name that reaches to the end of its record.

Each export appends what it had to read, in files of the Arrow IPC format with a checksum for each page. What is damaged
is as if it were not there. One export writes at a time, any number read. A complete export of all pages knows what is
still needed, and leaves out the rest when that is most. Nothing depends on these files: they can be deleted at any
time.
"""

from __future__ import annotations

import sys
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
from periplus.content.scan import READER
from periplus.lazy_exports import LOADED_AT
from periplus.model import Stored, Url

from ..durable import draft_of, is_draft, replace_scratch_file
from ..folders import FolderLock, FolderLocked
from .captures import Capture
from .chunks import CutPage
from .pdf_reader import reader_version

MAX_RULES: Final = 4
"""Folders that are kept: different shapes of chunks."""
MAX_BYTES: Final = 4 << 30
"""Bytes of a folder from which on nothing more is kept: some million pages."""
SEGMENT_BYTES: Final = 128 << 20
"""Bytes after which a file is closed: an export that is killed loses no more than this."""
MAX_PAGE_BYTES: Final = 64 << 20
"""Bytes of a page, unpacked: no page of the web is longer, but what somebody else has written may be."""
MAX_SMALL_FILES: Final = 32
"""Files that are shorter than half of `SEGMENT_BYTES`; more of them are joined."""
_BATCH_BYTES: Final = 4 << 20
_STALE_FACTOR: Final = 2
"""With more pages than this times those that are needed, the needed ones are written again."""
_READING: Final = ("content", "formats", "model", "store/export", "store/warc", "urls")
"""Packages that decide what chunks a page has."""
_SCHEMA: Final = pa.schema([("key", pa.binary(16)), ("checksum", pa.uint64()), ("page", pa.large_binary())])
_SUFFIX: Final = ".arrow"
_LOCK: Final = "writer"
_pack = zstandard.ZstdCompressor(level=1).compress
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(CutPage).decode


@cache
def _program() -> bytes:
    """A digest of the program as far as it decides what chunks a page has; empty if its files are not what runs."""
    home = Path(periplus.__file__).parent
    versions = (periplus.__version__, sys.version, READER, reader_version())
    found = blake2b("\0".join(versions).encode(), digest_size=16)
    for package in _READING:
        for path in sorted((home / package).rglob("*")):
            if path.suffix in (".py", ".so"):
                if path.stat().st_ctime > LOADED_AT:
                    return b""
                found.update(path.relative_to(home).as_posix().encode() + b"\0")
                found.update(blake2b(path.read_bytes()).digest())
    return found.digest()


def cutting_rule(shape: str) -> str | None:
    """The name for all that decides how a page is cut, besides the page; `shape` is that of its chunks.

    `None` if a file of the program was written since it was loaded: other code than what runs would have this name.
    """
    program = _program()
    return blake2b(program + shape.encode(), digest_size=12).hexdigest() if program else None


class KeptChunks:
    """The cut pages of one rule, of bodies in an archive.

    `is_whole`: the export is of all pages, so what it does not ask for is not needed.
    """

    def __init__(self, folder: Path, rule: str, archive: Path, *, is_whole: bool) -> None:
        self._folder = folder / rule
        self._archive = archive
        self._lengths: dict[str, int] = {}
        self._segments: list[_Segment] = []
        self._wanted: set[bytes] | None = set() if is_whole else None
        self._lock: FolderLock | None = None
        self._writer: _Writer | None = None
        self._can_write = False
        self._size = 0

    @classmethod
    @contextmanager
    def opened(cls, folder: Path, rule: str, archive: Path, *, is_whole: bool) -> Iterator[Self]:
        """Use what is kept, and keep what is added. Where nothing can be written, nothing is."""
        kept = cls(folder, rule, archive, is_whole=is_whole)
        kept._open()
        try:
            yield kept
            kept._write_again()
        finally:
            kept._close()

    def get(self, capture: Capture) -> CutPage | None:
        """A page as it was cut before."""
        at = capture.body_at
        if at is None or not self._is_archived(at):
            return None
        key = _key_of(capture.url, at)
        if self._wanted is not None:
            self._wanted.add(key)
        for segment in reversed(self._segments):
            if (found := segment.get(key)) is not None:
                return found
        return None

    def add(self, capture: Capture, page: CutPage) -> None:
        """Keep a page that was read."""
        at = capture.body_at
        if not self._can_write or at is None or self._size >= MAX_BYTES:
            return
        try:
            data = _encode(page)
        except UnicodeEncodeError:  # lone surrogates
            return
        if len(data) <= MAX_PAGE_BYTES:
            self._write(_key_of(capture.url, at), _pack(data))

    def _is_archived(self, at: Stored) -> bool:
        """Whether the archive still has the record, as far as the length of its file tells."""
        length = self._lengths.get(at.file)
        if length is None:
            try:
                length = (self._archive / at.file).stat().st_size
            except OSError:
                length = 0
            self._lengths[at.file] = length
        return at.offset + at.length <= length

    def _write(self, key: bytes, value: bytes) -> None:
        if not self._can_write:
            return
        try:
            if self._writer is None:
                self._writer = _Writer(self._folder)
            self._writer.add(key, value)
            self._size += len(value)
        except OSError:
            self._give_up()
            return
        if self._writer.size >= SEGMENT_BYTES:
            self._finish_file()

    def _finish_file(self) -> None:
        try:
            if self._writer is not None:
                self._writer.finish()
            self._writer = None
        except OSError:
            self._give_up()

    def _give_up(self) -> None:
        """The disk is full, or the folder is gone: go on without."""
        if self._writer is not None:
            self._writer.drop()
        self._writer = None
        self._can_write = False

    def _open(self) -> None:
        with suppress(OSError):
            self._folder.mkdir(parents=True, exist_ok=True)
            with suppress(FolderLocked):
                self._lock = FolderLock(self._folder, _LOCK)
                self._can_write = True
                self._tidy()
        with suppress(OSError):
            for path in sorted(self._folder.glob(f"*{_SUFFIX}"), key=lambda path: path.stat().st_mtime_ns):
                self._add_segment(path)

    def _add_segment(self, path: Path) -> None:
        try:
            segment = _Segment(path)
        except (OSError, pa.ArrowException) as error:
            # an error of the system says nothing about the file: another export has just written it again, say
            if self._can_write and getattr(error, "errno", None) is None:
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
        self._finish_file()
        if self._lock is not None:
            self._lock.close()

    def _write_again(self) -> None:
        """Copy what is needed into a new file, if most is not needed or there are many files."""
        segments = self._worn_segments() if self._can_write else []
        copied = set[bytes]()
        for segment in reversed(segments):
            for key, value in segment:
                if key not in copied and (self._wanted is None or key in self._wanted):
                    copied.add(key)
                    self._write(key, value)
        self._finish_file()
        if self._can_write:
            for segment in segments:
                with suppress(OSError):
                    segment.path.unlink(missing_ok=True)

    def _worn_segments(self) -> list[_Segment]:
        """The files to write again: all if most of their pages are not needed, else the small ones if they are many."""
        rows = sum(segment.rows for segment in self._segments)
        if self._wanted is not None and rows > _STALE_FACTOR * len(self._wanted):
            return self._segments
        small = [segment for segment in self._segments if segment.size < SEGMENT_BYTES // 2]
        return small if len(small) > MAX_SMALL_FILES else []


def _key_of(url: Url, at: Stored) -> bytes:
    """What a page is found by."""
    place = f"{url}\n{at.file}\n{at.offset}\n{at.length}\n{at.digest}"
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
            if any(column.null_count for column in batch.columns):
                raise pa.ArrowInvalid(f"{path} has rows without values")
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
                with suppress(zstandard.ZstdError, msgspec.MsgspecError, UnicodeDecodeError):
                    if zstandard.frame_content_size(found[1]) <= MAX_PAGE_BYTES:
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
