"""A frontier with all that it needs, on any state; what is committed of it, and the frontier of the next process."""

from __future__ import annotations

from random import Random

import msgspec
from msgspec import Struct
from tests.reference.event_sink import MemoryEventSink

from periplus.engine.frontier import (
    Frontier,
    FrontierDesk,
    FrontierRules,
    FrontierSettings,
    FrontierState,
    PolitenessSettings,
    RetrySettings,
    Revisiting,
    SiteRecords,
)
from periplus.model import EventSink, Ordering
from periplus.policy.filters import Chain, Guard
from periplus.policy.ordering import ordering as ordering_named
from periplus.store import State


class FrontierOptions(Struct, frozen=True):
    """How a frontier is made; the next process makes it in the same way."""

    guard: Guard = Chain([])
    ordering: Ordering = ordering_named("breadth_first")
    events: EventSink = MemoryEventSink()
    politeness: PolitenessSettings = PolitenessSettings()
    retries: RetrySettings = RetrySettings()
    max_sites: int = 50_000
    shards: int = 1
    seed: int = 0
    revisits: Revisiting = Revisiting()


class OpenedFrontier:
    """A frontier on a state, as it was committed."""

    def __init__(self, state: State, options: FrontierOptions, committed: bytes | None = None) -> None:
        saved = None if committed is None else msgspec.msgpack.decode(committed, type=FrontierState)
        self._records = SiteRecords(state.sites)
        rules = FrontierRules(
            agent="Periplus",
            politeness=options.politeness,
            retries=options.retries,
            frontier=FrontierSettings(max_sites=options.max_sites),
            shards=options.shards,
        )
        random = Random(options.seed)
        desk = FrontierDesk(
            state, self._records, rules, options.guard, options.ordering, options.events, random, options.revisits
        )
        self.frontier = Frontier(desk, saved)

    def commit(self) -> bytes:
        """Write everything to the state, as a shard does; the rest, to be given to the next frontier."""
        committed = self.frontier.flush()
        self._records.flush()
        return msgspec.msgpack.encode(committed)


def open_frontier(state: State, options: FrontierOptions | None = None) -> Frontier:
    """A frontier on a state, for tests in which no process ends."""
    return OpenedFrontier(state, options or FrontierOptions(events=MemoryEventSink())).frontier
