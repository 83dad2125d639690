"""Dealing out the pages that may be fetched, so that all shards together fetch as many as there may be, and no more.

Each shard gets some at a time. Who has nothing to do gives back what it did not use, and others get that. What was
granted and not given back is never granted again: however late a shard hears, the sum holds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

_PORTION = 1000
"""So many are handed out at a time, at most."""


class Deal:
    """Who may fetch how many pages in all. `left` is what nobody may fetch yet."""

    def __init__(self, limit: int, shards: int) -> None:
        self.limit = limit
        self.granted = [0] * shards
        self._portion = max(1, min(_PORTION, limit // (4 * shards)))

    @property
    def left(self) -> int:
        """What is still to be dealt out."""
        return max(self.limit - sum(self.granted), 0)

    def turn(self, done: Sequence[int], has_nothing_to_do: Sequence[bool]) -> Iterator[tuple[int, int]]:
        """Shards whose number changes, with the new one; `done`: what each has fetched in all.

        Who has nothing to do must have heard all that was said: then what it did is all that it will do.
        """
        for shard, pages in enumerate(done):
            self.granted[shard] = max(self.granted[shard], pages)
            if has_nothing_to_do[shard] and self.granted[shard] > pages:
                self.granted[shard] = pages
                yield shard, pages
        for shard, pages in enumerate(done):
            unused = self.granted[shard] - pages
            if self.left and not has_nothing_to_do[shard] and unused <= self._portion // 2:
                self.granted[shard] += min(self._portion, self.left)
                yield shard, self.granted[shard]
