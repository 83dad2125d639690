"""One line of CDXJ: the place of one archived capture of a URL, as pywb and the CDX indexers write it.

    org,example)/page 20260102030405 {"url": "...", "mime": "...", "status": "200", "digest": "...", "length": "...",
    "offset": "...", "filename": "..."}

(on one line). The key is `surt`, the same for every spelling of a URL; the time is UTC to the second. Values are
strings, and one that is not known is left out.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

import msgspec
from msgspec import Struct

from periplus.formats.headers import read_content_type
from periplus.urls import canonical, surt

from .reading import WarcRecord
from .records import CAPTURES, timestamp

REVISIT: Final = "warc/revisit"
_NO_KEY: Final = re.compile(r"[\x00-\x20\x7f]")
_LONGEST_CACHED_TYPE: Final = 128


class CdxLine(Struct, frozen=True):
    """One capture. `status` and `digest` (base 32, without the name of the algorithm) are empty where not known."""

    key: str
    timestamp: str
    url: str
    mime: str
    status: str
    digest: str
    length: int
    offset: int
    filename: str

    @property
    def is_revisit(self) -> bool:
        """Whether the record holds only the header section, and the payload is elsewhere."""
        return self.mime == REVISIT

    def encode(self) -> bytes:
        """The line, with its end."""
        status = f'"status": {_json(self.status)}, ' if self.status else ""
        digest = f'"digest": {_json(self.digest)}, ' if self.digest else ""
        return (
            f'{self.key} {self.timestamp} {{"url": {_json(self.url)}, "mime": {_json(self.mime)}, {status}{digest}'
            f'"length": "{self.length}", "offset": "{self.offset}", "filename": {_json(self.filename)}}}\n'
        ).encode()


class _Fields(Struct):
    url: str
    filename: str
    length: str | int
    offset: str | int
    mime: str = ""
    status: str = ""
    digest: str = ""


_DECODER: Final = msgspec.json.Decoder(_Fields, strict=False)


def read_line(line: bytes) -> CdxLine | None:
    """Parse a line of ours or of another indexer; `None` if it is not one."""
    key, _, rest = line.partition(b" ")
    at, _, values = rest.partition(b" ")
    try:
        fields = _DECODER.decode(values)
        length, offset = int(fields.length), int(fields.offset)
        return CdxLine(
            key.decode(), at.decode(), fields.url, fields.mime, fields.status, fields.digest.removeprefix("sha1:"),
            length, offset, fields.filename,
        )  # fmt: skip
    except ValueError:  # msgspec.DecodeError and UnicodeDecodeError are of this kind
        return None


def line_of(record: WarcRecord, filename: str) -> CdxLine | None:
    """The line of a record; `None` for types of records that are not listed."""
    if record.type not in CAPTURES:
        return None
    message = record.message() if record.is_http else None
    status = message.status if message else None
    content_type = message.headers.get("content-type") if message else record.fields.get("content-type")
    return CdxLine(
        key_of(record.url),
        timestamp(record.fields.get("warc-date", "")),
        record.url,
        REVISIT if record.type == "revisit" else mime_of(content_type),
        str(status) if status else "",
        record.fields.get("warc-payload-digest", "").removeprefix("sha1:"),
        record.length,
        record.offset,
        filename,
    )


def key_of(url: str) -> str:
    """The key of any URL; one that is none of the web (`metadata://...`) is its own, in lower case."""
    known = canonical(url)
    return surt(known) if known else _NO_KEY.sub("", url).lower()


def mime_of(content_type: str | None) -> str:
    """The type of a response for the index, `unk` where the server did not say."""
    if not content_type:
        return "unk"
    return _known_mime(content_type) if len(content_type) <= _LONGEST_CACHED_TYPE else _mime(content_type)


def _mime(content_type: str) -> str:
    media = read_content_type(content_type)
    return media.mime if media and media.mime else "unk"


_known_mime = lru_cache(1024)(_mime)
"""Servers name the same few types again and again."""


def _json(text: str) -> str:
    return msgspec.json.encode(text).decode()
