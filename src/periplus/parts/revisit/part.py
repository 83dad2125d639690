"""Further visits to pages in a crawl: what schedules them is the frontier's, and no part of the machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random

from msgspec import Struct
from msgspec.structs import replace

from periplus.content import ChurnSettings
from periplus.engine.frontier import SiteRecords
from periplus.engine.part import Desk, MakeMarket, Part, RankPages, Setup
from periplus.model import RevisitBudget, SignalCounts, UrlRecord
from periplus.policy.weights import EQUAL, PageWeights
from periplus.store import DiskState, SiteState, State

from .budget import Watching
from .market import Market
from .records import RevisitState
from .revisits import Revisits
from .settings import RefreshSettings, RefreshTables


class _Tables(Struct, frozen=True):
    refresh: RefreshSettings
    churn: ChurnSettings


class RevisitPart(Part):
    """Gives a crawl what visits pages again."""

    @classmethod
    def rank(cls, setup: Setup, rankers: Mapping[str, RankPages]) -> None:
        """Compute which pages matter more, from links and sitemaps as known by now."""
        name = setup.settings.some(RefreshTables).refresh.weight
        if setup.visits_a_day and name in rankers:
            rankers[name]().save(setup.layout.weights(name))

    @classmethod
    def weights(cls, setup: Setup, state: State | None) -> PageWeights:
        """By the settings; measured by the mean weight of the last watch, if there was one."""
        settings = setup.settings.some(RefreshTables).refresh
        name, kept, ranks = settings.weight, setup.layout.weights(settings.weight), None
        if name != EQUAL and kept.is_file():
            from periplus.store import KnownRanks  # loads Arrow

            ranks = KnownRanks.load(kept).get
        saved = None if state is None else state.meta(RevisitState)
        mean = 1.0 if saved is None else saved.mean_weight
        # a page without a priority is like others of its site; one without inlinks is not
        return PageWeights(settings.weights, ranks, mean, unknown=1.0 if name == "priority" else 0.0)

    @classmethod
    def market(cls) -> MakeMarket:
        """Visits go to the shards that pay the most for them."""
        return Market

    @classmethod
    def revisits(
        cls, setup: Setup, state: State, records: SiteRecords, weights: PageWeights, random: Random
    ) -> Revisits:
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

    @classmethod
    def visits_a_day(cls, state: State) -> float:
        """As it was committed last."""
        known = state.meta(RevisitState)
        return 0.0 if known is None else known.total

    @classmethod
    def settle(cls, state: State, waiting: int) -> None:
        """Draw the sample of the freshness estimator again, and begin with an equal share of the visits of a watch.

        Both were those of other sites.
        """
        known = state.meta(RevisitState) or RevisitState()
        state.put_meta(replace(known, parts=0, waiting=waiting, factor=0, added=()))

    @classmethod
    def revisit_budget(cls, setup: Setup, states: Sequence[DiskState], now: float) -> RevisitBudget:
        """As the shards have committed it last."""
        from .show import budget_of

        return budget_of(states, now, setup.settings.some(RefreshTables).refresh)

    @classmethod
    def site_facts(
        cls,
        setup: Setup,
        state: State,  # noqa: ARG003 - the site has it
        site: SiteState,
        counts: Sequence[SignalCounts],
    ) -> dict[str, object]:
        """How often its pages change, and how far its signals are trusted."""
        from .show import of_site

        return {"freshness": of_site(site, setup.settings.some(_Tables).churn, counts)}

    @classmethod
    def url_facts(cls, setup: Setup, state: State, record: UrlRecord, now: float) -> dict[str, object]:
        """When it is visited again, and why."""
        from .show import of_page, price_of

        settings = setup.settings.some(RefreshTables).refresh
        found = of_page(state, record, settings, now, cls.weights(setup, state))
        return {"freshness": found, "is_watched": price_of(state) is not None}

    @classmethod
    def made_for(cls, setup: Setup, desk: Desk) -> tuple[()]:  # noqa: ARG003
        """None: the frontier has it."""
        return ()
