"""The time, for the loop that must ask. Rooms that decide get it as an argument."""

from __future__ import annotations

import time


class SystemClock:
    """POSIX time that never runs backwards, even when somebody sets the machine's clock."""

    def __init__(self) -> None:
        self._began_at = time.time() - time.monotonic()

    def now(self) -> float:
        """POSIX seconds: the time at the start, and what has passed since."""
        return self._began_at + time.monotonic()
