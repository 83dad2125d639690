"""Archived answers as the crawl received them: the outcome of each fetch, rebuilt from its records.

An exchange is a `response` or `revisit`, the `request` for it, and `metadata` (see `records`). From these come the
answer with its headers and body, and the task it was the answer to. Not archived, and so not rebuilt: failed and
excluded fetches (they have no answer), the time at which the crawl applied the answer (a little after it ended), the
time of the visit before, unless the answer is 304, and the lease of the task.

An exchange counts if its last record, the `metadata`, is whole. `until` is the end of an archive that a state has
committed: later records belong to work that will be done again.
"""

from __future__ import annotations

import logging
from base64 import b32decode
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Final, NamedTuple

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from periplus.model import (
    CollectionDamaged,
    Fetched,
    FetchTask,
    Lane,
    NotModified,
    Payload,
    Problem,
    Purpose,
    Redirected,
    Rendering,
    Site,
    Source,
    Stored,
    Url,
    Validators,
)
from periplus.urls import canonical, site_of

from .archive import WarcEnd, can_be_referred_to
from .http import ORIGINAL, HttpMessage, read_message
from .index import original
from .reading import WarcRecord, read_records
from .records import UNCHANGED, Answer, files_of, read_name, sha1_base32

log = logging.getLogger(__name__)

MAX_BODY: Final = 128 << 20
"""Maximum bytes of a body that are read: more than any sensible setting lets a crawl keep."""

_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})


class _Exchange(Struct):
    """The records of one fetch, as far as they have been read."""

    answer: WarcRecord
    request: HttpMessage | None = None
    document: WarcRecord | None = None


class ArchivedAnswer(NamedTuple):
    """An answer, its location, and its payload if later answers may refer to it."""

    outcome: Answer
    stored: Stored
    payload: Payload | None


def archived_answers(folder: Path, shard: int, *, until: WarcEnd | None = None) -> Iterator[ArchivedAnswer]:
    """Every answer of a shard in the order of writing. Bodies of revisits are found by `index.cdxj`.

    Damaged records are passed over, with a warning in the log.
    """
    end = read_name(until.file) if until is not None else None
    for name, path in files_of(folder, shard):
        if end is not None and name.serial > end.serial:
            return
        is_last = end is not None and until is not None and name.serial == end.serial
        yield from _answers_in(folder, path, until.length if is_last and until is not None else None)


def _answers_in(folder: Path, path: Path, length: int | None) -> Iterator[ArchivedAnswer]:
    exchange: _Exchange | None = None
    for record in read_records(path, end=length, max_block=MAX_BODY):
        if isinstance(record, Problem):
            log.warning("%s: %s at %s is passed over", path, record.reason, record.at)
        elif record.type in ("response", "revisit"):
            exchange = _Exchange(record)
        elif exchange is None or _concurrent(record) != exchange.answer.id:
            continue
        elif record.type == "request":
            exchange.request = record.message()
        elif record.type == "resource":
            exchange.document = record
        elif record.type == "metadata":
            fields = _fields_in(record)
            answer, stored = _answer(folder, exchange, fields), _stored(path, exchange.answer)
            payload = _new_payload(answer, stored, exchange.answer)
            rendering = _rendering(fields)
            if rendering is not None and isinstance(answer, Fetched):
                answer = replace(answer, rendering=rendering)
                if exchange.document is not None:
                    answer, stored = replace(answer, body=exchange.document.block), _stored(path, exchange.document)
            yield ArchivedAnswer(answer, stored, payload)
            exchange = None


def _answer(folder: Path, exchange: _Exchange, fields: Mapping[str, str]) -> Answer:
    record = exchange.answer
    message = record.message() if record.is_http else read_message(record.block)
    task, headers = _task(exchange, fields), _as_sent(message)
    started_at, duration = _seconds(record.fields.get("warc-date", "")), _duration(fields)
    ip = record.fields.get("warc-ip-address")
    if record.fields.get("warc-profile") == UNCHANGED:
        return NotModified(task, headers, started_at, duration, ip)
    status, body = message.status or 0, message.body
    is_truncated = "warc-truncated" in record.fields
    if record.type == "revisit":
        found = _payload(folder, record)
        is_truncated, body = is_truncated or found is None, found or b""
    target = redirect_target(headers, task.url) if status in _REDIRECTS else None
    if target is not None:
        return Redirected(task, status, target, headers, started_at, duration, ip, body)
    return Fetched(task, status, headers, body, started_at, duration, ip, is_truncated)


def _task(exchange: _Exchange, fields: Mapping[str, str]) -> FetchTask:
    record = exchange.answer
    url = Url(record.url)
    unchanged_since = record.fields.get("warc-refers-to-date") if _is_unchanged(record) else None
    return FetchTask(
        url=url,
        site=Site(fields["site"]) if "site" in fields else site_of(url),
        purpose=Purpose(fields.get("purpose", Purpose.PAGE)),
        lane=Lane(fields.get("lane", Lane.DISCOVERY)),
        lease_ends_at=0.0,
        validators=_validators(exchange.request),
        attempt=int(fields.get("attempt", "1")),
        ip=record.fields.get("warc-ip-address"),
        source=Source(fields.get("source", Source.LINK)),
        depth=int(fields.get("hopsfromseed", "0")),
        redirects=int(fields.get("redirects", "0")),
        visited_at=_seconds(unchanged_since) if unchanged_since else None,
    )


def _is_unchanged(record: WarcRecord) -> bool:
    return record.fields.get("warc-profile") == UNCHANGED


def _validators(request: HttpMessage | None) -> Validators | None:
    """What a conditional request sent."""
    if request is None:
        return None
    etag, modified = request.headers.get("if-none-match"), request.headers.get("if-modified-since")
    return Validators(etag, modified) if etag or modified else None


def _as_sent(message: HttpMessage) -> tuple[tuple[str, str], ...]:
    """The header fields as the server sent them: undoes what `http.response_head` changes for the record."""
    fields = list(message.fields)
    if any(name.lower() == f"{ORIGINAL}content-length".lower() for name, _ in fields):
        fields.pop()  # the true length was added at the end
    return tuple((name.removeprefix(ORIGINAL), value) for name, value in fields)


def _payload(folder: Path, revisit: WarcRecord) -> bytes | None:
    """The body that a revisit refers to; `None` if it cannot be found."""
    try:
        record = original(folder, revisit)
    except CollectionDamaged:
        record = None
    body = record.message().body if record is not None and record.is_http else None
    digest = revisit.fields.get("warc-payload-digest", "")
    return body if body is not None and f"sha1:{sha1_base32(body)}" == digest else None


def redirect_target(headers: tuple[tuple[str, str], ...], base: Url) -> Url | None:
    """The target of a redirect: `Location` as the wire reads it, octets beyond ASCII as UTF-8 where that is valid."""
    location = next((value for name, value in headers if name.lower() == "location"), "")
    if not location.isascii():
        with suppress(UnicodeError):
            location = location.encode("latin-1").decode()
    return canonical(location, base) if location else None


def _new_payload(answer: Answer, stored: Stored, record: WarcRecord) -> Payload | None:
    """The payload of a record that holds one: what `Archive.write` returned for it."""
    if stored.is_revisit or not can_be_referred_to(answer):
        return None
    return Payload(b32decode(stored.digest.removeprefix("sha1:")), answer.task.url, answer.started_at, record.id)


def _stored(path: Path, record: WarcRecord) -> Stored:
    digest = record.fields.get("warc-payload-digest", "")
    return Stored(path.name, record.offset, record.length, digest, record.type == "revisit")


def _fields_in(record: WarcRecord) -> dict[str, str]:
    """The lines of a metadata record, names in lower case."""
    lines = record.block.decode("utf-8", "replace").splitlines()
    pairs = (line.partition(":") for line in lines)
    return {name.strip().lower(): value.strip() for name, colon, value in pairs if colon}


def _rendering(fields: Mapping[str, str]) -> Rendering | None:
    """The result of opening a page in a browser, from its JSON; `None` if there is none that can be read."""
    try:
        return msgspec.json.decode(fields["rendering"], type=Rendering) if "rendering" in fields else None
    except msgspec.MsgspecError:
        return None


def _concurrent(record: WarcRecord) -> str:
    return record.fields.get("warc-concurrent-to", "").strip("<>").removeprefix("urn:uuid:")


def _duration(fields: Mapping[str, str]) -> float:
    """Seconds; from the milliseconds where an older archive has no more."""
    return float(fields["seconds"]) if "seconds" in fields else int(fields.get("fetchtimems", "0")) / 1000


def _seconds(date: str) -> float:
    """A date of WARC as POSIX seconds."""
    try:
        return datetime.fromisoformat(date).timestamp()
    except ValueError:
        return 0.0
