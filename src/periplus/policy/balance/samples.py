"""The lowest-scored pages of a source in an epoch, with their results, from which its utility is computed.

Pages are taken from a queue in the order of their levels, so the last ones taken *would* be the lowest, if nothing
better arrived in the meantime; but crawls find pages. So a sample is kept sorted: by level, and within a level by when
a page was taken, which is the order of the queue. That is exact, and never more than `delta` pages.

Results arrive later, in any order, or never. Until then a place in the sample holds 32 bits of the page's name; a
result finds its place by these, in every sample that holds the page. A wrong place would be found once in 2^32 / delta
results.
"""

from __future__ import annotations

from bisect import bisect_right

from msgspec import Struct, field

from ...model import InvariantError

WORST = 255
_BAD, _GOOD, _PENDING = 0, 1, 2
KEY = (1 << 32) - 1
"""The number of bits of a page's fingerprint that are kept."""


class Sample(Struct, array_like=True):
    """What one source gave in this epoch. Packed as it is.

    `taken` counts pages put to its account; `levels` are sorted, the best first; `marks` are what came of the same
    pages: bad, good, or whose result is awaited.
    """

    taken: int = 0
    levels: bytearray = field(default_factory=bytearray)
    marks: list[int] = field(default_factory=list)

    def add(self, level: int, key: int, limit: int) -> None:
        """A page was taken. If the sample is full, the best page leaves it; a page tried again has its place."""
        mark = (key & KEY) + _PENDING
        if mark in self.marks:
            return
        place = bisect_right(self.levels, level)
        self.levels.insert(place, level)
        self.marks.insert(place, mark)
        self.trim(limit)

    def trim(self, limit: int) -> None:
        """Let the best pages go that are too many."""
        surplus = max(len(self.marks) - limit, 0)
        del self.levels[:surplus], self.marks[:surplus]

    def settle(self, key: int, is_good: bool) -> None:
        """The result of a page, if it is (still) one of the sample."""
        mark = (key & KEY) + _PENDING
        if mark in self.marks:
            self.marks[self.marks.index(mark)] = _GOOD if is_good else _BAD

    def clear(self) -> None:
        """A new epoch."""
        self.taken = 0
        self.levels.clear()
        self.marks.clear()

    @property
    def is_settled(self) -> bool:
        """Whether every page of the sample has its result."""
        return max(self.marks, default=_BAD) < _PENDING

    @property
    def good(self) -> int:
        """Pages that proved good."""
        return self.marks.count(_GOOD)

    @property
    def known(self) -> int:
        """Pages whose result is known."""
        return self.good + self.marks.count(_BAD)

    def check_invariants(self, limit: int) -> None:
        """A level and a mark for each, sorted, and not too many."""
        if len(self.levels) != len(self.marks) or len(self.marks) > min(limit, self.taken):
            raise InvariantError(f"a sample of {len(self.marks)} pages out of {self.taken}, {limit} allowed")
        if sorted(self.levels) != list(self.levels) or min(self.marks, default=0) < 0:
            raise InvariantError("the lowest-scored pages are out of order")
