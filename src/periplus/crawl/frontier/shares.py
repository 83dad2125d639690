"""Visits to pages that were visited before, and to those that were not: neither kind may crowd the other out."""

from __future__ import annotations

_WINDOW = 1000


class Shares:
    """Counts both, and the last thousand or two count. `again` and `new` are the least shares of each."""

    def __init__(self, again: float = 0.25, new: float = 0.25) -> None:
        self._least_again, self._least_new = again, new
        self._again = self._new = 0.0

    def took(self, *, is_again: bool) -> None:
        """One more."""
        self._again += is_again
        self._new += not is_again
        if self._again + self._new >= 2 * _WINDOW:
            self._again, self._new = self._again / 2, self._new / 2

    def prefer_again(self, is_worth_more: bool) -> bool:
        """Whether a page that was visited before goes first, where both kinds wait at a site."""
        total = self._again + self._new
        if self._again < self._least_again * total:
            return True
        return False if self._new < self._least_new * total else is_worth_more
