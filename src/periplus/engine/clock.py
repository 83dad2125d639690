"""The clock of the crawl, and the two limits on how many requests may start.

Code that decides gets the time as an argument; only the loop that runs a shard asks a clock.

`SystemClock` is POSIX time that does not follow the machine's clock once the process runs. It reads the wall clock
once, when it is made, and from then on adds what a monotonic clock says has passed. If the machine's clock is set, or
jumps after a correction by NTP, then:

- `now()` never runs backwards, and a difference of two readings is the time that really passed, so that politeness
  delays, leases and rates stay right;
- the dates that this process records stay off by the error that the clock had when the process started. The next
  process starts with the corrected time. Processes that started before and after a jump disagree by the size of the
  jump.

`RateLimiter` keeps all shards together below a rate without any communication between them. Each shard has a share of
the requests of a second, in whole requests, and counts those it started in the last second. If the rate is lower than
one request a second for each shard, shards take turns by the clock, which is the same for all of them: the turns of two
shards are as far apart as the rate demands, and a turn that is missed is lost.

`TokenBucket` is for a budget of visits a day. Each shard has its own part of it, which may change at any time.
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable

from msgspec import Struct

_SECOND = 1.02
"""Seconds in the window of a rate: requests sent one second apart may arrive slightly less than a second apart."""
_TURN_LENGTH = 0.05
"""Seconds of a turn, in which a shard may start one request. The loop wakes up for it, so it may be short."""
_UNLIMITED = 1_000_000
"""Requests that may start at once without a rate: more than a wire ever has slots for."""
_EPSILON = 1e-6
"""Tokens by which the bucket may fall short of a whole one: POSIX times in floating point are exact to 2.4e-7 s."""
_BOOTTIME: int | None = getattr(time, "CLOCK_BOOTTIME", None)


class Timescale(Struct, frozen=True):
    """Virtual time for a simulated web such as the lab: at the POSIX time `real` it is `virtual` there.

    From then on virtual time passes `speed` times as fast as real time.
    """

    real: float
    virtual: float
    speed: float


def _monotonic() -> float:
    """Seconds since an arbitrary moment, including time the machine was suspended where the system counts that."""
    return time.monotonic() if _BOOTTIME is None else time.clock_gettime(_BOOTTIME)


class SystemClock:
    """POSIX time that never runs backwards: the wall clock when this was made, plus the time that passed since.

    `wall` and `monotonic` are the two clocks it reads.
    """

    def __init__(
        self,
        scale: Timescale | None = None,
        *,
        wall: Callable[[], float] = time.time,
        monotonic: Callable[[], float] = _monotonic,
    ) -> None:
        self._monotonic = monotonic
        self._offset = wall() - monotonic()
        self._scale = scale

    @property
    def speed(self) -> float:
        """Seconds of this clock in a second of the machine's."""
        return 1.0 if self._scale is None else self._scale.speed

    def now(self) -> float:
        """The time in POSIX seconds."""
        real = self._offset + self._monotonic()
        scale = self._scale
        return real if scale is None else scale.virtual + (real - scale.real) * scale.speed


class RateLimiter:
    """Limits how many requests this shard may start, so that all shards together start at most `rate` in any second.

    A rate of 0 means no limit. The second before the first request counts as used up: a process that ended just now may
    have used it.
    """

    counts_robots = True

    def __init__(self, rate: float, now: float, shard: int = 0, shards: int = 1) -> None:
        self._shard, self._shards, self._first_rate = shard, shards, rate
        self._limit(rate, now)

    def change(self, rate: float | None, now: float) -> None:
        """Set another rate from now on; `None`: the first one."""
        rate = self._first_rate if rate is None else rate
        if rate != self.rate:
            self._limit(rate, now)

    def _limit(self, rate: float, now: float) -> None:
        self.rate, shard, shards = rate, self._shard, self._shards
        whole = math.floor(rate)
        interval = 1 / (whole or rate or 1.0)
        self._is_unlimited = not rate
        self._takes_turns = whole < shards > 1
        self._share = max(1, whole // shards + (shard < whole % shards))
        self._window = max(1.0, whole / rate if whole else interval) * _SECOND
        turn = interval + 2 * _TURN_LENGTH
        self._cycle, self._turn_at = turn * shards, turn * shard
        self._started = deque([now] * self._share)
        self._last_at = now

    def room(self, now: float) -> int:
        """How many requests may start now."""
        if self._is_unlimited:
            return _UNLIMITED
        if self._takes_turns:
            is_our_turn = (now - self._turn_at) % self._cycle < _TURN_LENGTH
            return int(is_our_turn and now - self._last_at > _TURN_LENGTH)
        while self._started and now - self._started[0] >= self._window:
            self._started.popleft()
        return self._share - len(self._started)

    def begin(self, now: float) -> None:
        """Count a request that starts now."""
        if not self._is_unlimited:
            self._last_at = now
            self._started.append(now)
            if self._takes_turns:
                self._started.popleft()

    def next_at(self, now: float) -> float:
        """When the next request may start, if none may start now."""
        if self._takes_turns:
            return now + self._cycle - (now - self._turn_at) % self._cycle
        return self._started[0] + self._window if self._started else now


class TokenBucket:
    """Limits requests to `rate` a second on average: a token bucket that holds the tokens of one second, at least one.

    Requests for robots.txt are not counted, which every site is asked for each day. The bucket starts empty, less what
    it can hold beyond one token: a process that ended just now may have used a full bucket.
    """

    counts_robots = False

    def __init__(self, rate: float, now: float) -> None:
        self._rate = rate
        self._tokens = 1.0 - max(1.0, rate)
        self._filled_at = now

    def change(self, rate: float, now: float) -> None:
        """Set another rate from now on; tokens of the time before come at the old one."""
        self._fill(now)
        self._rate = rate

    def room(self, now: float) -> int:
        """How many requests may start now."""
        self._fill(now)
        return max(int(self._tokens + _EPSILON), 0)

    def begin(self, now: float) -> None:
        """Count a request that starts now."""
        self._fill(now)
        self._tokens -= 1.0

    def next_at(self, now: float) -> float:
        """When the next request may start, if none may start now."""
        self._fill(now)
        return now + max(1.0 - self._tokens, 0.0) / self._rate

    def _fill(self, now: float) -> None:
        self._tokens = min(self._tokens + (now - self._filled_at) * self._rate, max(1.0, self._rate))
        self._filled_at = now
