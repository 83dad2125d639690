"""A crawl with a topic: relevant pages first, relevance in events and counts, and the same after a restart."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.each_case import each_case

from periplus.collection.config.settings import Config
from periplus.collection.seeds import seeds_from
from periplus.collection.shards import ShardMaker, open_machine
from periplus.collection.wording import dried_up, harvest
from periplus.engine.inputs import Answered, Discovered, Effect, Emit, Fetch, FetchAnswer, Flushed, Granted
from periplus.engine.machine import Machine
from periplus.engine.stats import DRY_PAGES, CrawlStats
from periplus.model import (
    ConfigError,
    Discovery,
    Fetched,
    FetchOutcome,
    FetchTask,
    Located,
    PageRead,
    Purpose,
    Source,
    Url,
)
from periplus.parts.focus.ordering import potential_of
from periplus.parts.focus.part import FocusState
from periplus.store import MemoryState
from periplus.store.layout import Layout

HOME = "http://a.test/"
SPIDERS = "Spiders and their traps: how a spider trap keeps a crawler, and how crawlers leave a trap. "
COOKING = "Onions in butter with salt and a glass of wine: how to cook them, and for how long. "
BRANCH = 30
"""Pages about each of the two subjects; each links to the next two of its own."""


def body(url: str) -> bytes:
    name = url.removeprefix(HOME)
    kind, _, number = name.partition("/")
    if not number:
        links = '<a href="/cook/0">Recipes</a> <a href="/web/0">All about spider traps</a>'
        return f"<html lang=en><title>Home</title><body><p>Two subjects.</p>{links}</body></html>".encode()
    text = {"web": SPIDERS, "cook": COOKING}[kind]
    links = "".join(f'<a href="/{kind}/{int(number) + step}">next {step}</a> ' for step in (1, 2))
    links = links if int(number) + 2 < BRANCH else ""
    main = f"<main><p>Page {number}. {text * 3}</p></main>"
    return f"<html lang=en><title>{number}</title><body>{main}<p>{links}</p></body></html>".encode()


def answer(task: FetchTask, now: float) -> FetchOutcome:
    if task.ip is None:
        return Located(task, "192.0.2.1", now + 1e9)
    is_page = task.purpose is Purpose.PAGE
    headers = (("Content-Type", "text/html"),)
    return Fetched(task, 200 if is_page else 404, headers, body(task.url) if is_page else b"", now, 0.01, task.ip)


class Run:
    """A crawl of the two subjects, one request at a time. With `restarts` the machine is opened again after each."""

    def __init__(self, maker: ShardMaker, *, restarts: bool = False) -> None:
        self.maker, self.state, self.restarts = maker, MemoryState(), restarts
        self.machine = self.opened()
        self.fetched: list[str] = []
        self.relevance: dict[str, float | None] = {}
        self.now = 1000.0

    def opened(self) -> Machine:
        return open_machine(self.maker, Layout(self.maker.folder), 0, 1, self.state)

    def take(self, effects: list[Effect]) -> list[FetchTask]:
        for effect in effects:
            for event in effect.events if isinstance(effect, Emit) else ():
                if isinstance(event, PageRead):
                    self.relevance[event.page.url] = event.page.relevance
        return [effect.task for effect in effects if isinstance(effect, Fetch)]

    def crawl(self, pages: int) -> Run:
        seeds = tuple(Discovery(Url(url), Source.SEED, self.now) for url in self.maker.seeds)
        self.take(self.machine.apply(Discovered(seeds, self.now)))
        while len(self.fetched) < pages and not self.machine.is_idle(self.now):
            self.now += 1.0
            for task in self.take(self.machine.apply(Granted(1, self.now))):
                self.now += 0.01
                if task.purpose is Purpose.PAGE and task.ip is not None:
                    self.fetched.append(task.url.removeprefix(HOME))
                self.take(self.machine.apply(Answered((FetchAnswer(answer(task, self.now)),), self.now)))
            self.take(self.machine.apply(Flushed(self.now)))
            if self.restarts:
                self.state.put_meta(self.machine.flush())
                self.machine = self.opened()
        return self


def maker(folder: Path, **options: object) -> ShardMaker:
    asked = {
        "crawl.ordering": "focused",
        "topic.words": "spider traps, crawlers",
        "topic.explore": 0.0,
        "politeness.delay": 0.0,
        "politeness.slow_factor": 0.0,
        "politeness.ip_delay": 0.0,
        "sitemaps.follow": False,
        **{name.replace("__", "."): value for name, value in options.items()},
    }
    return ShardMaker(Config().with_options(asked), folder, tuple(seeds_from([HOME])))


@pytest.mark.parametrize("name", ["focused", "shark", "best_first", "n_best"])
def test_pages_on_the_topic_come_first(tmp_path: Path, name: str) -> None:
    """Every ordering fetches the branch on the topic before it goes far into the other."""
    settings: dict[str, object] = {"ordering__every": 2} if name == "n_best" else {}
    run = Run(maker(tmp_path, crawl__ordering=name, **settings)).crawl(20)
    on_topic = [each for each in run.fetched if each.startswith("web/")]
    assert len(on_topic) >= (12 if name == "n_best" else 16)
    assert all((value or 0.0) >= 0.5 for url, value in run.relevance.items() if "/web/" in url)
    assert all(value == 0.0 for url, value in run.relevance.items() if "/cook/" in url)
    tally = run.machine.stats
    relevant = sum((value or 0.0) >= 0.5 for value in run.relevance.values())
    assert (tally.appraised, tally.relevant) == (len(run.relevance), relevant)
    assert harvest(tally).startswith(f"harvest {relevant / len(run.relevance):.0%} of the last {len(run.relevance)}")


def test_relevance_is_the_weight_of_a_page_that_is_visited_again(tmp_path: Path) -> None:
    """A page that was read is worth its relevance, whatever links say; for revisits at least a twentieth counts."""
    run = Run(maker(tmp_path)).crawl(61)
    urls = [Url(url) for url in run.relevance]
    worth = run.machine.frontier.scores.worth(urls)
    assert [potential_of(each) for each in worth] == pytest.approx([*run.relevance.values()], abs=1e-6)
    weights = run.machine.weights
    assert weights(Url(f"{HOME}cook/3")) == pytest.approx(0.05)
    assert weights(Url(f"{HOME}web/3")) > 0.5


def test_restart_after_every_page_changes_nothing(tmp_path: Path) -> None:
    whole, parts = (Run(maker(tmp_path, topic__explore=0.2), restarts=each).crawl(40) for each in (False, True))
    assert parts.fetched == whole.fetched
    assert parts.relevance == whole.relevance
    whole.state.put_meta(whole.machine.flush())
    assert parts.state.meta(FocusState) == whole.state.meta(FocusState)


def test_exploring_fetches_what_links_do_not_recommend(tmp_path: Path) -> None:
    """With the topic alone, no page about cooking is fetched among the first; exploring finds some."""
    plain, exploring = (Run(maker(tmp_path, topic__explore=each)).crawl(26) for each in (0.0, 0.5))
    assert sum(each.startswith("cook") for each in plain.fetched) <= 1
    assert len(exploring.fetched) == 26


def test_warning_when_the_harvest_dries_up() -> None:
    assert dried_up(CrawlStats(dry=DRY_PAGES - 1)) == ""
    assert "--topic" in dried_up(CrawlStats(dry=DRY_PAGES))


@each_case(
    ("options", "message"),
    [
        ({"crawl.ordering": "shark"}, "needs a topic"),
        ({"topic.words": "spiders"}, "does not use the topic"),
        ({"crawl.ordering": "context_graph", "topic.words": "spiders"}, "only `periplus simulate focused` knows"),
        ({"crawl.ordering": "shark", "topic.words": "spiders", "topic.explore": 0.9}, "explore"),
        ({"crawl.ordering": "shark", "topic.words": ","}, "at least one word"),
    ],
)
def test_settings_that_do_not_fit_are_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Config().with_options(options).check()
