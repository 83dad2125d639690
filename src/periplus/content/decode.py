"""A body as it came over the wire, decoded from its content codings (RFC 9110 section 8.4) under a cap.

gzip (RFC 1952, any number of members), deflate in both forms that servers send (zlib, RFC 1950, as the standard says,
and raw, RFC 1951, as some do), br (RFC 7932) and zstd (RFC 8878, with the 8 MB window of RFC 9659), alone or chained.
Everything is decoded piece by piece, so that a bomb never takes more memory than the cap, and what was read before
damage, truncation or the cap is kept: a page without its end still has links. A body that is one whole gzip member, as
nearly all are, is decoded at once by libdeflate, within the size that the member names; whatever that refuses is
decoded piece by piece.

Reasons of the problems:

- `truncated`: the body ended before its coding did.
- `damaged`: the coding broke in the middle, or a checksum is wrong.
- `too-large`: more than `max_size` bytes; the rest was not decoded.
- `bomb`: more than `max_ratio` times the bytes that came, beyond a first mebibyte; the rest was not decoded.
- `not-compressed`: the header names a coding that the bytes are not in; they were taken as they are.
- `unlabelled-gzip`: no header, but gzip by its magic number; it was decoded.
- `unknown-coding`: an unknown coding; the body was left as it is.
- `too-many-codings`: more codings in a row than any server needs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Final, cast

import brotli
import deflate
import zstandard
from isal import isal_zlib

from periplus.model import Problem

MAX_SIZE: Final = 32 << 20
MAX_RATIO: Final = 200.0
MAX_CODINGS: Final = 4
_RATIO_FREE_BYTES: Final = 1 << 20
_PIECE: Final = 1 << 16
_SPOON: Final = 256
_ZSTD_WINDOW: Final = 8 << 20
_GZIP_MAGIC: Final = b"\x1f\x8b"
_MEMBER: Final = re.compile(re.escape(_GZIP_MAGIC))
_SMALLEST: Final = 18
"""Bytes of the header and the trailer of a gzip member (RFC 1952): none is smaller."""
_NO_CODING: Final = frozenset({"", "identity", "none", "binary"})
_ISAL_ERROR: Final = cast("type[Exception]", isal_zlib.error)
_ERRORS: Final[tuple[type[Exception], ...]] = (_ISAL_ERROR, brotli.error, zstandard.ZstdError)


class _Truncated(Exception):  # noqa: N818 - says what happened, inside this file only
    """The input ended before its coding did."""


def decode_body(
    body: bytes, content_encoding: str, *, max_size: int = MAX_SIZE, max_ratio: float = MAX_RATIO
) -> tuple[bytes, tuple[Problem, ...]]:
    """The body without its content codings, and what was wrong with them. Never more than `max_size` bytes."""
    codings = _codings_in(content_encoding)
    problems: list[Problem] = []
    if not codings and body.startswith(_GZIP_MAGIC):
        codings = ("gzip",)
        problems.append(Problem("unlabelled-gzip"))
    if len(codings) > MAX_CODINGS:
        problems.append(Problem("too-many-codings", content_encoding[:100]))
        codings = codings[-MAX_CODINGS:]
    limit = max(_RATIO_FREE_BYTES, int(max_ratio * len(body)))
    for coding in reversed(codings):
        if coding not in _DECODERS:
            problems.append(Problem("unknown-coding", coding[:100]))
            break
        body, problem = _decode(body, coding, min(limit, max_size), "bomb" if limit < max_size else "too-large")
        if problem:
            problems.append(problem)
    if len(body) > max_size:
        problems.append(Problem("too-large", at=max_size))
        body = body[:max_size]
    return body, tuple(problems)


@lru_cache(maxsize=256)
def _codings_in(content_encoding: str) -> tuple[str, ...]:
    """The codings that a header names, in lower case, without those that change nothing."""
    names = (part.strip().lower() for part in content_encoding.split(","))
    return tuple([name for name in names if name not in _NO_CODING])


def _decode(body: bytes, coding: str, limit: int, at_limit: str) -> tuple[bytes, Problem | None]:
    """Remove one coding; at most `limit` bytes of output."""
    looks_right, pieces_of = _DECODERS[coding]
    if not body:
        return body, None
    if not looks_right(body):
        return body, Problem("not-compressed", coding)
    if looks_right is _is_gzip and (whole := _gunzip_one_member(body, limit)) is not None:
        return whole, None
    out: list[bytes] = []
    size = 0
    problem = None
    try:
        for piece in pieces_of(body):
            out.append(piece)
            size += len(piece)
            if size > limit:
                problem = Problem(at_limit, coding, limit)
                break
    except _Truncated:
        problem = Problem("truncated", coding, size)
    except _ERRORS as error:
        if looks_right is _anything and not size:
            return body, Problem("not-compressed", coding)
        problem = Problem("damaged", f"{coding}: {error}"[:100], size)
    return b"".join(out)[:limit], problem


def _gunzip_one_member(body: bytes, limit: int) -> bytes | None:
    """The content of a gzip body with a single member; `None` if there are more members, damage, or more than `limit`.

    A member ends with the length of its content, which is the size of the decoder's output buffer. The decoder does not
    report where the member ended; but another one follows only where that length stands before the beginning of a
    member.
    """
    size = int.from_bytes(body[-4:], "little")
    if not 0 < size <= limit:
        return None
    try:
        content = bytes(deflate.gzip_decompress(body, size))
    except deflate.DeflateError:
        return None
    length = len(content).to_bytes(4, "little")
    for at in _MEMBER.finditer(body, _SMALLEST):
        if body[at.start() - 4 : at.start()] == length:
            return None
    return content


def _inflate(body: bytes, wbits: int) -> Iterator[bytes]:
    """The pieces of a zlib, raw or gzip stream; for gzip, of all its members. Bytes that follow are ignored."""
    data: bytes = body
    while True:
        stream = isal_zlib.decompressobj(wbits)
        while not stream.eof:
            piece = stream.decompress(data, _PIECE)
            data = stream.unconsumed_tail
            if piece:
                yield piece
            elif not data and not stream.eof:
                raise _Truncated
        data = stream.unused_data
        if wbits != _GZIP or not data.startswith(_GZIP_MAGIC):
            return


_GZIP: Final = 31
_ZLIB: Final = 15
_RAW: Final = -15


def _is_zlib(body: bytes) -> bool:
    return len(body) > 1 and body[0] & 0x0F == 8 and int.from_bytes(body[:2]) % 31 == 0


def _deflate(body: bytes) -> Iterator[bytes]:
    return _inflate(body, _ZLIB if _is_zlib(body) else _RAW)


def _brotli(body: bytes) -> Iterator[bytes]:
    stream = brotli.Decompressor()
    data = body
    while True:
        piece = stream.process(data, output_buffer_limit=_PIECE)
        data = b""
        if piece:
            yield piece
        elif stream.is_finished():
            return
        else:
            raise _Truncated


def _zstd(body: bytes) -> Iterator[bytes]:
    """The pieces of all frames. A block of 4 bytes can expand to 128 KiB, so the input is fed 256 bytes at a time."""
    decompressor = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW)
    at = 0
    while at < len(body):
        stream = decompressor.decompressobj()
        while not stream.eof:
            if at >= len(body):
                raise _Truncated
            yield stream.decompress(body[at : at + _SPOON])
            at += _SPOON
        at = min(at, len(body)) - len(stream.unused_data)


def _anything(body: bytes) -> bool:
    """Brotli and raw deflate have no magic number: whether the bytes are in them shows when they are decoded."""
    return bool(body)


def _is_gzip(body: bytes) -> bool:
    return body.startswith(_GZIP_MAGIC)


def _is_zstd(body: bytes) -> bool:
    return body.startswith(b"\x28\xb5\x2f\xfd") or (len(body) > 4 and body[1:4] == b"\x2a\x4d\x18")


_Decoder = tuple[Callable[[bytes], bool], Callable[[bytes], Iterator[bytes]]]
_DECODERS: Final[dict[str, _Decoder]] = {
    "gzip": (_is_gzip, lambda body: _inflate(body, _GZIP)),
    "x-gzip": (_is_gzip, lambda body: _inflate(body, _GZIP)),
    "deflate": (_anything, _deflate),
    "br": (_anything, _brotli),
    "zstd": (_is_zstd, _zstd),
}
