"""A killed process is followed by one that applies its log: nothing is lost, counted twice, or asked for again."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.lab.scripted_web import ScriptedWeb, page, urlset

from periplus.collection.config.settings import Config
from periplus.collection.seeds import seeds_from
from periplus.collection.shards import ShardMaker, open_shard
from periplus.content import ChurnRecord
from periplus.engine.clock import SystemClock
from periplus.engine.inputs import Answered, Input
from periplus.engine.log import InputLog
from periplus.engine.machine_settings import ShardMeta
from periplus.engine.revisit.gains import SiteGains, unpack_page_gains
from periplus.engine.shard import Shard, ShardStatus
from periplus.engine.sitemaps.store import SitemapStore
from periplus.model import Discovery, FetchOutcome, Lane, Purpose, Queued, Site, Source, Url
from periplus.store import DiskState
from periplus.store.layout import Layout
from periplus.urls import site_of
from periplus_lab import World
from periplus_lab.server import RunningLab, Server, SteppedClock

pytest_plugins = ["periplus_lab.pytest_plugin"]

HOME = "http://a.test"


@pytest.fixture
def lab(start_lab: Callable[[Server], RunningLab]) -> RunningLab:
    world = World(7, 8, pages=150)
    return start_lab(Server(world, SteppedClock(world.epoch), pace=0.01))


class Collection:
    """One shard that can be opened, abandoned and opened again. It commits when it is opened, seeded or stopped."""

    def __init__(self, folder: Path, seeds: list[str], options: dict[str, object]) -> None:
        self.layout = Layout(folder)
        self.seeds = seeds_from(seeds)
        self.config = Config().with_options({"engine.checkpoint_interval": 1e6, "churn.instant": 0.0} | options)

    def open(self) -> Shard:
        return open_shard(ShardMaker(self.config, self.layout.folder, tuple(self.seeds)), self.layout, 0, 1)

    def seeded(self) -> Shard:
        shard = self.open()
        shard.discover([Discovery(seed, Source.SEED, SystemClock().now()) for seed in self.seeds])
        return shard

    def crawl(self, pages: int) -> ShardStatus:
        """Crawl some pages; then the process is killed."""
        shard = self.seeded()
        run(shard, lambda: shard.status().crawl.pages >= pages)
        status = shard.status()
        shard.close()
        return status

    def recovered(self) -> ShardStatus:
        """What the next process knows before it does anything."""
        shard = self.open()
        status = shard.status()
        shard.close()
        return status

    def log(self) -> tuple[InputLog, int]:
        """The log, and the number of the commit that it follows."""
        with_state = DiskState.read_only(self.layout.shard(0))
        meta = with_state.meta(ShardMeta)
        with_state.close()
        assert meta is not None
        return InputLog(self.layout.log(0), self.layout.warc), meta.commits

    def inputs(self) -> list[Input]:
        log, commits = self.log()
        return list(log.read(commits))

    def outcomes(self) -> list[FetchOutcome]:
        answered = [each for each in self.inputs() if isinstance(each, Answered)]
        return [answer.outcome for each in answered for answer in each.answers]


def run(shard: Shard, is_done: Callable[[], bool], seconds: float = 300.0) -> None:
    until = time.monotonic() + seconds
    while not is_done() and time.monotonic() < until:
        shard.step(0.02)


@pytest.fixture
def collection(tmp_path: Path, lab: RunningLab) -> Collection:
    options: dict[str, object] = {
        "wire.proxy": lab.base,
        "sitemaps.follow": False,
        "politeness.delay": 0.0,
        "politeness.slow_factor": 0.0,
    }
    return Collection(tmp_path, [f"http://{host}/" for host in lab.world.hosts[:3]], options)


def test_all_that_was_logged_is_applied(collection: Collection) -> None:
    """Counts, queues and what is known are as if the process had not been killed; then the log is empty."""
    before = collection.crawl(pages=30)
    assert collection.outcomes()
    after = collection.recovered()
    assert after.crawl == before.crawl
    assert (after.frontier.known, after.frontier.done) == (before.frontier.known, before.frontier.done)
    assert after.frontier.queued == before.frontier.queued
    assert collection.outcomes() == []


def test_the_log_is_bounded_however_rarely_a_commit_is_due_by_time(collection: Collection) -> None:
    """Commits take long in a process that is hardly run, so the next is due late: recovery must not take longer."""
    collection.config = collection.config.with_options({"engine.checkpoint_outcomes": 20, "wire.max_transfers": 4})
    assert collection.crawl(pages=100).crawl.pages >= 100
    assert len(collection.outcomes()) < 20 + 4


@pytest.mark.parametrize(
    "ordering", ["opic_adaptive", *(pytest.param(name, marks=pytest.mark.slow) for name in ("batch", "indegree"))]
)
def test_orderings_that_learn_recover(collection: Collection, ordering: str) -> None:
    """Scores, pools and batches are part of the state; sitemaps that were asked for are not lost."""
    collection.config = collection.config.with_options({"crawl.ordering": ordering, "sitemaps.follow": True})
    before = collection.crawl(pages=40)
    assert any(outcome.task.purpose is Purpose.SITEMAP for outcome in collection.outcomes())
    after = collection.recovered()
    assert after.crawl == before.crawl
    assert after.frontier.queued == before.frontier.queued


def test_killed_again_while_it_recovers(collection: Collection) -> None:
    """The log is not touched before everything is committed: a second attempt comes to the same."""
    before = collection.crawl(pages=20)
    log, commits = collection.log()
    for index in range(len(collection.inputs()) // 2):
        log.trying(commits, index)
    log.close()
    assert collection.recovered().crawl == before.crawl


def test_page_that_kills_processes_is_kept_but_not_read(
    collection: Collection, caplog: pytest.LogCaptureFixture
) -> None:
    """It would kill every process that opens the collection; the others are read, and the crawl goes on."""
    before = collection.crawl(pages=20)
    index, place, url = last_page(collection.inputs())
    log, commits = collection.log()
    for life in range(3):
        for tried in range(index + 1):
            log.trying(commits, tried)
        for answer in range(place + 1) if life else ():
            log.trying(commits, index, answer)
        log.close()
    after = collection.recovered()
    assert f"{url} is kept but not read" in caplog.text
    assert caplog.text.count("is kept but not read") == 1
    assert (after.crawl.fetches, after.crawl.pages) == (before.crawl.fetches, before.crawl.pages)
    assert after.frontier.known <= before.frontier.known


def last_page(inputs: list[Input]) -> tuple[int, int, Url]:
    """Where the last page is in a log."""
    pages = [
        (index, place, answer.outcome.task.url)
        for index, each in enumerate(inputs)
        if isinstance(each, Answered)
        for place, answer in enumerate(each.answers)
        if answer.outcome.task.purpose is Purpose.PAGE
    ]
    return pages[-1]


def test_inputs_are_applied_at_their_own_time(collection: Collection) -> None:
    """Records say when a page was found and fetched, not when the collection was opened again."""
    collection.crawl(pages=10)
    urls = [outcome.task.url for outcome in collection.outcomes()]
    ended = max(each.at for each in collection.inputs())
    time.sleep(0.05)
    collection.recovered()
    state = DiskState.read_only(collection.layout.shard(0))
    records = [record for record in state.records.get(urls) if record is not None]
    state.close()
    assert records
    assert max(seen.at for record in records for seen in record.first_seen) <= ended


def test_lessons_of_revisits_count_once(collection: Collection, lab: RunningLab, tmp_path: Path) -> None:
    """Levels, blocks, churn and what visits brought are the same, whether a process was killed or not."""
    shard = collection.seeded()
    run(shard, lambda: shard.status().crawl.pages >= 40)
    shard.stop(5.0)
    shard.close()
    assert isinstance(lab.clock, SteppedClock)
    for _ in range(2):  # blocks are known from the second visit on
        lab.clock.advance(7 * 86_400.0)
        visits = queue_revisits(collection)
        shard = collection.open()
        until = shard.status().crawl.fetches + visits
        run(shard, lambda until=until, shard=shard: shard.status().crawl.fetches >= until)  # type: ignore[misc]
        assert shard.status().crawl.fetches >= until
        died = tmp_path.with_name(tmp_path.name + "-died")
        shutil.rmtree(died, ignore_errors=True)
        shutil.copytree(tmp_path, died)
        shard.stop(0.0)
        shard.close()
    other = Collection(died, [], {})
    other.config, other.seeds = collection.config, collection.seeds
    assert other.outcomes()
    other.recovered()
    assert learnt(collection) == learnt(other)
    sites, pages = learnt(collection)
    assert any(churn for churn, _ in sites.values())
    assert any(gains for _, gains in sites.values())
    assert any(unpack_page_gains(page[3]).spawned for page in pages.values()), "no page led to a new one"


def queue_revisits(collection: Collection) -> int:
    """Queue every page again, as a watch would; how many."""
    state = DiskState(collection.layout.shard(0))
    known = [each for site in state.sites for each in state.records.of_site(site.site) if each.kept_at is not None]
    urls = [each.url for each in known if each.status in (200, 304)]
    state.queues.push([Queued(url, site_of(url), Lane.REFRESH, 0) for url in urls])
    meta = state.meta(ShardMeta)
    assert meta is not None
    meta.frontier.is_crowded = True  # sites wait that are not active
    meta.frontier.revisits_waiting += len(urls)
    state.put_meta(meta)
    state.commit()
    state.close()
    return len(urls)


def learnt(
    collection: Collection,
) -> tuple[dict[Site, tuple[ChurnRecord, SiteGains | None]], dict[Url, tuple[bytes, int, int, bytes]]]:
    """The churn and gains of each site; the blocks, visits, changes and gains of each page."""
    state = DiskState.read_only(collection.layout.shard(0))
    sites = {site.site: (site.churn, site.value(SiteGains)) for site in state.sites}
    records = {
        each.url: (each.blocks, each.visits, each.changes, each.gains)
        for site in sites
        for each in state.records.of_site(site)
    }
    state.close()
    return sites, records


# what a process decided between two answers


def test_refused_guess_leads_to_the_next(tmp_path: Path) -> None:
    """robots.txt forbids the first usual place of a sitemap; the second was asked already, and is not asked again."""
    said: dict[str, str | bytes] = {
        f"{HOME}/": page("home", "/p1"),
        f"{HOME}/p1": page("one"),
        f"{HOME}/robots.txt": "User-agent: *\nDisallow: /sitemap.xml\n",
        f"{HOME}/sitemap_index.xml": urlset(f"{HOME}/p2"),
        f"{HOME}/p2": page("two"),
    }
    with ScriptedWeb(said) as web:
        collection = Collection(tmp_path, [f"{HOME}/"], web.settings)
        shard = collection.seeded()
        run(shard, lambda: shard.is_idle)
        before = shard.status()
        shard.close()
        asked = sorted(web.asked)
        again = collection.open()
        run(again, lambda: again.is_idle)
        after = again.status()
        again.close()
        assert f"{HOME}/sitemap_index.xml" in asked
        assert sorted(web.asked) == asked
    assert after.crawl == before.crawl
    assert after.is_idle


def test_files_are_read_at_the_time_at_which_they_arrived(tmp_path: Path) -> None:
    """When to read one again follows from that time, not from when the collection was opened."""
    said: dict[str, str | bytes] = {
        f"{HOME}/": page("home"),
        f"{HOME}/robots.txt": f"Sitemap: {HOME}/s.xml",
        f"{HOME}/s.xml": urlset(f"{HOME}/p1"),
        f"{HOME}/p1": page("one"),
    }
    with ScriptedWeb(said) as web:
        collection = Collection(tmp_path, [f"{HOME}/"], web.settings)
        shard = collection.seeded()
        run(shard, lambda: shard.is_idle)
        shard.close()
        died_at = SystemClock().now()
        time.sleep(0.05)
        collection.recovered()
    state = DiskState.read_only(collection.layout.shard(0))
    node = SitemapStore(state).get(Url(f"{HOME}/s.xml"))
    [record] = state.records.get([Url(f"{HOME}/p1")])
    state.close()
    assert node is not None
    assert node.read_at is not None
    assert node.read_at <= died_at
    assert record is not None
    assert record.first_seen[0].at <= died_at


@pytest.mark.parametrize("kills", [1, 3])
def test_failed_page_waits_for_its_next_attempt(tmp_path: Path, kills: int) -> None:
    """A new process does not try at once, again and again, until the page is given up."""
    said: dict[str, str | bytes] = {f"{HOME}/": page("home", "/p1"), f"{HOME}/robots.txt": ""}
    with ScriptedWeb(said) as web:
        web.failing = {f"{HOME}/p1"}
        options = web.settings | {"retries.backoff": 60.0, "sitemaps.follow": False}
        collection = Collection(tmp_path, [f"{HOME}/"], options)
        shard = collection.seeded()
        for _ in range(kills):
            run(shard, lambda: f"{HOME}/p1" in web.asked)
            run(shard, lambda: False, seconds=0.3)
            shard.close()
            shard = collection.open()
        shard.close()
        assert web.asked.count(f"{HOME}/p1") == 1
