"""What each trap of the lab costs a crawl that walks into it: an upper bound on the pages fetched.

The walk is breadth-first over the real pages of the traps, read by `content`, with the questions asked of the chain
where a scheduler asks them. Nothing is fetched over a wire and time stands still, so a walk is the same every time.
"""

from __future__ import annotations

from collections import Counter, deque
from copy import deepcopy
from functools import partial

import pytest
from msgspec.structs import replace

from periplus.content import read_page
from periplus.model import Discovery, ParsedPage, Reject, Rewrite, Site, Source, Url
from periplus.policy.filters import (
    BudgetSettings,
    Chain,
    FilterSettings,
    ScopeSettings,
    SessionSettings,
    ShapeSettings,
    SiteFilterState,
    TrapSettings,
    standard_chain,
)
from periplus.urls import site_of
from periplus_lab import Answer, Request, World
from periplus_lab.traps import CALENDAR, CLOAKER, DOUBLING, FACETS, FARM, SESSIONS

PATIENCE = 6000
"""A walk that gets here was not bounded by the guards."""


GUARDED = FilterSettings()
UNGUARDED = FilterSettings(
    shape=ShapeSettings(max_repeats=1000, max_segments=1000),
    sessions=SessionSettings((), ()),
    traps=TrapSettings(min_unique=0.0, min_unique_values=0.0),
)


class Walk:
    """A crawl in small: what was fetched, which contents, and what was refused for which reason."""

    def __init__(self, world: World, seeds: list[Url], settings: FilterSettings) -> None:
        self.world = world
        self._make = partial(standard_chain, seeds, settings)
        self.chain: Chain = self._make()
        self._kept: dict[Site, SiteFilterState] = {}
        self.fetched: list[Url] = []
        self.contents: set[int] = set()
        self.refused: Counter[str] = Counter()
        self._known: set[Url] = set()
        self._queue: deque[Discovery] = deque()
        for seed in seeds:
            self._offer(Discovery(seed, Source.SEED, 0.0))

    def run(self, most: int = PATIENCE, resume_every: int = 0) -> Walk:
        while self._queue and len(self.fetched) < most:
            self._visit(self._queue.popleft())
            if resume_every and len(self.fetched) % resume_every == 0:
                self._die_and_resume()
        self.chain.check_invariants()
        return self

    def _visit(self, discovery: Discovery) -> None:
        verdict = self.chain.reconsider(discovery)
        if isinstance(verdict, Reject):
            self.refused[f"late {verdict.reason}"] += 1
            return
        page = self._fetch(discovery.url)
        self.fetched.append(discovery.url)
        self.chain.observe(discovery.url, page is not None and page.digests.main not in self.contents)
        if page is not None:
            self.contents.add(page.digests.main)
            for link in page.links:
                self._offer(Discovery(link.url, Source.LINK, 0.0, discovery.depth + 1, discovery.url))

    def _fetch(self, url: Url) -> ParsedPage | None:
        target = url[url.index("/", 8) :]
        answer = self.world.answer(
            Request("GET", site_of(url), target, (("user-agent", "periplus"),), self.world.epoch)
        )
        assert isinstance(answer, Answer)
        return (
            read_page(answer.body, url, "text/html")
            if answer.status == 200 and isinstance(answer.body, bytes)
            else None
        )

    def _offer(self, discovery: Discovery) -> None:
        verdict = self.chain.judge(discovery)
        if isinstance(verdict, Rewrite):
            discovery = Discovery(
                verdict.url, discovery.source, discovery.found_at, discovery.depth, discovery.referrer
            )
        if isinstance(verdict, Reject):
            self.refused[verdict.reason] += 1
        elif discovery.url not in self._known:
            self._known.add(discovery.url)
            if not isinstance(self.chain.admit(discovery), Reject):
                self._queue.append(discovery)

    def _die_and_resume(self) -> None:
        """A new chain, which has nothing but what was kept."""
        self._kept.update(self.chain.changed())
        self.chain = self._make(deepcopy(self._kept).get)


@pytest.fixture(scope="module")
def world() -> World:
    return World(seed=7, sites=8, pages=500)


def walk(world: World, host: str, settings: FilterSettings = GUARDED) -> Walk:
    return Walk(world, [Url(f"http://{host}/")], replace(settings, scope=ScopeSettings("host")))


@pytest.mark.proof
@pytest.mark.parametrize(
    ("host", "most", "endless"),
    [(CALENDAR, 100, True), (FACETS, 450, False), (SESSIONS, 21, True), (DOUBLING, 150, True), (CLOAKER, 13, False)],
)
def test_a_trap_costs_no_more_than_this(world: World, host: str, most: int, endless: bool) -> None:
    """With the default settings each trap ends by itself. Facets are finite: 1,309 URLs that show 5 pages.

    Doubling: three names, each at most twice in a path (a first one thrice), in any order: 375 paths
    of which those that hold a name twice count together.
    """
    walked = walk(world, host).run()
    assert 0 < len(walked.fetched) <= most
    if endless:
        ignorant = walk(world, host, UNGUARDED).run(most + 100)
        assert len(ignorant.fetched) == most + 100, "the trap would hold a crawler without guards"


def test_a_spam_farm_costs_its_hosts_budget(world: World) -> None:
    """Pages stuffed with other words each are unique to any digest: the budget of a site is the bound that is left."""
    seeds = [Url(f"http://{FARM[0]}/")]
    settings = FilterSettings(scope=ScopeSettings("any"), budgets=BudgetSettings(max_pages_per_site=20))
    walked = Walk(world, seeds, settings).run()
    assert len(walked.fetched) == 20 * len(FARM)
    assert max(Counter(map(site_of, walked.fetched)).values()) == 20
    assert walked.refused["site-budget"] > 0


@pytest.mark.proof
@pytest.mark.parametrize("host", [CALENDAR, FACETS])
def test_a_killed_crawl_decides_as_one_that_was_not(world: World, host: str) -> None:
    """What guards learnt survives in what was kept with the site, to the last URL."""
    assert walk(world, host).run(resume_every=7).fetched == walk(world, host).run().fetched


@pytest.mark.proof
def test_no_page_of_an_ordinary_web_is_lost_to_the_guards(world: World) -> None:
    """With mirrors, aliases, identifiers and calendars by date around, every content that can be found is found."""
    seeds = [Url(f"http://{host}/") for host in world.hosts if ".trap." not in host and host not in FARM]
    guarded = Walk(world, seeds, GUARDED).run()
    unguarded = Walk(world, seeds, UNGUARDED).run()
    assert len(unguarded.fetched) < PATIENCE
    assert guarded.contents == unguarded.contents
    assert len(guarded.contents) > 400
    assert len(guarded.fetched) <= len(unguarded.fetched)
