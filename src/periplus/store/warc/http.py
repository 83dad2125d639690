"""HTTP/1.1 messages (RFC 9112) inside records: written from what libcurl returned, and read back.

The wire returns header fields as names and values and a body without chunks, whatever the version of HTTP. A record
holds an HTTP/1.1 message that a reader can parse again, so a few fields must differ from what was sent:

- `Transfer-Encoding` becomes `X-Archive-Orig-Transfer-Encoding`: the chunks are gone;
- a `Content-Length` that is not the length of the stored body becomes `X-Archive-Orig-Content-Length`, and the true one
  is added;
- line breaks and zero bytes in a value become spaces, characters not allowed in a name become `_`, and what is not
  Latin-1 is written as UTF-8: whatever a server sends, a field stays one line;
- fields beyond `MAX_HEAD` bytes are left out, and the record is marked as truncated.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from http import HTTPStatus
from typing import Final

from msgspec import Struct

from periplus.formats.headers import Headers

MAX_HEAD: Final = 1 << 20
"""Bytes of a message's header section."""

ORIGINAL: Final = "X-Archive-Orig-"
"""What the names of fields begin with that were sent otherwise than a record can hold them."""

Fields = Sequence[tuple[str, str]]

_PHRASES: Final = {status.value: status.phrase for status in HTTPStatus}
_NO_TOKEN: Final = re.compile(r"[^!#$%&'*+.^_`|~0-9A-Za-z-]")
_BREAK: Final = re.compile(r"[\r\n\0]")
_LONGEST_CACHED_NAME: Final = 64
_CHUNK: Final = re.compile(rb"[ \t]*([0-9A-Fa-f]{1,15})[ \t]*(?:;[^\r\n]*)?\r\n")
_CODED: Final = (b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"PK\x03\x04", b"\x89PNG", b"\xff\xd8\xff", b"GIF8")


class HttpMessage(Struct, frozen=True):
    """A request or response out of a record: its first line, its fields in order, and its body without chunks."""

    first_line: str
    fields: tuple[tuple[str, str], ...]
    body: bytes

    @property
    def status(self) -> int | None:
        """The status code of a response."""
        parts = self.first_line.split(None, 2)
        if len(parts) < 2 or not parts[0].startswith("HTTP/") or not parts[1][:4].isdecimal():
            return None
        return int(parts[1][:4])

    @property
    def headers(self) -> Headers:
        """The fields, to be found by name."""
        return Headers(self.fields)


def response_head(status: int, fields: Fields, length: int | None) -> tuple[bytes, bool]:
    """The header section of a response with a body of `length` bytes (`None`: it has none), and whether it is whole."""
    lines = [f"HTTP/1.1 {status} {_PHRASES.get(status, '')}"]
    right, is_wrong = str(length), False
    for name, value in fields:
        name = _stored_name(name)
        if len(name) == 14 and value != right and length is not None and name.lower() == "content-length":
            name, is_wrong = ORIGINAL + name, True
        lines.append(f"{name}: {value}")
    if is_wrong:
        lines.append(f"Content-Length: {right}")
    text = "\r\n".join(lines)
    if text.count("\n") >= len(lines) or text.count("\r") >= len(lines) or "\0" in text:
        text = "\r\n".join(_BREAK.sub(" ", line) for line in lines)
    return _bounded(_encoded(text + "\r\n\r\n"))


def is_compressed(fields: Fields, body: bytes) -> bool:
    """Whether deflating the body would gain nothing: it has a content coding, or is of a kind that is dense already."""
    if body.startswith(_CODED):
        return True
    return any(len(name) == 16 and name.lower() == "content-encoding" and value != "identity" for name, value in fields)


def read_message(block: bytes) -> HttpMessage:
    """What is in the block of a record of type `application/http`. Never fails: what is not a field is skipped."""
    head, separator, body = _split(block)
    first, *lines = head.decode("latin-1").split("\n")
    fields: list[tuple[str, str]] = []
    for line in lines:
        if line[:1] in (" ", "\t") and fields:
            name, value = fields[-1]
            fields[-1] = (name, f"{value} {line.strip()}")
        else:
            name, colon, value = line.partition(":")
            if colon:
                fields.append((name.strip(), value.strip()))
    return HttpMessage(first.strip(), tuple(fields), without_chunks(fields, body) if separator else b"")


def without_chunks(fields: Fields, body: bytes) -> bytes:
    """A body without the chunks that archives of others keep.

    Writers that removed the chunks often left the field: a body that is not in chunks is left as it is. Of one that
    ends inside a chunk, or is damaged there, what came before is kept.
    """
    if not any(name.lower() == "transfer-encoding" and "chunked" in value.lower() for name, value in fields):
        return body
    parts: list[bytes] = []
    position = 0
    while line := _CHUNK.match(body, position):
        size = int(line[1], 16)
        part = body[line.end() : line.end() + size]
        parts.append(part)
        position = line.end() + size
        if not size or len(part) < size:
            return b"".join(parts)
        if body[position : position + 2] == b"\r\n":
            position += 2
        elif body[position : position + 1] == b"\n":
            position += 1
        else:
            break
    return b"".join(parts) if len(parts) > 1 else body


def body_offset(block: bytes) -> int:
    """Where the body begins in the block of a record of type `application/http`."""
    head, separator, _ = _split(block)
    return len(head) + len(separator)


def _split(block: bytes) -> tuple[bytes, bytes, bytes]:
    """The header section ends with an empty line, of CRLF or, in some archives, of bare LF, whichever is first."""
    strict, loose = block.find(b"\r\n\r\n", 0, MAX_HEAD + 4), block.find(b"\n\n", 0, MAX_HEAD + 2)
    if strict >= 0 and (loose < 0 or strict < loose):
        return block.partition(b"\r\n\r\n")
    if loose >= 0:
        return block.partition(b"\n\n")
    return block[:MAX_HEAD], b"", b""


def _stored_name(name: str) -> str:
    return _known_name(name) if len(name) <= _LONGEST_CACHED_NAME else _clean_name(name)


def _clean_name(name: str) -> str:
    name = _NO_TOKEN.sub("_", name) or "_"
    return ORIGINAL + name if name.lower() == "transfer-encoding" else name


_known_name = lru_cache(4096)(_clean_name)
"""Servers send the same few names again and again."""


def _encoded(text: str) -> bytes:
    try:
        return text.encode("latin-1")
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace")


def _bounded(head: bytes) -> tuple[bytes, bool]:
    if len(head) <= MAX_HEAD:
        return head, True
    end = head.rfind(b"\r\n", 0, MAX_HEAD - 2)
    return head[:end] + b"\r\n\r\n", False
