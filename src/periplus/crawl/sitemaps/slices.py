"""What files list, column by column; and some hundred entries on their way to the queue of their site, as few bytes.

A file lists up to 50,000 pages and a site may have thousands of files: what is done for each entry by itself is most of
the cost of reading. So entries become columns once (`Listed`), and a slice keeps them as such, compressed: to a sixth,
since URLs of a site are much alike, for a few percent of the time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final, Self, cast

import msgspec
import numpy as np
from msgspec import Struct
from numpy.typing import NDArray
from zstandard import ZstdCompressor, ZstdDecompressor

from periplus.model import ChangeFreq, Discovery, Granularity, Hints, Lastmod, Source, Url
from periplus.policy.ordering import levels_of

if TYPE_CHECKING:
    from periplus.formats.sitemap import Entry

LENGTH = 500
"""Entries of a slice, at most: so many are queued at once when a site's queue has run dry."""

_FREQUENCIES: Final = (None, *ChangeFreq)
_CODES: Final = {frequency.value: code for code, frequency in enumerate(ChangeFreq, 1)}
_BREAK: Final = "\n"
"""No canonical URL has one."""

Reals = NDArray[np.float64]
Bytes = NDArray[np.uint8]
Positions = NDArray[np.intp]


class Listed(Struct, frozen=True):
    """Pages and what a file says of them. Where it says nothing, a number is no number and a code is 0."""

    urls: Sequence[Url]
    at: Reals
    grains: Bytes
    frequencies: Bytes
    priorities: Reals

    @classmethod
    def of(cls, urls: Sequence[Url], entries: Sequence[Entry], at: Reals) -> Self:
        """Entries as columns, by the canonical names of their pages; `at` is their first one (`seconds_of`)."""
        grains = [0 if entry.lastmod is None else entry.lastmod.granularity for entry in entries]
        frequencies = [0 if entry.changefreq is None else _CODES[entry.changefreq._value_] for entry in entries]
        priorities = np.array([entry.priority for entry in entries], np.float64)
        return cls(urls, at, _bytes(bytes(grains)), _bytes(bytes(frequencies)), priorities)

    def __getitem__(self, positions: Positions) -> Listed:
        """Some of them."""
        return Listed(
            [self.urls[position] for position in positions.tolist()],
            self.at[positions],
            self.grains[positions],
            self.frequencies[positions],
            self.priorities[positions],
        )

    def said_priorities(self) -> list[float | None]:
        """What it says of priorities, each by itself."""
        return _said(self.priorities)


def seconds_of(entries: Sequence[Entry]) -> Reals:
    """When entries say they changed."""
    return np.array([None if entry.lastmod is None else entry.lastmod.at for entry in entries], np.float64)


class Slice(Struct, frozen=True, array_like=True):
    """What a file lists of one site at one level. A column is empty where nobody said anything; `scores` may be one."""

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
        urls = self.urls
        scores = _reals(self.scores).tolist()
        if len(scores) == 1:
            scores *= len(urls)
        return [
            Discovery(url, self.source, self.found_at, 1, self.file, hints, score=score)
            for url, score, hints in zip(urls, scores, self._hints(len(urls)), strict=True)
        ]

    def _hints(self, count: int) -> Iterator[Hints]:
        nothing = [None] * count
        frequencies = [_FREQUENCIES[code] for code in self.frequencies] or nothing
        priorities = _said(_reals(self.priorities)) or nothing
        return map(Hints, self._lastmods() or nothing, frequencies, priorities)

    def _lastmods(self) -> list[Lastmod | None]:
        return [
            None if at is None else Lastmod(at, Granularity(grain))
            for at, grain in zip(_said(_reals(self.at)), self.grains, strict=True)
        ]


_decode = msgspec.msgpack.Decoder(Slice).decode
_encode = msgspec.msgpack.Encoder().encode
_press = ZstdCompressor(level=1).compress
_unpress = ZstdDecompressor().decompress


def unpack_slice(packed: bytes) -> Slice:
    """A slice as it was packed."""
    return _decode(_unpress(packed))


def pack(
    file: Url, source: Source, found_at: float, listed: Listed, scores: Sequence[float]
) -> Iterator[tuple[int, list[bytes]]]:
    """Entries of one site as slices, by level: each level and its slices."""
    worth = np.array(scores, np.float64)
    levels = levels_of(worth)
    for level in np.unique(levels).tolist():
        places = np.flatnonzero(levels == level)
        yield (
            level,
            [
                _packed(file, source, found_at, listed[some], worth[some])
                for start in range(0, len(places), LENGTH)
                for some in [places[start : start + LENGTH]]
            ],
        )


def _packed(file: Url, source: Source, found_at: float, listed: Listed, worth: Reals) -> bytes:
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


def _bytes(values: bytes) -> Bytes:
    return np.frombuffer(values, np.uint8)


def _reals(values: bytes) -> Reals:
    return np.frombuffer(values, np.float64)


def _said(values: Reals) -> list[float | None]:
    """Numbers; None for what is none."""
    numbers: list[float | None] = values.tolist()
    return [None if value != value else value for value in numbers] if np.isnan(values).any() else numbers
