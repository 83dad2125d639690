"""Counting in bounded memory: names with their counts, and distributions of numbers.

Both are exact for any realistic list of domains; each states its bound.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import sqrt
from typing import Final

MOST_NAMES: Final = 100_000
MOST_VALUES: Final = 200_000
_DIGITS: Final = 3


class NameCounts:
    """Names, in how many files each occurs, and how often in all.

    Exact as long as there are no more than `MOST_NAMES`. Beyond, the rarest half are folded into a tail, and a name
    that comes back starts again at 0, as in lossy counting (Manku & Motwani 2002): no count is too large, and none is
    too small by more than `error` files. The frequent names, which a table is read for, stay.
    """

    def __init__(self, most: int = MOST_NAMES) -> None:
        self.files = 0
        """Files that name anything."""
        self.occurrences = 0
        """Of all names together, folded or not."""
        self.error = 0
        """Files that a count may lack at most."""
        self.folded = 0
        """Names in the tail; one that was folded twice counts twice."""
        self._most = most
        self._counts: dict[str, tuple[int, int]] = {}

    def add(self, counts: Sequence[tuple[str, int]]) -> None:
        """The names of one more file, each once, with how often it occurs there."""
        for name, count in counts:
            files, occurrences = self._counts.get(name, (0, 0))
            self._counts[name] = files + 1, occurrences + count
            self.occurrences += count
        self.files += bool(counts)
        if len(self._counts) > self._most:
            self._fold()

    def __len__(self) -> int:
        return len(self._counts)

    def by_files(self) -> list[tuple[str, int, int]]:
        """Name, files, occurrences: those in most files first, then by occurrences, then by name."""
        return sorted(self._rows(), key=lambda row: (-row[1], -row[2], row[0]))

    def by_occurrences(self) -> list[tuple[str, int, int]]:
        """Name, files, occurrences: the commonest first, then by files, then by name."""
        return sorted(self._rows(), key=lambda row: (-row[2], -row[1], row[0]))

    def _rows(self) -> Iterator[tuple[str, int, int]]:
        return ((name, files, occurrences) for name, (files, occurrences) in self._counts.items())

    def _fold(self) -> None:
        """Drop the names in the fewest files: at least half of all names."""
        numbers = sorted(files for files, _ in self._counts.values())
        least = numbers[len(numbers) // 2]
        before = len(self._counts)
        self._counts = {name: counts for name, counts in self._counts.items() if counts[0] > least}
        self.folded += before - len(self._counts)
        self.error += least


class Distribution:
    """How often each integer occurs; with count, sum and extremes, which are always exact.

    Exact for at most `MOST_VALUES` distinct numbers. Beyond that, three digits of each are kept.
    """

    def __init__(self, most: int = MOST_VALUES) -> None:
        self.count = 0
        self.total = 0
        self.greatest = 0
        self.is_rounded = False
        self._squares = 0
        self._most = most
        self._counts: dict[int, int] = {}

    def add(self, value: int) -> None:
        """One more number."""
        self.count += 1
        self.total += value
        self._squares += value * value
        self.greatest = max(self.greatest, value)
        value = _rounded(value) if self.is_rounded else value
        self._counts[value] = self._counts.get(value, 0) + 1
        if len(self._counts) > self._most and not self.is_rounded:
            self._round()

    @property
    def mean(self) -> float | None:
        """The average; nothing of nothing."""
        return self.total / self.count if self.count else None

    @property
    def deviation(self) -> float | None:
        """The population standard deviation of these numbers."""
        if not self.count:
            return None
        return sqrt(self.count * self._squares - self.total * self.total) / self.count

    def quantile(self, share: float) -> int | None:
        """The smallest number that at least this share of the numbers does not exceed."""
        passed = 0
        for value, count in self.items():
            passed += count
            if passed >= share * self.count:
                return value
        return None

    def of(self, value: int) -> int:
        """How often a number occurs."""
        return self._counts.get(value, 0)

    def above(self, value: int) -> int:
        """How many are greater."""
        return sum(count for other, count in self._counts.items() if other > value)

    def items(self) -> list[tuple[int, int]]:
        """Number and how often, the smallest first."""
        return sorted(self._counts.items())

    def _round(self) -> None:
        self.is_rounded = True
        counts: dict[int, int] = {}
        for value, count in self._counts.items():
            value = _rounded(value)
            counts[value] = counts.get(value, 0) + count
        self._counts = counts


def _rounded(value: int) -> int:
    """Its first three digits, and zeros."""
    scale = int(10 ** max(0, len(str(value)) - _DIGITS))
    return value // scale * scale
