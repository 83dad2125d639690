"""The interface between a collection in virtual time and a refresh policy: a day, and the pages to fetch on it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from .window import Floats, Ints


class Today(Struct):
    """One day, at its end: up to `limit` of the pages that are `here` may be fetched.

    `is_stale` tells which of the copies are out of date, and `next_change` on what day pages change again: the truth,
    for policies with metadata. `now` is the day's end.
    """

    day: int
    limit: int
    here: NDArray[np.bool_]
    is_stale: NDArray[np.bool_]
    next_change: Callable[[Ints, int], Floats]

    @property
    def now(self) -> float:
        """The moment, in days."""
        return self.day + 1.0


class RefreshPolicy(Protocol):
    """A way to spend a day's budget."""

    def cost(self, sites: int) -> float:
        """What a day takes from the budget before any page is fetched, in pages, for a number of sites."""
        ...

    def choose(self, today: Today) -> Ints:
        """The pages to fetch, each at most once."""
        ...
