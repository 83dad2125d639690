"""Sizes of pictures: what a writer puts into the headers is read back, and no bytes make the reader fail."""

from __future__ import annotations

import struct
import zlib

from hypothesis import given
from hypothesis import strategies as st

from periplus.formats.image_size import NEEDED, ImageSize, image_size

_SHORT = st.integers(1, 0x3FFF)
_LONG = st.integers(1, 2**31 - 1)


def png(width: int, height: int) -> bytes:
    data = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    crc = struct.pack(">I", zlib.crc32(b"IHDR" + data))
    return b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + b"IHDR" + data + crc


def gif(width: int, height: int) -> bytes:
    return b"GIF89a" + struct.pack("<HHBBB", width, height, 0, 0, 0)


def jpeg(width: int, height: int, before: bytes = b"", fill: int = 0, frame: int = 0xC0) -> bytes:
    comment = b"\xff\xfe" + struct.pack(">H", len(before) + 2) + before
    start = b"\xff" * fill + bytes((0xFF, frame)) + struct.pack(">HBHHB", 11, 8, height, width, 1) + b"\x01\x11\x00"
    return b"\xff\xd8" + comment + start


def webp(width: int, height: int, kind: str) -> bytes:
    if kind == "VP8X":
        body = bytes(4) + (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little")
    elif kind == "VP8L":
        body = b"\x2f" + (width - 1 | height - 1 << 14).to_bytes(4, "little") + bytes(5)
    else:
        body = b"\x10\x02\x00\x9d\x01\x2a" + struct.pack("<HH", width, height)
    chunk = kind.encode() + struct.pack("<I", len(body)) + body
    return b"RIFF" + struct.pack("<I", len(chunk) + 4) + b"WEBP" + chunk


def box(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body) + 8) + kind + body


def avif(width: int, height: int, tile: int = 0) -> bytes:
    sizes = [(tile, tile)] * (tile > 0) + [(width, height)]
    properties = b"".join(box(b"ispe", bytes(4) + struct.pack(">II", *size)) for size in sizes)
    meta = box(b"meta", bytes(4) + box(b"hdlr", bytes(24)) + box(b"iprp", box(b"ipco", properties)))
    return box(b"ftyp", b"avif" + bytes(4) + b"mif1miaf") + meta + box(b"mdat", bytes(20))


@given(_LONG, _LONG)
def test_png_and_avif_have_the_size_that_was_written(width: int, height: int) -> None:
    assert image_size(png(width, height)) == ImageSize(width, height)
    assert image_size(avif(width, height)) == ImageSize(width, height)


@given(_SHORT, _SHORT, st.sampled_from(["VP8X", "VP8L", "VP8 "]))
def test_gif_and_webp_have_the_size_that_was_written(width: int, height: int, kind: str) -> None:
    assert image_size(gif(width, height)) == ImageSize(width, height)
    assert image_size(webp(width, height, kind)) == ImageSize(width, height)


@given(_SHORT, _SHORT, st.binary(max_size=300), st.integers(0, 3), st.sampled_from([0xC0, 0xC2, 0xCF]))
def test_jpeg_has_the_size_of_its_frame(width: int, height: int, before: bytes, fill: int, frame: int) -> None:
    assert image_size(jpeg(width, height, before, fill, frame)) == ImageSize(width, height)


@given(
    st.sampled_from([b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF89a", b"RIFF", b"\x00\x00\x00\x20ftypavif"]),
    st.binary(),
)
def test_any_bytes_give_a_size_or_nothing(start: bytes, rest: bytes) -> None:
    found = image_size(start + rest)
    assert found is None or (found.width > 0 and found.height > 0)


@given(
    st.sampled_from([png(640, 480), gif(640, 480), jpeg(640, 480, b"comment"), webp(640, 480, "VP8 "), avif(640, 480)]),
    st.data(),
)
def test_a_picture_that_is_cut_has_its_size_or_none(whole: bytes, data: st.DataObject) -> None:
    cut = whole[: data.draw(st.integers(0, len(whole)))]
    assert image_size(cut) in (None, ImageSize(640, 480))


def test_the_largest_of_several_extents_is_that_of_the_picture() -> None:
    assert image_size(avif(4000, 3000, tile=512)) == ImageSize(4000, 3000)


def test_only_the_first_bytes_count() -> None:
    late = b"\xff\xd8" + b"\xff\xe1\xff\xff" + bytes(0xFFFD) + jpeg(10, 10)[2:]
    assert len(late) > NEEDED
    assert image_size(late) is None
    assert image_size(b"\xff\xd8" + b"\xff\xe1\xf0\x00" + bytes(0xEFFE) + jpeg(10, 10)[2:]) == ImageSize(10, 10)


def test_other_files_and_empty_pictures_have_no_size() -> None:
    assert image_size(b"") is None
    assert image_size(b"<svg width='3'/>") is None
    assert image_size(png(0, 7)) is None
