"""The job that computes reputations: which domains get which budgets, by the links of the collection."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from periplus.engine.part import JobDesk
from periplus.engine.router import owner_of
from periplus.model import Site
from periplus.policy.filters import BudgetSettings
from periplus.store import LearntFiles

from .job import ReputationSettings, learn_reputation


class _Tables(Struct, frozen=True):
    budgets: BudgetSettings


def learn_budgets(desk: JobDesk) -> None:
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
