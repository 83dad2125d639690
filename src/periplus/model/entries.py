"""Entries of sitemaps as columns.

A file lists up to 50,000 pages, a site up to millions, and an object for each costs more than everything else that is
done with it. So code that handles many entries at once uses columns; for other code they are a sequence of entries,
each made on access.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Final, Protocol, overload

import numpy as np
from numpy.typing import NDArray

from .events import SitemapEntry
from .types import ChangeFreq, Granularity, Lastmod

_FREQUENCIES: Final = (None, *ChangeFreq)
_GRAINS: Final = tuple(Granularity)
FREQUENCY_CODES: Final = {frequency: code for code, frequency in enumerate(_FREQUENCIES)}
"""The code of each frequency in a column; 0 is none."""

Reals = NDArray[np.float64]
Bytes = NDArray[np.uint8]
Positions = NDArray[np.intp]


class _Entry(Protocol):
    """Anything with the metadata that the protocol allows for a page."""

    @property
    def url(self) -> str: ...
    @property
    def lastmod(self) -> Lastmod | None: ...
    @property
    def changefreq(self) -> ChangeFreq | None: ...
    @property
    def priority(self) -> float | None: ...


class EntryColumns(Sequence[SitemapEntry]):
    """Pages, without titles. Where a value is missing, a number is NaN and a code is 0.

    `at` and `grains` are the two halves of a `Lastmod`, the second by `Granularity`; `frequencies` are
    `FREQUENCY_CODES`. `sizes` are in bytes; `None` if no entry has one. Columns are never changed.
    """

    __slots__ = ("at", "frequencies", "grains", "priorities", "sizes", "urls")

    def __init__(
        self,
        urls: Sequence[str],
        at: Reals,
        grains: Bytes,
        frequencies: Bytes,
        priorities: Reals,
        sizes: Reals | None = None,
    ) -> None:
        self.urls = urls
        self.at = at
        self.grains = grains
        self.frequencies = frequencies
        self.priorities = priorities
        self.sizes = sizes

    @classmethod
    def of(cls, entries: Sequence[_Entry]) -> EntryColumns:
        """Convert entries of any kind."""
        if isinstance(entries, EntryColumns):
            return entries
        lastmods = [entry.lastmod for entry in entries]
        return cls(
            [entry.url for entry in entries],
            np.array([None if lastmod is None else lastmod.at for lastmod in lastmods], np.float64),
            np.array([0 if lastmod is None else lastmod.granularity for lastmod in lastmods], np.uint8),
            np.array([FREQUENCY_CODES[entry.changefreq] for entry in entries], np.uint8),
            np.array([entry.priority for entry in entries], np.float64),
        )

    @classmethod
    def joined(cls, parts: Sequence[EntryColumns]) -> EntryColumns:
        """Several, one behind the other; there must be one."""
        if len(parts) == 1:
            return parts[0]
        return cls(
            list(chain.from_iterable([part.urls for part in parts])),
            np.concatenate([part.at for part in parts]),
            np.concatenate([part.grains for part in parts]),
            np.concatenate([part.frequencies for part in parts]),
            np.concatenate([part.priorities for part in parts]),
            None
            if all(part.sizes is None for part in parts)
            else np.concatenate([part.stated_sizes() for part in parts]),
        )

    def with_urls(self, urls: Sequence[str]) -> EntryColumns:
        """The same entries with other URLs."""
        return EntryColumns(urls, self.at, self.grains, self.frequencies, self.priorities, self.sizes)

    def take(self, positions: Positions) -> EntryColumns:
        """Select some of the entries."""
        urls = self.urls
        return EntryColumns(
            [urls[position] for position in positions.tolist()],
            self.at[positions],
            self.grains[positions],
            self.frequencies[positions],
            self.priorities[positions],
            None if self.sizes is None else self.sizes[positions],
        )

    def __len__(self) -> int:
        return len(self.urls)

    @overload
    def __getitem__(self, place: int) -> SitemapEntry: ...
    @overload
    def __getitem__(self, place: slice) -> EntryColumns: ...
    def __getitem__(self, place: int | slice) -> SitemapEntry | EntryColumns:
        if isinstance(place, slice):
            columns = self.at[place], self.grains[place], self.frequencies[place], self.priorities[place]
            return EntryColumns(self.urls[place], *columns, None if self.sizes is None else self.sizes[place])
        start = place + len(self) if place < 0 else place
        if not 0 <= start < len(self):
            raise IndexError(place)
        [entry] = self[start : start + 1]
        return entry

    def __iter__(self) -> Iterator[SitemapEntry]:
        return map(SitemapEntry, self.urls, self.lastmods(), self.changefreqs(), self.stated_priorities())

    def lastmods(self) -> list[Lastmod | None]:
        """The lastmod of each entry."""
        dates = zip(_numbers(self.at), self.grains.tolist(), strict=True)
        return [None if at is None else Lastmod(at, _GRAINS[grain]) for at, grain in dates]

    def changefreqs(self) -> list[ChangeFreq | None]:
        """The changefreq of each entry."""
        return [_FREQUENCIES[code] for code in self.frequencies.tolist()]

    def stated_sizes(self) -> Reals:
        """The size of each entry; NaN if it has none."""
        return np.full(len(self), np.nan) if self.sizes is None else self.sizes

    def stated_priorities(self) -> list[float | None]:
        """The priority of each entry."""
        return _numbers(self.priorities)


def _numbers(values: Reals) -> list[float | None]:
    """Numbers; None for missing values."""
    numbers: list[float | None] = values.tolist()
    return [None if value != value else value for value in numbers] if np.isnan(values).any() else numbers
