"""How long a fetch takes: latency, the speed of the site, and the crawler's own line, which its connections share.

The model of Castillo et al. (2004): r connections at once, at most one to a site, w seconds between two visits of a
site, k pages on one connection. A new connection costs the site's latency; then bytes flow at the site's speed, unless
all together would be more than the crawler's line carries. Then the line is shared max-min fairly: every connection
gets the same, and one that cannot use all of that leaves the rest to the others. That is what TCP does to first order;
the paper does not state how its simulator shared the line.
"""

from __future__ import annotations

import math
from heapq import heappop, heappush

import numpy as np
from msgspec import Struct

_NEVER = math.inf


class NetworkSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """The crawler's side of the network."""

    connections: int = 64
    """r: fetches under way at once."""
    delay: float = 15.0
    """w: seconds between two visits of a site."""
    pages_per_visit: int = 1
    """k: pages on one connection."""
    bandwidth: float = math.inf
    """Bytes a second that the crawler's line carries."""


class FreeLine:
    """A line that is never full: every fetch takes as long as its site needs."""

    def __init__(self) -> None:
        self._ends: list[tuple[float, int]] = []

    def begin(self, slot: int, now: float, latency: float, size: float, speed: float) -> None:
        """A fetch begins in a slot that is free."""
        heappush(self._ends, (now + latency + size / speed, slot))

    @property
    def next_at(self) -> float:
        """When the next fetch ends."""
        return self._ends[0][0] if self._ends else _NEVER

    def end(self) -> int | None:
        """The slot of the fetch that ends then."""
        return heappop(self._ends)[1]


class SharedLine:
    """A line with a limit of bytes a second, shared max-min fairly. A step costs as much as there are connections."""

    def __init__(self, bandwidth: float, connections: int) -> None:
        self._bandwidth = bandwidth
        self._left = np.full(connections, np.inf)
        self._speed = np.zeros(connections)
        self._rate = np.zeros(connections)
        self._starting: list[tuple[float, int, float, float]] = []
        self._now = 0.0
        self._first: tuple[float, int] = (_NEVER, -1)

    def begin(self, slot: int, now: float, latency: float, size: float, speed: float) -> None:
        """A fetch begins in a slot that is free; its bytes flow after the latency."""
        heappush(self._starting, (now + latency, slot, max(size, 1.0), speed))

    @property
    def next_at(self) -> float:
        """When something happens next: a fetch ends, or the bytes of one begin to flow."""
        return min(self._first[0], self._starting[0][0]) if self._starting else self._first[0]

    def end(self) -> int | None:
        """The slot of the fetch that ends then; `None` if bytes begin to flow."""
        slot: int | None
        if self._starting and self._starting[0][0] <= self._first[0]:
            at, begun, size, speed = heappop(self._starting)
            self._advance(at)
            self._left[begun], self._speed[begun] = size, speed
            slot = None
        else:
            at, slot = self._first
            self._advance(at)
            self._left[slot], self._speed[slot] = np.inf, 0.0
        self._share()
        return slot

    def _advance(self, at: float) -> None:
        if at > self._now:
            self._left -= self._rate * (at - self._now)
            self._now = at

    def _share(self) -> None:
        """The rate of every connection, and the one that ends first."""
        total = self._speed.sum()
        self._rate = self._speed if total <= self._bandwidth else np.minimum(self._speed, self._level())
        with np.errstate(divide="ignore", invalid="ignore"):
            waits = np.where(self._speed > 0.0, np.maximum(self._left, 0.0) / self._rate, np.inf)
        slot = int(waits.argmin())
        self._first = (self._now + float(waits[slot]), slot)

    def _level(self) -> float:
        """The largest share of a connection with which all together use the whole line."""
        speeds = np.sort(self._speed[self._speed > 0.0])
        before = np.concatenate(([0.0], np.cumsum(speeds)[:-1]))
        levels = (self._bandwidth - before) / np.arange(len(speeds), 0, -1)
        return float(levels[np.argmax(levels <= speeds)])


def line_of(settings: NetworkSettings) -> FreeLine | SharedLine:
    """The line that the settings describe."""
    if math.isinf(settings.bandwidth):
        return FreeLine()
    return SharedLine(settings.bandwidth, settings.connections)
