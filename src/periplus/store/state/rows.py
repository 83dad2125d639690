"""The format of values on disk: MessagePack arrays without names, enumerations as numbers, URLs without their site.

Most records are of URLs that were discovered and not visited yet: they have a row of their own shape, four fields long.
The codes of enumerations are positions in the tuples below: append to them, never reorder. A URL is kept relative to
the site under which it is filed: `/path` for https, `:/path` for http, the whole URL where it has a user name or
belongs to another site.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from hashlib import sha256
from itertools import islice
from typing import Any, TypeVar

import msgspec
from msgspec.structs import astuple

from periplus.model import (
    CollectionDamaged,
    Digests,
    FirstSeen,
    Granularity,
    Lane,
    Lastmod,
    Site,
    Source,
    Url,
    UrlRecord,
    Validators,
)

from .environment import MAX_KEY

SOURCES = (
    Source.SEED,
    Source.LINK,
    Source.SITEMAP,
    Source.FEED,
    Source.PING,
    Source.ARCHIVE,
    Source.FORM,
    Source.REDIRECT,
)
LANES = (Lane.DISCOVERY, Lane.SITEMAPS, Lane.REFRESH, Lane.FILES, Lane.PROBES, Lane.EMBEDDED)
SOURCE_CODES = {source: code for code, source in enumerate(SOURCES)}
LANE_CODES = {lane: bytes([code]) for code, lane in enumerate(LANES)}

encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder().decode

_FRESH = (0, 0, None, None, 0, 0, None, "", None, b"", b"", b"", b"")
"""The fields after `digests` of a URL that was never visited."""
FRESH_FIELDS = 4
"""Fields in the row of such a URL: URL, depth, source, time."""

T = TypeVar("T")


def in_chunks(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """Numbers, drawn in batches when they are needed."""
    drawn = iter(items)
    while chunk := list(islice(drawn, size)):
        yield chunk


def decode(row: bytes) -> list[Any]:
    """The fields of a row."""
    try:
        fields: list[Any] = _decode(row)
    except msgspec.DecodeError as error:
        raise damaged_row(error) from error
    return fields


def damaged_row(error: Exception) -> CollectionDamaged:
    """What to raise for a row that cannot be decoded."""
    return CollectionDamaged(f"a row of the state cannot be read: {error}", hint="run periplus repair on the folder")


def shorten(url: Url, site: Site) -> str:
    """The URL as stored, relative to its site."""
    is_secure = url[4] == "s"
    start = 8 if is_secure else 7
    end = start + len(site)
    if not url.startswith(site, start) or url[end : end + 1] != "/":
        return url
    return url[end:] if is_secure else ":" + url[end:]


def lengthen(short: str, site: Site) -> Url:
    """The URL again."""
    first = short[0]
    if first == "/":
        return Url(f"https://{site}{short}")
    return Url(f"http://{site}{short[1:]}") if first == ":" else Url(short)


def pack_record(record: UrlRecord, short: str) -> bytes:
    """The row of a record."""
    seen = record.first_seen
    lastmod, validators, digests = record.lastmod, record.validators, record.digests
    rest = (
        record.visits,
        record.changes,
        record.fetched_at,
        record.due_at,
        record.redirects,
        record.failures,
        record.status,
        record.reason,
        record.kept_at,
        record.version,
        record.evidence,
        record.blocks,
        record.gains,
    )
    if rest == _FRESH and len(seen) == 1 and lastmod is None and validators is None and digests is None:
        return encode((short, record.depth, SOURCE_CODES[seen[0].source], seen[0].at))
    return encode(
        (
            short,
            record.depth,
            [(SOURCE_CODES[first.source], first.at) for first in seen],
            None if lastmod is None else astuple(lastmod),
            None if validators is None else astuple(validators),
            None if digests is None else astuple(digests),
            *rest,
            *((record.dictionary,) if record.dictionary else ()),
        )
    )


def unpack_record(row: list[Any], url: Url) -> UrlRecord:
    """The record of a row, of this URL."""
    if len(row) == FRESH_FIELDS:
        return UrlRecord(url, (FirstSeen(SOURCES[row[2]], row[3]),), row[1])
    _, depth, seen, lastmod, validators, digests, *rest = row
    return UrlRecord(
        url,
        tuple([FirstSeen(SOURCES[code], at) for code, at in seen]),
        depth,
        None if lastmod is None else Lastmod(lastmod[0], Granularity(lastmod[1])),
        None if validators is None else Validators(*validators),
        None if digests is None else Digests(*digests),
        *rest,
    )


def is_refused(row: list[Any]) -> bool:
    """Whether the record of a row with all fields has a reason, and the URL was never visited."""
    visits, reason = row[6], row[13]
    return bool(reason and not visits)


def name_key(name: str) -> bytes:
    """A name as a key: itself, or its digest where it is longer than a key may be."""
    encoded = b"=" + name.encode()
    return encoded if len(encoded) <= MAX_KEY else b"#" + sha256(encoded).digest()
