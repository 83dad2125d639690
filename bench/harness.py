"""How we measure: every contestant on the same work in the same run, best of several rounds, taken in turns.

Only ratios carry from one machine to another, so a target is a ratio to a named peer. Turns are interleaved so that a
noisy neighbour slows all contestants alike; the best round of each is the one with the least noise in it.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Target:
    """A promise: `ours` is at least `ratio` times as fast as `peer`."""

    ours: str
    peer: str
    ratio: float


@dataclass(frozen=True)
class Group:
    """One table of the report: contestants on the same work, in units a second."""

    title: str
    unit: str
    rates: Mapping[str, float]
    targets: tuple[Target, ...] = ()
    notes: tuple[str, ...] = ()
    facts: Mapping[str, str] = field(default_factory=dict)


def race(
    contestants: Mapping[str, Callable[[], object]],
    *,
    units: int,
    rounds: int,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, float]:
    """Run every contestant `rounds` times in turns; the best rate of each, in units a second of `clock`.

    For contestants that only compute, in one thread, `time.process_time` leaves out what other programs take.
    """
    best = dict.fromkeys(contestants, float("inf"))
    for _ in range(rounds):
        for name, run in contestants.items():
            gc.collect()
            started = clock()
            run()
            best[name] = min(best[name], clock() - started)
    return {name: units / seconds for name, seconds in best.items()}
