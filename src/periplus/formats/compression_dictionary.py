"""Compression dictionaries (RFC 9842): a version that the client has stored shortens the next to what is different.

A response says with `Use-As-Dictionary` for which URLs it may serve as a dictionary. A later request names it by its
SHA-256 in `Available-Dictionary`, and the answer may then have the content coding `dcz`: eight bytes, the SHA-256 of
the dictionary, and a zstd frame. Only `raw` dictionaries of the same https origin are used.

Of the patterns of the URL Pattern Standard only `*` is read; a pattern with more of its syntax applies to nothing.
`read_dcz` returns a `Problem` for what it cannot read: `bad-coding`, `wrong-dictionary`, `truncated` or `too-large`.
"""

from __future__ import annotations

import re
from hashlib import sha256
from typing import Final
from urllib.parse import urljoin, urlsplit

import zstandard
from msgspec import Struct

from periplus.model import Problem

from .structured_fields import FieldItem, InnerList, Member, Token, read_dictionary, read_item, write_bare

CODING: Final = "dcz"
_MAGIC: Final = bytes.fromhex("5e2a4d1820000000")
_HEAD: Final = len(_MAGIC) + sha256().digest_size
_LEAST_WINDOW: Final = 8 << 20
_MOST_WINDOW: Final = 128 << 20
"""Bytes of the window that a frame may ask for: 1.25 times the dictionary, within these bounds (section 5.2)."""
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
    members = read_dictionary(field) or {}
    match, kind, destinations, name = map(members.get, ("match", "type", "match-dest", "id"))
    pattern = _string(match)
    if pattern is None or (kind is not None and kind != FieldItem(Token("raw"))):
        return None
    listed = destinations.items if isinstance(destinations, InnerList) else ()
    return UseAsDictionary(pattern, tuple(filter(None, map(_string, listed))), _string(name) or "")


def write_use_as_dictionary(path: str) -> str | None:
    """The field of a response that is a dictionary for later versions of itself; `None` if no pattern is its path."""
    is_plain = not _NOT_PLAIN.search(path) and "*" not in path and '"' not in path and path.isascii()
    return f'match="{path}"' if is_plain else None


def written_id(name: str) -> str:
    """The `Dictionary-ID` of a request that offers a dictionary which has one."""
    return write_bare(name)


def available(digest: bytes) -> str:
    """The `Available-Dictionary` of a request that offers a dictionary with this SHA-256."""
    return write_bare(digest)


def read_available(field: str) -> bytes | None:
    """The SHA-256 of the dictionary that a request offers; `None` if it offers none."""
    item = read_item(field)
    if item is None or not isinstance(item.value, bytes):
        return None
    return item.value if len(item.value) == sha256().digest_size else None


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


def _string(member: Member | None) -> str | None:
    return member.value if isinstance(member, FieldItem) and type(member.value) is str else None
