"""What URLs are worth while they wait: gains are counted once, move a URL up, and survive; batches let in the best."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

import pytest

from periplus.crawl.frontier import PolitenessSettings
from periplus.crawl.scheduler import CrawlScheduler
from periplus.model import (
    Accept,
    Discovery,
    Failed,
    Fetched,
    FetchTask,
    Purpose,
    Refused,
    Reject,
    Rewrite,
    RobotsFile,
    Site,
    SiteState,
    Source,
    Stage,
    State,
    Url,
    Verdict,
)
from periplus.policy.filters import Chain
from periplus.policy.ordering import ordering
from periplus.store import DiskState, MemoryEventSink, MemoryState

NOW = 1000.0
FOREVER = 1e15
SITE = Site("a.test")


class Picky:
    """Refuses some by name, and knows others by another name."""

    def judge(self, discovery: Discovery) -> Verdict:
        if discovery.url.endswith("/bad"):
            return Reject("pattern", "*/bad")
        if "?sid=" in discovery.url:
            return Rewrite(Url(discovery.url.partition("?")[0]), "sid")
        return Accept()


class Crawl:
    """A scheduler that may be asked for pages at once, on a state that can be closed and opened."""

    def __init__(self, name: str, make: Callable[[], State], **settings: float) -> None:
        self._make = make
        self._name, self._settings = name, settings
        self.state = make()
        self.events = MemoryEventSink()
        self.state.sites.put([SiteState(SITE, ip="1", ip_expires_at=FOREVER, robots_expire_at=FOREVER)])
        self.state.robots.put(RobotsFile(SITE, "all", b"", 0.0, FOREVER))
        self.scheduler = self.open()

    def open(self) -> CrawlScheduler:
        return CrawlScheduler(
            self.state,
            guard=Chain([Picky()]),
            ordering=ordering(self._name, oracle=None, **self._settings),
            events=self.events,
            agent="Periplus",
            random=Random(0),
            politeness=PolitenessSettings(delay=0.0, slow_factor=0.0, ip_delay=0.0),
        )

    def crash(self) -> None:
        """Go on from the last commit; of memory, from where it is."""
        if isinstance(self.state, DiskState):
            self.state.close()
            self.state = self._make()
        self.scheduler = self.open()

    def seed(self, *paths: str) -> None:
        self.scheduler.discover([Discovery(url(path), Source.SEED, NOW) for path in paths], NOW)

    def read(self, page: str, *paths: str) -> None:
        """A page was read that leads to these."""
        gain = self.scheduler.pass_on(url(page), len(paths))
        found = [Discovery(url(path), Source.LINK, NOW, 1, url(page), gain=gain) for path in paths]
        self.scheduler.discover(found, NOW)

    def more(self, path: str, gain: float) -> None:
        """Links met again, added up."""
        self.scheduler.discover([Discovery(url(path), Source.LINK, NOW, gain=gain)], NOW)

    def take(self) -> FetchTask | None:
        for _ in range(10):
            if tasks := self.scheduler.take(1, self.now()):
                return tasks[0]
        return None

    def now(self) -> float:
        return max(self.scheduler.next_at or 0.0, NOW)

    def fetch(self, *links: str) -> str:
        """Fetch the next page, which leads to these; its path."""
        task = self.take()
        if task is None:
            return ""
        self.scheduler.report(Fetched(task, 200, (), b"", self.now(), 0.0, "1"), self.now())
        path = task.url.rpartition("/")[2]
        self.read(path, *links)
        return path

    def worth(self, path: str) -> float | None:
        standing = self.state.standings.get([url(path)])[0]
        return None if standing is None else standing.worth

    def stage(self, path: str) -> int | None:
        standing = self.state.standings.get([url(path)])[0]
        return None if standing is None else standing.stage


def url(path: str) -> Url:
    return Url(f"https://a.test/{path}")


Begin = Callable[..., Crawl]


@pytest.fixture(params=["memory", "disk"])
def begin(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Begin]:
    made: list[Crawl] = []

    def make(name: str, **settings: float) -> Crawl:
        memory = MemoryState()
        made.append(Crawl(name, lambda: memory if request.param == "memory" else DiskState(tmp_path), **settings))
        return made[-1]

    yield make
    for crawl in made:
        crawl.scheduler.check_invariants()
        if isinstance(crawl.state, DiskState):
            crawl.state.check_invariants()
        crawl.state.close()


def test_who_gains_most_is_next(begin: Begin) -> None:
    """Two pages lead to `hub`, which was found last; it overtakes those that were found before."""
    crawl = begin("indegree")
    crawl.seed("one", "two")
    assert crawl.fetch("x", "y", "hub") == "one"
    assert crawl.fetch("z", "hub") == "two"
    assert [crawl.fetch() for _ in range(5)] == ["hub", "x", "y", "z", ""]


def test_cash_goes_where_few_share_it(begin: Begin) -> None:
    """OPIC: half of a page's cash is more than a third of another's, and a page that was read has none left."""
    crawl = begin("opic")
    crawl.seed("one", "two")
    crawl.fetch("a", "b", "c")
    crawl.fetch("d", "e")
    assert [crawl.fetch() for _ in range(5)] == ["d", "e", "a", "b", "c"]
    assert crawl.worth("one") == 0.0
    assert crawl.worth("d") == 0.5


def test_what_is_added_up_counts_as_much_and_tells_nothing(begin: Begin) -> None:
    """Links met again move their target; a target that was refused, or was never told of, stays out, without a word."""
    crawl = begin("indegree")
    crawl.seed("one")
    crawl.fetch("x", "y", "bad")
    told = len(crawl.events.events)
    for path in ("y", "bad", "stranger"):
        crawl.more(path, 3.0)
    assert (crawl.worth("y"), crawl.worth("bad"), crawl.worth("stranger")) == (4.0, None, None)
    assert len(crawl.events.events) == told
    assert sum(isinstance(event, Refused) for event in crawl.events.events) == 1
    assert [crawl.fetch(), crawl.fetch(), crawl.fetch()] == ["y", "x", ""]


def test_a_gain_finds_the_name_by_which_a_page_is_known(begin: Begin) -> None:
    """Whatever the filters cut off: in a first link, in one met again, and twice in one batch."""
    crawl = begin("indegree")
    crawl.seed("one")
    crawl.fetch("x?sid=1", "x?sid=2", "x")
    assert crawl.worth("x") == 3.0
    crawl.more("x?sid=1", 2.0)
    assert crawl.worth("x") == 5.0
    assert crawl.worth("x?sid=1") is None


def test_first_word_and_more_in_one_batch(begin: Begin) -> None:
    """As they come from another shard: nothing of it is lost."""
    crawl = begin("indegree")
    first = Discovery(url("x"), Source.LINK, NOW, 1, Url("https://b.test/"), gain=1.0)
    crawl.scheduler.discover([first, Discovery(url("x"), Source.LINK, NOW, gain=4.0)], NOW)
    assert crawl.worth("x") == 5.0


def test_another_source_adds_what_it_brings(begin: Begin) -> None:
    """A seed that is linked to is worth its own unit and what the link brings."""
    crawl = begin("opic")
    crawl.seed("one", "two")
    crawl.fetch("two")
    assert crawl.worth("two") == 2.0


def test_a_page_that_is_out_keeps_its_place(begin: Begin) -> None:
    """It gains meanwhile, and is not queued again; when it fails in a way that passes it waits with its new worth."""
    crawl = begin("indegree")
    crawl.seed("one", "two")
    task = crawl.take()
    assert task is not None
    crawl.more("one", 100.0)
    assert len(crawl.state.queues) == 2
    crawl.scheduler.report(Failed(task, "timeout", NOW, 1.0, ip="1"), NOW)
    assert crawl.worth("one") == 101.0
    crawl.scheduler.check_invariants()


def test_only_the_best_are_let_in_until_all_of_them_are_fetched(begin: Begin) -> None:
    """Batch: two at a time; `hub`, found in the middle of a batch, waits for the next and is its first."""
    crawl = begin("batch", every=2)
    crawl.seed("one", "two", "three")
    assert crawl.fetch("x", "hub") == "one"
    assert [crawl.stage(path) for path in ("two", "three", "hub")] == [Stage.WAITING, Stage.POOLED, Stage.POOLED]
    assert crawl.fetch("y", "hub") == "two"
    assert crawl.scheduler.census().queued == 4
    assert crawl.fetch() == "hub"
    assert sorted(crawl.fetch() for _ in range(3)) == ["three", "x", "y"]
    assert crawl.take() is None
    assert crawl.scheduler.is_idle


def test_a_batch_that_was_not_committed_is_found_again(begin: Begin) -> None:
    """Who was out when a process died is lent again, whether the state knows of its batch or not."""
    crawl = begin("batch", every=2)
    crawl.seed("one", "two", "three")
    crawl.scheduler.save()
    crawl.state.commit()
    task = crawl.take()
    assert task is not None
    assert task.purpose is Purpose.PAGE
    crawl.crash()
    assert crawl.scheduler.resume(task, NOW)
    crawl.scheduler.report(Fetched(task, 200, (), b"", NOW, 0.0, "1"), NOW)
    crawl.scheduler.check_invariants()
    rest = [crawl.fetch() for _ in range(2)]
    assert sorted([task.url.rpartition("/")[2], *rest]) == ["one", "three", "two"]
    assert crawl.scheduler.is_idle


def test_who_moved_since_the_commit_is_found_again(begin: Begin) -> None:
    """A URL that rose and was fetched after the last commit has another place in it."""
    crawl = begin("indegree")
    crawl.seed("one", "two", "three")
    crawl.scheduler.save()
    crawl.state.commit()
    crawl.more("three", 50.0)
    task = crawl.take()
    assert task is not None
    assert task.url == url("three")
    crawl.crash()
    assert crawl.scheduler.resume(task, NOW)
    crawl.scheduler.report(Fetched(task, 200, (), b"", NOW, 0.0, "1"), NOW)
    assert sorted(crawl.fetch() for _ in range(3)) == ["", "one", "two"]


def test_a_batch_goes_on_after_a_crash_with_something_postponed(begin: Begin) -> None:
    """What waits for a time is not what is left of a batch: or nobody would ever form the next one."""
    crawl = begin("batch", every=1)
    crawl.seed("one", "two")
    task = crawl.take()
    assert task is not None
    crawl.scheduler.report(Failed(task, "closed-early", NOW, 0.0, ip="1"), NOW)
    crawl.scheduler.save()
    crawl.state.commit()
    assert crawl.state.queues.next_release() is not None
    crawl.crash()
    assert sorted(crawl.fetch() for _ in range(4)) == ["", "", "one", "two"]
    assert crawl.scheduler.is_idle


def test_a_batch_goes_on_after_a_crash_with_a_file_in_the_queue(begin: Begin) -> None:
    """Files are of no batch."""
    crawl = begin("batch", every=1)
    crawl.seed("x", "y")
    crawl.scheduler.files.queue([url("sitemap.xml")], NOW)
    crawl.scheduler.save()
    crawl.state.commit()
    crawl.crash()
    assert {crawl.fetch(), crawl.fetch(), crawl.fetch()} == {"sitemap.xml", "x", "y"}


def test_who_waits_long_sinks_where_age_counts(begin: Begin) -> None:
    """Adaptive OPIC: a unit that came four fetches ago is half a unit in a window of two, less than what came now."""
    crawl = begin("opic_adaptive", window=2)
    crawl.seed(*"abcdefgh")
    for _ in range(4):
        crawl.fetch()
    crawl.scheduler.discover([Discovery(url("x"), Source.LINK, NOW, 1, url("a"), gain=0.75)], NOW)
    assert [crawl.fetch() for _ in range(5)] == ["x", "e", "f", "g", "h"]
