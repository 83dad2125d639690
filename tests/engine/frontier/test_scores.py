"""Scores of URLs that wait: gains count once, move a URL up, and survive; batches let in the best."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.engine.frontier.opened_frontier import FrontierOptions, OpenedFrontier, open_frontier
from tests.reference.event_sink import MemoryEventSink

from periplus.engine.frontier import Frontier, PolitenessSettings, Revisiting
from periplus.engine.frontier.revisiting import ToldPage
from periplus.engine.overview import frontier_stats
from periplus.model import (
    Accept,
    Discovery,
    Failed,
    Fetched,
    FetchTask,
    FirstSeen,
    Lane,
    Purpose,
    Queued,
    Refused,
    Reject,
    Rewrite,
    RobotsFile,
    Site,
    Source,
    Stage,
    Url,
    UrlRecord,
    Verdict,
)
from periplus.policy.filters import Chain
from periplus.policy.ordering import ordering
from periplus.store import DiskState, MemoryState, SiteState, State

NOW = 1000.0
FOREVER = math.inf
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
    """A frontier that may be asked for pages at once, on a state that can be closed and opened."""

    def __init__(self, name: str, make: Callable[[], State], **settings: float) -> None:
        self._make = make
        self.state = make()
        self.events = MemoryEventSink()
        self.state.sites.put([SiteState(SITE, ip="1", ip_expires_at=FOREVER, robots_expire_at=FOREVER)])
        self.state.robots.put(RobotsFile(SITE, "all", b"", 0.0, FOREVER))
        self._options = FrontierOptions(
            guard=Chain([Picky()]),
            ordering=ordering(name, oracle=None, **settings),
            events=self.events,
            politeness=PolitenessSettings(delay=0.0, slow_factor=0.0, ip_delay=0.0),
        )
        self._opened = OpenedFrontier(self.state, self._options)

    @property
    def frontier(self) -> Frontier:
        """The frontier of this process."""
        return self._opened.frontier

    def reopen(self) -> None:
        """Commit; the process ends, and another continues."""
        committed = self._opened.commit()
        self.state.commit()
        if isinstance(self.state, DiskState):
            self.state.close()
            self.state = self._make()
        self._opened = OpenedFrontier(self.state, self._options, committed)
        self.frontier.restart(NOW)

    def seed(self, *paths: str) -> None:
        self.frontier.discover([Discovery(url(path), Source.SEED, NOW) for path in paths], NOW)

    def read(self, page: str, *paths: str) -> None:
        """A page was read that links to these."""
        gain = self.frontier.scores.share(url(page), len(paths))
        found = [Discovery(url(path), Source.LINK, NOW, 1, url(page), gain=gain) for path in paths]
        self.frontier.discover(found, NOW)

    def more(self, path: str, gain: float) -> None:
        """What links that were seen before have gained."""
        self.frontier.discover([Discovery(url(path), Source.LINK, NOW, gain=gain)], NOW)

    def take(self) -> FetchTask | None:
        for _ in range(10):
            if tasks := self.frontier.take(1, self.now()):
                return tasks[0]
        return None

    def now(self) -> float:
        return max(self.frontier.next_at or 0.0, NOW)

    def fetch(self, *links: str) -> str:
        """Fetch the next page, which links to these; its path."""
        task = self.take()
        if task is None:
            return ""
        self.frontier.report(Fetched(task, 200, (), b"", self.now(), 0.0, "1"), self.now())
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
        crawl.frontier.check_invariants()
        if isinstance(crawl.state, DiskState):
            crawl.state.check_invariants()
        crawl.state.close()


def test_url_that_gains_most_is_next(begin: Begin) -> None:
    """Two pages link to `hub`, which was found last; it overtakes those that were found before."""
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


def test_gains_count_as_links_do_without_events(begin: Begin) -> None:
    """Links seen again move their target; a target that was refused or is not known stays out, without an event."""
    crawl = begin("indegree")
    crawl.seed("one")
    crawl.fetch("x", "y", "bad")
    before = len(crawl.events.events)
    for path in ("y", "bad", "unknown"):
        crawl.more(path, 3.0)
    assert (crawl.worth("y"), crawl.worth("bad"), crawl.worth("unknown")) == (4.0, None, None)
    assert len(crawl.events.events) == before
    assert sum(isinstance(event, Refused) for event in crawl.events.events) == 1
    assert [crawl.fetch(), crawl.fetch(), crawl.fetch()] == ["y", "x", ""]


def test_gain_goes_to_the_rewritten_url(begin: Begin) -> None:
    """In a first link, in one seen again, and twice in one batch."""
    crawl = begin("indegree")
    crawl.seed("one")
    crawl.fetch("x?sid=1", "x?sid=2", "x")
    assert crawl.worth("x") == 3.0
    crawl.more("x?sid=1", 2.0)
    assert crawl.worth("x") == 5.0
    assert crawl.worth("x?sid=1") is None


def test_first_link_and_gain_in_one_batch(begin: Begin) -> None:
    """As they come from another shard: nothing is lost."""
    crawl = begin("indegree")
    first = Discovery(url("x"), Source.LINK, NOW, 1, Url("https://b.test/"), gain=1.0)
    crawl.frontier.discover([first, Discovery(url("x"), Source.LINK, NOW, gain=4.0)], NOW)
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
    crawl.frontier.report(Failed(task, "timeout", NOW, 1.0, ip="1"), NOW)
    assert crawl.worth("one") == 101.0
    crawl.frontier.check_invariants()


def test_only_the_best_are_let_in_until_all_of_them_are_fetched(begin: Begin) -> None:
    """Batch: two at a time; `hub`, found in the middle of a batch, waits for the next and is its first."""
    crawl = begin("batch", every=2)
    crawl.seed("one", "two", "three")
    assert crawl.fetch("x", "hub") == "one"
    assert [crawl.stage(path) for path in ("two", "three", "hub")] == [Stage.WAITING, Stage.POOLED, Stage.POOLED]
    assert crawl.fetch("y", "hub") == "two"
    assert frontier_stats(crawl.state, crawl.frontier).queued == 4
    assert crawl.fetch() == "hub"
    assert sorted(crawl.fetch() for _ in range(3)) == ["three", "x", "y"]
    assert crawl.take() is None
    assert crawl.frontier.is_idle


def test_batch_continues_in_the_next_process(begin: Begin) -> None:
    """A page that was out when the process ended is granted again, and the batch is as large as it was."""
    crawl = begin("batch", every=2)
    crawl.seed("one", "two", "three")
    task = crawl.take()
    assert task is not None
    assert task.purpose is Purpose.PAGE
    crawl.reopen()
    crawl.frontier.check_invariants()
    assert [crawl.fetch(), crawl.fetch()] == ["one", "two"]
    assert crawl.stage("three") == Stage.POOLED
    assert crawl.fetch() == "three"
    assert crawl.frontier.is_idle


def test_url_that_moved_while_it_was_out_keeps_its_gain(begin: Begin) -> None:
    """What it gained is committed; granted again in the next process, it is fetched once."""
    crawl = begin("indegree")
    crawl.seed("one", "two", "three")
    crawl.more("three", 50.0)
    task = crawl.take()
    assert task is not None
    assert task.url == url("three")
    crawl.more("three", 5.0)
    crawl.reopen()
    assert crawl.worth("three") == 56.0
    assert [crawl.fetch() for _ in range(4)] == ["three", "one", "two", ""]


def test_batch_continues_with_something_postponed(begin: Begin) -> None:
    """A postponed URL is not what is left of a batch, or the next batch would never be formed."""
    crawl = begin("batch", every=1)
    crawl.seed("one", "two")
    task = crawl.take()
    assert task is not None
    crawl.frontier.report(Failed(task, "closed-early", NOW, 0.0, ip="1"), NOW)
    assert crawl.state.queues.next_release() is not None
    crawl.reopen()
    assert sorted(crawl.fetch() for _ in range(4)) == ["", "", "one", "two"]
    assert crawl.frontier.is_idle


def test_batch_continues_with_a_file_in_the_queue(begin: Begin) -> None:
    """Files do not belong to a batch."""
    crawl = begin("batch", every=1)
    crawl.seed("x", "y")
    crawl.frontier.queue_files([url("sitemap.xml")], NOW)
    crawl.reopen()
    assert {crawl.fetch(), crawl.fetch(), crawl.fetch()} == {"sitemap.xml", "x", "y"}


def test_urls_sink_while_they_wait_where_age_counts(begin: Begin) -> None:
    """Adaptive OPIC: a unit gained four fetches ago is half a unit in a window of two, less than a gain of now."""
    crawl = begin("opic_adaptive", window=2)
    crawl.seed(*"abcdefgh")
    for _ in range(4):
        crawl.fetch()
    crawl.frontier.discover([Discovery(url("x"), Source.LINK, NOW, 1, url("a"), gain=0.75)], NOW)
    assert [crawl.fetch() for _ in range(5)] == ["x", "e", "f", "g", "h"]


def test_listed_pages_that_wait_are_scored_again() -> None:
    """Ranks are computed between two processes: the pages that have one move, the others stay where they are."""
    crawl = Crawl("breadth_first", MemoryState)
    listed = {"/a": 4.0, "/b": 2.0, "/c": 1.0}
    found = [Discovery(url(path), Source.SITEMAP, NOW, score=score) for path, score in listed.items()]
    crawl.frontier.discover(found, NOW)
    crawl.reopen()
    crawl.frontier.rescore_listed({url("/c"): 9.0, url("/a"): 0.5}.get, NOW)
    assert [crawl.fetch(), crawl.fetch(), crawl.fetch()] == ["c", "b", "a"]


class Telling(Revisiting):
    """Reports pages as changed; `told` is what the next input returns."""

    def __init__(self) -> None:
        self.next: list[ToldPage] = []

    def told(self) -> list[ToldPage]:
        told, self.next = self.next, []
        return told


def test_page_that_is_reported_as_changed_moves_up_where_it_waits() -> None:
    """A page that waits for a revisit gets the level of now; one that does not is queued. One that is out stays."""
    telling = Telling()
    state = MemoryState()
    frontier = open_frontier(state, FrontierOptions(revisits=telling))
    names = [Url(f"http://a.test/{name}") for name in "abc"]
    seen = (FirstSeen(Source.SEED, NOW),)
    state.records.put([UrlRecord(each, seen) for each in names])
    telling.next = [ToldPage(Queued(each, SITE, Lane.REFRESH, 60)) for each in names[:2]]
    frontier.discover([], NOW)
    telling.next = [
        ToldPage(Queued(names[1], SITE, Lane.REFRESH, 40), is_waiting=True),
        ToldPage(Queued(names[2], SITE, Lane.REFRESH, 50)),
    ]
    frontier.discover([], NOW)
    heads = state.queues.heads(SITE, Lane.REFRESH, 9)
    assert [(head.entry.url, head.entry.level) for head in heads] == [(names[1], 40), (names[2], 50), (names[0], 60)]
    assert frontier.revisits_waiting == 3
