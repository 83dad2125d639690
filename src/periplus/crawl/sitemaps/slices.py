"""Some hundred entries of a file on their way to the queue of their site, as one value of few bytes."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec import Struct

from periplus.model import ChangeFreq, Discovery, Granularity, Hints, Lastmod, Source, Url

LENGTH = 500
"""Entries of a slice: so many are queued at once when a site's queue has run dry."""


class Slice(Struct, frozen=True, array_like=True):
    """What a file lists of one site at one level. Columns; `dates` and `words` are empty where nobody said anything."""

    file: Url
    source: Source
    found_at: float
    score: float
    urls: tuple[Url, ...]
    dates: tuple[tuple[float, int] | None, ...] = ()
    words: tuple[tuple[str | None, float | None], ...] = ()

    def discoveries(self) -> list[Discovery]:
        """Every entry as it was found."""
        dates = self.dates or (None,) * len(self.urls)
        words = self.words or ((None, None),) * len(self.urls)
        return [
            Discovery(url, self.source, self.found_at, 1, self.file, _hints(date, word), score=self.score)
            for url, date, word in zip(self.urls, dates, words, strict=True)
        ]


def _hints(date: tuple[float, int] | None, word: tuple[str | None, float | None]) -> Hints:
    frequency, priority = word
    return Hints(
        None if date is None else Lastmod(date[0], Granularity(date[1])),
        None if frequency is None else ChangeFreq(frequency),
        priority,
    )


_decode = msgspec.msgpack.Decoder(Slice).decode


def unpack_slice(packed: bytes) -> Slice:
    """A slice as it was packed."""
    return _decode(packed)


def pack(
    file: Url, source: Source, found_at: float, score: float, urls: Sequence[Url], hints: Sequence[Hints]
) -> list[bytes]:
    """Entries of one site and one score, as slices."""
    packed = []
    for start in range(0, len(urls), LENGTH):
        some = hints[start : start + LENGTH]
        dates = tuple(
            None if hint.lastmod is None else (hint.lastmod.at, int(hint.lastmod.granularity)) for hint in some
        )
        words = tuple((None if hint.changefreq is None else hint.changefreq.value, hint.priority) for hint in some)
        packed.append(
            msgspec.msgpack.encode(
                Slice(
                    file,
                    source,
                    found_at,
                    score,
                    tuple(urls[start : start + LENGTH]),
                    dates if any(dates) else (),
                    words if any(map(any, words)) else (),
                )
            )
        )
    return packed
