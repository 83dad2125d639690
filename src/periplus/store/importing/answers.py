"""The captures of foreign archives as the wire would have returned them, with the records to copy.

A capture is a `response`, `revisit` or `resource` record. The request and the depth are read from `request` and
`metadata` records, if they follow it directly and refer to it. The body of a revisit is read from the record with its
digest, in any of the files. Of a body, at most `MAX_READ` bytes are read; the record is copied as a whole.

What cannot be used is a `Problem`, with the reasons of the reader (`store.warc.reading`) and these:

- `not-a-url`: the record is not about an http or https URL;
- `no-status`: the block is not an answer of HTTP;
- `not-get`: the answer to a POST or another request that is not for a page;
- `bad-date`: no date, or one before 1990 or in the future;
- `no-original`: a revisit whose body is in none of the files;
- `continuation`: a later segment of a record; its first segment is imported as a truncated one;
- `other-record`: a record of another type: conversion, or unknown.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from heapq import heappop, heappush
from pathlib import Path
from typing import Final, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from periplus.model import Fetched, FetchTask, Lane, NotModified, Problem, Purpose, Redirected, Source, Url
from periplus.urls import canonical, fingerprint, site_of

from ..warc import FileSlice, WarcRecord, read_records
from ..warc.answers import (
    MAX_DURATION,
    concurrent_to,
    duration_in,
    fields_as_sent,
    fields_in,
    is_cut,
    is_not_modified,
    redirect_target,
    rendering_in,
    task_of,
    validators_in,
)
from ..warc.copying import CopiedExchange, SourceRecord, as_warc
from ..warc.http import HttpMessage
from ..warc.reading import block_pieces
from ..warc.records import DOCUMENT, UNCHANGED, Answer
from .files import ArchiveFile, FilesSurvey, seconds_of

MAX_READ: Final = 16 << 20
"""Maximum bytes of a record's block in memory. More is copied, but neither searched for links nor compared."""
_MAX_HELD: Final = 1 << 20
"""Maximum bytes of a block in memory while the record waits for its turn; of a longer one they are read again."""
_MAX_SITEMAP: Final = 65 << 20
"""Maximum bytes of a sitemap's block in memory: sitemaps.org allows bodies of 50 MB."""
_MAX_METADATA: Final = 1 << 20
"""Bytes of a metadata record in which fields are looked for."""
_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
_CAPTURES: Final = frozenset({"response", "revisit", "resource"})
_SILENT: Final = frozenset({"request", "metadata", "warcinfo"})
_MAX_OPEN: Final = 64
"""Maximum number of files that are read at the same time, because their times overlap."""
_MAX_DEPTH: Final = 100
"""Links from a seed, if an archive claims more."""
_MAX_COUNT: Final = 10_000
"""Links, redirects and attempts that one of our own metadata records may name."""
_DAY: Final = 86_400.0
_SITEMAP_ROOTS: Final = (b"<urlset", b"<sitemapindex")
_SITEMAP_HEAD: Final = 2_048
"""Bytes of a body in which the root of a sitemap is looked for."""
_IMPORTED: Final = frozenset({Purpose.PAGE, Purpose.ROBOTS, Purpose.SITEMAP, Purpose.FILE})
_LISTS: Final = frozenset({Purpose.ROBOTS, Purpose.SITEMAP})

IsPage = Callable[[str | None], bool]
"""Whether a body with this Content-Type may be a page."""


class _Capture(Struct):
    """A record, and what was read of the records beside it."""

    record: WarcRecord
    file: int
    beside: list[WarcRecord] = []
    request: WarcRecord | None = None
    document: WarcRecord | None = None
    metadata: list[dict[str, str]] = []

    @property
    def fields(self) -> dict[str, str]:
        """The fields of all metadata records, of which the first count."""
        return {name: value for each in reversed(self.metadata) for name, value in each.items()}


class _Place(NamedTuple):
    """Where the block of a record lies."""

    file: int
    offset: int
    before: int
    size: int


def foreign_answers(
    files: Sequence[ArchiveFile], known: FilesSurvey, is_page: IsPage = lambda _type: True
) -> Iterator[CopiedExchange | Problem]:
    """All captures, the earliest first; those of one file stay in its order."""
    reader = _Reader(files, known, is_page)
    for item in _in_order(files, known.begins):
        if isinstance(item, Problem):
            yield item
        else:
            yield reader.answer(item)


def _in_order(files: Sequence[ArchiveFile], begins: Sequence[float]) -> Iterator[_Capture | Problem]:
    """Merge files whose times overlap; a file is opened when its first capture is due."""
    waiting = sorted(range(len(files)), key=lambda number: (begins[number], number))
    waiting.reverse()
    heap: list[tuple[float, int, _Capture, Iterator[_Capture | Problem]]] = []
    while waiting or heap:
        while waiting and len(heap) < _MAX_OPEN and (not heap or begins[waiting[-1]] <= heap[0][0]):
            number = waiting.pop()
            yield from _push(heap, number, _captures(files[number], number))
        if heap:
            _, number, capture, rest = heappop(heap)
            yield capture
            yield from _push(heap, number, rest)


def _push(
    heap: list[tuple[float, int, _Capture, Iterator[_Capture | Problem]]],
    number: int,
    items: Iterator[_Capture | Problem],
) -> Iterator[Problem]:
    """Put the next capture of a file on the heap; return the problems before it."""
    for item in items:
        if isinstance(item, Problem):
            yield item
            continue
        at = seconds_of(item.record.fields.get("warc-date", "")) or 0.0
        heappush(heap, (at, number, item, items))
        return


def _captures(file: ArchiveFile, number: int) -> Iterator[_Capture | Problem]:
    """The captures of one file, each with the records beside it."""
    held: _Capture | None = None
    try:
        for record in _whole_records(file):
            if isinstance(record, Problem):
                yield record
            elif held is not None and _note(held, record):
                continue
            elif record.type in _CAPTURES:
                if held is not None:
                    yield held
                held = _Capture(record, number)
            elif record.type not in _SILENT:
                reason = "continuation" if record.type == "continuation" else "other-record"
                yield Problem(reason, f"{file.name}: {record.type[:40]}", record.offset)
    except OSError as error:
        yield Problem("torn", f"{file.name}: {error.strerror}")
    if held is not None:
        yield held


def _whole_records(file: ArchiveFile) -> Iterator[WarcRecord | Problem]:
    """The records of one file as far as they are whole, each with the beginning of its block, and its problems."""
    for record in read_records(file.source, max_block=_MAX_HELD):
        if isinstance(record, Problem):
            if record.reason != "cut-block":
                yield replace(record, detail=f"{file.name}: {record.detail}"[:300])
        elif record.size >= int(record.fields["content-length"]):  # of others, the next problem says so
            yield record


def _note(capture: _Capture, record: WarcRecord) -> bool:
    """Keep a record that belongs beside a capture, and return whether it does."""
    if not capture.record.id or concurrent_to(record) != capture.record.id:
        return False
    if record.type == "request":
        capture.request = capture.request or record
    elif record.type == "metadata":
        capture.metadata.append(fields_in(replace(record, block=record.block[:_MAX_METADATA])))
    elif record.type == "resource" and record.url.startswith(DOCUMENT) and capture.document is None:
        capture.document = record
    else:
        return False
    capture.beside.append(record)
    return True


class _Reader:
    """Turns captures into answers; remembers where bodies lie that revisits refer to, and which URLs had one."""

    def __init__(self, files: Sequence[ArchiveFile], known: FilesSurvey, is_page: IsPage) -> None:
        self._files = files
        self._referred = known.referred
        self._is_page = is_page
        self._bodies: dict[str, _Place] = {}
        self._seen: set[int] = set()
        self._latest = time.time() + _DAY

    def answer(self, capture: _Capture) -> CopiedExchange | Problem:
        """One capture as an answer, or the problem with it."""
        record = capture.record
        at = seconds_of(record.fields.get("warc-date", ""))
        url = canonical(record.url)
        if url is None:
            return self._problem("not-a-url", record.url, capture)
        if at is None or at > self._latest:
            return self._problem("bad-date", record.fields.get("warc-date", ""), capture)
        sent = capture.request.block if capture.request is not None and capture.request.is_http else b""
        if sent and not sent.startswith((b"GET ", b"get ")):
            return self._problem("not-get", sent[:40].decode("latin-1"), capture)
        task = _described(capture)
        made = self._outcome(capture, url, at, task)
        if isinstance(made, Problem):
            return made
        source = self._files[capture.file].source
        beside = tuple(SourceRecord(source, each) for each in capture.beside)
        return CopiedExchange(made, as_warc(SourceRecord(source, record)), beside, task is not None)

    def _outcome(self, capture: _Capture, url: Url, at: float, task: FetchTask | None) -> Answer | Problem:
        record = capture.record
        source = self._files[capture.file].source
        message, unread = _message(source, record, MAX_READ)
        status = message.status
        if status is None or not 100 <= status <= 999:
            return self._problem("no-status", message.first_line, capture)
        headers, body = fields_as_sent(message), message.body
        ip, duration = record.fields.get("warc-ip-address"), _duration(capture.fields)
        if is_not_modified(record, status):
            if fingerprint(url) not in self._seen:
                return self._problem("no-original", url, capture)
            return NotModified(task or _task(capture, url, Purpose.PAGE), headers, at, duration, ip)
        if record.type == "revisit":
            found = self._original(record)
            if found is None:
                return self._problem("no-original", url, capture)
            body, unread = found
        elif record.is_http:
            self._remember(capture)
        task = task or _task(capture, url, self._purpose(url, message, status, body))
        if task.purpose is Purpose.SITEMAP and unread and record.type != "revisit":
            message, unread = _message(source, record, _MAX_SITEMAP)
            body = message.body
        target = redirect_target(headers, url) if status in _REDIRECTS else None
        if target is not None:
            return Redirected(task, status, target, headers, at, duration, ip, body)
        self._seen.add(fingerprint(url))
        fetched = Fetched(task, status, headers, body, at, duration, ip, is_cut(record), unread=unread)
        return _rendered(fetched, source, capture) if capture.document is not None else fetched

    def _purpose(self, url: Url, message: HttpMessage, status: int, body: bytes) -> Purpose:
        """What a URL was fetched for, according to its path, the first bytes of its body, and its type."""
        if url[url.index("/", 8) :] == "/robots.txt":
            return Purpose.ROBOTS
        if status == 200 and any(root in body[:_SITEMAP_HEAD] for root in _SITEMAP_ROOTS):
            return Purpose.SITEMAP
        is_file = 200 <= status < 300 and not self._is_page(message.headers.get("content-type"))
        return Purpose.FILE if is_file else Purpose.PAGE

    def _remember(self, capture: _Capture) -> None:
        record = capture.record
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
        return Problem(reason, f"{name}: {detail}"[:300], capture.record.offset)


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


def _described(capture: _Capture) -> FetchTask | None:
    """The task, if the first metadata record is one of ours."""
    fields = capture.metadata[0] if capture.metadata else {}
    if not {"purpose", "lane", "source", "seconds"} <= fields.keys():
        return None
    request = capture.request.message() if capture.request is not None and capture.request.is_http else None
    try:
        task = task_of(capture.record, request, fields)
        is_sane = all(0 <= number <= _MAX_COUNT for number in (task.depth, task.redirects, task.attempt))
        is_sane = is_sane and 0.0 <= duration_in(fields) <= MAX_DURATION
    except ValueError:
        return None
    is_own = task.site == site_of(task.url) or task.purpose is Purpose.ROBOTS
    is_site = (named := canonical(f"http://{task.site}/")) is not None and site_of(named) == task.site
    return task if is_sane and is_own and is_site and task.purpose in _IMPORTED else None


def _rendered(answer: Fetched, source: Path | FileSlice, capture: _Capture) -> Fetched:
    """An answer with its document, if a browser has opened the page."""
    rendering = rendering_in(capture.fields)
    if rendering is None or capture.document is None:
        return answer
    document, unread = _message(source, capture.document, MAX_READ)
    return replace(answer, body=document.body, rendering=replace(rendering, document=answer.body), unread=unread)


def _task(capture: _Capture, url: Url, purpose: Purpose) -> FetchTask:
    fields, record = capture.fields, capture.record
    depth = _depth(fields.get("hopsfromseed", ""))
    request = capture.request.message() if capture.request is not None and capture.request.is_http else None
    return FetchTask(
        url=url,
        site=site_of(url),
        purpose=purpose,
        lane=Lane.FILES if purpose in _LISTS else Lane.DISCOVERY,
        lease_ends_at=0.0,
        validators=validators_in(request) if record.fields.get("warc-profile") == UNCHANGED else None,
        ip=record.fields.get("warc-ip-address"),
        source=Source.LINK if depth else Source.SEED,
        depth=depth,
    )


def _depth(hops: str) -> int:
    """Links from a seed: a number, or the path of Heritrix with a letter for each hop, of which `L` are links."""
    if hops.isdecimal() and len(hops) < 9:
        return min(int(hops), _MAX_DEPTH)
    return min(hops.count("L"), _MAX_DEPTH) if hops else 1


def _duration(fields: Mapping[str, str]) -> float:
    """Seconds that the fetch took, if that was archived."""
    try:
        duration = duration_in(fields)
    except (ValueError, OverflowError):  # of text, and of hundreds of digits
        return 0.0
    return duration if math.isfinite(duration) and 0.0 <= duration <= MAX_DURATION else 0.0
