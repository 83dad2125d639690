"""Zstandard frames (RFC 8878) in place of gzip members: `.warc.zst`, as some archives are kept. Read only.

Each record is a frame of its own. The first frame may be one that decoders skip, of a kind that holds the dictionary
with which all others were made ("Use of Zstandard in WARC", IIPC), itself compressed or not.
"""

from __future__ import annotations

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


def decompressor_of(file: BinaryIO) -> zstandard.ZstdDecompressor:
    """The decompressor for the frames of this file. A dictionary that cannot be read is ignored."""
    file.seek(0)
    size = int.from_bytes(head[4:], "little") if (head := file.read(8)).startswith(_DICTIONARY) else 0
    data = file.read(min(size, _LARGEST_DICTIONARY))
    plain = zstandard.ZstdDecompressor(max_window_size=_WINDOW)
    try:
        if data.startswith(MAGIC):
            data = plain.decompress(data, max_output_size=_LARGEST_DICTIONARY)
        dictionary = zstandard.ZstdCompressionDict(data) if data else None
        return zstandard.ZstdDecompressor(dict_data=dictionary, max_window_size=_WINDOW) if dictionary else plain
    except ERROR:
        return plain


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
