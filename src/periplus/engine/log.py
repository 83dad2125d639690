"""The write-ahead log: every input since the last commit, in order, so that a killed process loses nothing.

The state is committed about once a second. In between, every input is appended here before it is applied, in one write
of the operating system: what was written survives the process. A process that opens the collection again applies the
logged inputs to the committed state, with bodies from the WARC, and is where the last one was; only what was still
under way is fetched again.

There is one file for each commit, named by its number; any other is old. It begins with a header, which says under
which settings the inputs were applied. A record is its length, a checksum, and an input in MessagePack; bodies are left
out where the WARC has them. A torn record at the end does not count. Nothing waits for the disk here: a machine that
loses power may keep records and lose what they point to. So `repair` cuts the log in front of the first record whose
answers are not whole in the WARC; at worst the last commit holds.

An answer that kills the process that reads it would do so again at every replay. So each input is announced before it
is applied again (`trying`); see `Deaths`.
"""

from __future__ import annotations

import os
import struct
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace
from xxhash import xxh3_64_intdigest

from periplus.model import CollectionDamaged, CollectionError, Fetched, FetchOutcome, Problem, Redirected, Stored
from periplus.store import WarcEnd
from periplus.store.warc import read_record, read_records

from .inputs import Answered, FetchAnswer, Input

_HEAD = struct.Struct("<IQ")
_MAX_BODY = 128 * 2**20
"""Maximum bytes of a body that is read back from the WARC: more than any fetch may return."""
_SUFFIX, _TRIED = ".log", ".tried"
_DONE = 2**32 - 1
_BROKEN = frozenset({"torn", "damaged", "not-a-record", "bad-length"})

_encode = msgspec.msgpack.Encoder().encode
_decoder: msgspec.msgpack.Decoder[Input] = msgspec.msgpack.Decoder(Input)


class Deaths(Struct, frozen=True):
    """How often processes died while they applied an input again, by its number; and of which of its answers.

    The answers of an input at which a process died are applied one by one, each announced by itself; one at which two
    processes died is kept but not read any more.
    """

    inputs: Counter[int] = Counter()
    answers: Counter[tuple[int, int]] = Counter()

    def is_deadly(self, index: int, answer: int) -> bool:
        """Whether an answer should not be read any more."""
        return self.answers[index, answer] > 1


class InputLog:
    """The inputs since commit `number`, in a file of that name. `archive` is the folder of the WARC files."""

    def __init__(self, folder: Path, archive: Path, header: bytes = b"") -> None:
        self._folder = folder
        self._archive = archive
        self._header = header
        self._file: int | None = None
        self._tried: int | None = None
        folder.mkdir(parents=True, exist_ok=True)

    # writing

    def begin(self, number: int) -> None:
        """Commit `number` is durable: inputs from now on follow it, and older logs are not needed."""
        self.close()
        for path in [*self._folder.glob(f"*{_SUFFIX}"), *self._folder.glob(f"*{_TRIED}")]:
            path.unlink()
        self._file = self._open(self._path(number))
        self._write(self._file, _framed(self._header))

    def append(self, inputs: Iterable[Input]) -> None:
        """Append all inputs, in one write."""
        if self._file is not None:
            self._write(self._file, b"".join([_framed(_encode(_without_bodies(each))) for each in inputs]))

    def close(self) -> None:
        """Close the files."""
        for file in (self._file, self._tried):
            if file is not None:
                os.close(file)
        self._file = self._tried = None

    # reading

    def header(self, number: int) -> bytes | None:
        """The settings under which the inputs since a commit were applied; `None` if there are none."""
        for index, (body, _) in enumerate(self._frames(number)):
            if index == 0:
                header = body
            else:
                return header
        return None

    def read(self, number: int) -> Iterator[Input]:
        """The inputs since a commit, in order, with bodies from the WARC."""
        for index, (body, _) in enumerate(self._frames(number)):
            if index:
                yield self._with_bodies(self._decoded(body))

    def repair(self, number: int, end: WarcEnd) -> WarcEnd:
        """Cut off what is torn or points to nothing whole; how far the WARC reaches that reached to `end` before."""
        whole = 0
        for index, (body, position) in enumerate(self._frames(number)):
            logged = self._decoded(body) if index else None
            if isinstance(logged, Answered) and logged.end.file:
                if not _is_whole(self._archive, end, logged.end):
                    break
                end = logged.end
            whole = position
        path = self._path(number)
        if path.exists():
            os.truncate(path, whole)
        return end

    def _frames(self, number: int) -> Iterator[tuple[bytes, int]]:
        """Each whole record, and where it ends."""
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
                yield body, file.tell()

    def _decoded(self, body: bytes) -> Input:
        try:
            return _decoder.decode(body)
        except msgspec.MsgspecError as error:
            raise CollectionDamaged(
                f"the log in {self._folder} cannot be decoded", hint="use the version of Periplus that wrote it"
            ) from error

    def _with_bodies(self, logged: Input) -> Input:
        if not isinstance(logged, Answered):
            return logged
        return replace(logged, answers=tuple(self._with_body(answer) for answer in logged.answers))

    def _with_body(self, answer: FetchAnswer) -> FetchAnswer:
        return replace(answer, outcome=with_body(self._archive, answer.outcome, answer.stored))

    # deaths

    def trying(self, number: int, index: int, answer: int | None = None) -> None:
        """Announce that an input is applied next, or one of its answers by itself."""
        self._announce(number, 2 * index if answer is None else (index << 9 | answer) << 1 | 1)

    def tried(self, number: int) -> None:
        """Record that all inputs were applied."""
        self._announce(number, _DONE)

    def _announce(self, number: int, code: int) -> None:
        if self._tried is None:
            self._tried = self._open(self._path(number, _TRIED))
        self._write(self._tried, code.to_bytes(4, "little"))

    def deaths(self, number: int) -> Deaths:
        """At which inputs earlier processes died. Each replay begins with the first input again."""
        path = self._path(number, _TRIED)
        data = path.read_bytes() if path.exists() else b""
        codes = array("I", data[: len(data) // 4 * 4])
        last = Counter(before for before, after in pairwise((*codes, 0)) if after == 0 and before != _DONE)
        inputs = Counter({code >> 1: deaths for code, deaths in last.items() if not code & 1})
        answers = Counter({(code >> 10, code >> 1 & 511): deaths for code, deaths in last.items() if code & 1})
        for (index, _), deaths in list(answers.items()):
            inputs[index] += deaths
        return Deaths(inputs, answers)

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
            f"the log in {self._folder} cannot be written: {error.strerror}",
            hint="free space on the disk and run the same command again",
        )


def with_body(archive: Path, outcome: FetchOutcome, stored: Stored | None) -> FetchOutcome:
    """An outcome as it arrived: its body comes from the archive, unless it is in the log."""
    if not isinstance(outcome, Fetched | Redirected) or stored is None or stored.is_revisit:
        return outcome
    return replace(outcome, body=read_record(archive, stored, max_block=_MAX_BODY).message().body)


def _framed(body: bytes) -> bytes:
    return _HEAD.pack(len(body), xxh3_64_intdigest(body)) + body


def _without_bodies(logged: Input) -> Input:
    if not isinstance(logged, Answered):
        return logged
    return replace(logged, answers=tuple(map(_without_body, logged.answers)))


def _without_body(answer: FetchAnswer) -> FetchAnswer:
    is_kept = answer.stored is not None and not answer.stored.is_revisit
    outcome = answer.outcome
    if isinstance(outcome, Fetched) and outcome.rendering is not None:
        outcome = replace(outcome, rendering=replace(outcome.rendering, document=b"", responses=()))
    if is_kept and isinstance(outcome, Fetched | Redirected) and outcome.body:
        outcome = replace(outcome, body=b"")
    return answer if outcome is answer.outcome else replace(answer, outcome=outcome)


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
            if record.reason in _BROKEN:
                return False
        else:
            end = record.offset + record.length
    return end == after.length
