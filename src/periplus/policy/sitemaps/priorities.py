"""Are a site's priorities informative? A running count of them, in constant memory.

The protocol's `priority` compares pages of one site with each other
(https://www.sitemaps.org/protocol.html#prioritydef) and stands at 61 % of listed URLs (Schonfeld & Shivakumar 2009);
most of these were written by a program that gives all pages the same. A value that all pages share tells nothing apart,
whether it is 1.0 or 0.5. So values are counted to the hundredth, and trusted where their entropy is not next to
nothing: 0.1 bits is one page in eighty that differs.

What a priority is worth in a crawl is in `scores`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from msgspec import Struct, field

DEFAULT_PRIORITY = 0.5
"""The protocol's default for a page without a priority."""
_PARTS = 100


class Priorities(Struct, array_like=True):
    """How many pages of a site have which priority, in hundredths: at most 101 numbers, whatever the site lists."""

    counts: dict[int, int] = field(default_factory=dict)

    def observe(self, priorities: Sequence[float | None]) -> None:
        """Count the priorities of some entries, before they are scored."""
        values = np.array(priorities, np.float64)  # None becomes NaN
        is_given = (values >= 0.0) & (values <= 1.0)
        parts = np.rint(np.where(is_given, values, DEFAULT_PRIORITY) * _PARTS).astype(np.intp)
        for part, count in enumerate(np.bincount(parts).tolist()):
            if count:
                self.counts[part] = self.counts.get(part, 0) + count

    @property
    def total(self) -> int:
        """Entries counted."""
        return sum(self.counts.values())

    @property
    def mean(self) -> float:
        """The mean priority; the protocol's default, if there is none above zero."""
        total = sum(part * count for part, count in self.counts.items())
        return total / self.total / _PARTS if total else DEFAULT_PRIORITY

    @property
    def entropy(self) -> float:
        """In bits: 0 where all are equal, 1 where two values are as frequent as each other."""
        total = self.total
        return -sum(count / total * math.log2(count / total) for count in self.counts.values() if count)


def given(priority: float | None) -> float:
    """The effective priority of an entry: the default if it has none or an invalid one."""
    return DEFAULT_PRIORITY if priority is None or not 0.0 <= priority <= 1.0 else priority
