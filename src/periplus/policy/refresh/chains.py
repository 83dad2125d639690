"""Many queues in a few arrays: every item is in at most one of them, and leaves it from any place at once.

Twelve bytes an item and eight a queue, whatever happens: no entry is ever stale, and nothing has to be swept. Items and
queues are numbers from 0.
"""

from __future__ import annotations

from array import array

import numpy as np
from numpy.typing import NDArray

from ...model import InvariantError

NONE = -1


class Chains:
    """First in, first out, but for those that are taken from the middle."""

    def __init__(self) -> None:
        self._next, self._before, self._where = array("i"), array("i"), array("i")
        self._first, self._last = array("i"), array("i")

    def grow(self, items: int, chains: int) -> None:
        """Have room for so many items and queues, at least."""
        for column, size in (
            (self._next, items), (self._before, items), (self._where, items), (self._first, chains), (self._last,
            chains),
        ):  # fmt: skip
            missing = size - len(column)
            if missing == 1:
                column.append(NONE)
            elif missing > 0:
                column.extend([NONE] * missing)

    def append(self, chain: int, item: int) -> None:
        """Put an item that is in none at the end of a queue."""
        last = self._last[chain]
        self._before[item], self._next[item], self._where[item] = last, NONE, chain
        if last < 0:
            self._first[chain] = item
        else:
            self._next[last] = item
        self._last[chain] = item

    def remove(self, item: int) -> int:
        """Take an item out of its queue, which is told; `NONE` if it is in none."""
        chain = self._where[item]
        if chain < 0:
            return NONE
        before, after = self._before[item], self._next[item]
        if before < 0:
            self._first[chain] = after
        else:
            self._next[before] = after
        if after < 0:
            self._last[chain] = before
        else:
            self._before[after] = before
        self._where[item] = NONE
        return chain

    def first(self, chain: int) -> int:
        """Who is first; `NONE` if nobody is there."""
        return self._first[chain]

    def after(self, item: int) -> int:
        """Who comes after an item; `NONE`: nobody."""
        return self._next[item]

    def where(self, item: int) -> int:
        """The queue of an item; `NONE`: it is in none."""
        return self._where[item]

    def drain(self, chain: int) -> list[int]:
        """All of a queue, which is then empty."""
        found, item = [], self._first[chain]
        while item >= 0:
            found.append(item)
            self._where[item] = NONE
            item = self._next[item]
        self._first[chain] = self._last[chain] = NONE
        return found

    def rebuild(self, items: NDArray[np.int64], chains: NDArray[np.int64]) -> None:
        """Put each item into its queue, in this order, and nobody else into any: millions at once."""
        following, before, where, first, last = (
            np.frombuffer(column, np.int32)
            for column in (self._next, self._before, self._where, self._first, self._last)
        )
        where[:], first[:], last[:] = NONE, NONE, NONE
        if len(items):
            order = np.argsort(chains, kind="stable")
            item, chain = items[order], chains[order]
            is_last = np.append(np.diff(chain) != 0, True)
            is_first = np.append(True, np.diff(chain) != 0)
            following[item] = np.where(is_last, NONE, np.append(item[1:], NONE))
            before[item] = np.where(is_first, NONE, np.append(NONE, item[:-1]))
            where[item] = chain
            first[chain[is_first]], last[chain[is_last]] = item[is_first], item[is_last]

    def check_invariants(self) -> None:
        """Every item is found from the front and from the back of its queue, once."""
        seen = 0
        for chain, first in enumerate(self._first):
            before, item = NONE, first
            while item >= 0:
                if self._before[item] != before or self._where[item] != chain:
                    raise InvariantError(f"item {item} is not where it says it is")
                before, item, seen = item, self._next[item], seen + 1
            if self._last[chain] != before:
                raise InvariantError(f"queue {chain} does not end with its last item")
        if seen != sum(where >= 0 for where in self._where):
            raise InvariantError("an item is in a queue that does not have it")
