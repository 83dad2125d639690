"""A new process continues: open leases end, sites rest once more, and times of a fast clock are not waited for."""

from __future__ import annotations

import pytest
from tests.properties.simulated_web import ScriptedRobots, World
from tests.properties.watched_crawl import START, Crawl

from periplus.engine.frontier import Frontier, PolitenessSettings, SiteStage, file_name
from periplus.model import Delegation, Discovery, FetchTask, Purpose, Site, Source, Url

DAY = 86_400.0
S0, S1 = Site("s0.test"), Site("s1.test")
COMMON = "https://s1.test/common.txt"
REDIRECTED = {"https://s0.test/robots.txt": [COMMON], COMMON: ["User-agent: *\nDisallow: /\n"]}


def tasks_out(frontier: Frontier) -> list[FetchTask]:
    return [lease.task for lease in frontier._leases]


def begun(world: World, now: float = START, **settings: object) -> Crawl:
    crawl = Crawl(world, **settings)  # type: ignore[arg-type]
    crawl.now = now
    crawl.seed(world.urls)
    return crawl


def run_until_out(crawl: Crawl, url: str) -> None:
    """Run until a URL is under way."""
    while url not in {task.url for task in tasks_out(crawl.frontier) if task.ip is not None}:
        assert not crawl.frontier.is_idle
        crawl.step()


# a clock that ran fast


@pytest.mark.parametrize("kind", ["ok", "timeout", "503", "refused"])
@pytest.mark.parametrize("steps", [3, 12, 40])
def test_fast_clock_does_not_stall_the_next_process(kind: str, steps: int) -> None:
    """Resting sites, postponed URLs and back-offs two days ahead: the second process ends as soon as any does."""
    world = World.plain(4, 4)
    world.ips = dict.fromkeys(world.sites, "192.0.2.1")
    world.kinds |= {url: kind for url in world.urls if url.endswith("/0")}
    plain = begun(World.plain(4, 4))
    plain.world.kinds, plain.world.ips = world.kinds, world.ips
    plain.run()
    crawl = begun(world, START + 2 * DAY)
    crawl.run(steps)
    crawl.set_clock(START)
    crawl.run()
    crawl.check_end()
    assert crawl.now - START <= (plain.now - START) + plain.retries.max_backoff


def test_postponed_url_of_a_fast_clock_is_released() -> None:
    """It waits with its site again when the next process starts."""
    world = World.plain(1, 1)
    world.kinds[world.urls[0]] = "once-timeout"
    crawl = begun(world, START + 2 * DAY)
    while crawl.state.queues.next_release() is None:
        crawl.step()
    crawl.set_clock(START)
    assert crawl.state.queues.next_release() is None
    crawl.run()
    crawl.check_end()
    assert crawl.now < START + DAY / 2


def test_postponed_url_of_a_right_clock_waits_on() -> None:
    """Its back-off is not cut short by a new process."""
    world = World.plain(1, 1)
    world.kinds[world.urls[0]] = "once-timeout"
    crawl = begun(world)
    while crawl.state.queues.next_release() is None:
        crawl.step()
    due_at = crawl.state.queues.next_release()
    assert due_at is not None
    crawl.crash()
    assert crawl.state.queues.next_release() == due_at
    crawl.run()
    assert crawl.starts[-1].at >= due_at


def test_parked_site_of_a_fast_clock_is_asked_soon() -> None:
    """Its record says when it may be asked again; the robots.txt and address of the fast clock are not trusted."""
    crawl = begun(World.plain(1, 1), START + 20 * DAY)
    crawl.run()
    assert len(crawl.frontier.schedule) == 0
    crawl.set_clock(START)
    url = Url("https://s0.test/later")
    crawl.world.kinds[url], crawl.world.links[url] = "ok", []
    crawl.discover([Discovery(url, Source.LINK, crawl.now)])
    before = len(crawl.starts)
    crawl.run()
    asked = [start.task.purpose for start in crawl.starts[before:]]
    assert asked == [Purpose.ROBOTS, Purpose.PAGE]
    lookups = [outcome for outcome in crawl.reported if outcome.task.ip is None]
    assert len(lookups) == 2
    assert crawl.now < START + DAY / 2


def test_address_that_was_asked_by_a_fast_clock_is_free_soon() -> None:
    """Also for a site that was not there before; it waits as long as after any request."""
    world = World.plain(2, 1)
    world.ips = dict.fromkeys(world.sites, "192.0.2.1")
    crawl = Crawl(world, politeness=PolitenessSettings(ip_delay=5.0))
    crawl.now = START + 2 * DAY
    crawl.seed(world.urls[:1])
    crawl.run()
    crawl.set_clock(START)
    crawl.seed(world.urls[1:])
    crawl.run()
    first = next(start.at for start in crawl.starts if start.site == S1)
    assert START + 5.0 <= first <= START + 6.0


# what was under way


def test_restart_ends_leases_without_counting_an_attempt() -> None:
    """The page is granted again as the same attempt; its record says nothing of a failure."""
    crawl = begun(World.plain(3, 1))
    run_until_out(crawl, crawl.world.urls[0])
    out = [task for task in tasks_out(crawl.frontier) if task.purpose is Purpose.PAGE]
    crawl.crash()
    assert tasks_out(crawl.frontier) == []
    assert crawl.frontier.schedule.count(SiteStage.BUSY) == 0
    for record in crawl.state.records.get([task.url for task in out]):
        assert record is not None
        assert (record.failures, record.reason, record.visits) == (0, "", 0)
    crawl.run()
    crawl.check_end()
    again = {start.task.url: start.task.attempt for start in crawl.starts}
    assert [again[task.url] for task in out] == [1] * len(out)


def test_page_budget_is_free_again_after_a_restart() -> None:
    """A page that was under way is not counted as fetched."""
    crawl = begun(World.plain(1, 3), page_budget=1)
    run_until_out(crawl, crawl.world.urls[0])
    is_satisfied = [crawl.frontier.is_satisfied]
    crawl.crash()
    assert [*is_satisfied, crawl.frontier.is_satisfied] == [True, False]
    crawl.run()
    assert crawl.frontier.pages_done == 1


@pytest.mark.parametrize("has_power", [True, False])
def test_every_site_rests_its_delay_after_a_restart(has_power: bool) -> None:
    """Requests of the last process may just have arrived. A crawl that has just begun does not wait."""
    world = World.plain(3, 3)
    world.robots[S0] = "slow"
    crawl = begun(world)
    while not crawl.frontier.pages_done:
        crawl.step()
    crawl.commit()
    crawl.run(2)
    if has_power:
        crawl.crash()
    else:
        crawl.lose_power()
    died_at, before = crawl.now, len(crawl.starts)
    crawl.run()
    first: dict[Site, float] = {}
    for start in crawl.starts[before:]:
        first.setdefault(start.site, start.at - died_at)
    assert first[S0] >= 7.0, "its robots.txt asks for that"
    assert all(rest >= crawl.politeness.delay for rest in first.values())
    assert crawl.starts[0].at == START


def test_robots_of_a_last_process_are_used() -> None:
    """Its Crawl-delay holds, and the file is not fetched again."""
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


def test_delegated_robots_fetch_under_way_is_made_again() -> None:
    """The site that waits for it stays held, and gets its rules from the second request."""
    crawl = begun(ScriptedRobots(2, 1, {key: list(answers) for key, answers in REDIRECTED.items()}))
    run_until_out(crawl, COMMON)
    held = crawl.frontier.schedule.get(S0)
    assert held is not None
    assert held.stage is SiteStage.HELD
    crawl.crash()
    asked = crawl.frontier.schedule.get(S1)
    assert asked is not None
    assert list(asked.delegated.values()) == [Delegation(S0, Url(COMMON), 1)]
    crawl.run()
    crawl.check_end()
    assert [start.task.url for start in crawl.starts].count(Url(COMMON)) == 2
    assert [record.reason for record in crawl.state.records.of_site(S0)] == ["robots"]


def test_delegated_robots_fetch_that_waits_is_made() -> None:
    """It was not under way yet."""
    crawl = begun(ScriptedRobots(2, 1, {key: list(answers) for key, answers in REDIRECTED.items()}))
    while not any(active.delegated for active in crawl.frontier.schedule):
        crawl.step()
    crawl.crash()
    crawl.run()
    crawl.check_end()
    assert [start.task.url for start in crawl.starts].count(Url(COMMON)) == 1
    assert [record.reason for record in crawl.state.records.of_site(S0)] == ["robots"]


def test_delegated_robots_fetch_that_ended_is_not_made_again() -> None:
    """The redirect and its answer are in the log."""
    crawl = begun(ScriptedRobots(2, 1, {key: list(answers) for key, answers in REDIRECTED.items()}))
    run_until_out(crawl, COMMON)
    while any(entry[2].url == COMMON for entry in crawl.under_way):
        crawl.step()
    crawl.crash()
    crawl.run()
    crawl.check_end()
    assert [start.task.url for start in crawl.starts].count(Url(COMMON)) == 1


def test_sitemap_file_under_way_is_granted_again() -> None:
    """It keeps its place in its queue until its outcome is known."""
    crawl = begun(World.plain(1, 1))
    file = Url("https://s0.test/sitemap.xml")
    crawl.world.kinds[file] = "ok"
    crawl.frontier.queue_files([file], crawl.now)
    crawl.commit()
    run_until_out(crawl, file)
    crawl.crash()
    [record] = crawl.state.records.get([file_name(file)])
    assert record is not None
    assert record.failures == 0
    run_until_out(crawl, file)
