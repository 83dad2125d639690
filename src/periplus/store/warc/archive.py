"""The archive of a shard: outcomes in, records at the end of a WARC file out.

A file begins with its `warcinfo` and grows by one `write` of the operating system for each group of exchanges; `end`
says how far it goes. The owner of the state calls `sync` and then commits `end` together with what points into the
archive. After a crash the archive is opened at the `end` that was committed, and what lies beyond has not happened: the
rest of that file is cut off, and later files of the shard are deleted. So every record before `end` is whole, and none
is there twice. `AppendedFile` is such a file: it is only appended to, and truncated to a length known to be good.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from hashlib import sha1
from pathlib import Path
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from periplus.model import (
    DOCUMENT_TYPE,
    CollectionDamaged,
    CollectionError,
    Fetched,
    FetchTask,
    NotModified,
    Payload,
    Payloads,
    Stored,
    SubResponse,
)
from periplus.urls import site_of, surt

from ..durable import move
from ..folders import repair_hint, sync_folder
from ..settings import WarcSettings
from . import records
from .cdxj import REVISIT, CdxLine, key_of, line_of, mime_of
from .copying import CopiedExchange, SourceRecord, payload_of, stored_at
from .end import WarcEnd
from .index import is_indexed, scan, write_lines
from .packing import GZIP, SAMPLES, ZSTD, Packing, packing_of, trained
from .reading import WarcRecord, read_heads, read_records
from .records import (
    Answer,
    Dates,
    Frame,
    WarcName,
    base32,
    can_be_referred_to,
    files_of,
    identifiers,
    index_of,
    read_name,
    sha1_base32,
    timestamp,
)


class AppendedFile:
    """Appends whole pieces: one is there entirely, or the file is as long as before."""

    def __init__(self, path: Path, length: int = 0) -> None:
        """A new file, or one opened at `length`; anything beyond is cut off."""
        self.path = path
        self.name = path.name
        self.length = length
        flags = os.O_WRONLY | os.O_APPEND | (0 if length else os.O_CREAT | os.O_EXCL)
        try:
            self._fd = os.open(path, flags, 0o644)
        except FileNotFoundError as error:
            raise CollectionDamaged(f"{path} is missing", hint=_hint(path)) from error
        except OSError as error:
            raise CollectionError(f"{path} cannot be opened: {error.strerror}") from error
        self._cut_beyond(length)

    def append(self, data: bytes) -> None:
        """Write all of it at the end: one call of the operating system, more only where it took less."""
        try:
            written = os.write(self._fd, data)
            while written < len(data):
                written += os.write(self._fd, data[written:])
        except OSError as error:
            os.ftruncate(self._fd, self.length)
            raise CollectionError(
                f"{self.path} cannot be written: {error.strerror}",
                hint="free space on the disk and run the same command again",
            ) from error
        self.length += len(data)

    def sync(self) -> None:
        """Make all that was appended durable."""
        try:
            os.fsync(self._fd)
        except OSError as error:
            raise CollectionError(f"{self.path} cannot be made durable: {error.strerror}") from error

    def close(self) -> None:
        """Let go."""
        os.close(self._fd)

    def _cut_beyond(self, length: int) -> None:
        size = os.fstat(self._fd).st_size
        if size < length:
            os.close(self._fd)
            raise CollectionDamaged(
                f"{self.path} has {size} bytes, and {length} were written",
                hint=_hint(self.path),
            )
        if size > length:
            os.ftruncate(self._fd, length)


def _hint(path: Path) -> str:
    return f"put back a whole copy of the file; without one, {repair_hint(path)}"


_MAX_HELD: Final = 1 << 20
"""Bytes of a record that is copied which are held in memory."""
_MAX_LOADED: Final = 20_000
"""Payloads of what pages loaded in a browser that are remembered: some megabytes. The state does not have them."""
ORPHAN: Final = ".orphan"
"""What the names of files end with that were there before the state knew of any."""


_PACKED_LINES: Final = 1_000
"""Lines of an index that are compressed together."""


class IndexLines:
    """The lines of the index of a file that is being written, compressed: a file has up to 100,000 of some 300 bytes.

    A watch keeps a file open for weeks.
    """

    def __init__(self) -> None:
        self._packed: list[bytes] = []
        self._last: list[bytes] = []
        self._count = 0

    def extend(self, lines: Iterable[bytes]) -> None:
        """Add lines, each with its end."""
        self._last += lines
        if len(self._last) >= _PACKED_LINES:
            self._packed.append(zlib.compress(b"".join(self._last), 1))
            self._count += len(self._last)
            self._last = []

    def __iter__(self) -> Iterator[bytes]:
        for packed in self._packed:
            yield from zlib.decompress(packed).splitlines(keepends=True)
        yield from self._last

    def __len__(self) -> int:
        return self._count + len(self._last)


class _Open(Struct):
    """The file that is being written, and the lines of its index since this process opened it at `begun_at`.

    `unwritten` are records that belong at its end, `length` is its length with them, and `new_lines` is their index.
    `records` is how many more may be added; -1: any number.
    """

    file: AppendedFile
    packing: Packing
    warcinfo: str
    length: int
    records: int = -1
    begun_at: int = 0
    unwritten: list[bytes] = []
    lines: IndexLines = field(default_factory=IndexLines)
    new_lines: list[bytes] = []

    def add(self, record: bytes) -> int:
        """A record for the next `write_out`: the offset at which it will begin."""
        offset = self.length
        self.unwritten.append(record)
        self.length += len(record)
        self.records -= self.records > 0
        return offset

    def add_pieces(self, pieces: Iterator[bytes]) -> tuple[int, int]:
        """A record in pieces: its offset and length. A long one is not held in memory but written at once."""
        offset, held, size = self.length, [], 0
        for piece in pieces:
            held.append(piece)
            size += len(piece)
            if size > _MAX_HELD:
                break
        self.add(b"".join(held))
        if size > _MAX_HELD:
            self.write_out()
            for piece in pieces:
                self.file.append(piece)
            self.length = self.file.length
        return offset, self.length - offset

    def write_out(self) -> None:
        """Append what is unwritten, in one write; all of it is dropped if that fails."""
        data, self.unwritten = b"".join(self.unwritten), []
        lines, self.new_lines = self.new_lines, []
        try:
            self.file.append(data)
        finally:
            self.length = self.file.length
        self.lines.extend(lines)


class Archive:
    """Appends to the WARC files of one shard, for one process at a time."""

    def __init__(
        self,
        folder: Path,
        settings: WarcSettings,
        *,
        shard: int,
        software: str,
        fields: Mapping[str, str],
        end: WarcEnd | None,
        payloads: Payloads,
    ) -> None:
        """Open the archive at `end`; `software` and `fields` go into each `warcinfo`.

        If nothing was written yet according to the state, existing files of this shard are kept under another name
        (`.orphan`): they were written before the first commit, or are all that is left of a lost state.
        """
        self._folder = folder
        self._settings = settings
        self._shard = shard
        self._software = software
        self._fields = dict(fields)
        self._payloads = payloads
        self._pending: dict[bytes, Payload] = {}
        self._loaded: dict[bytes, Payload] = {}
        self._dates = Dates()
        self._end = end or WarcEnd()
        self._serial = 0
        self._open: _Open | None = None
        folder.mkdir(parents=True, exist_ok=True)
        if self._end.file:
            self._resume(self._end)
        else:
            self._set_aside()

    @property
    def end(self) -> WarcEnd:
        """How far the archive goes, with all that was written so far."""
        return self._end

    def write(self, answer: Answer, request: bytes) -> tuple[Stored, Payload | None]:
        """Keep one answer, as `write_all` does."""
        return self.write_all([(answer, request)])[0]

    def write_all(self, exchanges: Iterable[tuple[Answer, bytes]]) -> list[tuple[Stored, Payload | None]]:
        """Keep answers, the requests for them (none where empty) and what is known of the fetches, in one write.

        Where each lies, and its payload if later answers may refer to it: the caller puts that into the payloads.
        """
        kept = [self._add(answer, request) for answer, request in exchanges]
        if kept:
            self._write_out()
        return kept

    def _add(self, answer: Answer, request: bytes) -> tuple[Stored, Payload | None]:
        date = self._dates.date(answer.started_at)
        now = self._file_for(date)
        frame = records.frame(answer, date=date, warcinfo=now.warcinfo, ids=identifiers(), packing=now.packing)
        rendering = answer.rendering if isinstance(answer, Fetched) else None
        sent = as_sent(answer)
        record, digest, payload = self._record(sent, frame)
        is_revisit = isinstance(sent, NotModified) or (payload is None and can_be_referred_to(sent))
        stored = Stored(now.file.name, now.add(record), len(record), digest, is_revisit)
        now.new_lines.append(_line(sent, date, stored))
        if request:
            now.add(records.request(request, frame))
        if isinstance(answer, Fetched) and answer.is_rendered:
            stored = self._add_document(answer, frame, date, now)
        now.add(records.metadata(answer.task, answer.duration, frame, rendering))
        for response in rendering.responses if rendering is not None else ():
            self._add_response(response, answer.task)
        return stored, payload

    def copy_all(self, exchanges: Iterable[CopiedExchange]) -> list[tuple[Stored, Payload | None]]:
        """Keep answers of another archive, and what is beside them, as their records are."""
        kept = [self._copy(exchange) for exchange in exchanges]
        if kept:
            self._write_out()
        return kept

    def copy(self, found: SourceRecord, at: float) -> None:
        """Keep a record of another archive that belongs to no answer; `at` names a file that begins with it."""
        self._copy_record(found, self._file_for(self._dates.date(at)))
        self._write_out()

    def _copy(self, exchange: CopiedExchange) -> tuple[Stored, Payload | None]:
        outcome, answer = exchange.outcome, exchange.answer
        now = self._file_for(self._dates.date(outcome.started_at))
        stored = self._copy_record(answer, now)
        payload = payload_of(as_sent(outcome), stored, answer.record)
        for each in exchange.beside:
            place = self._copy_record(each, now)
            stored = place if isinstance(outcome, Fetched) and each.record.type == "resource" else stored
        return stored, payload

    def _write_out(self) -> None:
        if self._open is not None:
            self._open.write_out()
            self._end = WarcEnd(self._open.file.name, self._open.length)

    def _copy_record(self, found: SourceRecord, now: _Open) -> Stored:
        offset, length = now.add_pieces(found.packed(now.packing))
        record = replace(found.record, offset=offset, length=length)
        if (line := line_of(record, now.file.name)) is not None:
            now.new_lines.append(line.encode())
        return stored_at(now.file.name, record)

    def _add_document(self, answer: Fetched, frame: Frame, date: str, now: _Open) -> Stored:
        """Keep the document of a page that was rendered: where it lies."""
        digest = sha1_base32(answer.body)
        record = records.document(answer, records.identifier(), digest, frame)
        stored = Stored(now.file.name, now.add(record), len(record), f"sha1:{digest}")
        url, place = f"{records.DOCUMENT}{answer.task.url}", (stored.length, stored.offset, stored.file)
        mime = mime_of(DOCUMENT_TYPE)
        now.new_lines.append(CdxLine(key_of(url), timestamp(date), url, mime, "", digest, *place).encode())
        return stored

    def _add_response(self, response: SubResponse, task: FetchTask) -> None:
        """Keep what a page has loaded, and the request, without metadata: it is not an answer to the crawl.

        A body that was kept before is not kept again, as far as this process remembers.
        """
        part = replace(task, url=response.url, site=site_of(response.url), validators=None)
        answer = Fetched(part, response.status, response.headers, response.body, response.started_at, 0.0)
        date = self._dates.date(response.started_at)
        now = self._file_for(date)
        frame = records.frame(answer, date=date, warcinfo=now.warcinfo, ids=identifiers(), packing=now.packing)
        record, digest, payload = self._record(answer, frame)
        if payload is not None:
            if len(self._loaded) >= _MAX_LOADED:
                self._loaded.clear()
            self._loaded[payload.digest] = payload
        is_revisit = payload is None and can_be_referred_to(answer)
        stored = Stored(now.file.name, now.add(record), len(record), digest, is_revisit)
        now.new_lines.append(_line(answer, date, stored))
        if response.request:
            now.add(records.request(response.request, frame))

    def sync(self) -> None:
        """Make all that was written durable. Its payloads are in the state by now."""
        self._pending.clear()
        if self._open:
            self._open.file.sync()

    def close(self) -> None:
        """Finish the open file: make it durable and write its index; without room for that, a later process will."""
        if self._open is None:
            return
        now, self._open = self._open, None
        now.file.sync()
        now.file.close()
        path = now.file.path
        lines = [*_earlier_lines(path, now.begun_at), *now.lines]
        with suppress(OSError):
            write_lines(index_of(path), sorted(lines))

    def _record(self, answer: Answer, frame: Frame) -> tuple[bytes, str, Payload | None]:
        """The record of an answer, the digest of its payload, and the payload if it is new."""
        if isinstance(answer, NotModified):
            visited = answer.task.visited_at
            return records.unchanged(answer, self._dates.date(visited) if visited else None, frame), "", None
        raw = sha1(answer.body, usedforsecurity=False).digest()
        digest = base32(raw)
        payload = None
        if can_be_referred_to(answer):
            first = self._pending.get(raw) or self._loaded.get(raw) or self._payloads.get(raw)
            if first is not None:
                date = self._dates.date(first.fetched_at)
                return records.identical(answer, digest, first, date, frame), f"sha1:{digest}", None
            payload = self._pending[raw] = Payload(raw, answer.task.url, answer.started_at, frame.answer)
        record = records.response(answer, digest, frame)
        return record, f"sha1:{digest}", payload

    def _file_for(self, date: str) -> _Open:
        """The open file, or the next one where it is full."""
        now = self._open
        if now is not None:
            is_full = now.length >= self._settings.max_file_size or not now.records
            if not is_full and len(now.lines) + len(now.new_lines) < self._settings.max_file_captures:
                return now
            now.write_out()
            self.close()
        return self._begin(date)

    def _begin(self, date: str) -> _Open:
        """A new file; the first one of Zstandard is short, since its records make the dictionary of the others."""
        is_zstd = self._settings.compression == "zstd"
        before = [path for _, path in files_of(self._folder, self._shard)][-1:] if is_zstd else []
        self._serial += 1
        name = str(WarcName(self._shard, timestamp(date), self._serial, ZSTD if is_zstd else GZIP))
        path = self._folder / name
        packing = packing_of(path, self._settings.compression_level, trained(before[0]) if before else b"")
        identifier = identifiers()[0]
        head = records.warcinfo(identifier, date, name, self._software, self._fields, packing)
        room = SAMPLES if is_zstd and not before else -1
        self._open = _Open(AppendedFile(path), packing, identifier, 0, room)
        self._open.add(packing.beginning + head)
        sync_folder(self._folder)
        return self._open

    def _resume(self, end: WarcEnd) -> None:
        """Open the last file where it ends, and remove what came after."""
        name = read_name(end.file)
        if name is None or name.shard != self._shard:
            raise CollectionDamaged(
                f"{end.file!r} is not a file of shard {self._shard} of this archive",
                hint="put back a whole copy of the collection",
            )
        self._serial = name.serial
        path = self._folder / end.file
        was_indexed = path.exists() and path.stat().st_size == end.length and is_indexed(path)
        file = AppendedFile(path, end.length)
        packing = packing_of(path, self._settings.compression_level)
        self._open = _Open(file, packing, _warcinfo_of(path), end.length, self._room(path), end.length)
        if not was_indexed:
            index_of(path).unlink(missing_ok=True)
        for later, unwanted in files_of(self._folder, self._shard):
            if later.serial > name.serial:
                unwanted.unlink()
                index_of(unwanted).unlink(missing_ok=True)

    def _room(self, path: Path) -> int:
        """How many more records a file may have that is continued."""
        if not path.name.endswith(ZSTD) or next(files_of(self._folder, self._shard))[1] != path:
            return -1
        return max(0, SAMPLES - sum(1 for _ in read_heads(path, size=0)))

    def _set_aside(self) -> None:
        for name, path in files_of(self._folder, self._shard):
            self._serial = name.serial
            move(path, path.with_name(path.name + ORPHAN))
            index_of(path).unlink(missing_ok=True)


def as_sent(answer: Answer) -> Answer:
    """An answer as the server sent it, if its page was rendered."""
    if isinstance(answer, Fetched) and answer.rendering is not None and answer.rendering.is_rendered:
        return replace(answer, body=answer.rendering.document, rendering=None)
    return answer


def _line(answer: Answer, date: str, stored: Stored) -> bytes:
    """The line of the index for what was just written: the same that reading the record again would give."""
    url = answer.task.url
    status = 304 if isinstance(answer, NotModified) else answer.status
    mime = REVISIT if stored.is_revisit else _mime(answer)
    digest = stored.digest.removeprefix("sha1:")
    place = (stored.length, stored.offset, stored.file)
    return CdxLine(surt(url), timestamp(date), url, mime, str(status), digest, *place).encode()


def _mime(answer: Answer) -> str:
    for name, value in answer.headers:
        if len(name) == 12 and name.lower() == "content-type":
            return mime_of(value)
    return mime_of(None)


def _earlier_lines(path: Path, length: int) -> list[bytes]:
    """The index of what was in the file when it was opened: from its index, if that was left there, else by reading."""
    if not length:
        return []
    if index_of(path).exists():
        return index_of(path).read_bytes().splitlines(keepends=True)
    return [line.encode() for line in scan(path, length)]


def _warcinfo_of(path: Path) -> str:
    """The identifier of a file's first record, which all others name."""
    first = next(read_records(path), None)
    if not isinstance(first, WarcRecord) or first.type != "warcinfo":
        raise CollectionDamaged(
            f"{path} does not begin with a warcinfo record", hint="put back a whole copy of the file"
        )
    return first.id
