"""What a job has learnt of domains becomes their budgets."""

from __future__ import annotations

from random import Random
from types import SimpleNamespace

import numpy as np
import pytest
from tests.reference.event_sink import MemoryEventSink

from periplus.engine.frontier import Frontier, FrontierDesk, FrontierRules, SiteRecords
from periplus.model import Site
from periplus.parts.reputation.known import KnownReputation, domain_hash
from periplus.parts.reputation.part import ReputationFollower
from periplus.policy.filters import BudgetSettings, Chain
from periplus.policy.ordering import BreadthFirst
from periplus.store import MemoryState

BAD, FINE = Site("bad.example"), Site("fine.example")


@pytest.fixture
def records() -> SiteRecords:
    return SiteRecords(MemoryState().sites)


@pytest.fixture
def frontier(records: SiteRecords) -> Frontier:
    rules = FrontierRules(budgets=BudgetSettings(base=100))
    desk = FrontierDesk(MemoryState(), records, rules, Chain([]), BreadthFirst(), MemoryEventSink(), Random(1))
    return Frontier(desk)


def budgets(frontier: Frontier) -> list[float]:
    return [frontier.schedule.domains.of(site).budget for site in (BAD, FINE)]


def test_reputation_becomes_budgets(frontier: Frontier) -> None:
    """Of domains in memory, too; those that are not in the table keep the base."""
    follower = ReputationFollower(SimpleNamespace(frontier=frontier))  # type: ignore[arg-type]
    assert budgets(frontier) == [100, 100]
    key = np.array([domain_hash(FINE)], np.uint64)
    follower.take(KnownReputation(key, np.array([700], np.uint32), np.ones(1, np.float32)).written(), 1.0)
    assert budgets(frontier) == [100, 700]
