"""Sites take turns: which is next, how long each rests, and which are given up."""

from __future__ import annotations

from itertools import pairwise

import pytest
from tests.properties.simulated_web import World
from tests.properties.watched_crawl import START, Crawl, Trouble

from periplus.engine.frontier import PolitenessSettings, RetrySettings
from periplus.engine.overview import frontier_stats
from periplus.model import Discovery, Excluded, FetchEnded, Located, Purpose, Site, Source, Url

S0, S1 = Site("s0.test"), Site("s1.test")


def run(world: World, **settings: object) -> Crawl:
    crawl = Crawl(world, **settings)  # type: ignore[arg-type]
    crawl.seed(world.urls)
    crawl.run(50_000)
    crawl.check_end()
    return crawl


def excluded(crawl: Crawl) -> dict[Url, str]:
    ends = [event.outcome for event in crawl.events.events if isinstance(event, FetchEnded)]
    return {outcome.task.url: outcome.reason for outcome in ends if isinstance(outcome, Excluded)}


def times(crawl: Crawl, site: Site, purpose: Purpose = Purpose.PAGE) -> list[float]:
    return [start.at - START for start in crawl.starts if start.site == site and start.task.purpose is purpose]


def test_site_is_asked_for_address_then_robots_then_pages() -> None:
    """Nothing else is fetched from a site before its robots.txt."""
    crawl = Crawl(World.plain(1, 1))
    crawl.seed()
    purposes = []
    while not crawl.frontier.is_idle:
        before = len(crawl.under_way)
        crawl.step()
        purposes += [(entry[2].purpose, entry[2].ip is None) for entry in crawl.under_way[before:]]
    assert purposes == [(Purpose.ROBOTS, True), (Purpose.ROBOTS, False), (Purpose.PAGE, False)]


def test_slow_sites_are_asked_less() -> None:
    """`slow_factor` times the duration of the last answer, from its end."""
    crawl = run(World.plain(1, 30), politeness=PolitenessSettings(delay=0.5, slow_factor=4.0))
    ends = {outcome.task.url: outcome for outcome in crawl.reported}
    for first, second in pairwise(crawl.starts):
        took = getattr(ends[first.task.url], "duration", 0.0)
        assert second.at - first.at == pytest.approx(took + max(0.5, 4 * took))


def test_crawl_delay_is_kept_between_any_two_requests() -> None:
    """Also where visits take several pages, and after robots.txt itself."""
    world = World.plain(1, 5)
    world.robots[S0] = "slow"
    crawl = run(world, politeness=PolitenessSettings(pages_per_visit=3, slow_factor=0.0))
    assert all(second.at - first.at >= 7.0 for first, second in pairwise(crawl.starts))


def test_a_visit_of_several_pages_rests_once() -> None:
    """k pages, then the delay (Castillo et al. 2004), also where each page leads to the next."""
    world = World.plain(1, 12)
    world.links = dict(zip(world.urls, [[url] for url in world.urls[1:]] + [[]], strict=True))
    crawl = Crawl(world, politeness=PolitenessSettings(delay=60.0, slow_factor=0.0, ip_delay=0.0, pages_per_visit=4))
    crawl.seed()
    crawl.run()
    crawl.check_end()
    rests = sum(second.at - first.at >= 60.0 for first, second in pairwise(crawl.starts))
    assert rests == len(crawl.starts) - 2, "robots.txt and the first page; then the queue is empty after each page"
    together = run(World.plain(1, 12), politeness=PolitenessSettings(delay=60.0, slow_factor=0.0, pages_per_visit=4))
    assert sum(second.at - first.at >= 60.0 for first, second in pairwise(together.starts)) == 3


def test_back_off_of_one_of_several_requests_holds() -> None:
    """With parallel requests the longest back-off holds, whichever answer comes last."""
    world = World.plain(1, 6)
    world.kinds[world.urls[0]] = "503"
    crawl = Crawl(world, politeness=PolitenessSettings(max_parallel=3))
    crawl.seed(world.urls)
    crawl.run()
    crawl.check_end()
    busy = [start.at for start in crawl.starts if start.task.url == world.urls[0]]
    for at in busy:
        assert not [start for start in crawl.starts if at < start.at < at + 30.0]


def test_urls_that_always_fail_do_not_hold_up_their_site() -> None:
    """After 503 another URL is next; later attempts cost the site nothing, also when nothing else is left."""
    politeness = PolitenessSettings(delay=0.005, slow_factor=0.0)
    alone = times(run(World.plain(1, 60), politeness=politeness), S0)
    world = World.plain(1, 60)
    broken = {world.urls[5], world.urls[20], world.urls[-1]}
    world.kinds |= dict.fromkeys(broken, "bare-503")
    pages = [start for start in run(world, politeness=politeness).starts if start.task.purpose is Purpose.PAGE]
    assert sum(start.task.url in broken for start in pages) == 9
    good = max(number for number, start in enumerate(pages) if start.task.url not in broken)
    tries = [start.task for start in pages[:good] if start.task.url in broken]
    assert [task.attempt for task in tries[:2]] == [1, 1]
    assert pages[good].at - START < alone[-1] + 2 * 12.5 + 3.0
    assert pages[-1].at - pages[good].at < 12.5 + 2 * 25.0


def test_site_that_fails_everywhere_rests_twice_as_long_each_time() -> None:
    """Each URL that is new to it finds it rested; it is given up after as many failures as any site."""
    world = World.plain(1, 60)
    world.kinds = dict.fromkeys(world.urls, "bare-503")
    crawl = run(world)
    pages = [start for start in crawl.starts if start.task.purpose is Purpose.PAGE]
    assert len(pages) == crawl.retries.max_site_failures
    begun = [start.at for start in pages if start.task.attempt == 1]
    assert len(begun) >= 5
    for number, (earlier, later) in enumerate(pairwise(begun)):
        assert later - earlier >= min(10.0 * 2**number, crawl.retries.max_backoff)
    assert set(excluded(crawl).values()) == {"http-503"}


def test_disallowed_urls_hold_up_no_other_site() -> None:
    """Thousands of URLs that robots.txt forbids: other sites are as fast as without them, and each is recorded."""
    world = World.plain(2, 20)
    alone = times(run(world), S1)
    world = World.plain(2, 20)
    world.robots[S0] = "rules"
    crawl = Crawl(world)
    many = [Url(f"https://s0.test/private/{number}") for number in range(5_000)]
    crawl.discover([Discovery(url, Source.SEED, START) for url in many])
    crawl.seed([url for url in world.urls if S1 in url])
    crawl.run(50_000)
    assert len(excluded(crawl)) == 5_000
    assert set(excluded(crawl).values()) == {"robots"}
    assert times(crawl, S1) == pytest.approx(alone, abs=1.0)
    assert crawl.frontier.is_idle


def test_refusals_of_a_take_are_bounded() -> None:
    """A `take` refuses a limited number of URLs and then returns; `next_at` says that there is more to do."""
    sites = [f"s{number}.test" for number in range(100)]
    world = World.plain(100, 1)
    world.robots = dict.fromkeys(map(Site, sites), "rules")
    crawl = Crawl(world, trouble=Trouble(slots=1000), politeness=PolitenessSettings(slow_factor=0.0))
    urls = [Url(f"https://{site}/private/{number}") for site in sites for number in range(40)]
    crawl.seed(urls)
    most = 0
    while not crawl.frontier.is_idle:
        before = len(crawl.events.events)
        crawl.step()
        most = max(most, len(crawl.events.events) - before)
    assert most <= 2200
    assert len(excluded(crawl)) == 4_000


def test_a_site_that_keeps_failing_is_given_up_and_drained() -> None:
    """After `max_site_failures` in a row what waits is refused with that reason, and so are URLs found later."""
    world = World.plain(1, 1000)
    world.kinds = dict.fromkeys(world.urls, "refused")
    crawl = run(world, retries=RetrySettings(max_site_failures=4))
    assert len(times(crawl, S0)) == 4
    assert set(excluded(crawl).values()) == {"connect-refused"}
    crawl.world.urls.append(Url("https://s0.test/late"))
    crawl.discover([Discovery(Url("https://s0.test/late"), Source.LINK, crawl.now)])
    crawl.run()
    assert excluded(crawl)[Url("https://s0.test/late")] == "connect-refused"
    assert len(times(crawl, S0)) == 4
    crawl.finals.clear()
    crawl.seed(world.urls[:1])  # a seed that is named again is retried, with everything at its site
    crawl.run()
    assert len(times(crawl, S0)) == 8
    assert set(excluded(crawl).values()) == {"connect-refused"}


def test_postponed_urls_of_a_site_that_is_given_up_are_refused() -> None:
    """A postponed URL returns to a site that is not visited any more."""
    world = World.plain(1, 9)
    world.kinds = dict.fromkeys(world.urls, "timeout")
    crawl = run(world, retries=RetrySettings(max_site_failures=2, backoff=5000.0, max_backoff=5000.0))
    assert len(excluded(crawl)) == 9


def test_site_is_given_up_after_max_bytes() -> None:
    """`max_bytes_per_site` counts what was downloaded; the rest is refused as `site-bytes`."""
    crawl = run(World.plain(1, 30), politeness=PolitenessSettings(max_bytes_per_site=40))
    assert len(times(crawl, S0)) == 11
    assert set(excluded(crawl).values()) == {"site-bytes"}


def test_private_address_ends_a_site() -> None:
    """Found by the DNS lookup, at robots.txt, or at a page: everything that waits is refused, once each."""
    for place in ("name", "robots", "page"):
        world = World.plain(1, 5)
        match place:
            case "name":
                world.names[S0] = "private"
            case "robots":
                world.robots[S0] = "private"
            case _:
                world.kinds = dict.fromkeys(world.urls, "private")
        crawl = run(world)
        records = list(crawl.state.records.of_site(S0))
        assert {record.reason for record in records} == {"private-address"}
        assert len(excluded(crawl)) == (4 if place == "page" else 5), "the wire reported one of them itself"


def test_address_without_lifetime_is_used_for_a_while() -> None:
    """A name server that allows no caching is asked again only after `MIN_ADDRESS_AGE`."""
    world = World.plain(1, 5)
    world.names[S0] = "short"
    crawl = run(world)
    assert sum(isinstance(outcome, Located) for outcome in crawl.reported) <= 2


def test_address_with_a_long_lifetime_is_looked_up_once() -> None:
    """It is used for `MAX_ADDRESS_AGE`; a longer time is not the mistake of a clock."""
    world = World.plain(1, 5)
    world.names[S0] = "long"
    crawl = run(world)
    assert sum(isinstance(outcome, Located) for outcome in crawl.reported) == 1


def test_more_sites_than_capacity_are_all_visited() -> None:
    """Fifty sites, a capacity of three: each gets its turn, and no more than three are active."""
    world = World.plain(50, 3)
    crawl = Crawl(world, capacity=3)
    crawl.seed(world.urls)
    while not crawl.frontier.is_idle:
        crawl.step()
        stats = frontier_stats(crawl.state, crawl.frontier)
        assert stats.ready + stats.resting + stats.visited <= 3
    crawl.check_end()
    assert {start.site for start in crawl.starts} == set(world.sites)


def test_page_budget_under_way_is_not_a_busy_wait() -> None:
    """With the whole budget under way, `next_at` is the end of a lease, although other sites are ready."""
    crawl = Crawl(World.plain(5, 5), page_budget=2)
    crawl.seed()
    crawl.run()
    assert crawl.frontier.pages_done == 2
    assert crawl.frontier.is_idle
    assert crawl.frontier.next_at is None
    assert crawl.takes < 40


def test_failed_page_returns_its_budget() -> None:
    """What did not arrive is not counted, or a crawl of one page would end with none."""
    world = World.plain(1, 3)
    world.kinds[world.urls[0]] = "404"
    crawl = Crawl(world, page_budget=2)
    crawl.seed(world.urls)
    crawl.run()
    assert crawl.frontier.pages_done == 2


def test_url_that_is_lost_repeatedly_is_given_up() -> None:
    """A URL that kills its fetcher is not tried forever; each loss is an event."""
    world = World.plain(1, 1)
    crawl = Crawl(world, trouble=Trouble(lost=1.0))
    crawl.seed()
    crawl.run(200)
    assert crawl.frontier.is_idle
    record = crawl.state.records.get(world.urls)[0]
    assert record is not None
    assert record.reason
    lost = [event for event in crawl.events.events if isinstance(event, FetchEnded)]
    assert len(lost) >= 3


def test_empty_state_is_idle() -> None:
    """Before anything was asked."""
    crawl = Crawl(World.plain(0, 0))
    assert crawl.frontier.is_idle
    assert crawl.frontier.take(10, START) == []
    assert crawl.frontier.next_at is None
