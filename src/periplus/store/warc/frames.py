"""Zstandard frames (RFC 8878) in place of gzip members: `.warc.zst`.

Each record is a frame of its own. The first frame may be one that decoders skip, of a kind that holds the dictionary
with which all others were made ("Zstandard Compression for WARC Files", IIPC), itself compressed or not.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import BinaryIO, Final

import zstandard

MAGIC: Final = b"\x28\xb5\x2f\xfd"
ERROR: Final = zstandard.ZstdError

_SKIPPED: Final = b"\x2a\x4d\x18"
_DICTIONARY: Final = b"\x5d" + _SKIPPED
_LARGEST_DICTIONARY: Final = 16 << 20
_WINDOW: Final = 64 << 20
_SPOON: Final = 256
"""Bytes that are fed at a time: a block of 4 bytes can expand to 128 KiB."""


def is_frame(beginning: bytes) -> bool:
    """Whether a file that begins so is one of frames."""
    return beginning.startswith(MAGIC) or (beginning[1:4] == _SKIPPED and 0x50 <= beginning[0] <= 0x5F)


def dictionary_frame(dictionary: bytes) -> bytes:
    """The first frame of a file: the dictionary, compressed."""
    data = zstandard.ZstdCompressor(level=19, write_checksum=True).compress(dictionary)
    return _DICTIONARY + len(data).to_bytes(4, "little") + data


def dictionary_in(path: Path) -> bytes:
    """The dictionary that a file begins with; empty if there is none, or if it cannot be read."""
    with path.open("rb") as file:
        return _unpacked(_packed_dictionary(file))


def decompressor_of(file: BinaryIO) -> zstandard.ZstdDecompressor:
    """The decompressor for the frames of this file, which unpacks one at a time."""
    return zstandard.ZstdDecompressor(dict_data=_dictionary(_packed_dictionary(file)), max_window_size=_WINDOW)


def _packed_dictionary(file: BinaryIO) -> bytes:
    file.seek(0)
    size = int.from_bytes(head[4:], "little") if (head := file.read(8)).startswith(_DICTIONARY) else 0
    return file.read(min(size, _LARGEST_DICTIONARY))


def _unpacked(data: bytes) -> bytes:
    try:
        if data.startswith(MAGIC):
            if zstandard.frame_content_size(data) > _LARGEST_DICTIONARY:  # `max_output_size` is for unstated sizes only
                return b""
            plain = zstandard.ZstdDecompressor(max_window_size=_WINDOW)
            return plain.decompress(data, max_output_size=_LARGEST_DICTIONARY)
    except ERROR:
        return b""
    return data


@lru_cache(8)
def _dictionary(data: bytes) -> zstandard.ZstdCompressionDict | None:
    """A dictionary, ready for use: single records are read again and again, of few files. Ignored if it is broken."""
    try:
        return zstandard.ZstdCompressionDict(known) if (known := _unpacked(data)) else None
    except ERROR:
        return None


class Frame:
    """One frame, unpacked piece by piece, in the manner of zlib's objects."""

    def __init__(self, decompressor: zstandard.ZstdDecompressor) -> None:
        self._stream = decompressor.decompressobj()
        self.eof = False
        self.unused_data = b""
        self.unconsumed_tail = b""

    def decompress(self, data: bytes, _size: int) -> bytes:
        """The next piece: what the next few bytes of `data` hold, at most 8 MiB; the others are the tail."""
        piece = self._stream.decompress(data[:_SPOON])
        self.eof = self._stream.eof
        rest = data[_SPOON:]
        self.unused_data = self._stream.unused_data + rest if self.eof else b""
        self.unconsumed_tail = b"" if self.eof else rest
        return piece
