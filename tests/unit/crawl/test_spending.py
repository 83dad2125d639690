"""What a shard may spend on visits moves while it goes on, and its price with it; both outlive it."""

from __future__ import annotations

from random import Random

import pytest
from tests.unit.crawl.living_pages import DAY, HOME, Living, LivingWeb

from periplus.crawl.frontier import PolitenessSettings, Watching
from periplus.crawl.scheduler import CrawlScheduler
from periplus.model import State
from periplus.policy.filters import Chain
from periplus.policy.ordering import ordering
from periplus.policy.refresh import Bid, Market, Weigher
from periplus.store import MemoryEventSink


def web_of(every: float, pages: int = 60, visits_a_day: float = 24.0) -> LivingWeb:
    """Pages that all change as often, crawled once."""
    leads = [f"/p{n}" for n in range(pages)]
    web = LivingWeb(
        {"/": Living(leads=lambda _: leads), **{path: Living(every=every) for path in leads}}, visits_a_day=visits_a_day
    )
    web.crawl("/")
    return web


def opened(state: State, watching: Watching, weigh: Weigher | None = None) -> CrawlScheduler:
    return CrawlScheduler(
        state,
        guard=Chain([]),
        ordering=ordering("breadth_first"),
        events=MemoryEventSink(),
        agent="Periplus",
        random=Random(1),
        politeness=PolitenessSettings(),
        watching=watching,
        weigh=weigh,
    )


def bid_of(scheduler: CrawlScheduler, now: float) -> Bid:
    bid = scheduler.refresher.bid(now)
    assert bid is not None
    return bid


def test_price_and_share_outlive_a_shard() -> None:
    """Of the same whole, among as many: another share of it is no reason to forget the price."""
    web = web_of(3.0)
    refresher = opened(web.state, Watching(48.0, 2)).refresher
    assert refresher.spending.visits_a_day == 24.0
    refresher.afford(36.0)
    price = refresher.price
    refresher.save()
    again = opened(web.state, Watching(48.0, 2)).refresher
    assert (again.price, again.spending.visits_a_day) == (price, 36.0)
    resized = opened(web.state, Watching(48.0, 4)).refresher
    assert (resized.price, resized.spending.visits_a_day) == (price, 12.0)
    other = opened(web.state, Watching(96.0, 2)).refresher
    assert other.price != price
    assert other.spending.visits_a_day == 72.0


def test_the_price_goes_with_the_budget() -> None:
    """At once, as far as the pages say: with a quarter of the visits each must be worth more; and back again."""
    web = web_of(3.0)
    scheduler = opened(web.state, Watching(48.0, 2))
    before = bid_of(scheduler, web.now)
    assert before == Bid(web.now, 48.0, 24.0, before.price, before.forecast, 61, 0)
    scheduler.refresher.afford(6.0)
    after = bid_of(scheduler, web.now)
    assert after.price / before.price == pytest.approx(after.forecast / before.forecast)
    assert after.price > 1.5 * before.price
    scheduler.refresher.afford(24.0)
    assert bid_of(scheduler, web.now).price == pytest.approx(before.price)


def test_who_watches_nothing_bids_nothing() -> None:
    """There is nothing to be shared out."""
    web = LivingWeb({"/": Living()})
    assert web.opened(is_watching=False).refresher.bid(web.now) is None


def test_bids_are_in_the_same_weights_everywhere() -> None:
    """Where all pages of a shard weigh ten times as much, a visit is worth ten times as much."""
    web = web_of(3.0)
    plain = bid_of(opened(web.state, Watching(48.0, 2)), web.now)
    heavy = bid_of(opened(web.state, Watching(48.0, 2), Weigher({f"{HOME}/*": 10.0})), web.now)
    assert heavy.forecast == pytest.approx(10.0 * plain.forecast)


def test_shards_that_watch_come_to_one_price() -> None:
    """The real schedulers of two shards, one with pages that change often and one with an archive, for some weeks."""
    webs = [web_of(2.0), web_of(40.0)]
    for web in webs:
        web.scheduler = opened(web.state, Watching(48.0, 2))
    market, made = Market(2), [web.visits.total() for web in webs]
    now = webs[0].now = webs[1].now = max(web.now for web in webs)
    next_at, turns = [now, now], 0
    end = now + 20 * DAY
    while (now := min(next_at)) < end:
        which = next_at.index(now)
        web, refresher = webs[which], webs[which].scheduler.refresher
        web.now = now
        for task in web.scheduler.take(1, now):
            web.report(task)
        next_at[which] = now + DAY / refresher.spending.visits_a_day
        turns += 1
        bids = [each.scheduler.refresher.bid(now) for each in webs] if turns % 20 == 0 else [None]
        for number, visits_a_day in market.turn(bids):
            webs[number].scheduler.refresher.afford(visits_a_day)
    visits = [web.visits.total() - before for web, before in zip(webs, made, strict=True)]
    assert visits[0] > 1.5 * visits[1] > 0
    assert sum(visits) <= 48.0 * 20 + 2
    assert sum(market.granted) == pytest.approx(48.0)
