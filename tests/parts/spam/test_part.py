"""What a job has learnt of spam discounts domains and pages, and retires hosts."""

from __future__ import annotations

from random import Random
from types import SimpleNamespace

import pytest
from tests.reference.event_sink import MemoryEventSink

from periplus.engine.frontier import Frontier, FrontierDesk, FrontierRules, SiteRecords
from periplus.model import Site, Url
from periplus.parts.spam.part import RETIRED, SpamFollower
from periplus.parts.spam.scores import written
from periplus.policy.filters import BudgetSettings, Chain
from periplus.policy.ordering import BreadthFirst
from periplus.policy.weights import PageWeights
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


def test_spam_is_discounted_and_retired(frontier: Frontier, records: SiteRecords) -> None:
    """Its domain has a tenth of the budget, its pages less weight, and a host is retired if the job says so."""
    weights = PageWeights()
    desk = SimpleNamespace(frontier=frontier, weights=weights, records=records)
    follower = SpamFollower(desk)  # type: ignore[arg-type]
    assert budgets(frontier) == [100, 100]
    records.get(BAD).pages = 9
    follower.take(written({BAD: 0.9}, {BAD: 1.0}, (BAD,)), 1.0)
    assert budgets(frontier) == [10, 100]
    assert weights(Url(f"http://{BAD}/x")) == pytest.approx(0.01)
    assert frontier.scores.discounts.worth(Url(f"http://{BAD}/x")) == pytest.approx(0.01)
    assert (records.get(BAD).retired, records.get(FINE).retired) == (RETIRED, "")
