"""Aligns two sequences within a budget of work.

Common prefixes and suffixes are matched first, then elements that occur exactly once on each side and in the same order
(the patience diff of Bram Cohen, with the longest increasing subsequence of Fredman 1975). The same is repeated between
these anchors; where there is none, the longest common subsequence is computed by its quadratic table. Texts are
untrusted, so all steps are paid from a `Budget`: when it is spent, the rest counts as different. The result is then
longer than necessary, but never wrong.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Hashable, Sequence

Pair = tuple[int, int]
Gap = tuple[int, int, int, int]
"""From where to where in the one, and in the other."""


class Budget:
    """Steps that may still be done."""

    def __init__(self, steps: int) -> None:
        self.steps = steps

    def pay(self, steps: int) -> bool:
        """Spend `steps`, if that many are left; whether they were."""
        if steps > self.steps:
            return False
        self.steps -= steps
        return True


def matches(old: Sequence[Hashable], new: Sequence[Hashable], budget: Budget) -> list[Pair]:
    """Places of what both have, in order: increasing on both sides."""
    found: list[Pair] = []
    gaps: list[Gap] = [(0, len(old), 0, len(new))]
    while gaps:
        gap = _trimmed(old, new, gaps.pop(), found)
        start, end, other, other_end = gap
        if start == end or other == other_end or not budget.pay(end - start + other_end - other):
            continue
        anchors = _anchors(old, new, gap)
        if anchors:
            found += anchors
            gaps += _between(gap, anchors)
        elif budget.pay((end - start) * (other_end - other)):
            found += _common(old, new, gap)
    return sorted(found)


def _trimmed(old: Sequence[Hashable], new: Sequence[Hashable], gap: Gap, found: list[Pair]) -> Gap:
    """A gap without what both sides begin and end with, which is noted."""
    start, end, other, other_end = gap
    while start < end and other < other_end and old[start] == new[other]:
        found.append((start, other))
        start, other = start + 1, other + 1
    while start < end and other < other_end and old[end - 1] == new[other_end - 1]:
        end, other_end = end - 1, other_end - 1
        found.append((end, other_end))
    return start, end, other, other_end


def _anchors(old: Sequence[Hashable], new: Sequence[Hashable], gap: Gap) -> list[Pair]:
    start, end, other, other_end = gap
    here, there = Counter(old[start:end]), Counter(new[other:other_end])
    places = {new[place]: place for place in range(other, other_end)}
    pairs = [
        (place, places[old[place]])
        for place in range(start, end)
        if here[old[place]] == 1 and there.get(old[place]) == 1
    ]
    return _increasing(pairs)


def _increasing(pairs: Sequence[Pair]) -> list[Pair]:
    """The longest subsequence that increases on the right side, too."""
    tails: list[int] = []
    ends: list[int] = []
    before = [-1] * len(pairs)
    for number, (_, right) in enumerate(pairs):
        at = bisect_left(tails, right)
        before[number] = ends[at - 1] if at else -1
        tails[at : at + 1] = [right]
        ends[at : at + 1] = [number]
    chosen = []
    number = ends[-1] if ends else -1
    while number >= 0:
        chosen.append(pairs[number])
        number = before[number]
    return chosen[::-1]


def _between(gap: Gap, anchors: Sequence[Pair]) -> list[Gap]:
    start, end, other, other_end = gap
    gaps = []
    for left, right in [*anchors, (end, other_end)]:
        gaps.append((start, left, other, right))
        start, other = left + 1, right + 1
    return gaps


def _common(old: Sequence[Hashable], new: Sequence[Hashable], gap: Gap) -> list[Pair]:
    """The longest common subsequence, by the table of its lengths from each place to the end."""
    start, end, other, other_end = gap
    width = other_end - other
    table = [[0] * (width + 1)]
    for left in range(end - 1, start - 1, -1):
        below, row = table[-1], [0] * (width + 1)
        item = old[left]
        for column in range(width - 1, -1, -1):
            if item == new[other + column]:
                row[column] = below[column + 1] + 1
            else:
                row[column] = max(below[column], row[column + 1])
        table.append(row)
    table.reverse()
    return _walked(table, old, new, gap)


def _walked(table: list[list[int]], old: Sequence[Hashable], new: Sequence[Hashable], gap: Gap) -> list[Pair]:
    start, end, other, other_end = gap
    found, left, right = [], start, other
    while left < end and right < other_end:
        row, column = left - start, right - other
        if old[left] == new[right]:
            found.append((left, right))
            left, right = left + 1, right + 1
        elif table[row + 1][column] >= table[row][column + 1]:
            left += 1
        else:
            right += 1
    return found
