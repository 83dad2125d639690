"""Archived answers as the crawl received them: the outcome of each fetch, rebuilt from its records.

An exchange is a `response`, `revisit` or `resource`, the `request` for it, and `metadata` (see `records`); one of the
records names the other in `WARC-Concurrent-To`. From these come the answer with its headers and body, and the task it
was the answer to. Not archived, and so not rebuilt: failed and excluded fetches (they have no answer), the time at
which the crawl applied the answer (a little after it ended), the time of the visit before, unless the answer is 304,
and the lease of the task.

An exchange of ours counts if its last record, the `metadata`, is whole. One that was copied from another archive names
another `warcinfo`; what its records do not say of the task is inferred, as when it was imported. `until`
is the end of an archive that a state has committed: later records belong to work that will be done again.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterator, Mapping
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
from .reading import WarcRecord, plain_id, read_records
from .records import CAPTURES, DOCUMENT, UNCHANGED, Answer, files_of, read_name, sha1_base32

log = logging.getLogger(__name__)

MAX_BODY: Final = 128 << 20
"""Maximum bytes of a body that are read: more than any sensible setting lets a crawl keep."""
MAX_DURATION: Final = 1e6
"""Maximum seconds of a fetch or a rendering; if an archive claims more, it is not believed."""
_MAX_COUNT: Final = 1 << 40
"""The requests, bytes, characters and links of a rendered page are fewer; if an archive claims more, likewise."""
_MAX_STEPS: Final = 10_000
"""Links, redirects and attempts that a metadata record of another archive may name."""
_MAX_DEPTH: Final = 100
"""Links from a seed, if another archive claims more."""
_MAX_METADATA: Final = 1 << 20
"""Bytes of a metadata record in which fields are looked for."""

_SENT_LENGTH: Final = f"{ORIGINAL}content-length".lower()
_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
_OURS: Final = frozenset({"purpose", "lane", "source", "seconds"})
"""Names in every metadata record of ours, and together in none of others."""
_IMPORTED: Final = frozenset({Purpose.PAGE, Purpose.ROBOTS, Purpose.SITEMAP, Purpose.FILE})
_LISTS: Final = frozenset({Purpose.ROBOTS, Purpose.SITEMAP})
_SITEMAP_ROOTS: Final = (b"<urlset", b"<sitemapindex")
_SITEMAP_HEAD: Final = 2_048
"""Bytes of a body in which the root of a sitemap is looked for."""

IsPage = Callable[[str | None], bool]
"""Whether a body with this Content-Type may be a page."""


class ArchivedExchange(Struct):
    """The records of one fetch, as far as they have been read: the answer, and those beside it."""

    answer: WarcRecord
    beside: list[WarcRecord] = []
    request: WarcRecord | None = None
    document: WarcRecord | None = None
    metadata: list[dict[str, str]] = []

    def note(self, record: WarcRecord) -> bool:
        """Keep a record that belongs beside the answer, and return whether it does."""
        if self.answer.id not in _concurrent_to(record) and record.id not in _concurrent_to(self.answer):
            return False
        if record.type == "request":
            self.request = self.request or record
        elif record.type == "metadata":
            self.metadata.append(fields_in(replace(record, block=record.block[:_MAX_METADATA])))
        elif record.type == "resource" and record.url.startswith(DOCUMENT) and self.document is None:
            self.document = record
        else:
            return False
        self.beside.append(record)
        return True

    @property
    def fields(self) -> dict[str, str]:
        """The fields of all metadata records, of which the first count."""
        return {name: value for each in reversed(self.metadata) for name, value in each.items()}

    @property
    def sent(self) -> HttpMessage | None:
        """The request, if it is one of HTTP."""
        return self.request.message() if self.request is not None and self.request.is_http else None

    def task(self, *, is_own: bool = False) -> FetchTask | None:
        """The task in the first metadata record, if that is one of ours; checked unless the exchange `is_own`."""
        fields = self.metadata[0] if self.metadata else {}
        if not is_own and not fields.keys() >= _OURS:
            return None
        try:
            task = _task_of(self.answer, self.sent, fields)
            if is_own:
                return task
            is_sane = 0.0 <= duration_in(fields) <= MAX_DURATION
        except ValueError:
            return None
        is_sane = is_sane and all(0 <= each <= _MAX_STEPS for each in (task.depth, task.redirects, task.attempt))
        is_of_site = task.site == site_of(task.url) or task.purpose is Purpose.ROBOTS
        is_site = (named := canonical(f"http://{task.site}/")) is not None and site_of(named) == task.site
        return task if is_sane and is_of_site and is_site and task.purpose in _IMPORTED else None

    def inferred_task(self, url: Url, purpose: Purpose) -> FetchTask:
        """The task, as far as the records of another archive show it."""
        depth = _depth(self.fields.get("hopsfromseed", ""))
        return FetchTask(
            url=url,
            site=site_of(url),
            purpose=purpose,
            lane=Lane.FILES if purpose in _LISTS else Lane.DISCOVERY,
            lease_ends_at=0.0,
            validators=_validators_in(self.sent) if _is_unchanged(self.answer) else None,
            ip=self.answer.fields.get("warc-ip-address"),
            source=Source.LINK if depth else Source.SEED,
            depth=depth,
        )

    @property
    def duration(self) -> float:
        """Seconds that the fetch took, if that was archived."""
        try:
            duration = duration_in(self.fields)
        except (ValueError, OverflowError):  # of text, and of hundreds of digits
            return 0.0
        return duration if math.isfinite(duration) and 0.0 <= duration <= MAX_DURATION else 0.0


class ArchivedAnswer(NamedTuple):
    """An answer, its location, and its payload if later answers may refer to it."""

    outcome: Answer
    stored: Stored
    payload: Payload | None


def archived_answers(
    folder: Path, shard: int, *, until: WarcEnd | None = None, is_page: IsPage = lambda _type: True
) -> Iterator[ArchivedAnswer]:
    """Every answer of a shard in the order of writing. Bodies of revisits are found by `index.cdxj`.

    `is_page` tells pages from files in exchanges that were copied. Damaged records are passed over, with a warning in
    the log.
    """
    end = read_name(until.file) if until is not None else None
    for name, path in files_of(folder, shard):
        if end is not None and name.serial > end.serial:
            return
        is_last = end is not None and until is not None and name.serial == end.serial
        yield from _answers_in(folder, path, until.length if is_last and until is not None else None, is_page)


def _answers_in(folder: Path, path: Path, length: int | None, is_page: IsPage) -> Iterator[ArchivedAnswer]:
    exchange: ArchivedExchange | None = None
    warcinfo = ""
    for number, record in enumerate(read_records(path, end=length, max_block=MAX_BODY)):
        if isinstance(record, Problem):
            log.warning("%s: %s at %s is passed over", path, record.reason, record.at)
        elif not number and record.type == "warcinfo":
            warcinfo = record.fields.get("warc-record-id", "")
        elif exchange is not None and exchange.note(record):
            continue
        elif record.type in CAPTURES:
            yield from _answer(folder, path.name, exchange, warcinfo, is_page)
            exchange = ArchivedExchange(record)
    yield from _answer(folder, path.name, exchange, warcinfo, is_page)


def _answer(
    folder: Path, file: str, exchange: ArchivedExchange | None, warcinfo: str, is_page: IsPage
) -> Iterator[ArchivedAnswer]:
    """The answer of an exchange, if there is one; of ours only if it is whole."""
    if exchange is None:
        return
    record = exchange.answer
    is_own = not is_copied(record, warcinfo)
    url = canonical(record.url)
    if not exchange.metadata if is_own else url is None:
        return
    answer, stored = _outcome(folder, exchange, url or Url(record.url), is_page, is_own=is_own), stored_at(file, record)
    payload = payload_of(answer, stored, record)
    rendering = rendering_in(exchange.fields)
    if rendering is not None and isinstance(answer, Fetched):
        answer = replace(answer, rendering=rendering)
        if exchange.document is not None:
            answer, stored = replace(answer, body=exchange.document.block), stored_at(file, exchange.document)
    yield ArchivedAnswer(answer, stored, payload)


def _outcome(folder: Path, exchange: ArchivedExchange, url: Url, is_page: IsPage, *, is_own: bool) -> Answer:
    record = exchange.answer
    message = record.message()
    headers, ip = fields_as_sent(message), record.fields.get("warc-ip-address")
    started_at, duration = _seconds(record.fields.get("warc-date", "")), exchange.duration
    status, body, unread = message.status or 0, message.body, record.size - len(record.block)
    task = exchange.task(is_own=is_own)
    if is_not_modified(record, status):
        return NotModified(task or exchange.inferred_task(url, Purpose.PAGE), headers, started_at, duration, ip)
    is_truncated = is_cut(record)
    if record.type == "revisit":
        found = _payload(folder, record)
        is_truncated, (body, unread) = is_truncated or found is None, found or (b"", 0)
    task = task or exchange.inferred_task(url, purpose_of(url, message, body, is_page))
    target = redirect_target(headers, task.url) if status in _REDIRECTS else None
    if target is not None:
        return Redirected(task, status, target, headers, started_at, duration, ip, body)
    return Fetched(task, status, headers, body, started_at, duration, ip, is_truncated, unread=unread)


def is_copied(record: WarcRecord, warcinfo: str) -> bool:
    """Whether a record comes from another archive: it does not name the `warcinfo` that its file begins with."""
    return bool(warcinfo) and record.fields.get("warc-warcinfo-id") != warcinfo


def purpose_of(url: Url, message: HttpMessage, body: bytes, is_page: IsPage) -> Purpose:
    """What a URL was fetched for, according to its path, the first bytes of its body, and its type."""
    status = message.status or 0
    if url[url.index("/", 8) :] == "/robots.txt":
        return Purpose.ROBOTS
    if status == 200 and any(root in body[:_SITEMAP_HEAD] for root in _SITEMAP_ROOTS):
        return Purpose.SITEMAP
    is_file = 200 <= status < 300 and not is_page(message.headers.get("content-type"))
    return Purpose.FILE if is_file else Purpose.PAGE


def is_not_modified(record: WarcRecord, status: int) -> bool:
    """Whether the answer was 304. Only some writers make a revisit of it."""
    return status == 304 or record.fields.get("warc-profile", "").endswith("server-not-modified")


def is_cut(record: WarcRecord) -> bool:
    """Whether a record holds only a part of the answer: it was truncated, or is the first of several segments."""
    return "warc-truncated" in record.fields or "warc-segment-number" in record.fields


def _task_of(record: WarcRecord, request: HttpMessage | None, fields: Mapping[str, str]) -> FetchTask:
    """The task of an archived answer. Raises `ValueError` if `fields` are not those of our metadata records."""
    url = canonical(record.url) or Url(record.url)
    unchanged_since = record.fields.get("warc-refers-to-date") if _is_unchanged(record) else None
    return FetchTask(
        url=url,
        site=Site(fields["site"]) if "site" in fields else site_of(url),
        purpose=Purpose(fields.get("purpose", Purpose.PAGE)),
        lane=Lane(fields.get("lane", Lane.DISCOVERY)),
        lease_ends_at=0.0,
        validators=_validators_in(request),
        attempt=int(fields.get("attempt", "1")),
        ip=record.fields.get("warc-ip-address"),
        source=Source(fields.get("source", Source.LINK)),
        depth=int(fields.get("hopsfromseed", "0")),
        redirects=int(fields.get("redirects", "0")),
        visited_at=_seconds(unchanged_since) if unchanged_since else None,
    )


def _is_unchanged(record: WarcRecord) -> bool:
    return record.fields.get("warc-profile") == UNCHANGED


def _validators_in(request: HttpMessage | None) -> Validators | None:
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


def _concurrent_to(record: WarcRecord) -> tuple[str, ...]:
    """The identifiers of the records that this one belongs to."""
    return tuple(filter(None, map(plain_id, record.values("warc-concurrent-to"))))


def _depth(hops: str) -> int:
    """Links from a seed: a number, or the path of Heritrix with a letter for each hop, of which `L` are links."""
    if hops.isdecimal() and len(hops) < 9:
        return min(int(hops), _MAX_DEPTH)
    return min(hops.count("L"), _MAX_DEPTH) if hops else 1


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
