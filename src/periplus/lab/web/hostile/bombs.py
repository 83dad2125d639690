"""Bodies that are small on the wire and huge in memory: compression bombs, and HTML nested without end.

The bombs are made of one piece of compressed zeros sent again and again: a flush point ends each piece on a byte, so
the pieces join into one valid stream, and the server never holds or compresses more than one of them.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from functools import cache

import brotli

from ..exchange import Answer, Request
from .script import HTML, Action, Script, head, hostile

MEBIBYTE = 1024 * 1024
BOMB_SIZE = 10 * 1024 * MEBIBYTE
"""Both bombs inflate to 10 GiB."""
NESTED = 100_000
_GZIP_PIECE = MEBIBYTE
_BROTLI_PIECE = 16 * MEBIBYTE


@cache
def _gzip_piece() -> bytes:
    """One mebibyte of zeros, deflated and flushed: about a kilobyte."""
    deflate = zlib.compressobj(9, zlib.DEFLATED, -15)
    return deflate.compress(bytes(_GZIP_PIECE)) + deflate.flush(zlib.Z_FULL_FLUSH)


@cache
def _brotli_pieces() -> tuple[bytes, bytes]:
    """The first 16 MiB of zeros, which opens the stream, and every further one: 27 and 26 bytes."""
    compressor = brotli.Compressor(quality=5, lgwin=22)
    zeros = bytes(_BROTLI_PIECE)
    return (
        compressor.process(zeros) + compressor.flush(),
        compressor.process(zeros) + compressor.flush(),
    )


@hostile("gzip-bomb")
def gzip_bomb(request: Request) -> Script:
    """Ten gibibytes of zeros as 10 MB of gzip (a thousandfold); the checksum at its end is wrong.

    Inflate in a stream with a cap on size and on ratio; never `decompress(body)`.
    """

    def actions() -> Iterator[Action]:
        yield head(request, 200, HTML, ("Content-Encoding", "gzip"))
        yield b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\xff"
        for _ in range(BOMB_SIZE // _GZIP_PIECE // 64):
            yield _gzip_piece() * 64
        yield b"\x03\x00" + bytes(4) + (BOMB_SIZE & 0xFFFFFFFF).to_bytes(4, "little")

    return Script(200, actions())


@hostile("brotli-bomb")
def brotli_bomb(request: Request) -> Script:
    """Ten gibibytes of zeros as 17 KB of brotli (six hundred thousandfold), in one well-formed answer.

    Inflate in a stream and look at the ratio: a cap on the bytes received never sees this one.
    """
    first, further = _brotli_pieces()
    body = first + further * (BOMB_SIZE // _BROTLI_PIECE - 1) + b"\x03"
    length = ("Content-Length", str(len(body)))
    return Script(200, iter([head(request, 200, HTML, ("Content-Encoding", "br"), length) + body]))


@hostile("deep-html")
def deep_html(request: Request) -> Answer:
    """A page of 100,000 elements, each inside the one before, with a link at the bottom.

    Parse without recursion, or bound the depth; say so if the bottom was not reached.
    """
    del request
    opening = b"<!doctype html><title>Deep</title>" + b"<div>" * NESTED
    return Answer(200, (HTML,), opening + b'<a href="/bottom">the bottom</a>' + b"</div>" * NESTED)
