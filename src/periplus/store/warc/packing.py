"""How records are packed: each by itself, as a gzip member or as a Zstandard frame, so that it can be read alone.

`packing_of` gives the packing of a file. The frames of a `.warc.zst` file may have been made with a dictionary, which
is then its first frame ("Zstandard Compression for WARC Files", IIPC). Records of a crawl are short and alike, so that
a dictionary makes them about a third as long. It has to be there before the first record: so the first file of a shard
has none and ends after `SAMPLES` records; from these a dictionary is trained, and all later files have it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from random import SystemRandom
from typing import Final, Protocol

import zstandard

from . import frames
from .members import deflated, deflated_pieces, stored
from .reading import WarcRecord, read_records

GZIP: Final = ".warc.gz"
ZSTD: Final = ".warc.zst"
PACKED: Final = (GZIP, ZSTD)
"""What the names of our files end with."""
SAMPLES: Final = 1_000
"""Records that a dictionary is made of."""
_MAX_SAMPLE: Final = 32 << 10
"""Bytes of a record that a dictionary is made of: the heads and the beginning of a page."""
_DICTIONARY_BYTES: Final = 110 << 10
"""What zstd's own tool makes."""
_WINDOW_LOG: Final = 23
"""8 MiB, which every reader has to support."""
_IDS: Final = (1 << 15, (1 << 31) - 1)
"""Identifiers of dictionaries that are for private use (RFC 8878 section 5)."""


class Packing(Protocol):
    """Packs records for one file."""

    @property
    def suffix(self) -> str:
        """What the name of the file ends with."""

    @property
    def beginning(self) -> bytes:
        """What stands before the first record."""

    def text(self, record: bytes) -> bytes:
        """A record, compressed."""

    def dense(self, record: bytes) -> bytes:
        """A record that is short, or whose body is compressed already."""

    def pieces(self, record: Iterable[bytes], size: int) -> Iterator[bytes]:
        """A record of `size` bytes in pieces."""


class GzipPacking:
    """gzip members; `level` is that of isal, 0 (fastest) to 3."""

    suffix = GZIP
    beginning = b""

    def __init__(self, level: int) -> None:
        self._level = level

    def text(self, record: bytes) -> bytes:
        """A record, compressed."""
        return deflated(record, self._level)

    def dense(self, record: bytes) -> bytes:
        """A record as it is."""
        return stored(record)

    def pieces(self, record: Iterable[bytes], size: int) -> Iterator[bytes]:  # noqa: ARG002 - a member does not need it
        """A record in pieces."""
        return deflated_pieces(record, self._level)


class ZstdPacking:
    """Zstandard frames with their size and checksum, and with the dictionary if there is one."""

    suffix = ZSTD

    def __init__(self, level: int, dictionary: bytes = b"") -> None:
        self.beginning = frames.dictionary_frame(dictionary) if dictionary else b""
        parameters = zstandard.ZstdCompressionParameters.from_level(
            level or -1, window_log=_WINDOW_LOG, write_checksum=True, write_content_size=True, write_dict_id=True
        )
        known = zstandard.ZstdCompressionDict(dictionary) if dictionary else None
        if known is not None:
            known.precompute_compress(compression_params=parameters)
        self._compressor = zstandard.ZstdCompressor(compression_params=parameters, dict_data=known)
        self.text = self.dense = self._compressor.compress

    def pieces(self, record: Iterable[bytes], size: int) -> Iterator[bytes]:
        """A record of `size` bytes in pieces."""
        stream = self._compressor.compressobj(size=size)
        for piece in record:
            if packed := stream.compress(piece):
                yield packed
        yield stream.flush()


def packing_of(path: Path, level: int, dictionary: bytes = b"") -> Packing:
    """The packing of a file by its name: of one that exists with the dictionary that it has, else with this one."""
    if not path.name.endswith(ZSTD):
        return GzipPacking(level)
    return ZstdPacking(level, frames.dictionary_in(path) if path.exists() else dictionary)


def trained(path: Path) -> bytes:
    """The dictionary of a file; made of its first records if it has none; empty if they are too few or too unlike."""
    if path.name.endswith(ZSTD) and (known := frames.dictionary_in(path)):
        return known
    records = (each for each in read_records(path, max_block=_MAX_SAMPLE) if isinstance(each, WarcRecord))
    samples: list[bytes | bytearray | memoryview] = [record.head + record.block for record in islice(records, SAMPLES)]
    if len(samples) < SAMPLES:
        return b""
    try:
        return zstandard.train_dictionary(
            _DICTIONARY_BYTES, samples, dict_id=SystemRandom().randint(*_IDS), level=3
        ).as_bytes()
    except zstandard.ZstdError:
        return b""
