"""What had arrived when a process died is gone through again, as if it had just arrived."""

from __future__ import annotations

from msgspec.structs import replace
from tests.properties.simulated_web import World
from tests.properties.watched_crawl import START, Crawl
from tests.unit.crawl.living_pages import DAY, HOME, Living, LivingWeb

from periplus.model import Discovery, Fetched, FetchTask, Lane, Purpose, Redirected, Site, Source, Url
from periplus.urls import site_of

S0 = Site("s0.test")


def begun(world: World) -> Crawl:
    crawl = Crawl(world)
    crawl.seed(world.urls)
    return crawl


def page_task(crawl: Crawl, url: Url, attempt: int = 1) -> FetchTask:
    return FetchTask(url, S0, Purpose.PAGE, Lane.DISCOVERY, crawl.now + 300, attempt=attempt, ip="192.0.2.0")


def test_a_page_is_resumed_once() -> None:
    """A second note of it finds it gone."""
    crawl = begun(World.plain(1, 3))
    task = page_task(crawl, crawl.world.urls[1])
    assert crawl.scheduler.resume(task, crawl.now)
    crawl.tell(Fetched(task, 200, (), b"", crawl.now, 0.1, task.ip))
    assert not crawl.scheduler.resume(task, crawl.now)
    crawl.scheduler.check_invariants()
    assert crawl.scheduler.pages_done == 1


def test_a_page_is_found_behind_many_that_will_be_refused() -> None:
    """Refusals are not noted: those that stood before the page in its queue stand there again."""
    world = World.plain(1, 1)
    crawl = Crawl(world)
    many = [Url(f"https://s0.test/private/{number}") for number in range(15_000)]
    crawl.scheduler.discover([Discovery(url, Source.SEED, START) for url in [*many, *world.urls]], START)
    assert crawl.scheduler.resume(page_task(crawl, world.urls[0]), crawl.now)


def test_a_page_that_nobody_knows_is_not_resumed() -> None:
    """And leaves nothing behind that would keep the crawl from ending."""
    crawl = Crawl(World.plain(1, 1))
    assert not crawl.scheduler.resume(page_task(crawl, Url("https://s0.test/unknown")), crawl.now)
    assert crawl.scheduler.is_idle


def test_a_page_of_a_list_that_was_lost_is_resumed() -> None:
    """Of a file that was still arriving nothing is noted; of the first pages that it listed all is."""
    crawl = Crawl(World.plain(1, 1))
    task = replace(page_task(crawl, crawl.world.urls[0]), lane=Lane.SITEMAPS, source=Source.SITEMAP)
    assert crawl.scheduler.resume(task, crawl.now)
    crawl.tell(Fetched(task, 200, (), b"", crawl.now, 0.1, task.ip))
    assert crawl.scheduler.pages_done == 1
    assert crawl.scheduler.is_idle


def test_second_visits_of_pages_that_sleep_again_are_resumed() -> None:
    """They were woken after the last commit, and so was what came of it; one that nobody visited has had none."""
    web = LivingWeb({"/a": Living(), "/b": Living()})
    web.crawl("/a", "/b")
    page, unknown = Url(f"{HOME}/a"), Url(f"{HOME}/c")
    for visits in (2, 3):
        web.now += 30 * DAY
        task = FetchTask(page, site_of(page), Purpose.PAGE, Lane.REFRESH, web.now + 300, ip="127.0.0.1")
        assert web.scheduler.resume(task, web.now)
        web.report(task)
        assert web.record("/a").visits == visits
        assert web.record("/a").due_at is not None
    assert web.record("/b").visits == 1
    assert not web.scheduler.resume(replace(task, url=unknown), web.now)


def test_two_attempts_of_one_page_are_both_resumed() -> None:
    """The first failed, and the page was to wait; what came of the second is known as well."""
    crawl = begun(World.plain(1, 1))
    url = crawl.world.urls[0]
    for attempt, status in ((1, 500), (2, 200)):
        task = page_task(crawl, url, attempt)
        assert crawl.scheduler.resume(task, crawl.now)
        crawl.tell(Fetched(task, status, (), b"", crawl.now, 0.1, task.ip))
    assert crawl.scheduler.is_idle
    assert crawl.scheduler.pages_done == 1


def test_an_errand_that_had_been_run_is_not_run_again() -> None:
    """A redirect of robots.txt to another site, and the answer of that one: both were noted."""
    crawl = begun(World.plain(2, 1))
    other = Url("https://s1.test/common.txt")
    first = FetchTask(
        Url("https://s0.test/robots.txt"), S0, Purpose.ROBOTS, Lane.DISCOVERY, START + 300, ip="192.0.2.0"
    )
    errand = FetchTask(other, S0, Purpose.ROBOTS, Lane.DISCOVERY, START + 300, ip="192.0.2.1", redirects=1)
    assert crawl.scheduler.resume(first, crawl.now)
    crawl.tell(Redirected(first, 302, other, (), crawl.now, 0.1, first.ip))
    assert crawl.scheduler.resume(errand, crawl.now)
    crawl.tell(Fetched(errand, 200, (), b"User-agent: *\nDisallow: /\n", crawl.now, 0.1, errand.ip))
    crawl.run()
    assert other not in [start.task.url for start in crawl.starts]
    assert [record.reason for record in crawl.state.records.of_site(S0)] == ["robots"]


def test_sites_rest_once_more_before_they_are_asked_again() -> None:
    """Nobody knows what was under way; a crawl that has just begun does not wait."""
    crawl = begun(World.plain(3, 2))
    crawl.run(6)
    died_at = crawl.now
    crawl.crash()
    crawl.run()
    after = [start.at for start in crawl.starts if start.at >= died_at][1:]
    assert min(after) >= died_at + crawl.politeness.delay
    assert crawl.starts[0].at == START


def test_what_a_site_asks_for_survives() -> None:
    """A Crawl-delay that was read is obeyed by the next process, whether or not anybody saved the site's state."""
    world = World.plain(1, 2)
    world.robots[S0] = "slow"
    crawl = begun(world)
    while not crawl.starts or crawl.under_way:
        crawl.step()
    died_at = crawl.now
    crawl.crash()
    crawl.run()
    assert crawl.starts[1].at - died_at >= 7.0
    assert [start.task.purpose for start in crawl.starts] == [Purpose.ROBOTS, Purpose.PAGE, Purpose.PAGE]
