"""HTTP/1.1 as values and bytes: what a client asks, what a server says (RFC 9110, RFC 9112). No sockets.

The reader takes a whole head (up to the empty line) and answers a `Head`, or a `Refusal` with the status that says why
not. It reads what crawlers send: origin-form and absolute-form targets (so that the lab is also a proxy), CONNECT,
keep-alive of 1.0 and 1.1, bodies with a length. The fields of a head are the same bytes on nearly every request of a
client but for Host and validators, so their reading is remembered.

`Request` and `Answer` are the values between the server and the world, which has the contents. The server adds
everything that belongs to the wire: Date, Content-Length, Connection, content coding, chunks, and it drops the body of
a HEAD. The world decides everything that depends on the state at a moment.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from http import HTTPStatus

from isal import igzip
from msgspec import Struct
from msgspec.structs import replace

from periplus.formats.dates import write_http

Fields = tuple[tuple[str, str], ...]

LONGEST_HEAD = 64 * 1024
LONGEST_BODY = 1024 * 1024
"""A client's body is read and dropped; a longer one is refused."""
SMALLEST_GZIP = 512
"""Below this, compressing costs more bytes and time than it saves."""
_COMPRESSIBLE = re.compile(r"(?:text/|application/(?:(?:[\w.-]+\+)?xml|json|javascript))", re.IGNORECASE)
_METHOD = re.compile(r"[A-Z]{1,20}\Z")
_REMEMBERED = 4096
_LONGEST_REMEMBERED = 1024


class Head(Struct, frozen=True):
    """The head of a request. `host` is in lower case without port; `target` is path and query, or what to CONNECT."""

    method: str
    host: str
    target: str
    fields: Fields
    is_proxied: bool = False
    keeps_alive: bool = True
    takes_gzip: bool = False
    takes_chunks: bool = True
    expects_continue: bool = False
    body_length: int = 0
    agent: str = ""


class Refusal(Struct, frozen=True):
    """Why a head cannot be served; the connection ends with this status."""

    status: int
    reason: str


def read_head(block: bytes) -> Head | Refusal:
    """Read one head, without the empty line that ends it."""
    line, _, rest = block.decode("latin-1").partition("\r\n")
    words = line.split(" ")
    if len(words) != 3 or not _METHOD.match(words[0]) or words[2] not in ("HTTP/1.1", "HTTP/1.0"):
        return Refusal(400, "not a request line of HTTP/1")
    method, target, version = words
    parsed = _read_fields(rest)
    if isinstance(parsed, Refusal):
        return parsed
    head, connection = parsed
    is_new = version == "HTTP/1.1"
    is_proxied = target[:1] != "/" and method != "CONNECT" and target != "*"
    host, path = _split_url(target) if is_proxied else (head.host, target)
    if not path:
        return Refusal(400, "neither a path nor a URL")
    if not host and method != "CONNECT" and is_new:
        return Refusal(400, "no Host field")
    keeps_alive = connection != "close" if is_new else connection == "keep-alive"
    return replace(
        head, method=method, host=host, target=path, is_proxied=is_proxied, keeps_alive=keeps_alive, takes_chunks=is_new
    )


def _split_url(url: str) -> tuple[str, str]:
    """Host and target of an absolute URL; the target of a bare authority is `/`, and that of no URL is empty."""
    scheme, found, rest = url.partition("://")
    if not found or scheme.lower() not in ("http", "https"):
        return "", ""
    end = next((place for place, char in enumerate(rest) if char in "/?"), len(rest))
    target = rest[end:]
    return host_name(rest[:end].rpartition("@")[2]), target if target.startswith("/") else "/" + target


def host_name(authority: str) -> str:
    """The host of `host:port`, in lower case, without brackets or the root's dot."""
    if authority.startswith("["):
        return authority[1:].partition("]")[0].lower()
    return authority.partition(":")[0].lower().removesuffix(".")


def _read_fields(text: str) -> tuple[Head, str] | Refusal:
    return _remember_fields(text) if len(text) <= _LONGEST_REMEMBERED else _parse_fields(text)


def _parse_fields(text: str) -> tuple[Head, str] | Refusal:
    """A head without what its first line says, and the `Connection` field."""
    fields = []
    for line in text.split("\r\n") if text else ():
        name, colon, value = line.partition(":")
        if not colon or not name or name != name.strip():
            return Refusal(400, "a field without a name")
        fields.append((name.lower(), value.strip(" \t")))
    first = dict(reversed(fields))
    if "transfer-encoding" in first:
        return Refusal(411, "a body without a length")
    length = first.get("content-length", "0")
    if not (length.isascii() and length.isdigit()):
        return Refusal(400, "a length that is not a number")
    if len(length) > 9 or int(length) > LONGEST_BODY:
        return Refusal(413, "a body too long for the lab")
    head = Head(
        "", host_name(first.get("host", "")), "", tuple(fields), agent=first.get("user-agent", ""),
        takes_gzip=_takes_gzip(first.get("accept-encoding", "")), body_length=int(length),
        expects_continue=first.get("expect", "").lower() == "100-continue",
    )  # fmt: skip
    return head, (first.get("connection") or first.get("proxy-connection", "")).lower()


_remember_fields = lru_cache(maxsize=_REMEMBERED)(_parse_fields)


def _takes_gzip(accept_encoding: str) -> bool:
    """Whether gzip is named and not refused by `q=0` (RFC 9110 section 12.5.3)."""
    for item in accept_encoding.lower().split(","):
        coding, _, quality = item.partition(";")
        if coding.strip() in ("gzip", "x-gzip", "*"):
            return quality.replace(" ", "") not in ("q=0", "q=0.0", "q=0.00", "q=0.000")
    return False


def write_head(status: int, fields: Iterable[tuple[str, str]]) -> bytes:
    """The head of a response, with the empty line that ends it."""
    lines = [f"{name}: {value}\r\n" for name, value in fields]
    return f"HTTP/1.1 {status} {_phrase(status)}\r\n{''.join(lines)}\r\n".encode("latin-1", "replace")


@lru_cache(maxsize=1024)
def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Unheard Of"


def may_have_body(status: int) -> bool:
    """Whether a response with this status has a body at all (RFC 9110 section 6.4.1)."""
    return status >= 200 and status not in (204, 304)


def should_gzip(fields: Fields, body: bytes) -> bool:
    """Whether compressing pays: text, of some size, not compressed already."""
    if len(body) < SMALLEST_GZIP:
        return False
    kind = ""
    for name, value in fields:
        lower = name.lower()
        if lower == "content-encoding":
            return False
        if lower == "content-type":
            kind = value
    return _COMPRESSIBLE.match(kind) is not None


def gzip(body: bytes) -> bytes:
    """The body in one gzip member, the same bytes for the same body (no time inside)."""
    return bytes(igzip.compress(body, compresslevel=0, mtime=0))


def chunked(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """The chunked coding of a body (RFC 9112 section 7.1)."""
    for piece in pieces:
        if piece:
            yield b"%x\r\n%b\r\n" % (len(piece), piece)
    yield b"0\r\n\r\n"


class Request(Struct, frozen=True):
    """One HTTP request as the server read it.

    `host` is without port and in lower case; `target` is path and query as sent; names of `headers` are in lower case;
    `at` is virtual time.
    """

    method: str
    host: str
    target: str
    headers: tuple[tuple[str, str], ...]
    at: float
    ip: str = "127.0.0.1"

    def header(self, name: str) -> str | None:
        """The first value of a field, by its name in lower case."""
        for key, value in self.headers:
            if key == name:
                return value
        return None


class Answer(Struct, frozen=True):
    """An ordinary response. An iterator is a body generated while it is sent."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes | Iterator[bytes]


_SERVER = ("Server", "periplus-lab")


class Framed(Struct, frozen=True):
    """A response as bytes: all of it in `start` when `rest` is `None`. `closes`: its end is the connection's end."""

    start: bytes
    rest: Iterator[bytes] | None
    closes: bool


def frame(answer: Answer, head: Head, at: float) -> Framed:
    """Write an answer for the client that sent `head`, at the virtual time `at`."""
    fields = [_SERVER, ("Date", _date(int(at))), *answer.headers]
    body = answer.body
    closes = not head.keeps_alive
    if isinstance(body, bytes):
        body = _whole(answer, body, head, fields)
    elif head.takes_chunks:
        fields.append(("Transfer-Encoding", "chunked"))
        body = chunked(body)
    else:
        closes = True
    if closes:
        fields.append(("Connection", "close"))
    elif not head.takes_chunks:
        fields.append(("Connection", "keep-alive"))
    start = write_head(answer.status, fields)
    if head.method == "HEAD":
        return Framed(start, None, closes)
    return Framed(start + body, None, closes) if isinstance(body, bytes) else Framed(start, body, closes)


def _whole(answer: Answer, body: bytes, head: Head, fields: list[tuple[str, str]]) -> bytes:
    """The body as sent, with its length in `fields`."""
    if not may_have_body(answer.status):
        return b""
    if should_gzip(answer.headers, body):
        fields.append(("Vary", "Accept-Encoding"))
        if head.takes_gzip and len(smaller := gzip(body)) < len(body):
            body = smaller
            fields.append(("Content-Encoding", "gzip"))
    fields.append(("Content-Length", str(len(body))))
    return body


@lru_cache(maxsize=16)
def _date(second: int) -> str:
    return write_http(second)
