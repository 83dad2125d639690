"""gzip members (RFC 1952): how a record is packed, and how a file of members is unpacked again in bounded memory.

A WARC file is a row of gzip members, one a record, so that any record can be read from its offset alone (WARC 1.1,
annex D). Most bodies of the web arrive compressed already: to deflate them once more costs ten times as much as to
write them, and gains nothing. Records with such bodies, and the small records beside every answer, are put into stored
blocks (RFC 1951 section 3.2.4) as they are. Every gunzip reads that.

Zeros between members or behind the last are passed over, as gunzip does: tapes and some file systems leave them.
Where bytes are damaged, what looks like the beginning of another member is looked for. Files of Zstandard frames are
read in the same way; see `frames`. There, a record may have several frames, and frames of other kinds may be between.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from struct import Struct as Layout
from typing import BinaryIO, Final, Protocol, cast

from isal import isal_zlib

from periplus.model import Problem

from . import frames

MAGIC: Final = b"\x1f\x8b"

_HEADER: Final = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"
_GZIP: Final = 31
_LONGEST_STORED: Final = 0xFFFF
_BLOCK: Final = Layout("<BHH")
_TRAILER: Final = Layout("<II")
_PIECE: Final = 1 << 16
_ERRORS: Final = (cast("type[Exception]", isal_zlib.error), frames.ERROR)
_BEGINNING: Final = re.compile(rb"\x1f\x8b\x08[\x00-\x1f]")
_FRAME: Final = re.compile(re.escape(frames.MAGIC))
_LONGEST_BEGINNING: Final = 4
_RECORD: Final = b"WARC/"


class _Stream(Protocol):
    """What unpacks one member, as zlib's objects do."""

    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    @property
    def unconsumed_tail(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int, /) -> bytes: ...


def deflated(data: bytes, level: int) -> bytes:
    """One member, all of it compressed. Levels are those of isal: 0 (fast) to 3."""
    return isal_zlib.compress(data, level, _GZIP)


def deflated_pieces(pieces: Iterable[bytes], level: int) -> Iterator[bytes]:
    """One member of any length, compressed piece by piece."""
    stream = isal_zlib.compressobj(level, isal_zlib.DEFLATED, _GZIP)
    for piece in pieces:
        if packed := stream.compress(piece):
            yield packed
    yield stream.flush()


def stored(data: bytes) -> bytes:
    """One member, nothing of it compressed."""
    size = len(data)
    trailer = _TRAILER.pack(isal_zlib.crc32(data), size & 0xFFFFFFFF)
    if size <= _LONGEST_STORED:
        return b"".join((_HEADER, _BLOCK.pack(1, size, size ^ 0xFFFF), data, trailer))
    parts = [_HEADER]
    for start in range(0, size, _LONGEST_STORED):
        part = data[start : start + _LONGEST_STORED]
        is_last = start + _LONGEST_STORED >= size
        parts += (_BLOCK.pack(is_last, len(part), len(part) ^ 0xFFFF), part)
    parts.append(trailer)
    return b"".join(parts)


class Members:
    """The bytes of a file, member by member; a file that is not compressed is one member.

    An error in the compression ends the member and is reported in `problem`: `torn` where the file ends inside a
    member, `damaged` where the bytes are not valid gzip. At most one piece beyond what was read is held decompressed.
    """

    def __init__(self, file: BinaryIO, offset: int = 0) -> None:
        self._file = file
        self._open: Callable[[], _Stream] | None = None
        self._beginning = _BEGINNING
        file.seek(offset)
        beginning = file.read(4)
        if beginning.startswith(MAGIC):
            self._open = lambda: isal_zlib.decompressobj(_GZIP)
        elif frames.is_frame(beginning):
            decompressor = frames.decompressor_of(file)
            self._open, self._beginning = (lambda: frames.Frame(decompressor)), _FRAME
        self.is_packed = self._open is not None
        self.is_gzip = beginning.startswith(MAGIC)
        self.problem: Problem | None = None
        self._begin(offset)

    def _begin(self, offset: int) -> None:
        """Go to where a member begins."""
        self._file.seek(offset)
        self._raw = self._file.read(_PIECE)
        self._read_to = offset + len(self._raw)
        self._stream = self._open() if self._open else None
        self._ready = b""
        self._at = 0
        self.start = offset
        self.passed = 0

    @property
    def position(self) -> int:
        """The offset in the file of the next byte: exact between members, and anywhere in a file without gzip."""
        return self._read_to - len(self._raw) - (0 if self.is_packed else len(self._ready) - self._at)

    def index(self, marker: bytes, limit: int) -> int:
        """The distance to the marker in this member, if it begins within the next `limit` bytes; else -1."""
        searched = 0
        while True:
            found = self._ready.find(marker, self._at + searched, self._at + limit + len(marker) - 1)
            if found >= 0:
                return found - self._at
            searched = max(0, len(self._ready) - self._at - len(marker) + 1)
            if searched >= limit or not (self._fill() or self._go_on()):
                return -1

    def read(self, size: int) -> bytes:
        """The next `size` bytes, fewer where the member ends. `passed` counts what was read of this member."""
        if size <= len(self._ready) - self._at:
            self._at += size
            self.passed += size
            return self._ready[self._at - size : self._at]
        parts, missing = [self._ready[self._at :]], size - len(self._ready) + self._at
        self._ready, self._at = b"", 0
        while missing > 0 and self._fill():
            parts.append(self._ready[:missing])
            self._at = len(parts[-1])
            missing -= self._at
        data = b"".join(parts)
        self.passed += len(data)
        return data

    def pieces(self, size: int) -> Iterator[bytes]:
        """The next `size` bytes in small pieces, fewer where the member ends and no frame follows that goes on."""
        while size > 0 and ((piece := self.read(min(size, _PIECE))) or self._go_on()):
            size -= len(piece)
            yield piece

    def skip(self, size: int) -> int:
        """Skip `size` bytes and return how many there were."""
        return sum(map(len, self.pieces(size)))

    def peek(self, size: int) -> bytes:
        """The next bytes, which stay where they are."""
        while len(self._ready) - self._at < size and self._fill():
            pass
        return self._ready[self._at : self._at + size]

    def finish(self) -> None:
        """Skip the rest of this member."""
        while self.peek(1):
            self._ready, self._at = b"", 0

    def next_member(self) -> bool:
        """Go to the next member, also after damage; `False` at the end of the file."""
        self.finish()
        if self._open is None or (self.problem is not None and self.problem.reason != "damaged"):
            return False
        if self.problem is not None:
            return self._resume()
        self._raw = (self._raw or self._more()).lstrip(b"\0")
        while not self._raw and (more := self._more()):
            self._raw = more.lstrip(b"\0")
        self.start, self.passed = self.position, 0
        self._stream = self._open()
        return bool(self._raw)

    def _resume(self) -> bool:
        """Behind the beginning of a damaged member: where another seems to begin, if one does."""
        at = self._file.seek(self.start + 1)
        window = b""
        while piece := self._file.read(_PIECE):
            window += piece
            if found := self._beginning.search(window):
                self.problem = None
                self._begin(at + found.start())
                return True
            at += len(window) - _LONGEST_BEGINNING + 1
            window = window[1 - _LONGEST_BEGINNING :]
        return False

    def _go_on(self) -> bool:
        """Go on in the next frame, if that begins no record: it belongs to this one. Nothing else has several parts."""
        while self._open is not None and not self.is_gzip and self.problem is None:
            self._raw = self._raw or self._more()
            if not self._raw or self._begins_record(self._open()):
                return False
            self._stream = self._open()
            if self._fill():
                return True
        return False

    def _begins_record(self, frame: _Stream) -> bool:
        """Whether the frame that comes next begins a record, or cannot be read."""
        data, beginning, place = self._raw, b"", self._file.tell()
        try:
            while len(beginning) < len(_RECORD) and not frame.eof and (data := data or self._file.read(_PIECE)):
                beginning += frame.decompress(data, _PIECE)
                data = frame.unconsumed_tail
        except _ERRORS:
            return True
        finally:
            self._file.seek(place)
        return beginning.startswith(_RECORD)

    def _more(self) -> bytes:
        piece = self._file.read(_PIECE)
        self._read_to += len(piece)
        return piece

    def _fill(self) -> bool:
        """Unpack another piece of this member behind what is ready."""
        piece = self._plain() if self._stream is None else self._inflate(self._stream)
        if not piece:
            return False
        self._ready, self._at = self._ready[self._at :] + piece, 0
        return True

    def _plain(self) -> bytes:
        piece, self._raw = self._raw or self._more(), b""
        return piece

    def _inflate(self, stream: _Stream) -> bytes:
        while not (stream.eof or self.problem):
            data = self._raw or self._more()
            try:
                piece = stream.decompress(data, _PIECE)
            except _ERRORS as error:
                self.problem = Problem("damaged", str(error)[:100], self.start)
                break
            self._raw = stream.unused_data if stream.eof else stream.unconsumed_tail
            if piece:
                return piece
            if not data and not stream.eof:
                self.problem = Problem("torn", "the file ends inside a member", self._read_to)
        return b""
