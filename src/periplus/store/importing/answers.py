"""The captures of foreign archives as the wire would have returned them.

A capture is a `response`, `revisit` or `resource` record. The request and the depth are read from `request` and
`metadata` records, if they follow it directly and refer to it. Chunked bodies are decoded. The body of a revisit is
read from the record with its digest, in any of the files.

What cannot be used is a `Problem`, with the reasons of the reader (`store.warc.reading`) and these:

- `not-a-url`: the record is not about an http or https URL;
- `no-status`: the block is not an answer of HTTP;
- `not-get`: the answer to a POST or another request that is not for a page;
- `bad-date`: no date, or one before 1990 or in the future;
- `no-original`: a revisit whose body is in none of the files;
- `other-record`: a record of another type: conversion, continuation, or unknown.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from heapq import heappop, heappush
from typing import Final, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from periplus.model import (
    Fetched,
    FetchTask,
    Lane,
    NotModified,
    Problem,
    Purpose,
    Redirected,
    Source,
    Url,
    Validators,
)
from periplus.urls import canonical, fingerprint, site_of

from ..warc import WarcRecord, read_records
from ..warc.answers import redirect_target
from ..warc.http import HttpMessage, read_message
from ..warc.records import UNCHANGED, Answer
from .files import ArchiveFile, Survey, seconds_of

_SIZE: Final = re.compile(rb"[ \t]*([0-9A-Fa-f]{1,15})[ \t]*(?:;[^\r\n]*)?\r\n")


def without_chunks(message: HttpMessage) -> tuple[tuple[tuple[str, str], ...], bytes]:
    """The fields and the body of a message without its chunks.

    Writers that removed the chunks often left the field: a body that is not in chunks is left as it is. Of one that
    ends inside a chunk, or is damaged there, what came before is kept.
    """
    if not any(name.lower() == "transfer-encoding" and "chunked" in value.lower() for name, value in message.fields):
        return message.fields, message.body
    return message.fields, _joined(message.body)


def _joined(body: bytes) -> bytes:
    parts: list[bytes] = []
    position = 0
    while line := _SIZE.match(body, position):
        size = int(line[1], 16)
        part = body[line.end() : line.end() + size]
        parts.append(part)
        position = line.end() + size
        if not size or len(part) < size:
            return b"".join(parts)
        if body[position : position + 2] == b"\r\n":
            position += 2
        elif body[position : position + 1] == b"\n":
            position += 1
        else:
            break
    return b"".join(parts) if len(parts) > 1 else body


_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
_CAPTURES: Final = frozenset({"response", "revisit", "resource"})
_BESIDE: Final = frozenset({"request", "metadata"})
_SILENT: Final = frozenset({"request", "metadata", "warcinfo"})
_MAX_OPEN: Final = 64
"""Maximum number of files that are read at the same time, because their times overlap."""
_MAX_DEPTH: Final = 100
"""Links from a seed, if an archive claims more."""
_MAX_PLACES: Final = 4
"""Places of a body that are remembered: where records share a gzip member, some cannot be found by their offset."""
_DAY: Final = 86_400.0
_SITEMAP_ROOTS: Final = (b"<urlset", b"<sitemapindex")
_SITEMAP_HEAD: Final = 2_048
"""Bytes of a body in which the root of a sitemap is looked for."""


class ForeignAnswer(NamedTuple):
    """An answer and the request for it, empty if it was not archived."""

    outcome: Answer
    request: bytes


class _Capture(Struct):
    """A record, and what was read of the request and metadata records beside it."""

    record: WarcRecord
    file: int
    request: WarcRecord | None = None
    fields: dict[str, str] = {}


def foreign_answers(files: Sequence[ArchiveFile], known: Survey) -> Iterator[ForeignAnswer | Problem]:
    """All captures, the earliest first; those of one file stay in its order."""
    reader = _Reader(files, known)
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
        for record in read_records(file.source):
            if isinstance(record, Problem):
                yield replace(record, detail=f"{file.name}: {record.detail}"[:300])
                continue
            if held is not None and record.type in _BESIDE and _concurrent(record) == held.record.id:
                _note(held, record)
                continue
            if record.type in _CAPTURES:
                if held is not None:
                    yield held
                held = _Capture(record, number)
            elif record.type not in _SILENT:
                yield Problem("other-record", f"{file.name}: {record.type[:40]}", record.offset)
    except OSError as error:
        yield Problem("torn", f"{file.name}: {error.strerror}")
    if held is not None:
        yield held


def _note(capture: _Capture, record: WarcRecord) -> None:
    if record.type == "request":
        capture.request = record
    else:
        lines = record.block[:_SITEMAP_HEAD].decode("utf-8", "replace").splitlines()
        pairs = (line.partition(":") for line in lines)
        capture.fields = {name.strip().lower(): value.strip() for name, colon, value in pairs if colon}


def _concurrent(record: WarcRecord) -> str:
    return record.fields.get("warc-concurrent-to", "").strip("<>").removeprefix("urn:uuid:")


class _Reader:
    """Turns captures into answers; remembers where bodies lie that revisits refer to, and which URLs had one."""

    def __init__(self, files: Sequence[ArchiveFile], known: Survey) -> None:
        self._files = files
        self._referred = known.referred
        self._bodies: dict[str, list[tuple[int, int]]] = {}
        self._seen: set[int] = set()
        self._latest = time.time() + _DAY

    def answer(self, capture: _Capture) -> ForeignAnswer | Problem:
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
        made = self._resource(capture, url, at) if record.type == "resource" else self._http(capture, url, at)
        if isinstance(made, Problem):
            return made
        return ForeignAnswer(made, sent)

    def _resource(self, capture: _Capture, url: Url, at: float) -> Answer:
        record = capture.record
        headers = (("Content-Type", record.fields.get("content-type", "application/octet-stream")),)
        return Fetched(_task(capture, url, Purpose.PAGE), 200, headers, record.block, at, 0.0)

    def _http(self, capture: _Capture, url: Url, at: float) -> Answer | Problem:
        record = capture.record
        message = read_message(record.block)
        status = message.status
        if status is None or not 100 <= status <= 999:
            return self._problem("no-status", message.first_line, capture)
        headers, body = without_chunks(message)
        ip, duration = record.fields.get("warc-ip-address"), _duration(capture.fields)
        if status == 304 or record.fields.get("warc-profile", "").endswith("server-not-modified"):
            if fingerprint(url) not in self._seen:
                return self._problem("no-original", url, capture)
            return NotModified(_task(capture, url, Purpose.PAGE), headers, at, duration, ip)
        if record.type == "revisit":
            found = self._original(record)
            if found is None:
                return self._problem("no-original", url, capture)
            body = found
        else:
            self._remember(capture)
        task = _task(capture, url, _purpose(url, status, body, capture.fields))
        target = redirect_target(headers, url) if status in _REDIRECTS else None
        if target is not None:
            return Redirected(task, status, target, headers, at, duration, ip, body)
        self._seen.add(fingerprint(url))
        return Fetched(task, status, headers, body, at, duration, ip, "warc-truncated" in record.fields)

    def _remember(self, capture: _Capture) -> None:
        digest = capture.record.fields.get("warc-payload-digest", "")
        if digest and digest in self._referred:
            places = self._bodies.setdefault(digest, [])
            if len(places) < _MAX_PLACES:
                places.append((capture.file, capture.record.offset))

    def _original(self, revisit: WarcRecord) -> bytes | None:
        """The body that a revisit refers to; `None` if none of the files has it."""
        digest = revisit.fields.get("warc-payload-digest", "")
        for file, offset in self._bodies.get(digest, ()):
            first = next(read_records(self._files[file].source, offset=offset), None)
            if isinstance(first, WarcRecord) and first.fields.get("warc-payload-digest") == digest:
                return without_chunks(first.message())[1]
        return None

    def _problem(self, reason: str, detail: str, capture: _Capture) -> Problem:
        name = self._files[capture.file].name
        return Problem(reason, f"{name}: {detail}"[:300], capture.record.offset)


def _task(capture: _Capture, url: Url, purpose: Purpose) -> FetchTask:
    fields, record = capture.fields, capture.record
    depth = _depth(fields.get("hopsfromseed", ""))
    is_file = purpose in (Purpose.ROBOTS, Purpose.SITEMAP)
    return FetchTask(
        url=url,
        site=site_of(url),
        purpose=purpose,
        lane=Lane.FILES if is_file else Lane.DISCOVERY,
        lease_ends_at=0.0,
        validators=_validators(capture.request) if record.fields.get("warc-profile") == UNCHANGED else None,
        ip=record.fields.get("warc-ip-address"),
        source=Source.LINK if depth else Source.SEED,
        depth=depth,
    )


def _depth(hops: str) -> int:
    """Links from a seed: a number, or the path of Heritrix with a letter for each hop, of which `L` are links."""
    if hops.isdecimal() and len(hops) < 9:
        return min(int(hops), _MAX_DEPTH)
    return min(hops.count("L"), _MAX_DEPTH) if hops else 1


def _purpose(url: Url, status: int, body: bytes, fields: Mapping[str, str]) -> Purpose:
    """What the URL was fetched for, according to our own metadata, else to its path and the first bytes of its body."""
    value = fields.get("purpose", "")
    if value in (Purpose.PAGE.value, Purpose.ROBOTS.value, Purpose.SITEMAP.value):
        return Purpose(value)
    if url[url.index("/", 8) :] == "/robots.txt":
        return Purpose.ROBOTS
    is_sitemap = status == 200 and any(root in body[:_SITEMAP_HEAD] for root in _SITEMAP_ROOTS)
    return Purpose.SITEMAP if is_sitemap else Purpose.PAGE


def _validators(request: WarcRecord | None) -> Validators | None:
    if request is None or not request.is_http:
        return None
    headers: HttpMessage = request.message()
    etag, modified = headers.headers.get("if-none-match"), headers.headers.get("if-modified-since")
    return Validators(etag, modified) if etag or modified else None


def _duration(fields: Mapping[str, str]) -> float:
    """Seconds that the fetch took, if that was archived."""
    text = fields.get("fetchtimems", "")
    return int(text) / 1000 if text.isdecimal() and len(text) < 9 else 0.0
