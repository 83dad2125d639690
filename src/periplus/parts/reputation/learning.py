"""The job that computes reputations: which domains get which budgets, by the links of the collection."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from msgspec import Struct

from periplus.engine.part import Job, JobDesk, Setup
from periplus.engine.router import owner_of
from periplus.model import Site
from periplus.policy.filters import BudgetSettings, ScopeSettings
from periplus.store import LearntFiles

from .job import ReputationSettings, learn_reputation


class _Tables(Struct, frozen=True):
    budgets: BudgetSettings
    scope: ScopeSettings


def _is_wanted(setup: Setup) -> bool:
    """Whether to compute reputations: only a crawl that may leave the domains of its seeds has budgets for domains."""
    return setup.settings.some(_Tables).budgets.domain != "none" and setup.settings.some(_Tables).scope.kind == "any"


def _learn(desk: JobDesk) -> None:
    """Write the learnt file "reputation" of a collection."""
    setup = desk.setup
    settings, layout, shards = setup.settings, setup.layout, setup.shards
    table = settings.some(_Tables).budgets
    budgets = table.of_domains(settings.value("crawl.limit"))
    if budgets is None:
        return
    asked = ReputationSettings(
        table.domain, budgets.base, budgets.largest, settings.value("scope.suffixes"), shards, _owners(shards)
    )
    found = learn_reputation(
        layout.folder,
        layout.spooled,
        database=desk.views.database,
        seeds=setup.seeds,
        settings=asked,
        spam_of=desk.distrust,
        now=desk.now,
    )
    LearntFiles(layout.learnt).write("reputation", found.known().written())


def _owners(shards: int) -> Callable[[str], int] | None:
    """The shard of a site, where there are several."""
    return None if shards == 1 else lambda site: owner_of(Site(site), shards)


JOB: Final = Job("reputation", _is_wanted, _learn)
