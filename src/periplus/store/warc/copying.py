"""Records of other archives, copied into ours as they are: the same fields, digests and bytes, whatever their length.

A record that is a gzip member of its own is copied packed into a file of members. All others are packed anew, piece by
piece. A record of an ARC file has no fields of WARC: it gets some, with digests of what it holds. `as_gzip` gives a
whole file of ours as gzip, which more programs read than Zstandard.
"""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha1
from pathlib import Path
from typing import Final, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from periplus.model import Payload, Stored, Url

from .http import body_offset
from .packing import GZIP, GzipPacking, Packing
from .reading import FileSlice, WarcRecord, block_pieces, read_records
from .records import Answer, base32, can_be_referred_to, header, identifier

_PIECE: Final = 1 << 18
"""Bytes that are copied at a time."""
_END: Final = b"\r\n\r\n"


class SourceRecord(Struct, frozen=True):
    """A record and the file that it is in."""

    source: Path | FileSlice
    record: WarcRecord

    def packed(self, packing: Packing) -> Iterator[bytes]:
        """The record as it is put into a file of this packing, in pieces."""
        if self.record.is_member and packing.suffix == GZIP:
            return self._as_it_is()
        return packing.pieces(self._plain(), len(self.record.head) + self.record.size + len(_END))

    def _as_it_is(self) -> Iterator[bytes]:
        with self.source.open("rb") as file:
            file.seek(self.record.offset)
            left = self.record.length
            while left > 0 and (piece := file.read(min(left, _PIECE))):
                left -= len(piece)
                yield piece

    def _plain(self) -> Iterator[bytes]:
        yield self.record.head
        yield from block_pieces(self.source, self.record)
        yield _END


def as_gzip(path: Path, end: int, level: int) -> Iterator[tuple[WarcRecord, Iterator[bytes]]]:
    """The records of a file before `end`, and each as a gzip member, in pieces that are read before the next record."""
    packing = GzipPacking(level)
    for record in read_records(path, end=end, max_block=_PIECE):
        if isinstance(record, WarcRecord):
            yield record, SourceRecord(path, record).packed(packing)


class CopiedExchange(NamedTuple):
    """An answer, its record in another archive, and the records beside it."""

    outcome: Answer
    answer: SourceRecord
    beside: tuple[SourceRecord, ...]


def as_warc(found: SourceRecord) -> SourceRecord:
    """The same record; one of an ARC file with fields of WARC, and with digests of its block and of what is in it."""
    source, record = found.source, found.record
    if record.head:
        return found
    start = body_offset(record.block) if record.is_http else 0
    block, payload, position = sha1(usedforsecurity=False), sha1(usedforsecurity=False), 0
    for piece in block_pieces(source, record):
        block.update(piece)
        payload.update(piece[max(0, start - position) :])
        position += len(piece)
    uuid, digest = identifier(), f"sha1:{base32(payload.digest())}"
    given = record.fields
    about = (
        f"WARC-Filename: {record.url.removeprefix('filedesc://')}\r\n"
        if record.type == "warcinfo"
        else f"WARC-Target-URI: {record.url}\r\nWARC-IP-Address: {given['warc-ip-address']}\r\n"
        f"WARC-Payload-Digest: {digest}\r\n"
    )
    fields = f"WARC-Date: {given['warc-date']}\r\n{about}WARC-Block-Digest: sha1:{base32(block.digest())}\r\n"
    head = header(record.type, uuid, fields, given["content-type"], record.size)
    named = {**given, "warc-record-id": f"<urn:uuid:{uuid}>", "warc-payload-digest": digest}
    return SourceRecord(source, replace(record, fields=named, head=head, is_member=False))


def payload_of(answer: Answer, stored: Stored, record: WarcRecord) -> Payload | None:
    """The payload that later answers may refer to: one that was read whole, and that its digest is of."""
    if stored.is_revisit or not can_be_referred_to(answer) or answer.unread or not _has_uuid(record):
        return None
    digest = sha1(answer.body, usedforsecurity=False).digest()
    if stored.digest != f"sha1:{base32(digest)}":
        return None
    return Payload(digest, Url(record.url), answer.started_at, record.id)


def _has_uuid(record: WarcRecord) -> bool:
    return record.fields.get("warc-record-id", "").startswith("<urn:uuid:")


def stored_at(file: str, record: WarcRecord) -> Stored:
    """Where a record of a file is stored."""
    digest = record.fields.get("warc-payload-digest", "")
    return Stored(file, record.offset, record.length, digest, record.type == "revisit")
