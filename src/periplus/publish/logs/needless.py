"""Requests that brought nothing new, and the bounded table of what each crawler asked for.

MinNeedlessReq (Brandman et al., "Crawler-friendly web servers", 4.1): of R requests for a page that changed C times,
at least R - (C + 1) were needless, since one request is needed to see each version.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from typing import Final
from zlib import crc32

MOST_TRACKED: Final = 250_000
"""Pairs of crawler and URL that are tracked exactly, about 100 MB; above it, a sample of the URLs is."""
_MOST_SIZES: Final = 64
"""Different sizes of one URL that are told apart: enough for a page that changes twice a day for a month."""


def min_needless(changes: int, requests: int) -> int:
    """The least number of needless requests among `requests` for a page that changed `changes` times meanwhile."""
    return max(0, requests - (changes + 1))


class Visits:
    """The requests of one crawler for one URL, those answered with 200 or 304 in `answered`."""

    __slots__ = (
        "answered", "bytes", "errors", "exact", "exact_bytes", "judged", "last_at", "last_size", "not_modified",
        "ok", "repeated", "requests", "same", "same_bytes", "since", "sizes",
    )  # fmt: skip

    def __init__(self) -> None:
        self.requests = 0
        self.bytes = 0
        self.errors = 0
        self.ok = 0
        self.answered = 0
        self.not_modified = 0
        self.repeated = 0
        """Answered requests after the first."""
        self.same = 0
        """Of these, with a 304 or the same size as before."""
        self.same_bytes = 0
        self.judged = 0
        """Repeated 200s of which the ledger knows whether the page had changed."""
        self.exact = 0
        """Of these, of a page that had not changed."""
        self.exact_bytes = 0
        self.since = 0
        """Requests at a time when the robots.txt was in force."""
        self.last_at = 0.0
        self.last_size = -1
        self.sizes: tuple[int, ...] = ()

    def add_size(self, size: int) -> None:
        """Remember the size of an answer. A tuple takes a quarter of the memory of a set, and most have one size."""
        self.last_size = size
        if size not in self.sizes and len(self.sizes) < _MOST_SIZES:
            self.sizes = (*self.sizes, size)

    def min_needless(self) -> int:
        """MinNeedlessReq, where every further size is taken for a change."""
        return min_needless(max(len(self.sizes) - 1, 0), self.answered)


class ChangeTimes:
    """When pages changed, by path: sorted POSIX times. `since`: from when on every change is known."""

    def __init__(self, times: Mapping[str, Sequence[float]], since: float) -> None:
        self._times = times
        self.since = since

    def between(self, path: str, after: float, until: float) -> float | None:
        """The first change after one time and not later than another; `None` if there was none."""
        times = self._times.get(path)
        if times is None:
            return None
        place = bisect_right(times, after)
        return times[place] if place < len(times) and times[place] <= until else None


class VisitTable:
    """The visits by crawler and URL. Above `most` pairs only URLs of a sample are tracked: a half, a quarter, ...

    A URL is in the sample by its checksum, with everything that is known of it, so that `scale` times a sum over the
    sample estimates the whole without bias.
    """

    def __init__(self, most: int = MOST_TRACKED) -> None:
        self._most = most
        self._mask = 0
        self._table: dict[tuple[str, str], Visits] = {}

    @property
    def scale(self) -> int:
        """By how much sums over the table must be multiplied; 1: all URLs are tracked."""
        return self._mask + 1

    def visits(self, crawler: str, path: str) -> Visits | None:
        """The visits of a crawler to a path; `None` if it is not in the sample."""
        key = (crawler, path)
        found = self._table.get(key)
        if found is None:
            if self._mask and _checksum(path) & self._mask:
                return None
            if len(self._table) >= self._most:
                self._thin()
                return self.visits(crawler, path) if self._mask < 1 << 31 else None
            found = self._table[key] = Visits()
        return found

    def items(self) -> Iterator[tuple[str, str, Visits]]:
        """Every tracked crawler and path."""
        for (crawler, path), visits in self._table.items():
            yield crawler, path, visits

    def _thin(self) -> None:
        while len(self._table) >= self._most and self._mask < 1 << 31:
            self._mask = self._mask * 2 + 1
            mask = self._mask
            self._table = {key: value for key, value in self._table.items() if not _checksum(key[1]) & mask}


def _checksum(path: str) -> int:
    return crc32(path.encode("utf-8", "surrogatepass"))
