"""What people are shown of the freshness of a collection. Where no page was visited twice, nothing is estimated."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain

from periplus.model import Freshness, Lane, Site
from periplus.store import DiskState, State

from .freshness import FreshnessEstimator, queued_revisits
from .records import RevisitState
from .settings import RefreshSettings
from .signals import NO_EVIDENCE, SiteEvidence


def freshness_if_revisited(states: Sequence[DiskState], now: float, settings: RefreshSettings) -> Freshness | None:
    """How fresh all pages are together, if any are to be visited again."""
    return of_collection(states, now, settings) if any(map(_has_revisits, states)) else None


def _has_revisits(state: DiskState) -> bool:
    return len(state.calendar) > 0 or any(lane is Lane.REFRESH for _, lane, _ in state.queues.waiting())


def of_collection(states: Iterable[State], now: float, settings: RefreshSettings) -> Freshness | None:
    """The freshness of all pages together; `None` if there are none. It is estimated once a page is `checked`."""
    shards = list(states)
    parts = [_of_shard(state, now, settings.shortest, is_stated=False) for state in shards]
    if any(part.checked for part in parts):
        parts = [
            part if part.checked else _of_shard(state, now, settings.shortest, is_stated=True)
            for state, part in zip(shards, parts, strict=True)
        ]
    known = [part for part in parts if part.pages]
    return sum(known[1:], known[0]) if known else None


def _of_shard(state: State, now: float, shortest: float, *, is_stated: bool) -> Freshness:
    """The freshness of a shard, from a sample of pages of the size that a watch uses."""

    def evidence_of(site: Site) -> SiteEvidence:
        kept = state.sites.get([site])[0]
        return NO_EVIDENCE if kept is None else kept.value(SiteEvidence) or NO_EVIDENCE

    queued = queued_revisits(state)
    estimator = FreshnessEstimator(state.records, evidence_of, 1, shortest)
    estimator.begin(chain(state.calendar, queued))
    read = estimator.read if is_stated else estimator.read_checked
    return read(len(state.calendar) + len(queued), price_of(state) or 0.0, now)


def price_of(state: State) -> float | None:
    """What a visit must be worth, of a collection that was watched."""
    revisits = state.meta(RevisitState)
    return revisits.price if revisits is not None and revisits.total else None
