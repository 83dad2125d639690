"""Learns which folders of which sites are on the topic.

Every page that was read counts for its site and the folders above it. What is expected of a URL is the mean relevance
of the folder it lies in, shrunk towards that of the folder above, and so on up to the whole crawl. Folders share a
fixed table by their hash, so that the memory of a crawl is bounded, and what is committed has a fixed size.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from msgspec import Struct
from xxhash import xxh3_64_intdigest

SLOTS: Final = 1 << 13
"""Places of the table: 128 KB with two numbers of 8 bytes each, so that what is committed is what is held."""
MAX_FOLDERS: Final = 6
"""Leading folders of a path that are counted separately; deeper ones count with their sixth."""
_FIRST: Final = 20
"""Pages that must have been read before folders count."""
_MOST: Final = 4.0
"""The largest promise: a folder in which everything is on the topic must not outweigh what links say."""
_LEAST: Final = 0.02
"""Added to both sides of a promise, so that it is the same for all folders until a relevant page was read."""
_SHRINK: Final = 5.0
"""Pages of experience with which a folder starts: it is expected to be like the folder above."""


class LearnerState(Struct, array_like=True):
    """The state of a learner: pages and the sum of their relevance, in all and for each place of the table."""

    pages: int = 0
    relevance: float = 0.0
    table: bytes = b""


class LinkLearner:
    """Predicts the relevance of a URL before its page is read."""

    def __init__(self, state: LearnerState | None = None) -> None:
        state = state or LearnerState()
        self._pages, self._relevance = state.pages, state.relevance
        table = np.frombuffer(state.table, "<f8") if state.table else np.zeros(2 * SLOTS, "<f8")
        self._counts: list[float] = table[:SLOTS].tolist()
        self._sums: list[float] = table[SLOTS:].tolist()

    @property
    def state(self) -> LearnerState:
        """The state to commit."""
        table = np.array([*self._counts, *self._sums], "<f8")
        return LearnerState(self._pages, self._relevance, table.tobytes())

    def learn(self, url: str, relevance: float) -> None:
        """Record the relevance of a page that was read."""
        self._pages += 1
        self._relevance += relevance
        for slot in _slots(url):
            self._counts[slot] += 1.0
            self._sums[slot] += relevance

    def promise(self, url: str) -> float:
        """The relevance expected of a URL as a multiple of the mean; 1 while little was read."""
        if self._pages < _FIRST:
            return 1.0
        return min((self.expected(url) + _LEAST) / (self._relevance / self._pages + _LEAST), _MOST)

    def expected(self, url: str) -> float:
        """The relevance that the page of a URL is expected to have."""
        mean = self._relevance / self._pages if self._pages else 0.0
        for slot in _slots(url):
            mean = (self._sums[slot] + _SHRINK * mean) / (self._counts[slot] + _SHRINK)
        return mean


def folder_of(url: str) -> str:
    """The site and the folder of a URL, without its name and query."""
    return url.partition("?")[0].rpartition("/")[0]


def _slots(url: str) -> list[int]:
    """The places of the site and the folders of a URL, from the top."""
    slots, name = [], ""
    for part in folder_of(url).partition("://")[2].split("/")[: MAX_FOLDERS + 1]:
        name = f"{name}/{part}"
        slots.append(xxh3_64_intdigest(name.encode()) % SLOTS)
    return slots
