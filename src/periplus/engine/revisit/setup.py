"""Revisits of a crawl, made from its settings; and of a shard that does not run."""

from __future__ import annotations

from random import Random

from msgspec import Struct
from msgspec.structs import replace

from periplus.content import ChurnSettings
from periplus.engine.frontier import SiteRecords
from periplus.engine.part import Setup
from periplus.policy.weights import EQUAL, PageWeights
from periplus.store import State

from .budget import Watching
from .records import RevisitState
from .revisits import Revisits
from .settings import RefreshSettings, RefreshTables


class _Tables(Struct, frozen=True):
    refresh: RefreshSettings
    churn: ChurnSettings


def revisits_for(setup: Setup, state: State, records: SiteRecords, weights: PageWeights, random: Random) -> Revisits:
    """What learns from every visit, and in a watch schedules the next."""
    tables = setup.settings.some(_Tables)
    return Revisits(
        state,
        records,
        tables.refresh,
        watching=Watching(setup.visits_a_day, setup.shards) if setup.visits_a_day else None,
        weights=weights,
        churn=tables.churn,
        random=random,
    )


def weights_of(setup: Setup, state: State | None = None) -> PageWeights:
    """How much pages matter; measured by the mean weight of the last watch of this state, if there was one."""
    settings = setup.settings.some(RefreshTables).refresh
    name, kept, ranks = settings.weight, setup.layout.weights(settings.weight), None
    if name != EQUAL and kept.is_file():
        from periplus.store import KnownRanks  # loads Arrow

        ranks = KnownRanks.load(kept).get
    saved = None if state is None else state.meta(RevisitState)
    mean = 1.0 if saved is None else saved.mean_weight
    # a page without a priority is like others of its site; one without inlinks is not
    return PageWeights(settings.weights, ranks, mean, unknown=1.0 if name == "priority" else 0.0)


def visits_a_day(state: State) -> float:
    """Visits a day of the last watch; 0 if there was none."""
    known = state.meta(RevisitState)
    return 0.0 if known is None else known.total


def settle(state: State, waiting: int) -> None:
    """Prepare a state for sites that are new to it, of which `waiting` revisits are queued.

    The sample of the freshness estimator is drawn again, and a watch begins with an equal share of its visits: both
    were those of other sites.
    """
    known = state.meta(RevisitState) or RevisitState()
    state.put_meta(replace(known, parts=0, waiting=waiting, factor=0, added=()))
