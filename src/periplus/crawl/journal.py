"""What has happened since the last commit, so that a process that is killed loses nothing that it has fetched.

The state is committed every second or so. Between two commits every outcome is noted here as soon as its WARC records
are written, in one write of the operating system's: what was written survives the process, whatever happens to it. Who
opens the collection again finds the outcomes noted since the last commit, takes their bodies from the WARC, and goes
through them as if they had just arrived; only what was still under way is fetched again.

One file for each commit, named by its number; any other is old. A note is its length, a checksum, and the outcome
without its body in MessagePack (with it where the WARC only refers to an earlier record); a torn one at the end does
not count. Nobody waits for the disk here: a machine that loses its power may keep notes and lose records that they
point to. So `mend` cuts the journal in front of the first note whose records are not whole; at worst the last commit
holds.

A page that kills the process that reads it would do so again whenever its note is gone through. So each note is
announced before (`trying`), in a file beside the journal, and one at which processes died three times is `deadly`.
"""

from __future__ import annotations

import os
import struct
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path

import msgspec
from msgspec.structs import replace
from xxhash import xxh3_64_intdigest

from periplus.model import (
    Batch,
    CollectionDamaged,
    CollectionError,
    Failed,
    Fetched,
    FetchOutcome,
    Located,
    Problem,
    Redirected,
    Stored,
)
from periplus.store import WarcEnd
from periplus.store.warc import read_record, read_records

DEATHS = 3
"""So many processes may die at a note; the next does not read its page any more."""

_HEAD = struct.Struct("<IQ")
_MAX_BODY = 128 * 2**20
_SUFFIX, _TRIED = ".journal", ".tried"
_DONE = 2**32 - 1
_UNWHOLE = frozenset({"torn", "damaged", "not-a-record", "bad-length"})


class Note(msgspec.Struct, frozen=True, array_like=True, tag="outcome"):
    """An outcome without its body, when it was noted, where its body lies, and how far the archive went by then."""

    outcome: FetchOutcome
    at: float
    stored: Stored | None
    end: WarcEnd

    @property
    def is_nothing(self) -> bool:
        """Whether nobody was asked: an address was found out, or somebody wants to stop."""
        outcome = self.outcome
        return isinstance(outcome, Located) or (isinstance(outcome, Failed) and outcome.reason == "cancelled")


class BatchNote(msgspec.Struct, frozen=True, array_like=True, tag="batch"):
    """A batch of another shard: outcomes noted later may be of URLs that it brought."""

    batch: Batch
    at: float


class FileNote(msgspec.Struct, frozen=True, array_like=True, tag="file"):
    """A file that has arrived and is not read to its end; all else about it is committed."""

    outcome: Fetched
    at: float
    stored: Stored | None


AnyNote = Note | BatchNote | FileNote

_encode = msgspec.msgpack.Encoder().encode
_decoder: msgspec.msgpack.Decoder[AnyNote] = msgspec.msgpack.Decoder(AnyNote)


class Journal:
    """The notes since commit `number`, in a file of that name. `archive` is the folder of the WARC files."""

    def __init__(self, folder: Path, archive: Path) -> None:
        self._folder = folder
        self._archive = archive
        self._file: int | None = None
        self._tried: int | None = None
        folder.mkdir(parents=True, exist_ok=True)

    # what is written

    def prepare(self, number: int, unread: Sequence[FileNote]) -> None:
        """Before a commit: what the notes after it begin with."""
        path = self._path(number)
        path.unlink(missing_ok=True)
        if unread:
            file = self._open(path)
            try:
                self._write(file, _framed(unread))
            finally:
                os.close(file)

    def begin(self, number: int) -> None:
        """Everything before this commit is safe elsewhere."""
        self.close()
        for path in [*self._folder.glob(f"*{_SUFFIX}"), *self._folder.glob(f"*{_TRIED}")]:
            if path != self._path(number):
                path.unlink()
        self._file = self._open(self._path(number))

    def append(self, notes: Iterable[AnyNote]) -> None:
        """Note all, in one write."""
        framed = _framed(notes)
        if framed and self._file is not None:
            self._write(self._file, framed)

    def close(self) -> None:
        """Let go of the files."""
        for file in (self._file, self._tried):
            if file is not None:
                os.close(file)
        self._file = self._tried = None

    # what is found

    def read(self, number: int) -> Iterator[AnyNote]:
        """The whole notes since that commit, in order."""
        return (note for note, _ in self._notes(number))

    def mend(self, number: int, end: WarcEnd) -> WarcEnd:
        """Cut off what is torn or points to nothing whole; how far the archive goes that went to `end` before."""
        whole = 0
        for note, position in self._notes(number):
            if isinstance(note, Note):
                if not _is_whole(self._archive, end, note.end):
                    break
                end = note.end
            whole = position
        path = self._path(number)
        if path.exists():
            os.truncate(path, whole)
        return end

    def _notes(self, number: int) -> Iterator[tuple[AnyNote, int]]:
        """Each whole note, and where it ends."""
        path = self._path(number)
        if not path.exists():
            return
        size = path.stat().st_size
        with path.open("rb") as file:
            while len(head := file.read(_HEAD.size)) == _HEAD.size:
                length, checksum = _HEAD.unpack(head)
                body = file.read(length) if length <= size else b""
                if len(body) != length or xxh3_64_intdigest(body) != checksum:
                    return
                yield self._decoded(body), file.tell()

    def _decoded(self, body: bytes) -> AnyNote:
        try:
            return _decoder.decode(body)
        except msgspec.MsgspecError as error:
            raise CollectionDamaged(
                f"the journal in {self._folder} cannot be understood", hint="use the version of Periplus that wrote it"
            ) from error

    # what was tried

    def trying(self, number: int, index: int | None) -> None:
        """The note with this index is gone through next; `None`: that was the last."""
        if self._tried is None:
            self._tried = self._open(self._path(number, _TRIED))
        self._write(self._tried, (_DONE if index is None else index).to_bytes(4, "little"))

    def deadly(self, number: int) -> frozenset[int]:
        """The notes that nobody should try any more."""
        path = self._path(number, _TRIED)
        data = path.read_bytes() if path.exists() else b""
        tried = array("I", data[: len(data) // 4 * 4])
        last = [before for before, after in pairwise((*tried, 0)) if after == 0]
        return frozenset(index for index, deaths in Counter(last).items() if deaths >= DEATHS and index != _DONE)

    def _path(self, number: int, suffix: str = _SUFFIX) -> Path:
        return self._folder / f"{number:012d}{suffix}"

    def _open(self, path: Path) -> int:
        try:
            return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        except OSError as error:
            raise self._failed(error) from error

    def _write(self, file: int, data: bytes) -> None:
        view = memoryview(data)
        try:
            while view:
                view = view[os.write(file, view) :]
        except OSError as error:
            raise self._failed(error) from error

    def _failed(self, error: OSError) -> CollectionError:
        return CollectionError(
            f"the journal in {self._folder} cannot be written: {error.strerror}",
            hint="make room on the disk and run it again",
        )


def _framed(notes: Iterable[AnyNote]) -> bytes:
    frames = []
    for note in notes:
        body = _encode(note if isinstance(note, BatchNote) else _without_body(note))
        frames += [_HEAD.pack(len(body), xxh3_64_intdigest(body)), body]
    return b"".join(frames)


def with_body(note: Note | FileNote, archive: Path) -> tuple[FetchOutcome, str]:
    """The outcome as it was when it arrived: its body comes from the archive. And the name of the record there."""
    if not isinstance(note.outcome, Fetched | Redirected) or note.stored is None or note.stored.is_revisit:
        return note.outcome, ""
    record = read_record(archive, note.stored, max_block=_MAX_BODY)
    return replace(note.outcome, body=record.message().body), record.id


def _without_body(note: Note | FileNote) -> Note | FileNote:
    is_kept = note.stored is not None and not note.stored.is_revisit
    if is_kept and isinstance(note.outcome, Fetched | Redirected) and note.outcome.body:
        return replace(note, outcome=replace(note.outcome, body=b""))
    return note


def _is_whole(archive: Path, before: WarcEnd, after: WarcEnd) -> bool:
    """Whether all that was written between two moments is there, record by record, to the last byte."""
    if after == before:
        return True
    end = before.length if after.file == before.file else 0
    path = archive / after.file
    if not path.is_file() or path.stat().st_size < after.length:
        return False
    for record in read_records(path, offset=end, end=after.length, max_block=_MAX_BODY):
        if isinstance(record, Problem):
            if record.reason in _UNWHOLE:
                return False
        else:
            end = record.offset + record.length
    return end == after.length
