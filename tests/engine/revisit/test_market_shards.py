"""Shards that share one visit budget through `Market`, each with the `Revisits` of a crawl."""

from __future__ import annotations

from random import Random

import pytest
from tests.engine.revisit.revisited_pages import DAY, ChangingPage, RevisitedWeb

from periplus.engine.revisit.market import Market

DAYS = 24
"""Days for which pages are visited; freshness is measured in the second half."""
KINDS = (1.5, 12.0, 40.0)
"""Days between two changes of the pages of each shard."""


def pages_of(every: float, number: int, count: int = 40) -> dict[str, ChangingPage]:
    random = Random(number)
    return {f"/{number}/{n}": ChangingPage(every, begins=every * random.random()) for n in range(count)}


def web_of(changing: dict[str, ChangingPage], visits_per_day: float, parts: int) -> RevisitedWeb:
    home = ChangingPage(links=lambda _: list(changing))
    web = RevisitedWeb({"/": home, **changing}, visits_per_day=visits_per_day, parts=parts)
    web.crawl("/")
    return web


def fresh_share(webs: list[RevisitedWeb], market: Market | None = None) -> float:
    """Visit pages for some weeks; the share of fresh copies at noon of each day in the second half."""
    start = max(web.now for web in webs)
    next_at, turns, fresh, looked_at = [start] * len(webs), 0, [], 0
    while (now := min(next_at)) < start + DAYS * DAY:
        if now >= start + (DAYS / 2 + looked_at) * DAY:
            looked_at += 1
            fresh += [web.is_fresh(path, now) for web in webs for path in web.pages if path != "/"]
        which = next_at.index(now)
        webs[which].now = now
        webs[which].turn()
        next_at[which] = now + DAY / webs[which].revisits.visits_per_day
        turns += 1
        bids = [web.revisits.bid(now) for web in webs] if turns % 10 == 0 else [None]
        for number, visits_per_day in market.turn(bids) if market else ():
            webs[number].revisits.set_budget(visits_per_day, now)
    return sum(fresh) / len(fresh)


@pytest.mark.slow
def test_shared_budget_is_nearly_as_fresh_as_one_shard() -> None:
    """And fresher than equal parts, since pages that change too often for the budget are given up."""
    kinds = [pages_of(every, number) for number, every in enumerate(KINDS)]
    total = 15.0
    equal = fresh_share([web_of(pages, total, 3) for pages in kinds])
    webs = [web_of(pages, total, 3) for pages in kinds]
    market = Market(3)
    together = fresh_share(webs, market)
    one = fresh_share([web_of({path: page for pages in kinds for path, page in pages.items()}, total, 1)])
    assert sum(market.granted) == pytest.approx(total)
    assert together > equal
    assert together > 0.95 * one


@pytest.mark.slow
def test_prices_of_shards_meet() -> None:
    """With a market they differ by less than a third after some weeks, and by more without one."""
    apart, together = ([web_of(pages_of(every, n, 24), 7.2, 2) for n, every in enumerate((4.0, 40.0))] for _ in "12")
    fresh_share(apart)
    fresh_share(together, Market(2))
    assert spread_of(together) < 1.33
    assert spread_of(together) < spread_of(apart)


def spread_of(webs: list[RevisitedWeb]) -> float:
    prices = [web.revisits.price for web in webs]
    return max(prices) / min(prices)
