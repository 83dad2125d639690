"""The time, for the loop that must ask, and how many requests may begin in it. Rooms that decide get it as an argument.

`Pace` holds all shards together to a rate without their talking to each other. Each has a share of the requests of a
second, whole ones, and counts those of its last second. Where there are fewer requests than shards, they take turns by
the clock, which is the same for all of them: the moments of a shard are as far from those of the others as the rate
demands, and one that it misses is gone.

`Ration` is for a budget of visits a day, of which each shard has a share of its own that may change at any time.
"""

from __future__ import annotations

import math
import time
from collections import deque

from msgspec import Struct

_SECOND = 1.02
"""What leaves a second apart may arrive a little less than that apart."""
_MOMENT = 0.05
"""A turn is so long: who is awake then may begin one request."""
_ANY = 1_000_000
_BOOTTIME: int | None = getattr(time, "CLOCK_BOOTTIME", None)
_NEARLY = 1e-6
"""A moment that was reckoned is met as exactly as numbers tell times apart."""


class Timescale(Struct, frozen=True):
    """A time of its own, for a web that has one, such as the lab: when it is `real` here it is `virtual` there.

    From then on it goes `speed` times as fast.
    """

    real: float
    virtual: float
    speed: float


class SystemClock:
    """POSIX time that never runs backwards, even when somebody sets the machine's clock."""

    def __init__(self, scale: Timescale | None = None) -> None:
        self._began_at = time.time() - _passed()
        self._scale = scale

    @property
    def speed(self) -> float:
        """Seconds of this clock in a second of the machine's."""
        return 1.0 if self._scale is None else self._scale.speed

    def now(self) -> float:
        """POSIX seconds: the time at the start, and what has passed since."""
        real = self._began_at + _passed()
        scale = self._scale
        return real if scale is None else scale.virtual + (real - scale.real) * scale.speed


def _passed() -> float:
    """Seconds since some moment, also those in which the machine slept, where the system counts them."""
    return time.monotonic() if _BOOTTIME is None else time.clock_gettime(_BOOTTIME)


class Pace:
    """How many requests this shard may begin, so that all together begin no more than `rate` in any second.

    0 is any number. The time before the first request counts as used up: another process may have used it.
    """

    counts_robots = True

    def __init__(self, rate: float, now: float, shard: int = 0, shards: int = 1) -> None:
        whole = math.floor(rate)
        self._is_free = not rate
        self._takes_turns = whole < shards > 1
        self._share = max(1, whole // shards + (shard < whole % shards))
        self._apart = 1 / (whole or rate or 1.0)
        self._window = max(1.0, whole / rate if whole else self._apart) * _SECOND
        self._turn, self._cycle = self._apart + 2 * _MOMENT, (self._apart + 2 * _MOMENT) * shards
        self._offset = shard * self._turn
        self._began = deque([now] * self._share)
        self._last_at = now

    def room(self, now: float) -> int:
        """How many may begin now."""
        if self._is_free:
            return _ANY
        if self._takes_turns:
            is_our_turn = (now - self._offset) % self._cycle < _MOMENT
            return int(is_our_turn and now - self._last_at > _MOMENT)
        while self._began and now - self._began[0] >= self._window:
            self._began.popleft()
        return self._share - len(self._began)

    def begin(self, now: float) -> None:
        """One has begun."""
        if not self._is_free:
            self._last_at = now
            self._began.append(now)
            if self._takes_turns:
                self._began.popleft()

    def next_at(self, now: float) -> float:
        """When there is room for one again, if there is none now."""
        if self._takes_turns:
            return now + self._cycle - (now - self._offset) % self._cycle
        return self._began[0] + self._window if self._began else now


class Ration:
    """How many requests may begin, so that in any time there are no more than `rate` a second, and one: a token bucket.

    No more is saved up than a second's, or one. robots.txt does not count, for which every site is asked each day. All
    that could have been saved before the first request counts as used up: another process may have used it.
    """

    counts_robots = False

    def __init__(self, rate: float, now: float) -> None:
        self._rate = rate
        self._saved = 1.0 - max(1.0, rate)
        self._at = now

    def change(self, rate: float, now: float) -> None:
        """There is another rate from now on; what was saved by now was saved at the old one."""
        self._save(now)
        self._rate = rate

    def room(self, now: float) -> int:
        """How many may begin now."""
        self._save(now)
        return max(int(self._saved + _NEARLY), 0)

    def begin(self, now: float) -> None:
        """One has begun."""
        self._save(now)
        self._saved -= 1.0

    def next_at(self, now: float) -> float:
        """When there is room for one again, if there is none now."""
        self._save(now)
        return now + max(1.0 - self._saved, 0.0) / self._rate

    def _save(self, now: float) -> None:
        self._saved = min(self._saved + (now - self._at) * self._rate, max(1.0, self._rate))
        self._at = now
