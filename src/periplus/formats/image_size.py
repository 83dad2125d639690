"""Width and height of a picture from its first bytes: PNG, JPEG, GIF, WebP and AVIF.

Only headers are read, no pixel: PNG (ISO/IEC 15948, IHDR), JPEG (ITU-T T.81, the first frame header), GIF (the screen
descriptor), WebP (RFC 9649: VP8, VP8L or VP8X) and AVIF (ISO/IEC 23008-12: the `ispe` properties, of which the largest
is that of the picture; others are those of tiles and thumbnails). Whatever the bytes are, the answer is a size or
nothing: no input makes a reader raise, and each reads forward once.

Turns and crops are not applied: the size is that of the stored picture.
"""

from __future__ import annotations

from collections.abc import Iterator
from struct import unpack_from
from typing import Final

from msgspec import Struct

NEEDED: Final = 64 * 1024
"""Bytes that are looked at, from the first on: the header of a JPEG may follow metadata, which can be as long."""

_START_OF_FRAME: Final = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
"""JPEG markers of a frame header, without those of tables in the same range."""
_ALONE: Final = frozenset({0x01, *range(0xD0, 0xD9)})
"""JPEG markers that no length follows."""
_SCAN: Final = frozenset({0xD9, 0xDA})
"""JPEG markers after which no frame header comes: the end, and the first scan."""
_BOXES: Final = {b"meta": 4, b"iprp": 0, b"ipco": 0}
"""Boxes of AVIF that hold others, and the bytes before the first of these."""
_MAX_DEPTH: Final = 3
"""Boxes within each other on the way to `ispe`."""
_AVIF_BRANDS: Final = (b"avif", b"avis", b"mif1", b"msf1")


class ImageSize(Struct, frozen=True):
    """The size of an image in pixels, both above 0."""

    width: int
    height: int


def image_size(data: bytes) -> ImageSize | None:
    """The size of the picture that begins so; `None` if the bytes are not a picture of a known kind, or too few."""
    head = data[:NEEDED]
    for signature, read in _READERS:
        if head.startswith(signature):
            found = read(head)
            return ImageSize(*found) if found is not None and min(found) > 0 else None
    return None


Size = tuple[int, int] | None


def _png(head: bytes) -> Size:
    if len(head) < 24 or head[12:16] != b"IHDR":
        return None
    width, height = unpack_from(">II", head, 16)
    return width, height


def _gif(head: bytes) -> Size:
    if len(head) < 10 or head[3:6] not in (b"87a", b"89a"):
        return None
    width, height = unpack_from("<HH", head, 6)
    return width, height


def _jpeg(head: bytes) -> Size:
    place = 2
    while place + 9 <= len(head):
        if head[place] != 0xFF:
            return None
        marker = head[place + 1]
        if marker in _START_OF_FRAME:
            height, width = unpack_from(">HH", head, place + 5)
            return width, height
        if marker in _SCAN:
            return None
        if marker == 0xFF:  # a fill byte
            place += 1
        elif marker in _ALONE:
            place += 2
        else:
            place += 2 + max(int(unpack_from(">H", head, place + 2)[0]), 2)
    return None


def _webp(head: bytes) -> Size:
    if len(head) < 25 or head[8:12] != b"WEBP":
        return None
    kind = head[12:16]
    if kind == b"VP8X" and len(head) >= 30:
        return 1 + int.from_bytes(head[24:27], "little"), 1 + int.from_bytes(head[27:30], "little")
    if kind == b"VP8L" and head[20] == 0x2F:
        bits = int.from_bytes(head[21:25], "little")
        return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
    if kind == b"VP8 " and len(head) >= 30 and head[23:26] == b"\x9d\x01\x2a":
        width, height = unpack_from("<HH", head, 26)
        return width & 0x3FFF, height & 0x3FFF
    return None


def _avif(head: bytes) -> Size:
    if len(head) < 16 or head[4:8] != b"ftyp":
        return None
    end = min(int(unpack_from(">I", head)[0]), len(head))
    if not any(head[place : place + 4] in _AVIF_BRANDS for place in range(8, end, 4)):
        return None
    return max(_extents(head, 0, len(head), 0), key=lambda size: size[0] * size[1], default=None)


def _extents(head: bytes, start: int, end: int, depth: int) -> Iterator[tuple[int, int]]:
    """Every `ispe` in the boxes between two places."""
    place = start
    while place + 8 <= end:
        length, kind = int(unpack_from(">I", head, place)[0]), head[place + 4 : place + 8]
        inner, stop = place + 8, end if length == 0 else place + length
        if length == 1 and place + 16 <= end:
            inner, stop = place + 16, place + int(unpack_from(">Q", head, place + 8)[0])
        if stop < inner:
            return
        if kind == b"ispe" and inner + 12 <= min(stop, len(head)):
            width, height = unpack_from(">II", head, inner + 4)
            yield width, height
        elif kind in _BOXES and depth < _MAX_DEPTH:
            yield from _extents(head, inner + _BOXES[kind], min(stop, end), depth + 1)
        place = stop


_READERS: Final = (
    (b"\x89PNG\r\n\x1a\n", _png),
    (b"\xff\xd8", _jpeg),
    (b"GIF8", _gif),
    (b"RIFF", _webp),
    (b"\x00\x00\x00", _avif),
)
"""First bytes of each kind. The first box of an AVIF is shorter than 256 bytes."""
