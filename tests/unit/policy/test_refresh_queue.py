"""The queue: who is worth most is served, politely, at a price that finds itself; nobody is forgotten."""

from __future__ import annotations

import numpy as np
import pytest

from periplus.model import ConfigError, InvariantError
from periplus.policy.refresh import (
    CrawlValue,
    Outlook,
    Price,
    QueueSettings,
    RefreshRetirementSettings,
    WakeQueue,
    Yield,
    after_setback,
    hub_ripe_age,
    hub_worth,
    new_page_worth,
    price_for,
    why_worthless,
    worth_its_cost,
)
from periplus.policy.refresh.allocation import expected_freshness, frequencies_for_freshness
from periplus.policy.refresh.evidence import DAY

NOW = 1.7e9
PLAIN = QueueSettings(explore_share=0.0)


def queue_of(
    rates: list[float],
    *,
    hosts: int = 1,
    visits_a_day: float = 1.0,
    settings: QueueSettings = PLAIN,
    objective: str = "binary",
    age: float = 0.0,
) -> WakeQueue:
    queue = WakeQueue(CrawlValue(objective), NOW, settings=settings)
    for _ in range(hosts):
        queue.add_host()
    for page, rate in enumerate(rates):
        queue.add(page % hosts, Outlook(0, rate), 1.0, NOW - age * DAY, NOW)
    queue.guess_price(visits_a_day)
    queue.replan(NOW)
    return queue


def test_the_budget_is_spent_as_is_best() -> None:
    """Regular visits at a price that finds itself are those of the best shares: as fresh, within one per cent."""
    random = np.random.default_rng(0)
    rates = random.uniform(0.02, 3.0, 200)
    queue = queue_of(rates.tolist(), hosts=20, visits_a_day=40)
    seen = np.full(200, NOW)
    fresh, visits, days = 0.0, 0, 60
    for hour in range(1, days * 24 + 1):
        now = NOW + hour * 3600
        for page in queue.take(hour * 40 // 24 - (hour - 1) * 40 // 24, now):
            if hour > 20 * 24:
                gap = (now - max(seen[page], NOW + 20 * DAY)) / DAY
                before = max(NOW + 20 * DAY - seen[page], 0) / DAY
                fresh += (np.exp(-rates[page] * before) - np.exp(-rates[page] * (before + gap))) / rates[page]
            visits += 1
            seen[page] = now
            queue.crawled(page, Outlook(0, float(rates[page])), 1.0, now)
    left = (NOW + days * DAY - np.maximum(seen, NOW + 20 * DAY)) / DAY
    before = np.maximum(NOW + 20 * DAY - seen, 0) / DAY
    fresh += float(((np.exp(-rates * before) - np.exp(-rates * (before + left))) / rates).sum())
    best = float(expected_freshness(rates, frequencies_for_freshness(rates, 40)).mean())
    assert visits == pytest.approx(40 * days, rel=0.02)
    assert fresh / 200 / (days - 20) == pytest.approx(best, rel=0.01)
    queue.check_invariants()


def test_a_signal_wakes_a_page() -> None:
    """It is served before those who change more often, and its signals are then spent."""
    tables = CrawlValue("binary")
    seen = tables.outlook(0.01, 0.1, 3.0)
    queue = WakeQueue(tables, NOW, settings=PLAIN, price=0.5)
    queue.add_host()
    quiet = [queue.add(0, seen, 1.0, NOW, NOW) for _ in range(5)]
    assert queue.take(9, NOW + DAY) == []
    queue.signal(quiet[3], 3.0, NOW + DAY)
    assert queue.take(1, NOW + DAY + 60) == [quiet[3]]
    queue.crawled(quiet[3], seen, 1.0, NOW + DAY + 120)
    assert queue.wakes_at(quiet[3]) > NOW + 3 * DAY


def test_hosts_are_left_alone() -> None:
    """Two visits of a host lie as far apart as it asks for, whatever waits there."""
    queue = queue_of([5.0] * 40, hosts=2, visits_a_day=1e6, settings=QueueSettings(delay=10.0), age=5.0)
    times: dict[int, list[float]] = {0: [], 1: []}
    for second in range(100):
        for page in queue.take(5, NOW + second):
            times[page % 2].append(second)
            queue.crawled(page, Outlook(0, 5.0), 1.0, NOW + second)
    for visits in times.values():
        assert len(visits) == 10
        assert min(np.diff(visits)) >= 10
    queue.rest(0, NOW + 1000)
    assert all(page % 2 for page in queue.take(5, NOW + 200))
    queue.check_invariants()


def test_a_host_with_a_bound_has_its_own_price() -> None:
    """Pages of a host that may be visited seldom do not take from the others, nor wake them later."""
    queue = queue_of([1.0] * 60, hosts=2, visits_a_day=40, settings=QueueSettings(delay=DAY / 10, explore_share=0.0))
    visits = [0, 0]
    for hour in range(1, 40 * 24):
        for page in queue.take(2, NOW + hour * 3600):
            visits[page % 2] += hour > 20 * 24
            queue.crawled(page, Outlook(0, 1.0), 1.0, NOW + hour * 3600)
    assert visits[0] == pytest.approx(visits[1], abs=3)
    assert sum(visits) == pytest.approx(2 * 20 * 24 / 3, abs=20)


def test_new_pages_and_known_ones_each_have_a_share() -> None:
    """However much more the one is worth than the other."""
    queue = queue_of([1.0] * 300, age=5.0, visits_a_day=50.0)
    for _ in range(300):
        queue.add_new(0, 1e9)
    taken = queue.take(200, NOW + 60)
    assert sum(page < 300 for page in taken) == pytest.approx(50, abs=8)
    modest = queue_of([1.0] * 300, age=5.0, visits_a_day=50.0)
    for _ in range(300):
        modest.add_new(0, 1e-9)
    taken = modest.take(200, NOW + 60)
    assert sum(page >= 300 for page in taken) == pytest.approx(50, abs=8)


def test_some_visits_explore() -> None:
    """Pages that are never worth it are visited all the same, one after the other."""
    queue = queue_of([1e-6] * 50 + [1.0] * 50, visits_a_day=50, settings=QueueSettings(explore_share=0.1))
    seen: set[int] = set()
    for hour in range(1, 24 * 30):
        for page in queue.take(2, NOW + hour * 3600):
            seen.add(page)
            queue.crawled(page, Outlook(0, 1e-6 if page < 50 else 1.0), 1.0, NOW + hour * 3600)
    assert seen >= set(range(50))


def test_nobody_sleeps_for_ever() -> None:
    """A page that nothing is worth is looked at after the longest interval."""
    queue = queue_of([1e-9, 1.0], visits_a_day=0.5, settings=QueueSettings(longest=10 * DAY, explore_share=0.0))
    found = []
    for day in range(1, 30):
        for page in queue.take(1, NOW + day * DAY):
            found.append((page, day))
            queue.crawled(page, Outlook(0, 1e-9 if page == 0 else 1.0), 1.0, NOW + day * DAY)
    assert 0 in {page for page, _ in found}


def test_who_retires_is_not_served() -> None:
    """Nor heard; what failed is tried again in its time."""
    queue = queue_of([1.0] * 3, age=30.0)
    queue.retire(0)
    queue.signal(0, 5.0, NOW)
    taken = queue.take(3, NOW + 60)
    assert sorted(taken) == [1, 2]
    queue.failed(1, NOW + 60, NOW + DAY)
    queue.retire(2)
    assert queue.take(3, NOW + DAY / 2) == []
    assert queue.take(3, NOW + DAY + 120) == [1]
    with pytest.raises(InvariantError):
        queue.crawled(0, Outlook(0, 1.0), 1.0, NOW)


def test_the_price_follows() -> None:
    """Down where visits are missed or worth less, up where they are worth more, never out of bounds."""
    price = Price(1.0)
    for _ in range(100):
        price.served(5.0, 100)
    assert price.value > 1.5
    for _ in range(1000):
        price.missed(10, 100)
    assert 0 < price.value < 1e-3


def test_a_first_guess_of_the_price() -> None:
    """Spends the budget on pages that hear nothing."""
    rates = np.array([0.1, 0.5, 1.0, 2.0])
    tables, zero, ones = CrawlValue("harmonic"), np.zeros(4, np.int64), np.ones(4)
    price = price_for(tables, zero, rates, ones, 3.0)
    assert (1 / tables.ripe_ages(zero, rates, ones, price)).sum() == pytest.approx(3.0, rel=1e-3)
    assert price_for(tables, zero, rates, ones, 0.0) > 1e9


def test_settings_that_cannot_be() -> None:
    """Shares of more than all, levels that do not differ."""
    with pytest.raises(ConfigError):
        QueueSettings(refresh_share=0.9, new_share=0.9)
    with pytest.raises(ConfigError):
        QueueSettings(step=1.0)


def test_one_currency() -> None:
    """New pages, hubs and cheap answers, in days of a fresh copy."""
    assert new_page_worth(2.0, 0.5, 0.1) == pytest.approx(10.0)
    assert new_page_worth(2.0, 0.5, 0.0) == pytest.approx(30.0)
    assert hub_worth(3.0, 2.0, 2.0) == pytest.approx(12.0)
    assert hub_worth(3.0, 2.0, hub_ripe_age(3.0, 2.0, 7.0)) == pytest.approx(7.0)
    assert worth_its_cost(1.0, 1.0) == pytest.approx(10.0)
    assert worth_its_cost(1.0, 0.0) == 1.0


def test_what_first_fetches_bring() -> None:
    """Half at first; then what was seen, lately."""
    site = Yield()
    assert site.share == 0.5
    for _ in range(3000):
        site = site.seen(True)
    assert site.share > 0.99
    for _ in range(3000):
        site = site.seen(False)
    assert site.share < 0.15


def test_the_dead_retire() -> None:
    """Not found twice, a day apart; without an answer ten times, ever later."""
    settings = RefreshRetirementSettings()
    first = after_setback(404, 1, NOW, settings)
    assert (first.retired, first.again_at) == ("", NOW + DAY)
    assert after_setback(410, 2, NOW, settings).retired == "gone"
    assert after_setback(500, 1, NOW, settings).again_at == NOW + 60
    assert after_setback(None, 50, NOW, settings).again_at == NOW + DAY
    assert after_setback(None, 10, NOW, settings).retired == "failing"
    assert why_worthless(0.0) == "worthless"
    assert why_worthless(1.0) == ""
