"""Reading WARC files, our own and those of others, and ARC: streaming from end to end, or one record at its offset.

Files may be compressed with gzip or Zstandard, record by record or as a whole, or not at all.

Memory is bounded by `max_block` whatever the file says. A reader never raises for what is in a file: records come out
as far as they can be read, and beside them `Problem`s, whose `at` is an offset in the file:

- `torn`: the file ends inside a record, as after a crash; nothing follows;
- `damaged`: the gzip data are broken; skipped to what looks like the next member;
- `not-a-record`: something else where a record should begin; skipped to the next member, or record within a mebibyte;
- `bad-length`: a Content-Length that is none, skipped likewise, or more than the member has: the record is before it;
- `cut-block`: a block longer than `max_block`; the record before holds its beginning;
- `shared-member`: several records in one gzip member; they are read, but cannot be found by their offset;
- `more-problems`: more than `MAX_PROBLEMS` of them; nothing more is read.

A record is one line, `URL IP-address Archive-date Content-type Archive-length`, and its block; in version 2 there are
five more words before the length. The first record, whose URL is `filedesc://...`, describes the file. The values of
the line are returned as the fields that WARC has for them. Some writers left spaces in URLs and parameters in content
types.
"""

from __future__ import annotations

import io
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Final, cast

from msgspec import Struct

from periplus.model import CollectionDamaged, Problem, Stored

from .http import MAX_HEAD, HttpMessage, read_message
from .members import Members


class FileSlice(Struct, frozen=True):
    """`length` bytes of the file `path` from `start` on; offsets in it count from there."""

    path: Path
    start: int
    length: int
    name: str
    """What the part is called."""

    def open(self, mode: str = "rb") -> BinaryIO:
        """The part, to be read; `mode` is there because paths have it."""
        if mode != "rb":
            raise ValueError(f"a part of a file can only be read, not opened with {mode!r}")
        return cast("BinaryIO", io.BufferedReader(_Part(self), 1 << 16))


class _Part(io.RawIOBase):
    def __init__(self, part: FileSlice) -> None:
        self._file = part.path.open("rb", buffering=0)
        self._start, self._length, self._at = part.start, part.length, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview, /) -> int:  # type: ignore[override]
        size = min(len(buffer), self._length - self._at)
        if size <= 0:
            return 0
        self._file.seek(self._start + self._at)
        read = self._file.readinto(memoryview(buffer)[:size]) or 0
        self._at += read
        return read

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._length}[whence]
        self._at = max(0, base + offset)
        return self._at

    def close(self) -> None:
        self._file.close()
        super().close()


LONGEST_LINE: Final = 1 << 16

_URL: Final = re.compile(r"[a-z][a-z0-9+.-]{1,31}:[^\r\n]*", re.ASCII | re.IGNORECASE)
_DATE: Final = re.compile(r"\d{14,20}", re.ASCII)


def read_arc_line(line: bytes) -> dict[str, str] | None:
    """The fields of a record that begins with this line; `None` where it is not a line of ARC."""
    words = line.decode("latin-1").rstrip().split(" ")
    place = next((place for place in range(len(words) - 2, 1, -1) if _DATE.fullmatch(words[place])), None)
    url = " ".join(words[: place - 1]) if place else ""
    if place is None or len(words) < place + 3 or not _URL.fullmatch(url):
        return None
    date, kind = words[place], _kind(url)
    return {
        "warc-type": kind,
        "warc-target-uri": url,
        "warc-ip-address": words[place - 1],
        "warc-date": f"{date[:4]}-{date[4:6]}-{date[6:8]}T{date[8:10]}:{date[10:12]}:{date[12:14]}Z",
        "content-type": "application/http; msgtype=response" if kind == "response" else words[place + 1].rstrip(";"),
        "content-length": words[-1],
    }


def _kind(url: str) -> str:
    if url.startswith("filedesc:"):
        return "warcinfo"
    return "response" if url.startswith("http") else "resource"


MAX_BLOCK: Final = (64 << 20) + MAX_HEAD
"""Bytes of a record's block that are read by default: the head, and a file as long as crawls keep by default."""

MAX_PROBLEMS: Final = 1000
"""Problems of one file after which it is given up: it is something else."""

_HINT: Final = "put back a whole copy of the file, or of the collection"
_MAX_HEADER: Final = 1 << 20
_LONGEST_GAP: Final = 1 << 20
_DIGITS: Final = re.compile(r"\d{1,18}", re.ASCII)


def plain_id(written: str) -> str:
    """The identifier of a record, without brackets and `urn:uuid:`."""
    return written.strip("<>").removeprefix("urn:uuid:")


class WarcRecord(Struct, frozen=True):
    """One record: its fields, names in lower case, its block, and where it lies.

    `offset` and `length` are those of its gzip member, or of the record itself in a file without compression. `block`
    may be only the beginning of the `size` bytes that are there. `head` has its fields as written; it is empty in an
    ARC file. `before` counts the unpacked bytes before it in its member; `is_member`: it is a gzip member of its own.
    """

    fields: dict[str, str]
    block: bytes
    offset: int
    length: int
    size: int = 0
    head: bytes = b""
    before: int = 0
    is_member: bool = False

    @property
    def type(self) -> str:
        """`response`, `request`, ...; empty if it is not stated."""
        return self.fields.get("warc-type", "")

    @property
    def url(self) -> str:
        """The target URL. Some writers put it in angle brackets, or leave spaces in it."""
        return self.fields.get("warc-target-uri", "").strip("<>").replace(" ", "%20")

    @property
    def id(self) -> str:
        """Its identifier, without brackets and `urn:uuid:`."""
        return plain_id(self.fields.get("warc-record-id", ""))

    def values(self, name: str) -> tuple[str, ...]:
        """All values of a field that may be repeated; `name` is in lower case."""
        lines = self.head.decode("utf-8", "replace").splitlines() if name in self.fields else []
        pairs = (line.partition(":") for line in lines)
        return tuple(value.strip() for each, _, value in pairs if each.strip().lower() == name)

    @property
    def protocols(self) -> tuple[str, ...]:
        """What the content came over, from higher to lower protocols: `h2`, `tls/1.3`."""
        return self.values("warc-protocol")

    @property
    def cipher_suite(self) -> str:
        """The cipher suite of TLS, by its name at IANA; empty if it is not stated."""
        return self.fields.get("warc-cipher-suite", "")

    @property
    def is_http(self) -> bool:
        """Whether the block is an HTTP message."""
        return self.fields.get("content-type", "").startswith("application/http") and bool(self.block)

    def message(self) -> HttpMessage:
        """The block as an HTTP message; that of a `resource` is only the body of one."""
        if self.type == "resource" and not self.is_http:
            names = ("Content-Type", "X-Robots-Tag", "Link")
            fields = tuple((name, self.fields[name.lower()]) for name in names if name.lower() in self.fields)
            return HttpMessage("HTTP/1.1 200 OK", fields, self.block)
        return read_message(self.block)


def read_records(
    path: Path | FileSlice, *, offset: int = 0, end: int | None = None, max_block: int = MAX_BLOCK
) -> Iterator[WarcRecord | Problem]:
    """The records that begin at `offset` or later and before `end`, in order, and what is wrong between them."""
    problems = 0
    for record in _read(path, offset, end, max_block):
        yield record
        problems += isinstance(record, Problem)
        if problems >= MAX_PROBLEMS:
            yield Problem("more-problems", f"{problems} so far")
            return


def read_heads(path: Path | FileSlice, *, size: int) -> Iterator[WarcRecord]:
    """All records that can be read, each with the first `size` bytes of its block; what is wrong is passed over."""
    problems = 0
    for record in _read(path, 0, None, size):
        if isinstance(record, WarcRecord):
            yield record
        elif record.reason != "cut-block":
            problems += 1
            if problems >= MAX_PROBLEMS:
                return


def read_record(folder: Path, stored: Stored, *, max_block: int = MAX_BLOCK) -> WarcRecord:
    """The record that was written there. What we stored and cannot find again is damage to the collection."""
    path = folder / stored.file
    if "/" in stored.file:  # tables and logs may come from somebody else
        raise CollectionDamaged(f"{stored.file!r} is not the name of a file in {folder}", hint=_HINT)
    try:
        first = next(read_records(path, offset=stored.offset, max_block=max_block), None)
    except OSError as error:
        raise CollectionDamaged(f"{path} cannot be read: {error.strerror}", hint=_HINT) from error
    if not isinstance(first, WarcRecord):
        reason = first.reason if first else "it ends there"
        raise CollectionDamaged(f"{path} holds no record at {stored.offset}: {reason}", hint=_HINT)
    return first


def block_pieces(path: Path | FileSlice, record: WarcRecord) -> Iterator[bytes]:
    """The whole block of a record that was read from this file, in small pieces."""
    if len(record.block) == record.size:
        yield record.block
        return
    with path.open("rb") as file:
        members = Members(file, record.offset)
        members.skip(record.before)
        _skip_blank(members)
        _read_header(members)
        yield from members.pieces(record.size)


def _read(path: Path | FileSlice, offset: int, end: int | None, max_block: int) -> Iterator[WarcRecord | Problem]:
    with path.open("rb") as file:
        members = Members(file, offset)
        has_more = True
        while has_more and (end is None or members.start < end):
            yield from _records_of(members, max_block)
            members.finish()
            if members.problem:
                yield members.problem
            has_more = members.next_member()


def _records_of(members: Members, max_block: int) -> Iterator[WarcRecord | Problem]:
    """The records of one member; of all the file where it is not compressed."""
    has_more, count = _skip_blank(members), 0
    while has_more:
        start = members.start if members.is_packed else members.position
        if members.is_packed and count == 1:
            yield Problem("shared-member", "several records in one member", start)
        before = members.passed if members.is_packed else 0
        header = _read_header(members)
        if isinstance(header, Problem):
            yield header
            has_more = _resume(members)
            continue
        fields, head = header
        size = int(fields["content-length"])
        block = members.read(min(size, max_block))
        if len(block) < min(size, max_block):
            block += b"".join(members.pieces(min(size, max_block) - len(block)))
        passed = members.skip(size - len(block)) if len(block) == max_block else 0
        has_more = _skip_blank(members)
        stray = _stray(members, start) if has_more and members.is_packed else None
        if members.problem or (len(block) + passed < size and not members.is_packed):
            members.problem = members.problem or Problem("torn", "the file ends inside a block", members.position)
            return
        found = len(block) + passed
        is_member = members.is_gzip and not count and not has_more
        yield WarcRecord(fields, block, start, members.position - start, found, head, before, is_member)
        if found < size:
            yield Problem("bad-length", f"{size} bytes were announced", start)
        elif passed:
            yield Problem("cut-block", f"{size} bytes were announced", start)
        if stray:
            yield stray
            return
        count += 1


def _stray(members: Members, at: int) -> Problem | None:
    """What follows a record in its member, if that is no record: then all of the member is unpacked.

    Only its checksum can tell whether the record was damaged, or written so.
    """
    if members.peek(5) == b"WARC/" or _arc_fields(members):
        return None
    stray = Problem("not-a-record", repr(members.peek(40)), at)
    members.finish()
    return stray


def _read_header(members: Members) -> tuple[dict[str, str], bytes] | Problem:
    """The fields of the record that begins here, parsed and as written."""
    at = members.start if members.is_packed else members.position
    header = _warc_header(members) if members.peek(5) == b"WARC/" else _arc_header(members)
    if header is None:
        return Problem("not-a-record", repr(members.peek(40)), at)
    length = header[0].get("content-length", "")
    return header if _DIGITS.fullmatch(length) else Problem("bad-length", length[:40], at)


def _warc_header(members: Members) -> tuple[dict[str, str], bytes] | None:
    """Lines up to an empty one, which end in CRLF or, in some archives, in a bare LF."""
    end = members.index(b"\r\n\r\n", _MAX_HEADER)
    loose = members.peek(end).find(b"\n\n") if end >= 0 else members.index(b"\n\n", _MAX_HEADER)
    if end < 0 and loose < 0:
        return None
    head = members.read(end + 4 if loose < 0 else loose + 2)
    return _fields(head.decode("utf-8", "replace")), head


def _arc_header(members: Members) -> tuple[dict[str, str], bytes] | None:
    fields = _arc_fields(members)
    if fields is None:
        return None
    members.read(members.index(b"\n", LONGEST_LINE) + 1)
    return fields, b""


def _arc_fields(members: Members) -> dict[str, str] | None:
    """The fields of the line of ARC that comes next, if it is one."""
    end = members.index(b"\n", LONGEST_LINE)
    return read_arc_line(members.peek(end)) if end >= 0 else None


def _fields(text: str) -> dict[str, str]:
    """The first value of each name; a line that begins with white space goes on with the one before."""
    fields: dict[str, str] = {}
    last = ""
    for line in text.split("\n")[1:]:
        if line[:1] in (" ", "\t"):
            fields[last] = f"{fields.get(last, '')} {line.strip()}".strip()
            continue
        name, colon, value = line.partition(":")
        if colon:
            last = name.strip().lower()
            fields.setdefault(last, value.strip())
    return fields


def _skip_blank(members: Members) -> bool:
    """Pass over the line breaks between records, and say whether anything follows in this member."""
    while (ahead := members.peek(4)) and ahead[:1] in b"\r\n":
        members.read(len(ahead) - len(ahead.lstrip(b"\r\n")))
    return bool(ahead)


def _resume(members: Members) -> bool:
    """After something that is not a record: go on to the next in an uncompressed file; end this member otherwise."""
    if members.is_packed:
        return False
    gaps = [members.index(marker, _LONGEST_GAP) for marker in (b"\nWARC/", b"\nhttp")]
    gap = min((gap for gap in gaps if gap >= 0), default=-1)
    members.read(gap + 1)
    return gap >= 0
