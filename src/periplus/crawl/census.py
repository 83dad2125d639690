"""The frontier in numbers, for people to look at."""

from __future__ import annotations

from msgspec import Struct

from periplus.model import Site, State

from .frontier import Place, Rounds


class Census(Struct, frozen=True):
    """The frontier in numbers. `longest`: seconds that the longest of the queues takes at its site's own pace."""

    known: int
    queued: int
    sites: int
    ready: int
    resting: int
    visited: int
    backing_off: int
    done: int
    next_site: Site | None = None
    next_at: float | None = None
    longest: float = 0.0


def taken(state: State, rounds: Rounds, *, done: int, pooled: int) -> Census:
    """The census of a frontier. `pooled` URLs wait for the next batch of their ordering."""
    resting = [active for active in rounds.bench if active.place is Place.RESTING]
    first = min(resting, key=lambda active: active.ready_at, default=None)
    return Census(
        known=len(state.records),
        queued=len(state.queues) + pooled,
        sites=max(len(state.sites), len(rounds.bench)),
        ready=rounds.bench.count(Place.READY),
        resting=len(resting),
        visited=rounds.bench.count(Place.VISITED),
        backing_off=sum(active.state.failures > 0 or active.lookups > 0 for active in resting),
        done=done,
        next_site=first.site if first else None,
        next_at=first.ready_at if first else None,
        longest=rounds.longest(),
    )
