"""The visits a day of a shard, the price of a visit, and bids: what moves them, and what outlives a shard."""

from __future__ import annotations

import pytest
from tests.engine.revisit.revisited_pages import DAY, HOME, ChangingPage, RevisitedWeb, unchanging

from periplus.engine.revisit.budget import RevisitQuota, Watching
from periplus.engine.revisit.market import Market
from periplus.model import Bid
from periplus.policy.weights import PageWeights


def web_of(every: float, pages: int = 60, visits_per_day: float = 24.0, **how: object) -> RevisitedWeb:
    """Pages that all change as often, crawled once by one of two shards."""
    changing = unchanging(pages, every=every)
    home = ChangingPage(links=lambda _: list(changing))
    web = RevisitedWeb({"/": home, **changing}, visits_per_day=2 * visits_per_day, parts=2, **how)  # type: ignore[arg-type]
    web.crawl("/")
    return web


def bid_of(web: RevisitedWeb, now: float | None = None) -> Bid:
    bid = web.revisits.bid(web.now if now is None else now)
    assert bid is not None
    return bid


def test_price_and_part_outlive_a_shard() -> None:
    """If the total is the same; another number of shards begins with equal parts."""
    web = web_of(3.0)
    assert web.revisits.visits_per_day == 24.0
    web.revisits.set_budget(36.1, web.now)
    price = web.revisits.price
    web.commit()
    web.open(Watching(48.0, 2))
    assert (web.revisits.price, web.revisits.visits_per_day) == (price, 36.1)
    web.open(Watching(48.0, 4))
    assert (web.revisits.price, web.revisits.visits_per_day) == (price, 12.0)
    web.open(Watching(96.0, 2))
    assert web.revisits.price != price
    assert web.revisits.visits_per_day == pytest.approx(72.2)


def test_crawl_between_two_watches_keeps_the_price() -> None:
    """Pages it adds are in the sample of the next watch."""
    web = web_of(3.0)
    price = web.revisits.price
    web.commit()
    web.open()
    web.found([web.url("/later")], None)
    while web.turn():
        web.now += 1.0
    web.commit()
    web.open(Watching(48.0, 2))
    assert web.revisits.price == price
    sample = web.revisits.sample_rows()
    assert sample is not None
    assert web.url("/later") in sample.measured


def test_price_goes_with_the_budget() -> None:
    """With a quarter of the visits each must be worth more; and back again."""
    web = web_of(3.0)
    before = bid_of(web)
    assert before == Bid(web.now, 48.0, 24.0, before.price, before.forecast, 61, 0)
    web.revisits.set_budget(6.0, web.now)
    after = bid_of(web)
    assert after.price / before.price == pytest.approx(after.forecast / before.forecast)
    assert after.price > 1.5 * before.price
    web.revisits.set_budget(24.0, web.now)
    assert bid_of(web).price == pytest.approx(before.price)


def test_bids_are_in_weights_as_given() -> None:
    """Where all pages of a shard weigh ten times as much, a visit is worth ten times as much."""
    plain = web_of(3.0)
    heavy = web_of(3.0, weights=lambda: PageWeights({f"{HOME}/*": 10.0}))
    assert bid_of(heavy).forecast == pytest.approx(10.0 * bid_of(plain).forecast)


@pytest.mark.proof
def test_shards_come_to_one_price() -> None:
    """One shard has pages that change often, the other an archive; for some weeks."""
    webs = [web_of(2.0, 30), web_of(40.0, 30)]
    market, made = Market(2), [web.visits.total() for web in webs]
    now = max(web.now for web in webs)
    next_at, turns, end = [now, now], 0, now + 6 * DAY
    while (now := min(next_at)) < end:
        which = next_at.index(now)
        webs[which].now = now
        webs[which].turn()
        next_at[which] = now + DAY / webs[which].revisits.visits_per_day
        turns += 1
        bids = [bid_of(web, now) for web in webs] if turns % 20 == 0 else [None]
        for number, visits_per_day in market.turn(bids):
            webs[number].revisits.set_budget(visits_per_day, now)
    visits = [web.visits.total() - before for web, before in zip(webs, made, strict=True)]
    assert visits[0] > 1.5 * visits[1] > 0
    assert sum(visits) <= 48.0 * 6 + 2
    assert sum(market.granted) == pytest.approx(48.0)


def test_quota_keeps_both_shares() -> None:
    """Worth decides between the bounds; a counter that was saved goes on."""
    quota = RevisitQuota(0.25, 0.25)
    first = [quota.prefers_revisit(is_worth_more=True)]
    for _ in range(100):
        quota.count(is_revisit=first[-1])
        first.append(quota.prefers_revisit(is_worth_more=True))
    assert first[:100].count(True) == 75
    again = RevisitQuota(0.25, 0.25, quota.counts)
    revisits = 0
    for _ in range(300):
        is_revisit = again.prefers_revisit(is_worth_more=False)
        again.count(is_revisit=is_revisit)
        revisits += is_revisit
    assert revisits == pytest.approx(75, abs=10)


def test_a_crawl_owes_no_long_row_of_revisits() -> None:
    """After a thousand first visits a new page that is worth more waits for a few revisits, not for hundreds."""
    quota = RevisitQuota(0.25, 0.25)
    for _ in range(1000):
        quota.count(is_revisit=False)
    owed = 0
    while quota.prefers_revisit(is_worth_more=False):
        quota.count(is_revisit=True)
        owed += 1
    assert owed <= 13
