"""Compression dictionaries (RFC 9842): a version that the client has stored shortens the next to what is different.

A response says with `Use-As-Dictionary` for which URLs it may serve as a dictionary. A later request names it by its
SHA-256 in `Available-Dictionary`, and the answer may then have the content coding `dcz`: eight bytes, the SHA-256 of
the dictionary, and a zstd frame. Only `raw` dictionaries of the same https origin are used.

Of the patterns of the URL Pattern Standard only `*` is read; a pattern with more of its syntax applies to nothing.
`read_dcz` returns a `Problem` for what it cannot read: `bad-coding`, `wrong-dictionary`, `truncated` or `too-large`.
"""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from binascii import Error
from hashlib import sha256
from typing import Final
from urllib.parse import urljoin, urlsplit

import zstandard
from msgspec import Struct

from periplus.model import Problem

CODING: Final = "dcz"
MAX_FIELD: Final = 4_096
"""Characters of a field that is read."""
_MAGIC: Final = bytes.fromhex("5e2a4d1820000000")
_HEAD: Final = len(_MAGIC) + sha256().digest_size
_LEAST_WINDOW: Final = 8 << 20
_MOST_WINDOW: Final = 128 << 20
"""Bytes of the window that a frame may ask for: 1.25 times the dictionary, within these bounds (section 5.2)."""
_STRING = r'"(?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\["\\]){0,1024}"'
_MEMBER = re.compile(rf"[ \t]*([a-z*][a-z0-9_.*-]*)(?:=({_STRING}|\([^()]*\)|[A-Za-z*][\w:/.*-]*))?[ \t]*(?:,|$)")
_STRINGS = re.compile(_STRING)
_NOT_PLAIN = re.compile(r"[\\?+:(){}]|\*\*")
"""What has a meaning in a URL pattern, other than a single `*`."""


class UseAsDictionary(Struct, frozen=True):
    """For which URLs a response may serve as a dictionary. `id` is to be sent back with it."""

    match: str
    destinations: tuple[str, ...] = ()
    id: str = ""

    def applies(self, dictionary_url: str, url: str) -> bool:
        """Whether a request for `url` may offer the response of `dictionary_url`: https, of the same origin."""
        if _NOT_PLAIN.search(self.match):
            return False
        try:
            own, other, pattern = map(urlsplit, (dictionary_url, url, urljoin(dictionary_url, self.match)))
        except ValueError:
            return False
        is_same_origin = own.scheme == "https" and own[:2] == other[:2] == pattern[:2]
        return is_same_origin and _matches(pattern.path.split("*"), other.path or "/")


def read_use_as_dictionary(field: str) -> UseAsDictionary | None:
    """A `Use-As-Dictionary` field; `None` if it is not one, or if the dictionary is not `raw`."""
    members: dict[str, str] = {}
    at = 0
    while at < len(field) <= MAX_FIELD:
        found = _MEMBER.match(field, at)
        if found is None:
            return None
        members[found[1]] = found[2] or ""
        at = found.end()
    match = members.get("match", "")
    if not match.startswith('"') or members.get("type", "raw") != "raw":
        return None
    destinations = tuple(_unquoted(one) for one in _STRINGS.findall(members.get("match-dest", "")))
    return UseAsDictionary(_unquoted(match), destinations, _unquoted(members.get("id", '""')))


def write_use_as_dictionary(path: str) -> str | None:
    """The field of a response that is a dictionary for later versions of itself; `None` if no pattern is its path."""
    is_plain = not _NOT_PLAIN.search(path) and "*" not in path and '"' not in path and path.isascii()
    return f'match="{path}"' if is_plain else None


def written_id(name: str) -> str:
    """The `Dictionary-ID` of a request that offers a dictionary which has one."""
    return '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'


def available(digest: bytes) -> str:
    """The `Available-Dictionary` of a request that offers a dictionary with this SHA-256."""
    return f":{b64encode(digest).decode()}:"


def read_available(field: str) -> bytes | None:
    """The SHA-256 of the dictionary that a request offers; `None` if it offers none."""
    text = field.strip()
    if len(text) > MAX_FIELD or not (text.startswith(":") and text.endswith(":")):
        return None
    try:
        digest = b64decode(text[1:-1], validate=True)
    except (Error, ValueError):
        return None
    return digest if len(digest) == sha256().digest_size else None


def write_dcz(body: bytes, dictionary: bytes, level: int = 3) -> bytes:
    """A body in the coding `dcz`."""
    window = max(_LEAST_WINDOW, min(len(dictionary) * 5 // 4, _MOST_WINDOW))
    parameters = zstandard.ZstdCompressionParameters.from_level(
        level, window_log=min(max(len(body) + len(dictionary), 1024).bit_length(), window.bit_length() - 1)
    )
    raw = zstandard.ZstdCompressionDict(dictionary, dict_type=zstandard.DICT_TYPE_RAWCONTENT)
    frame = zstandard.ZstdCompressor(compression_params=parameters, dict_data=raw).compress(body)
    return _MAGIC + sha256(dictionary).digest() + frame


def read_dcz(coded: bytes, dictionary: bytes, max_size: int) -> bytes | Problem:
    """The body of at most `max_size` bytes that was coded with this dictionary, or what is wrong with it."""
    if not coded.startswith(_MAGIC):
        is_start = len(coded) < len(_MAGIC) and _MAGIC.startswith(coded)
        return Problem("truncated" if is_start else "bad-coding")
    if len(coded) < _HEAD:
        return Problem("truncated")
    if coded[len(_MAGIC) : _HEAD] != sha256(dictionary).digest():
        return Problem("wrong-dictionary")
    window = max(_LEAST_WINDOW, min(len(dictionary) * 5 // 4, _MOST_WINDOW))
    raw = zstandard.ZstdCompressionDict(dictionary, dict_type=zstandard.DICT_TYPE_RAWCONTENT)
    reader = zstandard.ZstdDecompressor(dict_data=raw, max_window_size=window).decompressobj()
    body = bytearray()
    try:
        for at in range(_HEAD, len(coded), _PIECE):
            body += reader.decompress(coded[at : at + _PIECE])
            if len(body) > max_size:
                return Problem("too-large", str(max_size))
    except zstandard.ZstdError as error:
        return Problem("bad-coding", str(error)[:200])
    if reader.unused_data:
        return Problem("bad-coding", "bytes after the frame")
    return bytes(body) if reader.eof else Problem("truncated")


_PIECE: Final = 256
"""Bytes that are decompressed at once: a piece of zeros becomes at most some megabytes."""


def _matches(parts: list[str], path: str) -> bool:
    """Whether a path is these parts in order with anything between them, in linear time."""
    first, *rest = parts
    if not rest:
        return path == first
    last = rest.pop()
    if not path.startswith(first) or not path.endswith(last) or len(path) < len(first) + len(last):
        return False
    at, end = len(first), len(path) - len(last)
    for part in rest:
        at = path.find(part, at, end)
        if at < 0:
            return False
        at += len(part)
    return True


def _unquoted(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text[1:-1])
