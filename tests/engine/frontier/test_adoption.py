"""What a machine knows after it has adopted archived answers, and what it asks for next."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from periplus.collection.config.settings import Config
from periplus.collection.seeds import seeds_from
from periplus.collection.shards import ShardMaker, open_machine
from periplus.engine.inputs import (
    Adopted,
    AdoptionEnded,
    Answered,
    Discovered,
    Emit,
    Fetch,
    FetchAnswer,
    Flushed,
    Granted,
    Restarted,
    Tick,
)
from periplus.engine.machine import Machine
from periplus.engine.machine_settings import ShardMeta
from periplus.model import (
    Discovery,
    Event,
    Excluded,
    Fetched,
    FetchEnded,
    FetchOutcome,
    FetchTask,
    Lane,
    Located,
    Purpose,
    Redirected,
    Source,
    Url,
)
from periplus.store import MemoryState
from periplus.store.layout import Layout
from periplus.urls import site_of

A, B = "http://a.test/", "http://b.test/"
HTML = (("Content-Type", "text/html"),)
OPTIONS: dict[str, object] = {"politeness.delay": 0.0, "scope.kind": "any", "sitemaps.follow": False}


class Adopting:
    """A machine on a new state, and all that it reports."""

    def __init__(self, folder: Path, *, shard: int = 0, shards: int = 1, **options: object) -> None:
        config = Config().with_options(OPTIONS | options)
        maker = ShardMaker(config, folder, tuple(seeds_from([A])))
        self.state = MemoryState()
        self._open: Callable[[], Machine] = partial(open_machine, maker, Layout(folder), shard, shards, self.state)
        self.machine = self._open()
        self.events: list[Event] = []
        self._now = 100.0
        self.apply(Discovered((Discovery(Url(A), Source.SEED, 100.0),), 100.0))

    def apply(self, given: Any) -> list[FetchTask]:
        effects = self.machine.apply(given)
        self.events += [event for effect in effects if isinstance(effect, Emit) for event in effect.events]
        self.machine.check_invariants()
        return [effect.task for effect in effects if isinstance(effect, Fetch)]

    def adopt(self, *outcomes: FetchOutcome, is_counted: bool = True) -> None:
        for outcome in outcomes:
            self._now += 1.0
            self.apply(Adopted((FetchAnswer(outcome),), self._now, is_counted))
            while self.machine.wants_tick(self._now):
                self.apply(Tick(self._now))

    def requests(self) -> list[str]:
        """End the adoption, commit, and crawl on in another process, where all else is not found: what is asked for."""
        self.apply(AdoptionEnded(self._now))
        meta = self.machine.flush()
        meta.commits = 1
        self.state.put_meta(meta)
        self.machine = self._open()
        self.apply(Restarted(self._now))
        asked: list[str] = []
        for _ in range(200):
            self._now += 5.0
            for task in self.apply(Granted(100, self._now)):
                if task.ip is None:
                    outcome: FetchOutcome = Located(task, "192.0.2.1", self._now + 3600.0)
                else:
                    asked.append(task.url)
                    outcome = Fetched(task, 404, (), b"", self._now, 0.1)
                self.apply(Answered((FetchAnswer(outcome),), self._now))
        return asked

    def stats(self) -> ShardMeta:
        return self.machine.flush()


def task(url: str, **facts: Any) -> FetchTask:
    usual: dict[str, Any] = {"purpose": Purpose.PAGE, "lane": Lane.DISCOVERY, "lease_ends_at": 0.0}
    return FetchTask(Url(url), facts.pop("site", site_of(Url(url))), **usual | facts)


def page(url: str, *links: str, status: int = 200, **facts: Any) -> Fetched:
    body = "".join(f'<a href="{link}">{link}</a>' for link in links) + f"<p>This is what {url} says."
    return Fetched(task(url, **facts), status, HTML, body.encode(), 100.0, 0.1)


def robots(url: str, text: str = "", **facts: Any) -> Fetched:
    return Fetched(task(f"{url}robots.txt", purpose=Purpose.ROBOTS, **facts), 200, (), text.encode(), 100.0, 0.1)


def test_what_was_answered_is_not_asked_again(tmp_path: Path) -> None:
    """Neither robots.txt nor pages; where they lead is."""
    adopting = Adopting(tmp_path)
    adopting.adopt(robots(A), page(A, "/one", "/two", source=Source.SEED), page(f"{A}one", "/three"))
    assert len(adopting.state.queues) == 2
    assert sorted(adopting.requests()) == [f"{A}three", f"{A}two"]


def test_what_robots_txt_forbids_is_refused_once(tmp_path: Path) -> None:
    """URLs in front of one that was fetched were refused by then, and those behind the last one by the end."""
    adopting = Adopting(tmp_path)
    links = [*(f"/no/{number}" for number in range(50)), "/yes", "/no/last"]
    adopting.adopt(robots(A, "User-agent: *\nDisallow: /no/"), page(A, *links), page(f"{A}yes", depth=1))
    assert adopting.requests() == []
    refused = [each.outcome.task.url for each in adopting.events if isinstance(each, FetchEnded) and is_refused(each)]
    assert len(refused) == len(set(refused)) == 51
    assert adopting.stats().stats.excluded == {"robots": 51}


def is_refused(event: FetchEnded) -> bool:
    return isinstance(event.outcome, Excluded)


def test_a_failed_page_is_tried_as_often_as_before(tmp_path: Path) -> None:
    """Its attempts were archived; when the last one failed it is given up."""
    adopting = Adopting(tmp_path, **{"retries.max_attempts": 3})
    adopting.adopt(robots(A), page(A, "/busy", "/broken"))
    adopting.adopt(page(f"{A}busy", status=500), page(f"{A}broken", status=500))
    adopting.adopt(page(f"{A}broken", status=500, attempt=2), page(f"{A}broken", status=500, attempt=3))
    assert adopting.requests() == [f"{A}busy"]


def test_rules_that_lie_at_another_site(tmp_path: Path) -> None:
    """They hold for the site for which they were asked, and for that alone."""
    adopting = Adopting(tmp_path)
    asked = task(f"{A}robots.txt", purpose=Purpose.ROBOTS)
    moved = Redirected(asked, 301, Url(f"{B}robots.txt"), (("Location", f"{B}robots.txt"),), 100.0, 0.1)
    found = robots(B, "User-agent: *\nDisallow: /no", site=site_of(Url(A)), redirects=1)
    adopting.adopt(moved, found, page(A, "/no", "/yes", f"{B}no"))
    assert sorted(adopting.requests()) == [f"{A}yes", f"{B}no", f"{B}robots.txt"]


def test_rules_that_were_not_found_yet(tmp_path: Path) -> None:
    """The archive ends where they were said to be elsewhere: there they are asked for."""
    adopting = Adopting(tmp_path)
    asked = task(f"{A}robots.txt", purpose=Purpose.ROBOTS)
    adopting.adopt(Redirected(asked, 301, Url(f"{B}robots.txt"), (("Location", f"{B}robots.txt"),), 100.0, 0.1))
    assert adopting.requests() == [f"{B}robots.txt", A]


@pytest.mark.parametrize("is_answered", [True, False])
def test_rules_that_lie_at_a_site_of_another_shard(tmp_path: Path, is_answered: bool) -> None:
    """That shard archived its answer, which is taken as if it had been sent; only without it that shard is asked."""
    hosts = [f"http://{name}.test/" for name in "abcdefgh"]
    adopting = Adopting(tmp_path, shards=2)
    own = next(url for url in hosts if adopting.machine.router.owns_site(site_of(Url(url))))
    other = next(url for url in hosts if not adopting.machine.router.owns_site(site_of(Url(url))))
    asked = task(f"{own}robots.txt", purpose=Purpose.ROBOTS)
    adopting.adopt(Redirected(asked, 301, Url(f"{other}robots.txt"), (), 100.0, 0.1))
    if is_answered:
        found = robots(other, "User-agent: *\nDisallow: /no", site=site_of(Url(own)), redirects=1)
        adopting.adopt(found, is_counted=False)
        adopting.adopt(page(own, "/no", "/yes"))
    adopting.apply(Flushed(200.0))
    assert len(adopting.state.exchange) == (not is_answered)
    assert adopting.machine.frontier.schedule.get(site_of(Url(other))) is None
    assert adopting.requests() == ([f"{own}yes"] if is_answered else [])


def test_a_url_that_nothing_leads_to(tmp_path: Path) -> None:
    """The page that linked to it is damaged: it is known all the same, and where it leads."""
    adopting = Adopting(tmp_path)
    adopting.adopt(robots(A), page(A), page(f"{A}deep", "/deeper", depth=7))
    [record] = adopting.state.records.get([Url(f"{A}deep")])
    assert record is not None
    assert (record.visits, record.depth, record.status) == (1, 7, 200)
    assert adopting.requests() == [f"{A}deeper"]


def test_a_second_visit(tmp_path: Path) -> None:
    """It is not new, and the record of the first is what it is compared with."""
    adopting = Adopting(tmp_path)
    adopting.adopt(robots(A), page(A))
    adopting.adopt(page(A, "/more", "/and/more", lane=Lane.REFRESH))
    [record] = adopting.state.records.get([Url(A)])
    assert record is not None
    assert record.visits == 2
    stats = adopting.stats().stats
    assert (stats.pages, stats.new, stats.changed + stats.same) == (2, 1, 1)
    assert adopting.requests() == [f"{A}more", f"{A}and/more"]


@pytest.mark.parametrize("is_counted", [True, False])
def test_the_page_budget(tmp_path: Path, is_counted: bool) -> None:
    """Counts what this shard has fetched; not what another has, before the site moved here."""
    adopting = Adopting(tmp_path)
    adopting.adopt(robots(A), page(A, "/one"), page(f"{A}one"), is_counted=is_counted)
    meta = adopting.stats()
    assert meta.frontier.pages_done == meta.stats.pages == (2 if is_counted else 0)
    assert any(isinstance(event, FetchEnded) for event in adopting.events) == is_counted
    assert adopting.requests() == []


def test_pages_of_other_shards_lead_here(tmp_path: Path) -> None:
    """Where they link to our sites, that is known; all else of them is not ours."""
    sites = [f"http://{name}.test/" for name in "abcdefgh"]
    for shard in (0, 1):
        adopting = Adopting(tmp_path, shard=shard, shards=2)
        owned = [url for url in sites if adopting.machine.router.owns_site(site_of(Url(url)))]
        other = next(url for url in sites if url not in owned)
        adopting.adopt(page(f"{other}links", *(f"{url}linked" for url in sites)), is_counted=False)
        known = adopting.state.records.get([Url(f"{url}linked") for url in sites])
        assert [url for url, record in zip(sites, known, strict=True) if record is not None] == owned
        assert adopting.state.records.get([Url(f"{other}links")]) == [None]
        assert len(adopting.state.exchange) == 0
