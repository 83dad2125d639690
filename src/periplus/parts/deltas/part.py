"""Remembers which stored answers may serve as dictionaries, and offers them (`parts.deltas`)."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, Final

from msgspec import Struct, msgpack
from msgspec.structs import replace

from periplus.content import decode_body
from periplus.engine.part import Desk, Part, Setup
from periplus.engine.pipeline import Processed
from periplus.formats.compression_dictionary import read_use_as_dictionary
from periplus.formats.headers import Headers, fresh_for, read_cache_control
from periplus.model import Clock, Fetched, NotModified, OfferedDictionary, Purpose, Stored, UrlRecord

if TYPE_CHECKING:
    from periplus.engine.fetch import AddressGuard
    from periplus.engine.wire import Wire

UNSTATED: Final = 90 * 86_400.0
"""Seconds for which a version is offered whose server does not say how long it is fresh: the longest time between two
visits. RFC 9111 section 4.2.2 leaves that to caches."""
_DOCUMENT: Final = "document"
"""The destination of a request for a page, as browsers name it."""


class _Kept(Struct, frozen=True, array_like=True, gc=False):
    """A version that may be offered until some moment."""

    dictionary: OfferedDictionary
    until: float


_encode, _decode = msgpack.Encoder().encode, msgpack.Decoder(_Kept).decode


class Deltas(Part):
    """Offers stored versions to the servers that they came from."""

    @classmethod
    def wired(cls, setup: Setup, wire: Wire, guard: AddressGuard, clock: Clock) -> Wire | None:  # noqa: ARG003
        """A wire that decodes answers."""
        from .wire import DecodingWire

        return DecodingWire(wire, setup.layout.warc, setup.settings.value("reading.max_decoded_bytes"))

    @classmethod
    def made_for(cls, setup: Setup, desk: Desk) -> list[Part]:
        """One."""
        return [cls(desk, setup.settings.value("reading.max_decoded_bytes"))]

    def __init__(self, desk: Desk, max_decoded: int) -> None:
        self._records = desk.state.records
        self._max_decoded = max_decoded
        desk.frontier.selector.dictionary_for = offered

    def learn(self, processed: Sequence[Processed], now: float) -> None:
        """Remember answers that may serve as dictionaries for later versions of themselves."""
        pages = [each.answer for each in processed if _is_concerned(each)]
        records = self._records.get([answer.outcome.task.url for answer in pages]) if pages else []
        changed = []
        for answer, record in zip(pages, records, strict=True):
            if record is not None:
                kept = self._kept(answer.outcome, answer.stored, record, now)
                if kept != record.dictionary:
                    changed.append(replace(record, dictionary=kept))
        if changed:
            self._records.put(changed)

    def _kept(self, outcome: object, stored: Stored | None, record: UrlRecord, now: float) -> bytes:
        if isinstance(outcome, NotModified):
            return _confirmed(record.dictionary, Headers(outcome.headers), now)
        if not isinstance(outcome, Fetched) or stored is None or outcome.status != 200 or outcome.is_truncated:
            return record.dictionary
        headers, url = Headers(outcome.headers), outcome.task.url
        use = read_use_as_dictionary(headers.get("use-as-dictionary") or "")
        if use is None or outcome.is_rendered or not use.applies(url, url):
            return b""
        seconds = _fresh_for(headers, now)
        if seconds <= 0 or (use.destinations and _DOCUMENT not in use.destinations):
            return b""
        body, problems = decode_body(
            outcome.body, ",".join(headers.all("content-encoding")), max_size=self._max_decoded
        )
        digest = sha256(body).digest()
        if stored.is_revisit:  # the record has no body; it may be the one that is known
            known = _decode(record.dictionary).dictionary if record.dictionary else None
            if known is None or known.sha256 != digest:
                return b""
            stored = replace(stored, file=known.file, offset=known.offset)
        if problems or not body:
            return b""
        return _encode(_Kept(OfferedDictionary(stored.file, stored.offset, digest, use.id), now + seconds))


def offered(record: UrlRecord, now: float) -> OfferedDictionary | None:
    """The version of a page that is offered when it is visited: not after a failed attempt."""
    if not record.dictionary or record.failures:
        return None
    kept = _decode(record.dictionary)
    return kept.dictionary if kept.until > now else None


def _is_concerned(processed: Processed) -> bool:
    task = processed.answer.outcome.task
    return task.purpose is Purpose.PAGE and task.url.startswith("https:")


def _fresh_for(headers: Headers, now: float) -> float:
    """Seconds for which a version is fresh, or may be served although it is stale (RFC 5861)."""
    stated = fresh_for(headers, now)
    if stated is None:
        return UNSTATED
    control = read_cache_control(headers.all("cache-control"))
    if control.no_store or control.no_cache or control.must_revalidate:
        return stated
    return stated + (control.stale_while_revalidate or 0)


def _confirmed(kept: bytes, headers: Headers, now: float) -> bytes:
    """A version after an answer of 304, which may say anew how long it is fresh (RFC 9111 section 4.3.4)."""
    if not kept:
        return kept
    return _encode(replace(_decode(kept), until=now + _fresh_for(headers, now)))
