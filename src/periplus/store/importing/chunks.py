"""Bodies whose chunks were archived with them (RFC 9112 section 7.1): some writers keep the transfer coding."""

from __future__ import annotations

import re
from typing import Final

from ..warc.http import HttpMessage

_SIZE: Final = re.compile(rb"[ \t]*([0-9A-Fa-f]{1,15})[ \t]*(?:;[^\r\n]*)?\r\n")


def without_chunks(message: HttpMessage) -> tuple[tuple[tuple[str, str], ...], bytes]:
    """The fields and the body of a message without its chunks.

    Writers that removed the chunks often left the field: a body that is not in chunks is left as it is. Of one that
    ends inside a chunk, or is damaged there, what came before is kept.
    """
    if not any(name.lower() == "transfer-encoding" and "chunked" in value.lower() for name, value in message.fields):
        return message.fields, message.body
    return message.fields, _joined(message.body)


def _joined(body: bytes) -> bytes:
    parts: list[bytes] = []
    position = 0
    while line := _SIZE.match(body, position):
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
