"""The captures of foreign archives as the wire would have returned them, with the records to copy.

A capture is a `response`, `revisit` or `resource` record about an http or https URL. The request and the depth are read
from `request` and `metadata` records, if they follow it directly and one names the other in `WARC-Concurrent-To`; a
request may also come before it. The body of a revisit is read from the record with its digest, in any of the files. Of
a body, at most `MAX_READ` bytes are read; the record is copied as a whole.

All other records are copied as they are, such as `warcinfo`, `conversion`, and answers to DNS lookups. What cannot be
used is a `Problem` for each record, with the reasons of the reader (`store.warc.reading`) and these:

- `no-status`: the block is not an answer of HTTP;
- `not-get`: the answer to a POST or another request that is not for a page;
- `bad-date`: no date, or one before 1990 or in the future;
- `no-original`: a revisit whose body is in none of the files;
- `continuation`: a later segment of a record; its first segment is imported as a truncated one;
- `capture-left-out`: a record beside a capture that is left out.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from heapq import heappop, heappush
from pathlib import Path
from typing import Final, NamedTuple

from msgspec.structs import replace

from periplus.model import Fetched, NotModified, Problem, Purpose, Redirected, Url
from periplus.urls import canonical, fingerprint

from ..warc import FileSlice, WarcRecord, read_records
from ..warc.answers import (
    ArchivedExchange,
    IsPage,
    fields_as_sent,
    is_cut,
    is_not_modified,
    purpose_of,
    redirect_target,
    rendering_in,
)
from ..warc.copying import CopiedExchange, SourceRecord, as_warc
from ..warc.http import HttpMessage
from ..warc.reading import block_pieces
from ..warc.records import CAPTURES, Answer
from .files import ArchiveFile, FilesSurvey, seconds_of

MAX_READ: Final = 16 << 20
"""Maximum bytes of a record's block in memory. More is copied, but neither searched for links nor compared."""
_MAX_HELD: Final = 1 << 20
"""Maximum bytes of a block in memory while the record waits for its turn; of a longer one they are read again."""
_MAX_SITEMAP: Final = 65 << 20
"""Maximum bytes of a sitemap's block in memory: sitemaps.org allows bodies of 50 MB."""
_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
_MAX_OPEN: Final = 64
"""Maximum number of files that are read at the same time, because their times overlap."""
_MAX_WAITING: Final = 64
"""Requests of a file that wait for their answers: as many as a crawler has under way that writes them first."""
_MAX_REQUEST: Final = 16 << 10
"""Bytes of a waiting request in memory."""
_DAY: Final = 86_400.0


class _Capture(ArchivedExchange):
    """An exchange of a file."""

    file: int = 0
    url: Url = Url("")


class _Place(NamedTuple):
    """Where the block of a record lies."""

    file: int
    offset: int
    before: int
    size: int


def foreign_answers(
    files: Sequence[ArchiveFile], known: FilesSurvey, is_page: IsPage = lambda _type: True
) -> Iterator[CopiedExchange | SourceRecord | Problem]:
    """All captures, the earliest first; those of one file stay in its order, with the other records between them."""
    reader = _Reader(files, known, is_page)
    for item in _in_order(files, known.begins):
        if isinstance(item, _Capture):
            yield from reader.answer(item)
        else:
            yield item


_Item = _Capture | SourceRecord | Problem


def _in_order(files: Sequence[ArchiveFile], begins: Sequence[float]) -> Iterator[_Item]:
    """Merge files whose times overlap; a file is opened when its first capture is due."""
    waiting = sorted(range(len(files)), key=lambda number: (begins[number], number))
    waiting.reverse()
    heap: list[tuple[float, int, _Capture, Iterator[_Item]]] = []
    while waiting or heap:
        while waiting and len(heap) < _MAX_OPEN and (not heap or begins[waiting[-1]] <= heap[0][0]):
            number = waiting.pop()
            yield from _push(heap, number, _records(files[number], number))
        if heap:
            _, number, capture, rest = heappop(heap)
            yield capture
            yield from _push(heap, number, rest)


def _push(
    heap: list[tuple[float, int, _Capture, Iterator[_Item]]], number: int, items: Iterator[_Item]
) -> Iterator[SourceRecord | Problem]:
    """Put the next capture of a file on the heap; return what is before it."""
    for item in items:
        if not isinstance(item, _Capture):
            yield item
            continue
        at = seconds_of(item.answer.fields.get("warc-date", "")) or 0.0
        heappush(heap, (at, number, item, items))
        return


def _records(file: ArchiveFile, number: int) -> Iterator[_Item]:
    """The captures of one file, each with the records beside it, and its other records."""
    held: _Capture | None = None
    waiting: list[WarcRecord] = []
    for record in _whole_records(file):
        if isinstance(record, Problem):
            yield record
        elif held is not None and held.note(record):
            continue
        elif record.type == "request":
            waiting.append(replace(record, block=record.block[:_MAX_REQUEST]))
            if len(waiting) > _MAX_WAITING:
                yield SourceRecord(file.source, waiting.pop(0))
        else:
            if held is not None:
                yield held
            held = _capture(record, number, waiting)
            if held is None:
                yield as_warc(SourceRecord(file.source, record))
    if held is not None:
        yield held
    for each in waiting:
        yield SourceRecord(file.source, each)


def _capture(record: WarcRecord, number: int, waiting: list[WarcRecord]) -> _Capture | None:
    """The capture that a record is, with those that waited for it; `None` if it is another record."""
    url = canonical(record.url) if record.type in CAPTURES else None
    if url is None:
        return None
    found = _Capture(record, file=number, url=url)
    waiting[:] = [each for each in waiting if not found.note(each)]
    return found


def _whole_records(file: ArchiveFile) -> Iterator[WarcRecord | Problem]:
    """The records of one file as far as they are whole, each with the beginning of its block, and its problems."""
    try:
        for record in read_records(file.source, max_block=_MAX_HELD):
            if isinstance(record, Problem):
                if record.reason != "cut-block":
                    yield replace(record, detail=f"{file.name}: {record.detail}"[:300])
            elif record.size >= int(record.fields["content-length"]):  # of others, the next problem says so
                is_rest = record.type == "continuation"
                yield Problem("continuation", f"{file.name}: {record.url}"[:300], record.offset) if is_rest else record
    except OSError as error:
        yield Problem("torn", f"{file.name}: {error.strerror}")


class _Reader:
    """Turns captures into answers; remembers where bodies lie that revisits refer to, and which URLs had one."""

    def __init__(self, files: Sequence[ArchiveFile], known: FilesSurvey, is_page: IsPage) -> None:
        self._files = files
        self._referred = known.referred
        self._is_page = is_page
        self._bodies: dict[str, _Place] = {}
        self._seen: set[int] = set()
        self._latest = time.time() + _DAY

    def answer(self, capture: _Capture) -> Iterator[CopiedExchange | Problem]:
        """One capture as an answer, or the problem with it, and one for each record beside it."""
        made = self._checked(capture)
        if isinstance(made, Problem):
            yield made
            for each in capture.beside:
                yield self._problem("capture-left-out", f"{each.type} of {made.reason}", capture)
            return
        source = self._files[capture.file].source
        beside = tuple(SourceRecord(source, each) for each in capture.beside)
        yield CopiedExchange(made, as_warc(SourceRecord(source, capture.answer)), beside)

    def _checked(self, capture: _Capture) -> Answer | Problem:
        date = capture.answer.fields.get("warc-date", "")
        at = seconds_of(date)
        if at is None or at > self._latest:
            return self._problem("bad-date", date, capture)
        sent = capture.request.block if capture.request is not None and capture.request.is_http else b""
        if sent and not sent.startswith((b"GET ", b"get ")):
            return self._problem("not-get", sent[:40].decode("latin-1"), capture)
        return self._outcome(capture, at)

    def _outcome(self, capture: _Capture, at: float) -> Answer | Problem:
        record, url = capture.answer, capture.url
        source = self._files[capture.file].source
        message, unread = _message(source, record, MAX_READ)
        status = message.status
        if status is None or not 100 <= status <= 999:
            return self._problem("no-status", message.first_line, capture)
        headers, body = fields_as_sent(message), message.body
        task, ip, duration = capture.task(), record.fields.get("warc-ip-address"), capture.duration
        if is_not_modified(record, status):
            if fingerprint(url) not in self._seen:
                return self._problem("no-original", url, capture)
            return NotModified(task or capture.inferred_task(url, Purpose.PAGE), headers, at, duration, ip)
        if record.type == "revisit":
            found = self._original(record)
            if found is None:
                return self._problem("no-original", url, capture)
            body, unread = found
        elif record.is_http:
            self._remember(capture)
        task = task or capture.inferred_task(url, purpose_of(url, message, body, self._is_page))
        if task.purpose is Purpose.SITEMAP and unread and record.type != "revisit":
            message, unread = _message(source, record, _MAX_SITEMAP)
            body = message.body
        target = redirect_target(headers, url) if status in _REDIRECTS else None
        if target is not None:
            return Redirected(task, status, target, headers, at, duration, ip, body)
        self._seen.add(fingerprint(url))
        fetched = Fetched(task, status, headers, body, at, duration, ip, is_cut(record), unread=unread)
        return _rendered(fetched, source, capture) if capture.document is not None else fetched

    def _remember(self, capture: _Capture) -> None:
        record = capture.answer
        digest = record.fields.get("warc-payload-digest", "")
        if digest and digest in self._referred:
            self._bodies.setdefault(digest, _Place(capture.file, record.offset, record.before, record.size))

    def _original(self, revisit: WarcRecord) -> tuple[bytes, int] | None:
        """The body that a revisit refers to, and how much of it was not read; `None` if none of the files has it."""
        place = self._bodies.get(revisit.fields.get("warc-payload-digest", ""))
        if place is None:
            return None
        record = WarcRecord({}, b"", place.offset, 0, place.size, before=place.before)
        message, unread = _message(self._files[place.file].source, record, MAX_READ)
        return message.body, unread

    def _problem(self, reason: str, detail: str, capture: _Capture) -> Problem:
        name = self._files[capture.file].name
        return Problem(reason, f"{name}: {detail}"[:300], capture.answer.offset)


def _message(source: Path | FileSlice, record: WarcRecord, most: int) -> tuple[HttpMessage, int]:
    """The message in a record, of which at most `most` bytes are read, and the number of those that are not."""
    if len(record.block) < min(record.size, most):
        parts, size = [], 0
        for piece in block_pieces(source, record):
            parts.append(piece)
            size += len(piece)
            if size >= most:
                break
        record = replace(record, block=b"".join(parts)[:most])
    return record.message(), record.size - len(record.block)


def _rendered(answer: Fetched, source: Path | FileSlice, capture: _Capture) -> Fetched:
    """An answer with its document, if a browser has opened the page."""
    rendering = rendering_in(capture.fields)
    if rendering is None or capture.document is None:
        return answer
    document, unread = _message(source, capture.document, MAX_READ)
    return replace(answer, body=document.body, rendering=replace(rendering, document=answer.body), unread=unread)
