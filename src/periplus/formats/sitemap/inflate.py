"""Gzip in a stream, as servers really send it (RFC 1952): several members, several layers, damaged, cut off, bombs.

The header and the checksum are read here and only raw deflate is left to the library: a library that checks the sum
itself raises instead of handing out the last bytes, and a wrong checksum must not lose URLs. For the same reason,
what turns out to be damaged goes in again by small slices: damage costs the output of one slice. The library is zlib,
not the faster isal, which loses bytes behind the end of a member when that lies near the edge of what goes in; reading
XML takes far longer anyway.

Chunks come when they come: an empty one means "nothing yet", and an empty piece goes out for it, so that the caller
that pulls can do something else meanwhile. Empty pieces mean nothing else.

Reasons: "gzip-truncated", "gzip-damaged", "gzip-checksum", "gzip-trailing" (something else follows), "gzip-nested",
"ratio-limit", and of the decoded bytes "too-large" (the protocol's bound; reading goes on) and "size-limit" (ours).
"""

from __future__ import annotations

import zlib
from collections.abc import Generator, Iterable, Iterator
from contextlib import suppress
from itertools import chain

from .outbox import Outbox
from .values import PROTOCOL_BYTES, Limits

PIECE = 128 * 1024
"""The most bytes that are decoded or handed on at once."""

_MAGIC = b"\x1f\x8b\x08"
_SLICE = 120  # inflates to less than PIECE at the most, since deflate cannot pass 1,032 to one
_TAKEN = (
    12 * 1024
)  # compressed bytes taken at once: what follows a member is copied, and hostile ones are 20 bytes long
_LONGEST_HEADER = 128 * 1024
_EXTRA, _NAME, _COMMENT, _SUM = 4, 8, 16, 2


def inflate(chunks: Iterable[bytes], outbox: Outbox, limits: Limits) -> Iterator[bytes]:
    """The bytes below every layer of gzip, in pieces of bounded size."""
    stream: Iterator[bytes] = iter(chunks)
    for _ in range(limits.gzip_layers + 1):
        head = yield from _head(stream)
        stream = chain([head], stream)
        if not head.startswith(_MAGIC):
            yield from _metered(_pieces(stream, PIECE), outbox, limits)
            return
        stream = _gunzip(stream, outbox, limits)
    outbox.complain_late("gzip-nested", f"more than {limits.gzip_layers} layers")


def _head(stream: Iterator[bytes]) -> Generator[bytes, None, bytes]:
    """Enough bytes to recognise the format, if there are that many."""
    head = b""
    for chunk in stream:
        head += bytes(chunk)
        if len(head) >= len(_MAGIC):
            break
        yield b""
    return head


def _pieces(stream: Iterable[bytes], size: int) -> Iterator[bytes]:
    """Split the bytes into pieces of at most `size`."""
    for chunk in stream:
        if len(chunk) <= size:
            yield bytes(chunk)
        else:
            view = memoryview(chunk)
            for start in range(0, len(view), size):
                yield bytes(view[start : start + size])


def _metered(pieces: Iterable[bytes], outbox: Outbox, limits: Limits) -> Iterator[bytes]:
    size = 0
    for piece in pieces:
        before, size = size, size + len(piece)
        if before <= PROTOCOL_BYTES < size:
            outbox.complain_late("too-large", f"more than {PROTOCOL_BYTES} bytes", PROTOCOL_BYTES)
        if size > limits.size:
            outbox.is_cut = True
            yield piece[: limits.size - before]
            outbox.complain_late("size-limit", f"reading ended after {limits.size} bytes", limits.size)
            return
        yield piece


def _gunzip(stream: Iterator[bytes], outbox: Outbox, limits: Limits) -> Iterator[bytes]:
    """Decompress one layer: member after member, until something else follows."""
    source = _Source(_pieces(stream, _TAKEN))
    decoded = 0
    while True:
        reason = yield from source.skip_header()
        if reason:
            outbox.complain_late(reason, at=decoded)
            return
        member = _Member()
        for piece in member.decode(source):
            yield piece
            decoded += len(piece)
            if decoded > limits.ratio_from and decoded > source.consumed * limits.ratio:
                outbox.is_cut = True
                outbox.complain_late("ratio-limit", f"{decoded} bytes out of {source.consumed}", decoded)
                return
        if member.reason:
            outbox.is_cut = outbox.is_cut or not member.is_whole
            outbox.complain_late(member.reason, at=decoded)
        if member.reason in ("gzip-truncated", "gzip-damaged") or (yield from source.ends()):
            return


class _Source:
    """Bytes that arrive in chunks, taken in the amounts that are needed."""

    def __init__(self, stream: Iterator[bytes]) -> None:
        self.buffer = b""
        self.consumed = 0
        self._stream = stream

    def more(self) -> bool:
        """Take another chunk, if there is one yet; False at the end."""
        for chunk in self._stream:
            self.buffer += chunk
            self.consumed += len(chunk)
            return True
        return False

    def skip_header(self) -> Generator[bytes, None, str]:
        """Pass over a member's header; the reason if that cannot be done."""
        while (size := _header_size(self.buffer)) is None:
            if len(self.buffer) > _LONGEST_HEADER:
                return "gzip-damaged"
            if not self.more():
                return "gzip-truncated"
            yield b""
        if not self.buffer.startswith(_MAGIC):
            return "gzip-trailing"
        self.buffer = self.buffer[size:]
        return ""

    def ends(self) -> Generator[bytes, None, bool]:
        """Whether nothing but padding is left."""
        while True:
            self.buffer = self.buffer.lstrip(b"\0")
            if self.buffer:
                return False
            if not self.more():
                return True
            yield b""


class _Member:
    """One gzip member: what it decodes to, and afterwards the reason if something was wrong, its data perhaps whole."""

    def __init__(self) -> None:
        self.reason = ""
        self.is_whole = False

    def decode(self, source: _Source) -> Iterator[bytes]:
        inflater = zlib.decompressobj(-15)
        checksum = 0
        for piece in self._inflated(inflater, source):
            checksum = zlib.crc32(piece, checksum)
            yield piece
        if self.reason:
            return
        self.is_whole = True
        source.buffer = inflater.unused_data + source.buffer
        while len(source.buffer) < 8:
            if not source.more():
                self.reason = "gzip-truncated"
                return
            yield b""
        trailer, source.buffer = source.buffer[:8], source.buffer[8:]
        if int.from_bytes(trailer[:4], "little") != checksum:
            self.reason = "gzip-checksum"

    def _inflated(self, inflater: zlib._Decompress, source: _Source) -> Iterator[bytes]:
        while not inflater.eof:
            if not source.buffer and not source.more():
                self.reason = "gzip-truncated"
                return
            data, source.buffer = source.buffer, b""
            while True:
                before = inflater.copy()
                try:
                    piece = inflater.decompress(data, PIECE)
                except zlib.error:
                    self.reason = "gzip-damaged"
                    yield from _by_slices(before, data)
                    return
                data = inflater.unconsumed_tail
                yield piece
                if inflater.eof or not (data or len(piece) == PIECE):
                    break


def _by_slices(inflater: zlib._Decompress, data: bytes) -> Iterator[bytes]:
    """Recover what is possible of damaged data: all but the output of the slice in which the damage is."""
    with suppress(zlib.error):
        for start in range(0, len(data), _SLICE):
            yield inflater.decompress(data[start : start + _SLICE])


def _header_size(data: bytes) -> int | None:
    """How long the member's header is; `None` while it has not all arrived. A lie about it is seen at `_MAGIC`."""
    if not data.startswith(_MAGIC[: len(data)]):
        return 0
    if len(data) < 10:
        return None
    flags, size = data[3], 10
    if flags & _EXTRA:
        size += 2 + int.from_bytes(data[10:12], "little")
    for flag in (_NAME, _COMMENT):
        if flags & flag:
            end = data.find(b"\0", size)
            if end < 0:
                return None
            size = end + 1
    if flags & _SUM:
        size += 2
    return size if size <= len(data) else None
