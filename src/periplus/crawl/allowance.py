"""Dealing out the pages that may be fetched, so that all shards together fetch as many as there may be, and no more.

Each shard gets some at a time. Who has nothing to do gives back what it did not use, and others get that. What was
granted and not given back is never granted again: however late a shard hears, the sum holds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

_PORTION = 1000
"""So many are handed out at a time, at most."""


class Standing(Protocol):
    """How a shard stands. Between wanting more and having nothing to do lies what it has not told us yet."""

    @property
    def done(self) -> int:
        """Pages fetched in all."""

    @property
    def wants_more(self) -> bool:
        """Whether, when it last spoke, something waited there or was under way."""

    @property
    def has_nothing_to_do(self) -> bool:
        """Nothing waits, nothing is under way, and it has heard all that was said: what it did is all it will do."""


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

    def is_over(self, shards: Sequence[Standing]) -> bool | None:
        """Whether all that may be fetched was, or somebody waits for what is left; `None`: neither."""
        if sum(shard.done for shard in shards) >= self.limit:
            return True
        return False if self.left and any(shard.wants_more for shard in shards) else None

    def turn(self, shards: Sequence[Standing]) -> Iterator[tuple[int, int]]:
        """Shards whose number changes, with the new one."""
        for number, shard in enumerate(shards):
            self.granted[number] = max(self.granted[number], shard.done)
            if shard.has_nothing_to_do and self.granted[number] > shard.done:
                self.granted[number] = shard.done
                yield number, shard.done
        left = self.left
        for number, shard in enumerate(shards):
            unused = self.granted[number] - shard.done
            if left and shard.wants_more and unused <= self._portion // 2:
                portion = min(self._portion, left)
                self.granted[number] += portion
                left -= portion
                yield number, self.granted[number]
