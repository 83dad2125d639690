"""A crawl for files by the ordering `targets`: fewer requests than breadth first, and the same after any restart."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from msgspec import Raw
from tests.each_case import each_case
from tests.parts.targets.dataset_portal import HOME, DatasetPortal

import periplus
from periplus.collection.collection import planned
from periplus.collection.config.settings import Config
from periplus.collection.options import asked_settings
from periplus.collection.seeds import seeds_from
from periplus.collection.shards import ShardMaker, open_machine
from periplus.engine.inputs import Answered, Discovered, Fetch, FetchAnswer, Flushed, Granted, Input, Tick
from periplus.engine.machine import Machine
from periplus.model import ConfigError, Discovery, Fetched, FetchOutcome, FetchTask, Located, Purpose, Source, Url
from periplus.parts.targets.bandit import MAX_ACTIONS, SiteTargets, signs_of
from periplus.parts.targets.part import TargetsPart
from periplus.store import MemoryState
from periplus.store.layout import Layout
from periplus.urls import site_of

END = 5000.0
"""A time by which every crawl here has ended."""


class Run:
    """A crawl of a portal, one request at a time. `restarts`: the machine is opened again after each step."""

    def __init__(self, maker: ShardMaker, portal: DatasetPortal, *, restarts: bool = False) -> None:
        self.maker, self.portal, self.restarts = maker, portal, restarts
        self.state = MemoryState()
        self.machine = self.opened()
        self.asked: list[str] = []
        self.now = 1000.0

    def opened(self) -> Machine:
        return open_machine(self.maker, Layout(self.maker.folder), 0, 1, self.state)

    def answer(self, task: FetchTask) -> FetchOutcome:
        if task.ip is None:
            return Located(task, "192.0.2.1", self.now + 1e9)
        status, kind, body = (404, "text/plain", b"")
        if task.purpose is Purpose.PAGE:
            self.asked.append(task.url)
            status, kind, body = self.portal.answer(task.url)
        return Fetched(task, status, (("Content-Type", kind),), body, self.now, 0.01, task.ip)

    def apply(self, given: Input) -> list[FetchTask]:
        tasks = [effect.task for effect in self.machine.apply(given) if isinstance(effect, Fetch)]
        if self.restarts and (tasks or isinstance(given, Answered)):  # one that was just opened is not idle yet
            self.state.put_meta(self.machine.flush())
            self.machine = self.opened()
        return tasks

    def crawl(self) -> Run:
        seeds = tuple(Discovery(Url(url), Source.SEED, self.now) for url in self.maker.seeds)
        self.apply(Discovered(seeds, self.now))
        while not self.machine.is_idle(self.now):
            assert self.now < END, "the crawl does not end"
            self.now += 1.0
            for task in self.apply(Granted(1, self.now)):
                self.now += 0.01
                self.apply(Answered((FetchAnswer(self.answer(task)),), self.now))
            if self.machine.wants_tick(self.now):
                self.apply(Tick(self.now))
            self.apply(Flushed(self.now))
        return self

    def until(self, share: float) -> int:
        """Requests until this share of the files was fetched."""
        files = self.portal.files
        places = [place for place, url in enumerate(self.asked, 1) if url in files]
        return places[int(share * len(files)) - 1]


def maker(folder: Path, ordering: str) -> ShardMaker:
    asked = {
        "crawl.ordering": ordering,
        "media.types": ("text/csv",),
        "sitemaps.follow": False,
        "politeness.delay": 0.0,
        "politeness.slow_factor": 0.0,
        "politeness.ip_delay": 0.0,
        "dust.enabled": False,
        "absence.enabled": False,
    }
    return ShardMaker(Config().with_options(asked), folder, tuple(seeds_from([HOME])))


@pytest.mark.proof
@pytest.mark.parametrize("seed", [1, 2])
def test_files_are_found_with_half_the_requests(tmp_path: Path, seed: int) -> None:
    """On portals of which half the downloads have no telling names, 90 % of the files come in half the requests."""
    portal = DatasetPortal(seed)
    learnt, plain = (Run(maker(tmp_path / name, name), portal).crawl() for name in ("targets", "breadth_first"))
    assert set(learnt.asked) == set(plain.asked)
    assert portal.files <= set(learnt.asked)
    assert learnt.until(0.9) <= plain.until(0.9) / 2


@pytest.mark.proof
def test_a_crawl_that_is_opened_again_at_every_step_asks_for_the_same(tmp_path: Path) -> None:
    """What was learnt is in the state."""
    portal = DatasetPortal(4, items=12, posts=15)
    whole, parts = (
        Run(maker(tmp_path / str(restarts), "targets"), portal, restarts=restarts).crawl() for restarts in (False, True)
    )
    assert parts.asked == whole.asked


def test_what_was_learnt_is_kept_with_the_site_and_bounded(tmp_path: Path) -> None:
    """The record of a site has its actions, not more than there are levels."""
    run = Run(maker(tmp_path, "targets"), DatasetPortal(5)).crawl()
    run.state.put_meta(run.machine.flush())
    record = run.state.sites.get([site_of(Url(HOME))])[0]
    learnt = record.value(SiteTargets) if record is not None else None
    assert learnt is not None
    assert learnt.targets == len(run.portal.files)
    assert 1 < len(learnt.actions) <= MAX_ACTIONS


def test_a_link_has_the_section_of_its_page(tmp_path: Path) -> None:
    """Items that lists name are of the lists' section, not of their own."""
    run = Run(maker(tmp_path, "targets"), DatasetPortal(5, items=12, posts=5)).crawl()
    run.state.put_meta(run.machine.flush())
    record = run.state.sites.get([site_of(Url(HOME))])[0]
    learnt = record.value(SiteTargets) if record is not None else None
    assert learnt is not None
    path = "/main.list/div.row/a"
    assert list(signs_of(f"{HOME}item/1", path, f"{HOME}list/0")) in [action.signs for action in learnt.actions]
    assert list(signs_of(f"{HOME}item/1", path, f"{HOME}item/0")) not in [action.signs for action in learnt.actions]


@pytest.mark.proof
def test_only_what_is_in_use_is_decoded_or_held(tmp_path: Path) -> None:
    """Between two commits; the records of thousands of sites are in memory, and paths of pages without links."""
    run = Run(maker(tmp_path, "targets"), DatasetPortal(5)).crawl()
    site = site_of(Url(HOME))
    part = run.machine.part(TargetsPart)
    assert part is not None
    assert not part._paths
    record = part._sites.get(site)
    assert isinstance(record.value(SiteTargets), SiteTargets)
    part._bandit(site)
    run.machine.flush()
    assert type(record.values["SiteTargets"]) is Raw


@each_case(
    ("asked", "ordering"),
    [
        ({}, "breadth_first"),
        ({"media": ("text/csv",)}, "targets"),
        ({"media": ("text/csv",), "order": "opic"}, "opic"),
        ({"media": ("text/csv",), "order": "breadth_first"}, "breadth_first"),
        ({"media": ("text/csv",), "topic": "spiders"}, "focused"),
    ],
)
def test_the_default_of_a_crawl_for_files(asked: dict[str, object], ordering: str) -> None:
    """`--media` implies the ordering, unless another one or a topic was asked for."""
    with TemporaryDirectory() as folder:
        made = planned(Path(folder) / "c", typed=["a.test"], options=asked_settings("crawl", asked))
    assert made.config.crawl.ordering == ordering


@pytest.mark.parametrize("ordering", ["breadth_first", "opic"])
def test_a_collection_that_was_begun_with_another_ordering_keeps_it(tmp_path: Path, ordering: str) -> None:
    """The same command continues it, whether it was begun for files or is for files from now on."""
    begun = asked_settings("crawl", {"media": ("text/csv",), "order": ordering})
    planned(tmp_path / "files", typed=["a.test"], options=begun).save()
    planned(tmp_path / "pages", typed=["a.test"], options={"crawl.ordering": ordering}).save()
    for name in ("files", "pages"):
        again = planned(tmp_path / name, typed=[], options=asked_settings("crawl", {"media": ("text/csv",)}))
        assert again.config.crawl.ordering == ordering
        assert again.config.media.types == ("text/csv",)


def test_an_ordering_in_a_file_of_settings_is_kept(tmp_path: Path) -> None:
    """It was chosen as well."""
    settings = tmp_path / "mine.toml"
    settings.write_text('[crawl]\nordering = "opic"\n')
    asked = asked_settings("crawl", {"media": ("text/csv",)})
    assert planned(tmp_path / "c", typed=["a.test"], settings=settings, options=asked).config.crawl.ordering == "opic"


def test_a_function_that_scores_is_an_ordering(tmp_path: Path) -> None:
    """The collection is not said to be by another one."""
    crawl = periplus.crawl("a.test", out=tmp_path / "c", media="text/csv", score=lambda _url, _found: 0.5)
    assert crawl._plan.config.crawl.ordering == "breadth_first"


def test_a_crawl_for_pages_cannot_have_it() -> None:
    """Without types of files there is nothing to look for."""
    with pytest.raises(ConfigError, match="needs types of files"):
        Config().with_options({"crawl.ordering": "targets"})
