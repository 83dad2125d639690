"""What people are shown of the freshness of a collection."""

from __future__ import annotations

from collections.abc import Sequence

from periplus.engine.part import Setup
from periplus.model import Lane
from periplus.store import DiskState

from .settings import RefreshTables


def collection_facts(setup: Setup, states: Sequence[DiskState], now: float) -> dict[str, object]:
    """How fresh all pages are together, if any are to be visited again."""
    if not any(_has_revisits(state) for state in states):
        return {"freshness": None}
    from .show import of_collection  # imports numpy

    return {"freshness": of_collection(states, now, setup.settings.some(RefreshTables).refresh)}


def _has_revisits(state: DiskState) -> bool:
    return len(state.calendar) > 0 or any(lane is Lane.REFRESH for _, lane, _ in state.queues.waiting())
