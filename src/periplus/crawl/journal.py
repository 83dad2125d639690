"""What has happened since the last commit, so that a process that is killed loses nothing that it has fetched.

The state is committed every second or so. Between two commits every outcome is noted here as soon as its WARC records
are written, in one write of the operating system's: what was written survives the process, whatever happens to it. Who
opens the collection again finds the outcomes noted since the last commit, takes their bodies from the WARC, and goes
through them as if they had just arrived; only what was still under way is fetched again.

One file for each commit, named by its number; any other is old. A note is its length, a checksum, and the outcome
without its body in MessagePack (with it where the WARC only refers to an earlier record); a torn one at the end does
not count. (A machine that loses its power may lose the journal, since nobody waits for the disk here; then the last
commit holds.)
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec
from msgspec.structs import replace
from xxhash import xxh3_64_intdigest

from periplus.model import Batch, Fetched, FetchOutcome, Redirected, Stored
from periplus.store import WarcEnd
from periplus.store.warc import read_record

_HEAD = struct.Struct("<IQ")
_MAX_NOTE = 64 * 2**20


class Note(msgspec.Struct, frozen=True, array_like=True, tag="outcome"):
    """An outcome without its body, where its body lies, and how far the archive was written by then."""

    outcome: FetchOutcome
    stored: Stored | None
    end: WarcEnd


class BatchNote(msgspec.Struct, frozen=True, array_like=True, tag="batch"):
    """A batch of another shard: outcomes noted later may be of URLs that it brought."""

    batch: Batch


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Note | BatchNote).decode


class Journal:
    """The notes since commit `number`, in a file of that name."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._file: int | None = None
        folder.mkdir(parents=True, exist_ok=True)

    def begin(self, number: int) -> None:
        """Everything before this commit is safe elsewhere."""
        self.close()
        keep = self._path(number)
        for path in self._folder.glob("*.journal"):
            path.unlink()
        self._file = os.open(keep, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)

    def append(self, notes: Iterable[Note | BatchNote]) -> None:
        """Note all, in one write."""
        frames = []
        for note in notes:
            body = _encode(_without_body(note) if isinstance(note, Note) else note)
            frames += [_HEAD.pack(len(body), xxh3_64_intdigest(body)), body]
        if frames and self._file is not None:
            _write_all(self._file, b"".join(frames))

    def read(self, number: int) -> Iterator[Note | BatchNote]:
        """The whole notes since that commit, in order."""
        try:
            file = self._path(number).open("rb")
        except FileNotFoundError:
            return
        with file:
            while len(head := file.read(_HEAD.size)) == _HEAD.size:
                length, checksum = _HEAD.unpack(head)
                body = file.read(length) if length <= _MAX_NOTE else b""
                if len(body) != length or xxh3_64_intdigest(body) != checksum:
                    return
                yield _decode(body)

    def close(self) -> None:
        """Let go of the file."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _path(self, number: int) -> Path:
        return self._folder / f"{number:012d}.journal"


def _without_body(note: Note) -> Note:
    is_kept = note.stored is not None and not note.stored.is_revisit
    if is_kept and isinstance(note.outcome, Fetched | Redirected) and note.outcome.body:
        return Note(replace(note.outcome, body=b""), note.stored, note.end)
    return note


def with_body(note: Note, archive: Path) -> FetchOutcome:
    """The outcome as it was when it arrived: its body comes from the archive."""
    is_kept = note.stored is not None and not note.stored.is_revisit
    if is_kept and isinstance(note.outcome, Fetched | Redirected) and note.stored is not None:
        return replace(note.outcome, body=read_record(archive, note.stored).message().body)
    return note.outcome


def _write_all(file: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(file, view) :]
