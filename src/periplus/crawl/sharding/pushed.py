"""Brings URLs that sites pushed from the inbox of the collection into the crawl, and removes them when it has them."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future

from periplus.model import Discovery
from periplus.store import Inbox, Pushed

from .messages import STATUS_INTERVAL

MAX_PUSHED = 10_000
"""URLs that are taken from the inbox at a time: one full IndexNow message, and some 50 ms of a shard's time."""

Discover = Callable[[Sequence[Discovery]], Future[None]]
"""Takes URLs into the crawl; the future is done when they are committed."""


class PushedUrls:
    """The inbox as the crawl reads it, a part at a time. Used by the thread that runs the crawl."""

    def __init__(self, inbox: Inbox | None, discover: Discover) -> None:
        self._inbox = inbox
        self._discover = discover
        self._taken: tuple[Pushed, Future[None]] | None = None
        self._look_at = 0.0

    def read(self) -> None:
        """Remove what was committed, and take the next part; an empty inbox is looked into four times a second."""
        if self._inbox is None or time.monotonic() < self._look_at:
            return
        if self._taken is not None:
            pushed, future = self._taken
            if not future.done():
                return
            self._taken = None
            if future.exception() is None:
                self._inbox.remove(pushed.through)
        pushed_next = self._inbox.peek(MAX_PUSHED)
        if pushed_next is None:
            self._look_at = time.monotonic() + STATUS_INTERVAL
        else:
            self._taken = pushed_next, self._discover(pushed_next.discoveries)

    @property
    def is_empty(self) -> bool:
        """Whether nothing waits and nothing is under way; asked when the shards have nothing to do."""
        return self._inbox is None or (self._taken is None and self._inbox.peek(1) is None)

    def close(self) -> None:
        """Close the inbox; what was not committed stays in it."""
        if self._inbox is not None:
            self._inbox.close()
