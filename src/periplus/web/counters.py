"""Counts of what this server does itself, for `/metrics`: searches, and messages of receivers.

counters_of(collection).search(seconds)
counters_of(collection).message("indexnow", "accepted")
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from threading import Lock
from typing import cast

from .served import ServedCollection

SEARCH_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)
"""Upper bounds of the classes in which the durations of searches are counted."""
_MAX_LABELS = 100
"""Pairs of kind and result that are counted: a bound, as both come from our own code."""


class Counters:
    """Counts since the server started. Any thread may count."""

    def __init__(self) -> None:
        self._lock = Lock()
        self.searches = [0] * (len(SEARCH_SECONDS) + 1)
        self.search_seconds = 0.0
        self.messages: Counter[tuple[str, str]] = Counter()

    def search(self, seconds: float) -> None:
        """Count a search."""
        with self._lock:
            self.searches[bisect_left(SEARCH_SECONDS, seconds)] += 1
            self.search_seconds += seconds

    def message(self, kind: str, result: str) -> None:
        """Count a message that a receiver got."""
        with self._lock:
            if (kind, result) in self.messages or len(self.messages) < _MAX_LABELS:
                self.messages[kind, result] += 1


_NAME = "live_counters"
_MAKING = Lock()


def counters_of(collection: ServedCollection) -> Counters:
    """The counters of a collection, made when they are first used."""
    with _MAKING:
        counters = getattr(collection, _NAME, None)
        if counters is None:
            counters = Counters()
            setattr(collection, _NAME, counters)
        return cast("Counters", counters)
