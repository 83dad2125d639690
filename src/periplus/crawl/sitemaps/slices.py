"""Some hundred entries of a file on their way to the queue of their site, as few bytes.

A file lists up to 50,000 pages and a site may have thousands of files: what is done for each entry by itself is most of
the cost of reading. So a slice keeps entries as the columns in which they come, compressed: to a sixth, since URLs of a
site are much alike, for a few percent of the time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, cast

import msgspec
import numpy as np
from msgspec import Struct
from numpy.typing import NDArray
from zstandard import ZstdCompressor, ZstdDecompressor

from periplus.model import Discovery, EntryColumns, Hints, Source, Url
from periplus.policy.ordering import levels_of

LENGTH = 500
"""Entries of a slice, at most: a whole slice is queued when a site's queue has run dry."""

_BREAK: Final = "\n"
"""No canonical URL has one."""

Reals = NDArray[np.float64]
Bytes = NDArray[np.uint8]


class Slice(Struct, frozen=True, array_like=True):
    """What a file lists of one site at one level.

    A column is empty where no entry has a value; `scores` may be one number.
    """

    file: Url
    source: Source
    found_at: float
    lines: str
    scores: bytes
    at: bytes = b""
    grains: bytes = b""
    frequencies: bytes = b""
    priorities: bytes = b""

    @property
    def urls(self) -> list[Url]:
        """The pages."""
        return cast("list[Url]", self.lines.split(_BREAK))

    def discoveries(self) -> list[Discovery]:
        """Every entry as it was found."""
        entries = self._entries()
        scores = _reals(self.scores, 1).tolist()
        if len(scores) == 1:
            scores *= len(entries)
        hints = map(Hints, entries.lastmods(), entries.changefreqs(), entries.said_priorities())
        return [
            Discovery(url, self.source, self.found_at, 1, self.file, hint, score=score)
            for url, score, hint in zip(self.urls, scores, hints, strict=True)
        ]

    def _entries(self) -> EntryColumns:
        urls = self.urls
        count = len(urls)
        grains, frequencies = _codes(self.grains, count), _codes(self.frequencies, count)
        return EntryColumns(urls, _reals(self.at, count), grains, frequencies, _reals(self.priorities, count))


_decode = msgspec.msgpack.Decoder(Slice).decode
_encode = msgspec.msgpack.Encoder().encode
_press = ZstdCompressor(level=1).compress
_unpress = ZstdDecompressor().decompress


def unpack_slice(packed: bytes) -> Slice:
    """A slice as it was packed."""
    return _decode(_unpress(packed))


def pack(
    file: Url, source: Source, found_at: float, listed: EntryColumns, scores: Sequence[float]
) -> Iterator[tuple[int, list[bytes]]]:
    """Entries of one site as slices, by level: each level and its slices."""
    worth = np.array(scores, np.float64)
    levels = levels_of(worth)
    for level in np.unique(levels).tolist():
        places = np.flatnonzero(levels == level)
        yield (
            level,
            [
                _packed(file, source, found_at, listed.take(some), worth[some])
                for start in range(0, len(places), LENGTH)
                for some in [places[start : start + LENGTH]]
            ],
        )


def _packed(file: Url, source: Source, found_at: float, listed: EntryColumns, worth: Reals) -> bytes:
    is_dated = not np.isnan(listed.at).all()
    packed = _encode(
        Slice(
            file,
            source,
            found_at,
            _BREAK.join(listed.urls),
            worth[:1].tobytes() if (worth == worth[0]).all() else worth.tobytes(),
            listed.at.tobytes() if is_dated else b"",
            listed.grains.tobytes() if is_dated else b"",
            listed.frequencies.tobytes() if listed.frequencies.any() else b"",
            b"" if np.isnan(listed.priorities).all() else listed.priorities.tobytes(),
        )
    )
    return _press(packed)


def _codes(kept: bytes, count: int) -> Bytes:
    return np.frombuffer(kept, np.uint8) if kept else np.zeros(count, np.uint8)


def _reals(kept: bytes, count: int) -> Reals:
    return np.frombuffer(kept, np.float64) if kept else np.full(count, np.nan)
