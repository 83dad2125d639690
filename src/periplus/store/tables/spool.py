"""The rows that are not in Parquet yet: one append-only file, a whole Arrow IPC stream for each batch.

A Parquet file cannot be read before its end is written, and a crawl may be killed at any moment. So rows go to this
file first; it can be cut at the end of any batch. Each batch has its own schema (a kilobyte), so that
appending after a restart needs no knowledge of what is there. Mostly not compressed: it lives for minutes, and
compressing it would cost more than everything else that happens to a row before Parquet. But what sites list, as much
as they like, is compressed, which costs little of reading it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pyarrow as pa

from periplus.model import CollectionDamaged

from ..folders import repair_hint, sync_folder
from . import pandas_import  # noqa: F401 - before the first array is made

_OPTIONS = pa.ipc.IpcWriteOptions(use_threads=False)
_PACKED = pa.ipc.IpcWriteOptions(use_threads=False, compression=pa.Codec("zstd", compression_level=1))
_sync = getattr(os, "fdatasync", os.fsync)


class Spool:
    """One such file, open for appending. What lies beyond `length` is cut off."""

    def __init__(self, path: Path, length: int, *, is_packed: bool = False) -> None:
        self.path = path
        self._options = _PACKED if is_packed else _OPTIONS
        self.length = length
        self._synced = length
        is_new = not path.exists()
        with ExitStack() as opened:
            self._file = opened.enter_context(path.open("ab", buffering=0))
            if os.fstat(self._file.fileno()).st_size < length:
                raise damaged(path)
            self._file.truncate(length)
            if is_new:
                sync_folder(path.parent)
            opened.pop_all()

    def append(self, batch: pa.RecordBatch) -> None:
        """Hand the batch to the operating system: safe from the death of the process, not yet from the machine's."""
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, batch.schema, options=self._options) as stream:
            stream.write_batch(batch)
        data = memoryview(sink.getvalue())
        written = 0
        while written < len(data):
            written += self._file.write(data[written:])
        self.length += written

    def sync(self) -> None:
        """Make durable what was appended."""
        if self._synced < self.length:
            _sync(self._file.fileno())
            self._synced = self.length

    def close(self) -> None:
        """Close the file and ignore errors of a full disk: data that was not synced may be lost."""
        with suppress(OSError):
            self._file.close()


def read_spool(path: Path, start: int, end: int) -> Iterator[tuple[pa.RecordBatch, int]]:
    """The batches between two positions, each of which is 0 or the end of a batch, and where each ends.

    The file is mapped, not read: a batch takes memory only while it is used.
    """
    if start >= end:
        return
    try:
        with pa.memory_map(str(path)) as file:
            source = pa.BufferReader(file.read_buffer())
            source.seek(start)
            while source.tell() < end:
                with pa.ipc.open_stream(source) as stream:
                    batches = list(stream)
                for batch in batches:
                    yield batch, source.tell()
    except (pa.ArrowException, OSError) as error:
        raise damaged(path) from error


def whole_batches(path: Path) -> tuple[int, int]:
    """How many bytes from the beginning are whole batches, and how many rows these have."""
    length = rows = 0
    if path.exists() and path.stat().st_size:
        with suppress(CollectionDamaged):
            for batch, end in read_spool(path, 0, path.stat().st_size):
                batch.validate()
                length, rows = end, rows + batch.num_rows
    return length, rows


def damaged(path: Path) -> CollectionDamaged:
    """The message about a file that lacks committed rows."""
    return CollectionDamaged(f"{path} has lost rows that were written", hint=repair_hint(path))
