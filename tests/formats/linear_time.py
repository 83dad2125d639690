"""Checking that a reader takes time linear in its input, on machines that do other work at the same time."""

from __future__ import annotations

import time
from collections.abc import Callable

FACTOR = 6
"""How many times larger the second input is than the first: linear time is 6 times as long, quadratic time 36 times."""

ATTEMPTS = 60
"""How often both are measured at most. The least time of each counts, since other work only ever adds to it."""

PAUSE = 0.02
"""Seconds before the second measurement, and as much more before each further one: other work may end until then."""


def assert_linear(run: Callable[[int], object], size: int) -> None:
    """Run with inputs of `size` and of a sixth of it, and compare their CPU times.

    The limit lies between 6 and 36: caches make a larger input cost more, a fixed cost of each run makes it cost less.
    """
    best = {size // FACTOR: float("inf"), size: float("inf")}
    for attempt in range(ATTEMPTS):
        time.sleep(PAUSE * attempt)
        for each in best:
            started = time.process_time()
            run(each)
            best[each] = min(best[each], time.process_time() - started)
        if best[size] < 4 * FACTOR * best[size // FACTOR]:
            return
    raise AssertionError(
        f"{FACTOR} times the input takes {best[size] / best[size // FACTOR]:.1f} times as long: {best}"
    )
