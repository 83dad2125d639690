"""The virtual time of the lab.

`RunningClock` is `epoch` plus `speed` times the wall clock (86,400: a day a second); `SteppedClock` moves only when a
test says so. Both are a `model.Clock`: they never run backwards. Everything that the server says about time is read
here, so that Date, Last-Modified and a sitemap's lastmod agree with each other. What changes at which time is the
world's business.
"""

from __future__ import annotations

import time
from threading import Lock

from periplus.model import UsageError


class RunningClock:
    """Time that passes by itself, `speed` virtual seconds for each real one."""

    def __init__(self, epoch: float, speed: float = 1.0) -> None:
        if not 0 <= speed < float("inf"):
            raise UsageError(f"a clock cannot run at speed {speed}", hint="Give a number of 0 or more: --speed 3600")
        self.epoch = epoch
        self.speed = speed
        self._started = time.monotonic()

    def now(self) -> float:
        """The virtual time, as POSIX seconds."""
        return self.epoch + self.speed * (time.monotonic() - self._started)


class SteppedClock:
    """Time that stands still until a test advances it; thread-safe."""

    def __init__(self, epoch: float) -> None:
        self.epoch = epoch
        self._now = epoch
        self._moving = Lock()

    def now(self) -> float:
        """The virtual time, as POSIX seconds."""
        return self._now

    def advance(self, seconds: float) -> float:
        """Let `seconds` pass at once; the new time."""
        if seconds < 0:
            raise UsageError(f"time does not run backwards: {seconds} s")
        with self._moving:
            self._now += seconds
            return self._now

    def move_to(self, at: float) -> None:
        """Let time pass until `at`."""
        with self._moving:
            if at < self._now:
                raise UsageError(f"time does not run backwards: it is {self._now}, not {at}")
            self._now = at
