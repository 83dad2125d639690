"""The index of near-duplicates: which clusters have a band of their sketch in common with a page.

Each band has the numbers of at most `MAX_HOT` clusters, four bytes each in a row. A phrase that thousands of pages
share fills its bands; a copy of one of those pages is found by its other bands.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias

from periplus.policy.duplicates import BANDS

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

NUMBER: Final = 4
"""Bytes of the number of a cluster."""
MAX_HOT: Final = 16
"""Maximum number of clusters of one band."""

Keys: TypeAlias = "NDArray[np.uint64]"
"""A row for each page, a column for each band."""


class Bands(Protocol):
    """An index by bands. `seen` is the result of `look` for a page: the bands that may have clusters."""

    def look(self, keys: Keys) -> list[Sequence[int]]:
        """For each page the bands that may be known, or are shared with another of these pages; mostly none."""

    def find(self, keys: Sequence[int], seen: Sequence[int]) -> bytes:
        """The clusters that share a band with this page, once for each that they share."""

    def add(self, number: bytes, keys: Sequence[int], seen: Sequence[int]) -> None:
        """Put a new cluster under its bands."""

    def remove(self, number: bytes, keys: Sequence[int]) -> None:
        """Remove a cluster."""


class MemoryBands:
    """`Bands` in a dict for each."""

    def __init__(self) -> None:
        self._rows: list[dict[int, bytes]] = [{} for _ in range(BANDS)]

    def look(self, keys: Keys) -> list[Sequence[int]]:
        """Any of them: looking is cheap."""
        return [range(BANDS)] * len(keys)

    def find(self, keys: Sequence[int], seen: Sequence[int]) -> bytes:
        """The clusters that share a band with this page."""
        rows = self._rows
        return b"".join([rows[band].get(keys[band], b"") for band in seen])

    def add(self, number: bytes, keys: Sequence[int], seen: Sequence[int]) -> None:
        """Put a new cluster under its bands."""
        del seen
        for rows, key in zip(self._rows, keys, strict=True):
            row = rows.get(key, b"")
            if len(row) < MAX_HOT * NUMBER:
                rows[key] = row + number

    def remove(self, number: bytes, keys: Sequence[int]) -> None:
        """Remove a cluster."""
        for rows, key in zip(self._rows, keys, strict=True):
            rest = without(rows.pop(key, b""), number)
            if rest:
                rows[key] = rest


def without(row: bytes, number: bytes) -> bytes:
    """A row of numbers, without this one."""
    return b"".join([part for part in numbers_of(row) if part != number])


def numbers_of(row: bytes) -> list[bytes]:
    """The numbers of a row."""
    return [row[at : at + NUMBER] for at in range(0, len(row), NUMBER)]
