"""Hosts that misbehave below HTTP.

Servers are late, slow or endless, and cost a crawler a connection, a timer or its memory. Connections end in the
middle, and TLS is bad or fails. Heads and bodies contradict each other: lengths, charsets, types. Bodies are small on
the wire and huge in memory: compression bombs, and HTML nested without end.

The bombs are made of one piece of compressed zeros sent again and again: a flush point ends each piece on a byte, so
the pieces join into one valid stream, and the server never holds or compresses more than one of them.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from functools import cache
from itertools import count
from random import Random

import brotli

from ..http import Answer, Request
from .script import DOMAIN, HTML, Action, Reset, Script, Wait, answer_page, head, hostile, page

FIRST_BYTE_AFTER = 30.0
BETWEEN_DRIPS = 1.0
BETWEEN_CHUNKS = 0.004
"""Endless streams rest between chunks, so that one listener takes about 16 MB/s and not a whole core."""
CHUNK = 64 * 1024


@hostile("slow-first-byte")
def slow_first_byte(request: Request) -> Script:
    """Takes the request at once and says nothing for 30 seconds; then an ordinary page.

    Give up after a time to first byte of its own, rest the host, and keep fetching from others meanwhile.
    """

    def actions() -> Iterator[Action]:
        body = page("Sorry for the wait", "<p>It was ready all along.</p>")
        yield Wait(FIRST_BYTE_AFTER)
        yield head(request, 200, HTML, ("Content-Length", str(len(body)))) + body

    return Script(200, actions())


@hostile("slow-drip")
def slow_drip(request: Request) -> Script:
    """Sends a page of a few hundred bytes one byte a second: never idle long enough for a read timeout.

    Bound the whole fetch, or the rate below which it is given up; a timeout between bytes never fires.
    """

    def actions() -> Iterator[Action]:
        body = page("Drip", "<p>drop</p>\n" * 40)
        yield head(request, 200, HTML, ("Content-Length", str(len(body))))
        for place in range(len(body)):
            yield Wait(BETWEEN_DRIPS)
            yield body[place : place + 1]

    return Script(200, actions())


@hostile("endless-body")
def endless_body(request: Request) -> Script:
    """A page without a length that never ends, full of fresh links to itself.

    Stop at a largest size, keep what came as truncated, and take few of the links.
    """

    def actions() -> Iterator[Action]:
        yield head(request, 200, HTML) + b"<!doctype html><title>More</title>\n"
        for number in count():
            line = b'<p><a href="/more/%012d">and there is more</a></p>\n' % number
            yield line * (CHUNK // len(line))
            yield Wait(BETWEEN_CHUNKS)

    return Script(200, actions())


@hostile("endless-headers")
def endless_headers(request: Request) -> Script:
    """A status line, then header fields forever; the body never begins.

    Bound the size of a head; a bound on the body alone is never reached.
    """

    def actions() -> Iterator[Action]:
        yield head(request, 200, HTML)[:-2]
        for number in count():
            start = number * 500
            yield b"".join(b"X-Filler-%012d: and one more of these\r\n" % line for line in range(start, start + 500))
            yield Wait(BETWEEN_CHUNKS)

    return Script(200, actions())


EXPIRED = f"tls-expired.{DOMAIN}"
WRONG_NAME = f"tls-wrong-name.{DOMAIN}"
SELF_SIGNED = f"tls-self-signed.{DOMAIN}"
CUT = f"tls-cut.{DOMAIN}"
"""What goes wrong with these goes wrong in the handshake: see `channel`."""


@hostile("reset")
def reset(request: Request) -> Script:
    """Takes the request and resets the connection (TCP RST) without a word.

    A failure of the wire: try again later, a few times, and do not count it as an answer.
    """
    del request
    return Script(0, iter([Reset()]))


@hostile("reset-in-body")
def reset_in_body(request: Request) -> Script:
    """Sends the head and half of the body, then resets the connection.

    A failure of the wire: half a page is not the page, and its links may be half links.
    """

    def actions() -> Iterator[Action]:
        body = page("Half", '<p><a href="/whole">the whole story</a></p>\n' * 200)
        yield head(request, 200, HTML, ("Content-Length", str(len(body)))) + body[: len(body) // 2]
        yield Reset()

    return Script(200, actions())


@hostile("close-before-body")
def close_before_body(request: Request) -> Script:
    """A good head with a length, then an orderly close: no byte of the body comes.

    A failure, not an empty page.
    """
    return Script(200, iter([head(request, 200, HTML, ("Content-Length", "5000"))]))


@hostile("close-before-head")
def close_before_head(request: Request) -> Script:
    """Takes the request and closes in order, with no byte at all.

    A failure; on a reused connection one immediate second try is fair (RFC 9110 section 9.2.2), not more.
    """
    del request
    return Script(0, iter(()))


def _over_tls(request: Request, story: str) -> Answer:
    """Redirect a request without TLS to the TLS port; a client that comes through there did not check."""
    if request.header("x-forwarded-proto") == "https":
        return answer_page("You did not look", f"<p>{story}</p>")
    return Answer(301, (("Location", f"https://{request.host}/"),), b"")


@hostile("tls-expired")
def tls_expired(request: Request) -> Answer:
    """Its certificate, of the right name, ended yesterday.

    Decide once, and say so: refuse, or fetch and note it; never stop the crawl.
    """
    return _over_tls(request, "The certificate had expired.")


@hostile("tls-wrong-name")
def tls_wrong_name(request: Request) -> Answer:
    """Its certificate is good, for another host.

    Refuse, or fetch and note it; the machine may not know this host at all.
    """
    return _over_tls(request, "The certificate was another's.")


@hostile("tls-self-signed")
def tls_self_signed(request: Request) -> Answer:
    """Its certificate is signed by itself.

    Refuse, or fetch and note it; much of the small web is like this.
    """
    return _over_tls(request, "The certificate is signed by no authority.")


@hostile("tls-cut")
def tls_cut(request: Request) -> Answer:
    """Resets the connection after the client's hello.

    A failure of the wire, as a reset; do not fall back to plain HTTP.
    """
    return _over_tls(request, "There is no way to read this.")


BINARY_SIZE = 256 * 1024


@hostile("length-too-long")
def length_too_long(request: Request) -> Script:
    """Content-Length promises 1,000 bytes more than are sent; then the connection closes.

    Keep what came, marked as truncated; try again once at most.
    """
    body = page("Shorter than promised", "<p>The rest was never written.</p>")
    return Script(200, iter([head(request, 200, HTML, ("Content-Length", str(len(body) + 1000))) + body]))


@hostile("length-too-short")
def length_too_short(request: Request) -> Script:
    """Content-Length promises half of the page, all of it is sent, and the connection claims to stay open.

    Read the promised bytes, then never use the connection again: the rest would be taken for the next answer.
    """
    body = page("Longer than promised", "<p>This half is beyond the length.</p>" * 4)
    fields = (HTML, ("Content-Length", str(len(body) // 2)))
    return Script(200, iter([head(request, 200, *fields, connection="keep-alive") + body]), closes=False)


@hostile("wrong-charset")
def wrong_charset(request: Request) -> Answer:
    """Russian in windows-1251: `/` claims UTF-8, `/unknown` an unheard-of one, `/meta` two at once; `/bom` is UTF-16.

    Decode as browsers do (a BOM wins, then the header, then the meta element), and never fail on a byte.
    """
    text = "<p>Широка страна моя родная, много в ней лесов, полей и рек.</p>"
    links = '<p><a href="/unknown">1</a> <a href="/meta">2</a> <a href="/bom">3</a></p>'
    document = f"<!doctype html><title>Песня</title>{text}{links}"
    match request.target:
        case "/unknown":
            return Answer(200, (("Content-Type", "text/html; charset=x-klingon"),), document.encode("cp1251"))
        case "/meta":
            body = document.replace("<title>", '<meta charset="shift_jis"><title>')
            return Answer(200, (("Content-Type", "text/html; charset=windows-1251"),), body.encode("cp1251"))
        case "/bom":
            return Answer(200, (("Content-Type", "text/html; charset=iso-8859-1"),), document.encode("utf-16"))
        case _:
            return Answer(200, (HTML,), document.encode("cp1251"))


@hostile("binary-as-html")
def binary_as_html(request: Request) -> Answer:
    """A quarter of a megabyte of random bytes, NULs among them, that is called text/html.

    Sniff the bytes; make no page, no text and no links of it.
    """
    del request
    return Answer(200, (HTML,), b"\x7fELF\x02\x01\x01\x00" + Random(7).randbytes(BINARY_SIZE))  # noqa: S311 - noise


@hostile("cookies-required")
def cookies_required(request: Request) -> Answer:
    """Sets a cookie and redirects to the same URL until the cookie comes back.

    Notice that the URL redirects to itself and give up at once, or keep cookies for the length of one redirect chain.
    """
    if "visited=yes" in (request.header("cookie") or ""):
        return answer_page("Welcome back", "<p>You kept the cookie.</p>")
    return Answer(302, (("Location", request.target), ("Set-Cookie", "visited=yes; Path=/")), b"")


MEBIBYTE = 1024 * 1024
BOMB_SIZE = 10 * 1024 * MEBIBYTE
"""What both bombs inflate to by default."""
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
def gzip_bomb(request: Request, size: int = BOMB_SIZE) -> Script:
    """Ten gibibytes of zeros as 10 MB of gzip (a thousandfold); the checksum at its end is wrong.

    Inflate in a stream with a cap on size and on ratio; never `decompress(body)`.
    """

    def actions() -> Iterator[Action]:
        yield head(request, 200, HTML, ("Content-Encoding", "gzip"))
        yield b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\xff"
        for _ in range(size // _GZIP_PIECE // 64):
            yield _gzip_piece() * 64
        yield b"\x03\x00" + bytes(4) + (size & 0xFFFFFFFF).to_bytes(4, "little")

    return Script(200, actions())


@hostile("brotli-bomb")
def brotli_bomb(request: Request, size: int = BOMB_SIZE) -> Script:
    """Ten gibibytes of zeros as 17 KB of brotli (six hundred thousandfold), in one well-formed answer.

    Inflate in a stream and look at the ratio: a cap on the bytes received never sees this one.
    """
    first, further = _brotli_pieces()
    body = first + further * (size // _BROTLI_PIECE - 1) + b"\x03"
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
