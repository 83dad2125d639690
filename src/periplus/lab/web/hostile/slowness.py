"""Servers that never finish: late, slow, or endless. They cost a crawler a connection, a timer, or its memory."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

from ..exchange import Request
from .script import HTML, Action, Script, Wait, head, hostile, page

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
