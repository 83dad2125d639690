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
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
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

from .copying import payload_of, stored_at
from .end import WarcEnd
from .http import ORIGINAL, HttpMessage
from .index import original
from .reading import WarcRecord, read_records
from .records import UNCHANGED, Answer, files_of, read_name, sha1_base32

log = logging.getLogger(__name__)

MAX_BODY: Final = 128 << 20
"""Maximum bytes of a body that are read: more than any sensible setting lets a crawl keep."""
MAX_DURATION: Final = 1e6
"""Maximum seconds of a fetch or a rendering; if an archive claims more, it is not believed."""
_MAX_COUNT: Final = 1 << 40
"""The requests, bytes, characters and links of a rendered page are fewer; if an archive claims more, likewise."""

_SENT_LENGTH: Final = f"{ORIGINAL}content-length".lower()
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
        elif exchange is None or concurrent_to(record) != exchange.answer.id:
            exchange = _Exchange(record) if record.type == "resource" else exchange
        elif record.type == "request":
            exchange.request = record.message()
        elif record.type == "resource":
            exchange.document = record
        elif record.type == "metadata":
            fields = fields_in(record)
            answer, stored = _answer(folder, exchange, fields), stored_at(path.name, exchange.answer)
            payload = payload_of(answer, stored, exchange.answer)
            rendering = rendering_in(fields)
            if rendering is not None and isinstance(answer, Fetched):
                answer = replace(answer, rendering=rendering)
                if exchange.document is not None:
                    answer, stored = (
                        replace(answer, body=exchange.document.block),
                        stored_at(path.name, exchange.document),
                    )
            yield ArchivedAnswer(answer, stored, payload)
            exchange = None


def _answer(folder: Path, exchange: _Exchange, fields: Mapping[str, str]) -> Answer:
    record = exchange.answer
    message = record.message()
    task, headers = task_of(record, exchange.request, fields), fields_as_sent(message)
    started_at, duration = _seconds(record.fields.get("warc-date", "")), duration_in(fields)
    ip = record.fields.get("warc-ip-address")
    status, body, unread = message.status or 0, message.body, record.size - len(record.block)
    if is_not_modified(record, status):
        return NotModified(task, headers, started_at, duration, ip)
    is_truncated = is_cut(record)
    if record.type == "revisit":
        found = _payload(folder, record)
        is_truncated, (body, unread) = is_truncated or found is None, found or (b"", 0)
    target = redirect_target(headers, task.url) if status in _REDIRECTS else None
    if target is not None:
        return Redirected(task, status, target, headers, started_at, duration, ip, body)
    return Fetched(task, status, headers, body, started_at, duration, ip, is_truncated, unread=unread)


def is_not_modified(record: WarcRecord, status: int) -> bool:
    """Whether the answer was 304. Only some writers make a revisit of it."""
    return status == 304 or record.fields.get("warc-profile", "").endswith("server-not-modified")


def is_cut(record: WarcRecord) -> bool:
    """Whether a record holds only a part of the answer: it was truncated, or is the first of several segments."""
    return "warc-truncated" in record.fields or "warc-segment-number" in record.fields


def task_of(record: WarcRecord, request: HttpMessage | None, fields: Mapping[str, str]) -> FetchTask:
    """The task of an archived answer. Raises `ValueError` if `fields` are not those of our metadata records."""
    url = canonical(record.url) or Url(record.url)
    unchanged_since = record.fields.get("warc-refers-to-date") if _is_unchanged(record) else None
    return FetchTask(
        url=url,
        site=Site(fields["site"]) if "site" in fields else site_of(url),
        purpose=Purpose(fields.get("purpose", Purpose.PAGE)),
        lane=Lane(fields.get("lane", Lane.DISCOVERY)),
        lease_ends_at=0.0,
        validators=validators_in(request),
        attempt=int(fields.get("attempt", "1")),
        ip=record.fields.get("warc-ip-address"),
        source=Source(fields.get("source", Source.LINK)),
        depth=int(fields.get("hopsfromseed", "0")),
        redirects=int(fields.get("redirects", "0")),
        visited_at=_seconds(unchanged_since) if unchanged_since else None,
    )


def _is_unchanged(record: WarcRecord) -> bool:
    return record.fields.get("warc-profile") == UNCHANGED


def validators_in(request: HttpMessage | None) -> Validators | None:
    """What a conditional request sent."""
    if request is None:
        return None
    etag, modified = request.headers.get("if-none-match"), request.headers.get("if-modified-since")
    return Validators(etag, modified) if etag or modified else None


def fields_as_sent(message: HttpMessage) -> tuple[tuple[str, str], ...]:
    """The header fields as the server sent them: undoes what `http.response_head` changes for the record."""
    fields = list(message.fields)
    if any(name.lower() == _SENT_LENGTH for name, _ in fields) and fields[-1][0] == "Content-Length":
        fields.pop()  # the true length was added at the end
    return tuple((name.removeprefix(ORIGINAL), value) for name, value in fields)


def _payload(folder: Path, revisit: WarcRecord) -> tuple[bytes, int] | None:
    """The body that a revisit refers to, and how much of it was not read; `None` if it cannot be found."""
    try:
        record = original(folder, revisit)
    except CollectionDamaged:
        record = None
    if record is None or not record.is_http:
        return None
    body, digest = record.message().body, revisit.fields.get("warc-payload-digest", "")
    is_same = digest in (record.fields.get("warc-payload-digest"), f"sha1:{sha1_base32(body)}")
    return (body, record.size - len(record.block)) if is_same else None


def redirect_target(headers: tuple[tuple[str, str], ...], base: Url) -> Url | None:
    """The target of a redirect: `Location` as the wire reads it, octets beyond ASCII as UTF-8 where that is valid."""
    location = next((value for name, value in headers if name.lower() == "location"), "")
    if not location.isascii():
        with suppress(UnicodeError):
            location = location.encode("latin-1").decode()
    return canonical(location, base) if location else None


def fields_in(record: WarcRecord) -> dict[str, str]:
    """The lines of a metadata record, names in lower case."""
    lines = record.block.decode("utf-8", "replace").splitlines()
    pairs = (line.partition(":") for line in lines)
    return {name.strip().lower(): value.strip() for name, colon, value in pairs if colon}


def rendering_in(fields: Mapping[str, str]) -> Rendering | None:
    """The result of opening a page in a browser, from its JSON; `None` if there is none that can be believed.

    Others may have written it: an imported archive is copied with its metadata.
    """
    if "rendering" not in fields:
        return None
    try:
        found = msgspec.json.decode(fields["rendering"], type=Rendering)
    except (msgspec.MsgspecError, RecursionError):
        return None
    counts = (found.requests, found.same_site, found.received, found.plain_characters, found.plain_links)
    if not all(0 <= count < _MAX_COUNT for count in counts) or not 0.0 <= found.seconds <= MAX_DURATION:
        return None
    target = canonical(found.target) if found.target is not None else None
    return replace(found, target=target, document=b"", responses=())


def concurrent_to(record: WarcRecord) -> str:
    """The identifier of the record that this one belongs to; empty if it names none."""
    return record.fields.get("warc-concurrent-to", "").strip("<>").removeprefix("urn:uuid:")


def duration_in(fields: Mapping[str, str]) -> float:
    """Seconds; from the milliseconds where an older archive has no more."""
    return float(fields["seconds"]) if "seconds" in fields else int(fields.get("fetchtimems", "0")) / 1000


def _seconds(date: str) -> float:
    """A date of WARC as POSIX seconds."""
    try:
        moment = datetime.fromisoformat(date)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except ValueError:
        return 0.0
